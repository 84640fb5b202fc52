/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/rank_list.h"

#include <errno.h>
#include <inttypes.h>

static int by_number(const void *a, const void *b)
{
	const struct aif_rank *x = a, *y = b;

	return AIF_ORDER(x->number, y->number) ?: AIF_ORDER(x->lane, y->lane)
	       ?: AIF_ORDER(x->process, y->process);
}

static int add_rank(struct aif_ranks *r, const struct aif_process *of, struct aif_rank rank)
{
	rank.number = of ? of->rank - 1 : AIF_NONE;
	if (of) {
		rank.is_apart = of->flags & AIF_PROCESS_CLOCK_APART;
		rank.clock_error_ns = of->clock_error_ns;
	}
	if (aif_grow(&r->ranks, &r->ranks_cap, r->ranks_len + 1, sizeof(*r->ranks)) < 0)
		return -ENOMEM;
	r->ranks[r->ranks_len++] = rank;
	return 0;
}

/* Sets, for each process, the thread that makes most of its calls with other ranks; AIF_NONE: it makes none. 0 or -ENOMEM. */
static int find_threads(const struct aif_profile *p, const struct aif_joint_calls *c, uint32_t *ret)
{
	size_t *counts = calloc(p->threads_len + 1, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < p->processes_len; i++)
		ret[i] = AIF_NONE;
	for (size_t i = 0; i < c->len; i++)
		counts[c->at[i].thread]++;
	for (size_t i = 0; i < c->messages_len; i++)
		counts[c->messages[i].thread]++;
	for (uint32_t i = 0; i < p->threads_len; i++) {
		uint32_t *best = counts[i] ? &ret[p->threads[i].process] : NULL;

		if (best && (*best == AIF_NONE || counts[i] > counts[*best]))
			*best = i;
	}
	free(counts);
	return 0;
}

/* Adds a rank for each process with joint calls, or messages, and no device. */
static int add_host_ranks(const struct aif_profile *p, const struct aif_utilization *u,
			  struct aif_ranks *ret)
{
	bool *has_device = calloc(p->processes_len + 1, sizeof(*has_device));
	uint32_t *threads = malloc((p->processes_len + 1) * sizeof(*threads));
	int e = has_device && threads ? find_threads(p, &ret->calls, threads) : -ENOMEM;

	for (size_t i = 0; i < u->len && !e; i++)
		if (u->devices[i].process != AIF_NONE)
			has_device[u->devices[i].process] = true;
	for (uint32_t i = 0; i < p->processes_len && !e; i++)
		if (!has_device[i] && threads[i] != AIF_NONE)
			e = add_rank(ret, &p->processes[i],
				     (struct aif_rank){.process = i,
						       .device = AIF_NONE,
						       .lane = AIF_RANK_NO_LANE,
						       .thread = threads[i]});
	free(threads);
	free(has_device);
	return e;
}

int aif_rank_list_make(const struct aif_profile *p, const struct aif_utilization *u,
		       struct aif_ranks *ret)
{
	int e = 0;

	for (size_t i = 0; i < u->len && !e; i++) {
		const struct aif_device_utilization *d = &u->devices[i];
		const struct aif_process *of =
			d->process == AIF_NONE ? NULL : &p->processes[d->process];

		if (d->communication.len || (of && of->rank))
			e = add_rank(ret, of,
				     (struct aif_rank){.process = d->process,
						       .device = d->device,
						       .lane = i,
						       .thread = AIF_NONE});
	}
	if (!e)
		e = add_host_ranks(p, u, ret);
	if (!e && ret->ranks_len)
		qsort(ret->ranks, ret->ranks_len, sizeof(*ret->ranks), by_number);
	return e;
}

uint64_t aif_rank_computed(const struct aif_ranks *r, const struct aif_utilization *u,
			   uint32_t rank, int64_t from, int64_t to)
{
	size_t lane = r->ranks[rank].lane;

	return lane == AIF_RANK_NO_LANE ? 0
					: aif_spans_covered(&u->devices[lane].compute, from, to);
}

const struct aif_spans *aif_rank_not_collected(const struct aif_rank *r,
					       const struct aif_utilization *u)
{
	return r->lane == AIF_RANK_NO_LANE ? NULL : &u->devices[r->lane].not_collected;
}

void aif_rank_say(const struct aif_profile *p, const struct aif_rank *r, struct aif_buf *out)
{
	if (r->number != AIF_NONE) {
		aif_buf_printf(out, "rank %" PRIu32, r->number);
		return;
	}
	if (r->process != AIF_NONE)
		aif_buf_printf(out, "process %" PRIu32, p->processes[r->process].pid);
	if (r->lane == AIF_RANK_NO_LANE)
		return;
	aif_buf_printf(out, "%s%s", r->process == AIF_NONE ? "" : " on ",
		       r->device == AIF_NONE ? "a device"
					     : aif_profile_str(p, p->devices[r->device].name));
}
