/* SPDX-License-Identifier: Apache-2.0 */
#include "report/wake_text.h"

#include <errno.h>
#include <string.h>

int aif_wake_text(const struct aif_profile *p, struct aif_stack_names *stacks,
		  const struct aif_idle_wake *w, struct aif_buf *ret)
{
	const char *at = "", *end;

	aif_idle_waker_say(p, w, ret);
	if (w->kind == AIF_IDLE_WAKER_THREAD && w->stack != AIF_NONE)
		at = aif_stack_names_caller(stacks, w->stack);
	if (!at)
		return -ENOMEM;
	end = strstr(at, AIF_STACK_CALLED_BY);
	if (*at)
		aif_buf_printf(ret, ": %.*s", end ? (int)(end - at) : (int)strlen(at), at);
	return 0;
}
