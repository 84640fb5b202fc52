/* SPDX-License-Identifier: Apache-2.0 */
#include "record/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool aif_proc_stat(int pid, int *ret_parent, uint64_t *ret_start)
{
	char path[64], text[1024], *after;
	unsigned long long start;
	int fd, parent;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	after = strrchr(text, ')'); /* the name may hold anything */
	if (!after || sscanf(after + 1,
			     " %*c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			     "%*s %*s %*s %llu",
			     &parent, &start) != 2)
		return false;
	*ret_parent = parent;
	*ret_start = start;
	return true;
}

bool aif_proc_user(int pid, uid_t *ret)
{
	char path[64], line[512];
	bool found = false;
	unsigned uid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "Uid: %u", &uid) == 1;
	if (f)
		fclose(f);
	if (found)
		*ret = uid;
	return found;
}
