/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/selection.h"

#include "base/human.h"

#include <errno.h>

bool aif_selection_is_part(const struct aif_selection *sel)
{
	return sel && (sel->from_ns || sel->to_ns || sel->processes || sel->threads ||
		       sel->devices || sel->in_ranges);
}

void aif_selection_say_for_others(uint64_t ns, struct aif_buf *out)
{
	aif_human_ns(out, ns);
	aif_buf_puts(out, " by threads in no range that launched for these, as autograd's does");
}

int aif_left_out_error(uint64_t left_out, const char *command, struct aif_err *err)
{
	return !left_out ? 0
			 : aif_err_set(err, -ENODATA,
				       "%s: launches were left out in this span (--overhead), and "
				       "none was captured; record with --all-launches",
				       command);
}
