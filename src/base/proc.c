/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t aif_proc_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : read(fd, text, size - 1);

	if (fd >= 0 && n < 0)
		n = -errno;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

const char *aif_proc_why_none(void)
{
	return access("/proc/self/stat", F_OK) == 0
		       ? NULL
		       : "/proc is not mounted here, by which processes and the agent are found; mount "
			 "it: mount -t proc proc /proc";
}

const char *aif_proc_stat_field(const char *text, int n)
{
	const char *at = strrchr(text, ')');

	for (int field = 2; at && field < n; field++)
		at = strchr(at + 1, ' ');
	return at ? at + 1 : NULL;
}

static uint32_t status_number(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? (uint32_t)strtoul(at + strlen(name), NULL, 10) : 0;
}

struct aif_proc_filters aif_proc_filters(const char *status)
{
	return (struct aif_proc_filters){.mode = status_number(status, "\nSeccomp:"),
					 .len = status_number(status, "\nSeccomp_filters:")};
}

struct aif_proc_cpus aif_proc_cpus(const char *stat)
{
	struct aif_proc_cpus cpus = {0};
	/* user, nice, system, idle, iowait, irq, softirq, steal: proc(5). */
	uint64_t t[8];

	if (sscanf(stat,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != AIF_ARRAY_LEN(t))
		return cpus;
	for (size_t i = 0; i < AIF_ARRAY_LEN(t); i++)
		cpus.all += t[i];
	cpus.stolen = t[7];
	return cpus;
}

bool aif_proc_is_admin(void)
{
	struct __user_cap_header_struct self = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	unsigned long inside, outside, len;
	char map[256];

	aif_proc_read("/proc/self/uid_map", map, sizeof(map));
	return !syscall(SYS_capget, &self, caps) && caps[0].effective >> CAP_SYS_ADMIN & 1 &&
	       sscanf(map, "%lu %lu %lu", &inside, &outside, &len) == 3 && inside == outside &&
	       len == UINT32_MAX;
}
