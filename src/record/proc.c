/* SPDX-License-Identifier: Apache-2.0 */
#include "record/proc.h"

#include "base/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static bool namespace_of(const char *process, const char *kind, char ret[64])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", process, kind);
	n = readlink(path, ret, 63);
	ret[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

/* The line of the monotonic clock: "monotonic 86400 0". The file is of the namespace that the process's children get. */
static bool offset_of(const char *process, char ret[64])
{
	char path[64], text[256];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/timens_offsets", process);
	n = aif_proc_read(path, text, sizeof(text));
	snprintf(ret, 64, "%.*s", (int)strcspn(n > 0 ? text : "", "\n"), text);
	return n > 0;
}

bool aif_proc_has_other_clock(int pid)
{
	char process[16], theirs[64], childrens[64], ours[64];

	snprintf(process, sizeof(process), "%d", pid);
	/* Before Linux 5.6 there are none. */
	if (pid <= 0 || !namespace_of("self", "time", ours) ||
	    !namespace_of(process, "time", theirs) || !strcmp(ours, theirs))
		return false;
	if (!namespace_of(process, "time_for_children", childrens) || strcmp(theirs, childrens))
		return true;
	return !offset_of(process, theirs) || !offset_of("self", ours) || strcmp(theirs, ours) != 0;
}
