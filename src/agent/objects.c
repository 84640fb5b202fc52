/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/objects.h"

#include "agent/agent.h"
#include "wire/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool write_all(int fd, const uint8_t *bytes, size_t n)
{
	while (n) {
		ssize_t r = write(fd, bytes, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		bytes += r;
		n -= (size_t)r;
	}
	return true;
}

/* Reserves n bytes of what may be left for the recorder. False: too many; smaller objects may still
 * fit. */
static bool take_room(size_t n)
{
	if (atomic_fetch_add(&aif_agent.objects_bytes, n) + n <= AIF_OBJECTS_MAX)
		return true;
	atomic_fetch_sub(&aif_agent.objects_bytes, n);
	return false;
}

/* Under a name that is this thread's, then under its own. Threads of two containers may have one number: then
 * they have two objects, or the same bytes. */
static bool keep_in(int dir, const char *name, const void *bytes, size_t n)
{
	char temporary[64];
	bool done;
	int fd;

	snprintf(temporary, sizeof(temporary), "%s.%ld" AIF_OBJECT_PART, name, syscall(SYS_gettid));
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	done = write_all(fd, bytes, n);
	close(fd);
	if (done && !renameat(dir, temporary, dir, name))
		return true;
	unlinkat(dir, temporary, 0);
	return false;
}

static int open_directory(void)
{
	struct aif_call call;
	char *path = call.path, *end;

	if (!aif_call_get(&aif_agent.session.met, &call))
		return -1;
	path[sizeof(call.path) - 1] = '\0';
	end = strrchr(path, '/');
	if (!end)
		return -1;
	*end = '\0';
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool aif_object_keep(uint64_t hash, const void *bytes, size_t n)
{
	char name[AIF_OBJECT_NAME_MAX];
	int saved = errno, dir;
	bool done = false;

	if (!hash || !n || n > AIF_OBJECT_MAX)
		return false;
	dir = open_directory();
	if (dir >= 0) {
		snprintf(name, sizeof(name), AIF_OBJECT_NAME, hash);
		done = !faccessat(dir, name, F_OK, 0);
		/* An object that is loaded again is there already. */
		if (!done && take_room(n)) {
			done = keep_in(dir, name, bytes, n);
			if (!done)
				atomic_fetch_sub(&aif_agent.objects_bytes, n);
		}
		close(dir);
	}
	errno = saved;
	return done;
}
