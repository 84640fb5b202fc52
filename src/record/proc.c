/* SPDX-License-Identifier: Apache-2.0 */
#include "record/proc.h"

#include "base/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAT_BYTES 1024

static void read_stat(int pid, char text[STAT_BYTES])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	aif_proc_read(path, text, STAT_BYTES);
}

bool aif_proc_stat(int pid, int *ret_parent, uint64_t *ret_start)
{
	const char *parent, *start;
	char text[STAT_BYTES];

	read_stat(pid, text);
	parent = aif_proc_stat_field(text, 4);
	start = aif_proc_stat_field(text, 22);
	if (!parent || !start)
		return false;
	*ret_parent = atoi(parent);
	*ret_start = strtoull(start, NULL, 10);
	return true;
}

bool aif_proc_has_ended(int pid)
{
	const char *state, *threads;
	char text[STAT_BYTES];

	read_stat(pid, text);
	state = aif_proc_stat_field(text, 3);
	threads = aif_proc_stat_field(text, 20);
	/* Others may run on after the first thread. */
	return !state || !threads || ((*state == 'Z' || *state == 'X') && atoi(threads) <= 1);
}

bool aif_proc_user(int pid, uid_t *ret)
{
	char path[64], text[4096];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	aif_proc_read(path, text, sizeof(text));
	at = strstr(text, "\nUid:");
	if (!at)
		return false;
	*ret = (uid_t)strtoul(at + strlen("\nUid:"), NULL, 10);
	return true;
}
