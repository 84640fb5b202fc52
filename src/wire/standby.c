/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/standby.h"

#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int aif_standby_open(const char *path, uid_t owner, bool make)
{
	int fd;

	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR ? -EPERM : -errno;
	return aif_standby_accept(fd, owner);
}

int aif_standby_accept(int fd, uid_t owner)
{
	struct stat st;

	if (fd < 0)
		return fd == -ELOOP || fd == -ENOTDIR ? -EPERM : fd;
	if (fstat(fd, &st) < 0 || st.st_uid != owner || (st.st_mode & 077)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

int aif_standby_started(const char *pid, uint64_t *ret)
{
	char path[64], text[1024];
	const char *at;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	n = aif_proc_read(path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	at = aif_proc_stat_field(text, 22);
	if (!at)
		return -EPROTO;
	*ret = strtoull(at, NULL, 10);
	return 0;
}

void aif_standby_name(const struct aif_standby_page *page, char name[AIF_STANDBY_NAME_MAX])
{
	snprintf(name, AIF_STANDBY_NAME_MAX, "%" PRIu32 "-%" PRIu64 "-%" PRIu64 AIF_STANDBY_SUFFIX,
		 page->pid, page->started, page->pid_namespace);
}
