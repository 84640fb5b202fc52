/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/balance.h"

#include <errno.h>

/* Work is uneven if steps would be shorter by this part. */
#define UNEVEN_PART 10

struct balance {
	uint64_t length, most, mean; /* sums over the steps */
	size_t *times;               /* by rank: in how many steps it computes longest */
	size_t steps;
};

static void add_step(const struct aif_ranks *r, const struct aif_utilization *u, int64_t from,
		     int64_t to, struct balance *b)
{
	uint64_t most = 0, sum = 0;
	size_t which = 0;

	for (size_t i = 0; i < r->ranks_len; i++) {
		uint64_t ns = aif_rank_computed(r, u, (uint32_t)i, from, to);

		sum += ns;
		if (ns > most) {
			most = ns;
			which = i;
		}
	}
	b->steps++;
	b->times[which]++;
	b->length += (uint64_t)to - (uint64_t)from;
	b->most += most;
	b->mean += sum / r->ranks_len;
}

int aif_rank_balance(const struct aif_ranks *r, const struct aif_selection *sel,
		     const struct aif_utilization *u, const struct aif_phases *f,
		     struct aif_rank_verdict *ret)
{
	struct balance b = {.times = calloc(r->ranks_len + 1, sizeof(*b.times))};
	size_t most = 0;

	if (!b.times)
		return -ENOMEM;
	for (size_t i = 0; i < f->len && r->ranks_len > 1; i++)
		if (f->steps[i].end > f->steps[i].start &&
		    aif_timed_in_span(sel, f->steps[i].start))
			add_step(r, u, f->steps[i].start, f->steps[i].end, &b);
	for (size_t i = 1; i < r->ranks_len; i++)
		if (b.times[i] > b.times[most])
			most = i;
	if (b.steps && b.most - b.mean >= b.length / UNEVEN_PART && b.most > b.mean) {
		ret->is = AIF_RANKS_UNEVEN;
		ret->late = (uint32_t)most;
		ret->steps = b.steps;
		ret->delayed = b.times[most];
		ret->most_ns = b.most / b.steps;
		ret->mean_ns = b.mean / b.steps;
		ret->step_ns = b.length / b.steps;
		ret->saved_ns = ret->most_ns - ret->mean_ns;
	}
	free(b.times);
	return 0;
}
