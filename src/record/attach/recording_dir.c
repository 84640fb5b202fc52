/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach/recording_dir.h"

#include "base/open_regular.h"
#include "record/attach/attach_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Names that are tried: one is taken only if its owner foresees it. */
#define TRIES   8
#define BACKLOG 512

static int make_named(struct aif_recording_dir *r, int dir)
{
	uint32_t random;

	for (unsigned try = 0; try < TRIES; try++) {
		if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -errno;
		snprintf(r->name, sizeof(r->name), AIF_STANDBY_RECORDING "%06" PRIx32,
			 random & UINT32_C(0xffffff));
		if (mkdirat(dir, r->name, 0700) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	*r->name = '\0';
	return -errno;
}

/* Opens it; its owner may have put another directory in its place meanwhile, which is as good, or a link, which is not. */
static int open_made(struct aif_recording_dir *r, int dir, uid_t owner)
{
	struct stat st;

	r->fd = aif_open_beside(dir, r->name, O_RDONLY | O_DIRECTORY);
	if (r->fd < 0)
		return r->fd;
	if (fstat(r->fd, &st) < 0)
		return -errno;
	return st.st_uid == owner ? 0 : -EPERM;
}

/* A name that is there, a link too, is an error of bind(). */
static int listen_in(struct aif_recording_dir *r, const char *dir)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/agent", dir);
	r->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (r->sock < 0 || bind(r->sock, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(r->sock, BACKLOG) < 0)
		return -errno;
	return 0;
}

int aif_recording_dir_make(struct aif_recording_dir *ret, int dir, uid_t owner)
{
	char path[32];
	int r;

	*ret = (struct aif_recording_dir){.fd = -1, .sock = -1};
	r = make_named(ret, dir);
	if (!r)
		r = open_made(ret, dir, owner);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ret->fd);
	if (!r)
		r = listen_in(ret, path);
	if (r < 0)
		aif_recording_dir_finish(ret, dir);
	return r;
}

int aif_recording_dir_make_elsewhere(struct aif_recording_dir *ret, char *dir, size_t size)
{
	const char *bases[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	int r = -ENOENT;

	*ret = (struct aif_recording_dir){.fd = -1, .sock = -1};
	for (size_t i = 0; i < AIF_ARRAY_LEN(bases); i++) {
		/* A socket's path has at most 107 characters. */
		if (!bases[i] || bases[i][0] != '/' || strlen(bases[i]) > 60)
			continue;
		snprintf(dir, size, "%s/aiflame-XXXXXX", bases[i]);
		r = mkdtemp(dir) ? 0 : -errno;
		if (r < 0)
			continue;
		r = listen_in(ret, dir);
		if (r == 0)
			return 0;
		aif_recording_dir_finish(ret, -1);
		aif_standby_remove(AT_FDCWD, dir);
		break;
	}
	*dir = '\0';
	return r;
}

void aif_recording_dir_finish(struct aif_recording_dir *r, int dir)
{
	if (r->sock >= 0)
		close(r->sock);
	if (r->fd >= 0) {
		aif_standby_empty(r->fd);
		close(r->fd);
	}
	if (*r->name)
		unlinkat(dir, r->name, AT_REMOVEDIR);
	*r = (struct aif_recording_dir){.fd = -1, .sock = -1};
}
