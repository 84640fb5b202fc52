/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/ctl_snapshot.h"

#include "cmd/profile_arg.h"
#include "cmd/stop.h"
#include "profile/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)1 << 20)

void aif_snapshot_name(const char *name, char *ret, size_t size)
{
	const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	size_t len = strlen(base);
	time_t now = time(NULL);
	struct tm tm;
	char at[32] = "";

	if (len > 5 && !strcmp(base + len - 5, ".data"))
		len -= 5;
	if (localtime_r(&now, &tm))
		strftime(at, sizeof(at), "-%Y%m%d-%H%M%S", &tm);
	if (!len || *base == '.' || *base == '-')
		snprintf(ret, size, "aiflame%s.data", at);
	else
		snprintf(ret, size, "%.*s%s.data", (int)AIF_MIN(len, (size_t)150), base, at);
}

static int copy_all(int from, int to, const volatile sig_atomic_t *stopped)
{
	uint8_t *bytes = malloc(COPY_BYTES);
	off_t at = 0;
	ssize_t n = bytes ? 1 : -1;

	while (n > 0 && !*stopped) {
		n = pread(from, bytes, COPY_BYTES, at);
		for (ssize_t done = 0, w; done < n; done += w) {
			w = write(to, bytes + done, (size_t)(n - done));
			if (w < 0 && errno != EINTR) {
				n = -1;
				break;
			}
			w = AIF_MAX(w, 0);
		}
		at += n;
	}
	n = n < 0 ? -errno : *stopped ? -EINTR : 0;
	free(bytes);
	return (int)n;
}

static int fail(const char *path, int code, struct aif_err *err)
{
	return aif_err_set(err, code, "ctl: cannot write %s: %s", path,
			   code == -EINTR    ? "stopped"
			   : code == -ENOSPC ? "the disk is full"
					     : strerror(-code));
}

static int save_part(int fd, const char *part, const char *path,
		     const volatile sig_atomic_t *stopped, struct aif_err *err)
{
	int to = open(part, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	int r = to < 0 ? -errno : copy_all(fd, to, stopped);

	if (to < 0)
		return fail(path, r, err);
	if (close(to) < 0 && !r)
		r = -errno;
	if (r)
		r = fail(path, r, err);
	if (!r)
		r = aif_profile_move_away(path, err);
	if (!r && rename(part, path) < 0)
		r = fail(path, -errno, err);
	if (r)
		unlink(part);
	return r;
}

int aif_snapshot_save(int fd, const char *path, struct aif_err *err)
{
	const volatile sig_atomic_t *stopped;
	char part[4096];
	int r;

	if ((size_t)snprintf(part, sizeof(part), "%s.part%d", path, (int)getpid()) >= sizeof(part))
		return fail(path, -ENAMETOOLONG, err);
	stopped = aif_stop_begin();
	aif_scratch_put(aif_stop_scratch(), part);
	r = save_part(fd, part, path, stopped, err);
	aif_scratch_take(aif_stop_scratch(), part);
	aif_stop_end();
	return r;
}
