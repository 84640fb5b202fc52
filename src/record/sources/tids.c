/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/tids.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool aif_tids_are_ours(int pid)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return stat("/proc/self/ns/pid", &ours) == 0 && stat(path, &theirs) == 0 &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/* 0: it is not known. */
static uint32_t inner_of(int pid, uint32_t tid)
{
	char path[64], line[256];
	uint32_t inner = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%u/status", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "NSpid:", 6)) {
			const char *last = strrchr(line, '\t');

			inner = last ? (uint32_t)strtoul(last, NULL, 10) : 0;
			break;
		}
	fclose(f);
	return inner;
}

void aif_tids_each(int pid, void (*with)(void *arg, uint32_t outer, uint32_t inner), void *arg)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) != NULL) {
		uint32_t outer = (uint32_t)strtoul(entry->d_name, NULL, 10),
			 inner = outer ? inner_of(pid, outer) : 0;

		if (inner)
			with(arg, outer, inner);
	}
	if (dir)
		closedir(dir);
}
