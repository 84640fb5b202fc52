/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ebpf_launches.h"

bool aif_is_ebpf_launch(const struct aif_profile *p, const struct aif_launch_row *row)
{
	return row->device == AIF_NONE && row->stream == AIF_NONE && row->stack != AIF_NONE &&
	       row->kind == AIF_LAUNCH_KERNEL &&
	       (p->stacks[row->stack].flags & AIF_STACK_FRAME_POINTERS);
}
