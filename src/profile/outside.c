/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/outside.h"

bool aif_outside_is(const struct aif_profile *p, const struct aif_launch_row *row)
{
	return row->device == AIF_NONE && row->stream == AIF_NONE && row->stack != AIF_NONE &&
	       row->kind == AIF_LAUNCH_KERNEL &&
	       (p->stacks[row->stack].flags & AIF_STACK_FRAME_POINTERS);
}
