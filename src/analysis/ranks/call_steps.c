/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/call_steps.h"

#include "base/sort.h"

#include <errno.h>

/* Returns the index of the first joint call of a process, or of a later one. */
static size_t first_of(const struct aif_joint_calls *c, uint32_t process)
{
	return AIF_BISECT(mid, 0, c->len, c->at[mid].process < process);
}

/* Returns how many messages a process sent or received: .stack is that of the call. */
static size_t messages_of(const struct aif_joint_calls *c, uint32_t process)
{
	size_t n = 0;

	for (size_t i = 0; i < c->messages_len; i++)
		n += c->messages[i].process == process;
	return n;
}

static int by_time(const void *a, const void *b)
{
	const struct aif_timeline_launch *x = a, *y = b;

	return AIF_ORDER(x->at, y->at) ?: AIF_ORDER(x->stack, y->stack);
}

size_t aif_rank_with_most_calls(const struct aif_ranks *r, const struct aif_selection *sel)
{
	size_t best = r->ranks_len, most = 0;

	for (size_t i = 0; i < r->ranks_len; i++) {
		const struct aif_rank *of = &r->ranks[i];
		size_t n;

		if (of->lane != AIF_RANK_NO_LANE || of->is_apart ||
		    (sel && !aif_selection_keeps(sel->processes, of->process)))
			continue;
		n = first_of(&r->calls, of->process + 1) - first_of(&r->calls, of->process) +
		    messages_of(&r->calls, of->process);
		if (n > most) {
			most = n;
			best = i;
		}
	}
	return best;
}

/* Finds steps of a rank: are_turns: turns of its loop, whatever is marked. */
static int find(const struct aif_profile *p, const struct aif_selection *sel,
		const struct aif_ranks *r, size_t rank, bool are_turns, struct aif_phases *ret)
{
	const struct aif_rank *of = &r->ranks[rank];
	struct aif_selection whole = {.loop = sel ? sel->loop : 0};
	struct aif_timeline_call call = {.thread = of->thread, .kernel = AIF_NONE};
	struct aif_exec_timeline t = {
		.calls = &call, .calls_len = 1, .span = {.from = 0, .to = UINT64_MAX}};
	int e;

	t.launches = calloc(r->calls.len + r->calls.messages_len + 1, sizeof(*t.launches));
	if (!t.launches) {
		*ret = (struct aif_phases){.thread = AIF_NONE, .stack = AIF_NONE, .trend = 1};
		return -ENOMEM;
	}
	for (size_t i = first_of(&r->calls, of->process);
	     i < r->calls.len && r->calls.at[i].process == of->process; i++)
		if (r->calls.at[i].thread == of->thread)
			t.launches[t.launches_len++] = (struct aif_timeline_launch){
				.at = r->calls.at[i].start, .stack = r->calls.at[i].stack};
	/* Waits for messages are recorded where they last. */
	for (size_t i = 0; i < r->calls.messages_len; i++)
		if (r->calls.messages[i].thread == of->thread &&
		    r->calls.messages[i].part != AIF_JOINT_WAIT)
			t.launches[t.launches_len++] =
				(struct aif_timeline_launch){.at = r->calls.messages[i].start,
							     .stack = r->calls.messages[i].stack};
	if (t.launches_len)
		aif_sort(t.launches, t.launches_len, sizeof(*t.launches), by_time);
	e = are_turns ? aif_phases_find_turns(p, &whole, &t, ret)
		      : aif_phases_find(p, &whole, &t, ret);
	free(t.launches);
	return e;
}

int aif_rank_call_phases(const struct aif_profile *p, const struct aif_selection *sel,
			 const struct aif_ranks *r, size_t rank, struct aif_phases *ret)
{
	return find(p, sel, r, rank, false, ret);
}

int aif_rank_call_turns(const struct aif_profile *p, const struct aif_selection *sel,
			const struct aif_ranks *r, size_t rank, struct aif_phases *ret)
{
	return find(p, sel, r, rank, true, ret);
}
