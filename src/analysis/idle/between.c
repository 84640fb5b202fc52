/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/between.h"

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

uint32_t aif_idle_function_between(const struct aif_profile *p, uint32_t a, uint32_t b)
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
