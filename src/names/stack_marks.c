/* SPDX-License-Identifier: Apache-2.0 */
#include "names/stack_marks.h"

#include "names/process_names.h"

#include <string.h>

const char *aif_stack_mark(unsigned flavour)
{
	static const char *const marks[AIF_STACK_FLAVOURS] = {
		[AIF_STACK_TRUNCATED] = "[truncated]",
		[AIF_STACK_GUESSED] = "[guessed]",
		[AIF_STACK_TRUNCATED | AIF_STACK_GUESSED] = "[truncated, guessed]",
		[AIF_STACK_FRAME_POINTERS] = "[frame pointers]",
		[AIF_STACK_TRUNCATED | AIF_STACK_FRAME_POINTERS] = "[frame pointers, truncated]",
		[AIF_STACK_GUESSED | AIF_STACK_FRAME_POINTERS] = "[frame pointers, guessed]",
		[AIF_STACK_TRUNCATED | AIF_STACK_GUESSED | AIF_STACK_FRAME_POINTERS] =
			"[frame pointers, truncated, guessed]",
		[AIF_STACK_FLAGS + AIF_OWNER_CUPTI] = "[threads of CUPTI]",
		[AIF_STACK_FLAGS + AIF_OWNER_AIFLAME] = "[threads of aiflame]",
	};

	return flavour < AIF_STACK_FLAVOURS ? marks[flavour] : NULL;
}

const char *aif_stack_mark_full(unsigned flavour)
{
	return flavour == AIF_STACK_FLAGS + AIF_OWNER_CUPTI
		       ? "not the program's: CUPTI starts them for whoever has it measure, as "
			 "aiflame does"
		       : NULL;
}

void aif_unmatched_owner(const struct aif_profile *p, uint32_t process, struct aif_buf *ret)
{
	const char *exe, *slash;

	if (process == AIF_NONE) {
		aif_buf_puts(ret, "[unknown process]");
		return;
	}
	exe = aif_process_name(p, process);
	if (exe) {
		aif_buf_printf(ret, "[%s]", exe);
		return;
	}
	exe = aif_profile_str(p, p->processes[process].exe);
	slash = strrchr(exe, '/');
	aif_buf_printf(ret, "[%s %u]", slash ? slash + 1 : exe, p->processes[process].pid);
}
