/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/join.h"
#include "base/sort.h"
#include "analysis/attribution/active.h"

#include <errno.h>

/* More runs than this at once are no device's: a sample among them is not joined, or a hostile
 * file could ask for as many steps as it has samples times executions. */
#define MAX_SHARED 1024

struct joining {
	const struct aif_scope *s;
	const struct aif_loaded *l;
	const struct aif_classified *c;
	struct aif_insides *insides;
	struct aif_sample_counts *counts;
	struct aif_active active;
};

/* True if the sample, of the kernel of that name, may be of the run. Kernels go by their name,
 * not their number: two programs may hold a kernel of the same name, and the module does not say
 * which. */
static bool fits(const struct joining *x, const struct aif_active_run *active,
		 const struct aif_sample_row *row, uint32_t name)
{
	const struct aif_group *g = aif_group_of(x->c, active->run);

	return active->is_kernel && g->process == row->process &&
	       (name == AIF_NONE || g->kernel_name == name);
}

/* Splits the sample among the `sharers` runs that it fits, to the last unit. */
static int share_sample(struct joining *x, const struct aif_sample_row *row, uint32_t name,
			size_t sharers)
{
	struct aif_inside inside = {
		.frame = row->frame, .reason = row->reason, .shared = sharers > 1};
	aif_fraction left = (aif_fraction)row->count << AIF_FRACTION_BITS;
	int r = 0;

	x->counts->attributed += row->count;
	for (size_t i = 0; i < x->active.len && !r; i++) {
		const struct aif_active_run *active = &x->active.at[i];

		if (!fits(x, active, row, name))
			continue;
		inside.group = active->run->group;
		inside.samples = left / sharers--;
		left -= inside.samples;
		r = aif_insides_add(x->insides, &inside);
	}
	return r;
}

static int join_sample(struct joining *x, const struct aif_sample_row *row)
{
	uint32_t name = aif_scope_kernel_name_at(x->s, row->frame);
	size_t sharers = 0, any = 0;
	uint64_t *to;

	if (x->active.len > MAX_SHARED) {
		x->counts->unmatched += row->count;
		return 0;
	}
	for (size_t i = 0; i < x->active.len; i++) {
		any += fits(x, &x->active.at[i], row, AIF_NONE);
		sharers += fits(x, &x->active.at[i], row, name);
	}
	if (sharers)
		return share_sample(x, row, name, sharers);
	to = aif_sample_counts_uncollected(x->counts, x->s, x->l, x->c, row, name);
	if (!to)
		to = any || name != AIF_NONE ? &x->counts->unmatched : &x->counts->outside;
	*to += row->count;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct aif_run *x = *(const struct aif_run *const *)a,
			     *y = *(const struct aif_run *const *)b;

	return AIF_ORDER(x->start, y->start);
}

/* All runs in order of start, whatever their device: a process may drive several CPU devices,
 * and a sample knows only its process. */
static const struct aif_run **order_runs(const struct aif_classified *c)
{
	const struct aif_run **order = malloc(AIF_MAX(c->runs_len, 1) * sizeof(*order));

	for (size_t i = 0; order && i < c->runs_len; i++)
		order[i] = &c->runs[i];
	if (order)
		aif_sort(order, c->runs_len, sizeof(*order), by_start);
	return order;
}

int aif_join(const struct aif_scope *s, const struct aif_loaded *l, const struct aif_classified *c,
	     struct aif_insides *insides, struct aif_sample_counts *counts)
{
	struct joining x = {.s = s, .l = l, .c = c, .insides = insides, .counts = counts};
	const struct aif_run **order;
	size_t next = 0;
	int r;

	if (!l->samples_len)
		return 0;
	order = order_runs(c);
	r = order ? 0 : -ENOMEM;
	for (size_t i = 0; i < l->samples_len && !r; i++) {
		uint64_t now = l->samples[i].time;

		for (; next < c->runs_len && order[next]->start <= now && !r; next++)
			r = aif_active_push(
				&x.active,
				&(struct aif_active_run){
					.run = order[next],
					.is_kernel = aif_group_of(c, order[next])->kernel_name !=
						     AIF_NONE});
		while (x.active.len && x.active.at[0].run->end < now)
			aif_active_pop(&x.active);
		if (!r)
			r = join_sample(&x, &l->samples[i]);
	}
	aif_active_finish(&x.active);
	free(order);
	return r;
}
