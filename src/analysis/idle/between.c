/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/between.h"

#include "base/sort.h"

#include <errno.h>
#include <stdlib.h>

static bool is_same_function(const struct aif_profile *p, uint32_t a, uint32_t b)
{
	const struct aif_frame_name *x = aif_profile_frame_name(p, p->stacks[a].frame),
				    *y = aif_profile_frame_name(p, p->stacks[b].frame);

	return x && y && x->name == y->name && x->file == y->file &&
	       p->frames[p->stacks[a].frame].module == p->frames[p->stacks[b].frame].module;
}

/* True if place b of a function comes behind place a. */
static bool is_behind(const struct aif_profile *p, uint32_t a, uint32_t b)
{
	const struct aif_frame *x = &p->frames[p->stacks[a].frame],
			       *y = &p->frames[p->stacks[b].frame];

	return x->kind == AIF_FRAME_PYTHON
		       ? aif_profile_frame_name(p, p->stacks[b].frame)->line >
				 aif_profile_frame_name(p, p->stacks[a].frame)->line
		       : y->address > x->address;
}

static uint32_t kind_of(const struct aif_profile *p, uint32_t stack)
{
	uint32_t frame = stack == AIF_NONE ? AIF_NONE : p->stacks[stack].frame;

	return frame == AIF_NONE ? 0 : p->frames[frame].kind;
}

/* Returns the stack, up to the function in which a thread went on from one launch to another further down, or AIF_NONE: it
 * went round a loop, and nothing says where. Frames of Python's interpreter differ by its instructions; the Python function
 * behind them tells. */
static uint32_t function_between(const struct aif_profile *p, uint32_t a, uint32_t b)
{
	uint32_t above_a = AIF_NONE, above_b = AIF_NONE, in_a = AIF_NONE, in_b = AIF_NONE;

	while (a != AIF_NONE && b != AIF_NONE && a != b) {
		uint32_t da = p->stacks[a].depth, db = p->stacks[b].depth;

		if (da >= db) {
			above_a = in_a;
			in_a = a;
			a = p->stacks[a].parent;
		}
		if (db >= da) {
			above_b = in_b;
			in_b = b;
			b = p->stacks[b].parent;
		}
	}
	if (kind_of(p, in_a) == AIF_FRAME_NATIVE && kind_of(p, in_b) == AIF_FRAME_NATIVE &&
	    kind_of(p, above_a) == AIF_FRAME_PYTHON && kind_of(p, above_b) == AIF_FRAME_PYTHON) {
		in_a = above_a;
		in_b = above_b;
	}
	return a == b && kind_of(p, in_a) && kind_of(p, in_b) && is_same_function(p, in_a, in_b) &&
			       is_behind(p, in_a, in_b)
		       ? in_b
		       : AIF_NONE;
}

/* ---- launches of a thread, one after the other ------------------------------------------------- */

/* Takes launches in the order in which they are, of one thread's mostly. False: they have to be sorted. */
static bool take_in_order(const struct aif_exec_timeline *t, uint32_t *before)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < t->launches_len; i++) {
		uint32_t thread = aif_timeline_thread_of(t, i);

		if (i && (last > thread ||
			  (last == thread && t->launches[i - 1].at > t->launches[i].at)))
			return false;
		before[i] = i && last == thread ? i - 1 : AIF_NONE;
		last = thread;
	}
	return true;
}

int aif_idle_launches_before(const struct aif_exec_timeline *t, uint32_t **ret)
{
	uint32_t *before = malloc((t->launches_len + 1) * sizeof(*before)), *order;

	*ret = before;
	if (!before)
		return -ENOMEM;
	if (take_in_order(t, before))
		return 0;
	order = malloc((t->launches_len + 1) * sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < t->launches_len; i++)
		order[i] = (uint32_t)i;
	aif_sort_r(order, t->launches_len, sizeof(*order), aif_timeline_by_thread, (void *)t);
	for (size_t i = 0; i < t->launches_len; i++)
		before[order[i]] = i && aif_timeline_thread_of(t, order[i - 1]) ==
							   aif_timeline_thread_of(t, order[i])
					   ? order[i - 1]
					   : AIF_NONE;
	free(order);
	return 0;
}

/* True if a stack along frame pointers lacks the function of the stack `place`. */
static bool lacks_place(const struct aif_profile *p, uint32_t stack, uint32_t place)
{
	if (stack == AIF_NONE || place == AIF_NONE || p->stacks[place].frame == AIF_NONE ||
	    !(p->stacks[stack].flags & AIF_STACK_FRAME_POINTERS))
		return false;
	for (; stack != AIF_NONE; stack = p->stacks[stack].parent)
		if (p->stacks[stack].frame != AIF_NONE && is_same_function(p, stack, place))
			return false;
	return true;
}

uint32_t aif_idle_place(const struct aif_profile *p, uint32_t stack, uint32_t before,
			uint32_t after, bool *ret_is_before)
{
	uint32_t between = function_between(p, before, after);
	uint32_t place = between == AIF_NONE ? after : between;

	*ret_is_before = false;
	if (stack != AIF_NONE && !lacks_place(p, stack, place))
		return stack;
	*ret_is_before = between == AIF_NONE;
	return place;
}
