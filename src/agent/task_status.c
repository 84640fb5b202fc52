/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task_status.h"

#include "base/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t number(const char *status, const char *name, int base)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

struct aif_task_status aif_task_status_read(uint32_t tid)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/self/task/%u/status", tid);
	aif_proc_read(path, text, sizeof(text));
	return (struct aif_task_status){.blocked = number(text, "\nSigBlk:", 16),
					.waiting = number(text, "\nSigPnd:", 16),
					.shared = number(text, "\nShdPnd:", 16),
					.switches =
						number(text, "\nvoluntary_ctxt_switches:", 10) +
						number(text, "\nnonvoluntary_ctxt_switches:", 10)};
}
