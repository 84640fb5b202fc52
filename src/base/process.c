/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process.h"

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
	/* Threads of a process may run on after its first has ended. */
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

/* The offset of one clock in a text of /proc/PID/timens_offsets: "monotonic 86400 0", seconds and nanoseconds. */
static bool offset_of(const char *text, const char *clock, uint64_t *ret_ns)
{
	const char *at = strstr(text, clock);
	long long s;
	long ns;

	if (!at || sscanf(at + strlen(clock), "%lld %ld", &s, &ns) != 2)
		return false;
	*ret_ns = (uint64_t)s * AIF_NS_PER_S + (uint64_t)ns;
	return true;
}

/* The namespace that the process's children get. */
static bool read_offsets(const char *process, struct aif_proc_clocks *ret)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%s/timens_offsets", process);
	return aif_proc_read(path, text, sizeof(text)) > 0 &&
	       offset_of(text, "monotonic", &ret->monotonic) &&
	       offset_of(text, "boottime", &ret->boottime);
}

/* The offsets can be read where its children get the namespace that it has. */
static bool offsets_are_own(const char *process)
{
	char own[64], childrens[64];

	return namespace_of(process, "time", own) &&
	       namespace_of(process, "time_for_children", childrens) && !strcmp(own, childrens);
}

bool aif_proc_clocks(int pid, struct aif_proc_clocks *ret)
{
	char process[16], theirs[64], ours[64];
	struct aif_proc_clocks its, own;

	*ret = (struct aif_proc_clocks){0};
	snprintf(process, sizeof(process), "%d", pid);
	/* Before Linux 5.6 there are none. */
	if (pid <= 0 || !namespace_of("self", "time", ours) ||
	    !namespace_of(process, "time", theirs) || !strcmp(ours, theirs))
		return true;
	if (!offsets_are_own(process) || !offsets_are_own("self") || !read_offsets(process, &its) ||
	    !read_offsets("self", &own))
		return false;
	*ret = (struct aif_proc_clocks){.monotonic = own.monotonic - its.monotonic,
					.boottime = own.boottime - its.boottime};
	return true;
}
