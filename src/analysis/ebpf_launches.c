/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ebpf_launches.h"

bool aif_is_ebpf_launch(const struct aif_profile *p, const struct aif_launch_row *row)
{
	return row->device == AIF_NONE && row->stream == AIF_NONE && row->stack != AIF_NONE &&
	       row->kind == AIF_LAUNCH_KERNEL &&
	       (p->stacks[row->stack].flags & AIF_STACK_FRAME_POINTERS);
}

static uint32_t kind_at(const struct aif_profile *p, uint32_t stack)
{
	uint32_t frame = stack < p->stacks_len ? p->stacks[stack].frame : AIF_NONE;

	return frame < p->frames_len ? p->frames[frame].kind : 0;
}

uint32_t aif_stack_of_call(const struct aif_profile *p, uint32_t stack)
{
	uint32_t at = stack;

	while (kind_at(p, at) == AIF_FRAME_OS)
		at = p->stacks[at].parent;
	if (at != stack && kind_at(p, at) == AIF_FRAME_NATIVE)
		at = p->stacks[at].parent;
	return at == AIF_NONE ? stack : at;
}
