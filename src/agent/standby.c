/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/standby.h"

#include "agent/dir.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Cleaners of /tmp take what is days old. */
#define CHECK_EACH_NS (60 * AIF_NS_PER_S)
/* Flags for opening a path that others may have put there: it need not be a file, and opening a
 * pipe would wait for its other end. */
#define OPEN_HOSTILE (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

static int describe(struct aif_standby_page *page, enum aif_standby_level level,
		    const char *runtime)
{
	struct stat st;
	int r;

	*page = (struct aif_standby_page){.magic = AIF_STANDBY_MAGIC,
					  .wire_version = AIF_WIRE_VERSION,
					  .pid = (uint32_t)getpid(),
					  .level = level,
					  .version = AIF_VERSION};
	strncpy(page->runtime, runtime, sizeof(page->runtime) - 1);
	r = aif_standby_started("self", &page->started);
	if (r < 0)
		return r;
	r = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	if (r >= 0) {
		if (fstat(r, &st) == 0)
			page->pid_namespace = st.st_ino;
		close(r);
	}
	return 0;
}

/* Makes a new page. One that the process's last program left (exec) is replaced, not written to: a recorder may hold
 * it. */
static int page_new(int dir, const char *name)
{
	for (int try = 0; try < 2; try++) {
		int fd =
			openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd >= 0)
			return fd;
		if (errno != EEXIST || unlinkat(dir, name, 0) < 0)
			break;
	}
	return -errno;
}

/* Names that a process looks at as it starts: 1 us each. */
#define SWEEP_MAX 4096

/* Takes away the pages of processes that had no time to do so (_exit, kill -9): a program with a
 * thousand short workers would fill the directory. The recorder looks at those that are left (attach_dir.c). */
static void sweep(int dirfd, const struct aif_standby_page *own)
{
	struct aif_dir dir = {.fd = dirfd};
	const char *name;

	for (unsigned i = 0; i < SWEEP_MAX && (name = aif_dir_next(&dir)) != NULL; i++) {
		struct aif_standby_page page;
		char *end;

		page.pid = (uint32_t)strtoul(name, &end, 10);
		page.started = *end == '-' ? strtoull(end + 1, &end, 10) : 0;
		page.pid_namespace = *end == '-' ? strtoull(end + 1, &end, 10) : 0;
		if (page.pid && !strcmp(end, AIF_STANDBY_SUFFIX) &&
		    page.pid_namespace == own->pid_namespace && kill((pid_t)page.pid, 0) < 0 &&
		    errno == ESRCH)
			unlinkat(dirfd, name, 0);
	}
}

int aif_standby_show(struct aif_standby *s, const char *dir, enum aif_standby_level level,
		     const char *runtime)
{
	static const uint8_t rest[AIF_STANDBY_SIZE - sizeof(struct aif_standby_page)];
	struct aif_standby_page page;
	struct stat st;
	int dirfd, fd, r;
	void *at;

	*s = (struct aif_standby){.shown = false};
	r = describe(&page, level, runtime);
	if (r < 0)
		return r;
	dirfd = aif_standby_open(dir, geteuid(), true);
	if (dirfd < 0)
		return dirfd;
	sweep(dirfd, &page);
	aif_standby_name(&page, s->name);
	fd = page_new(dirfd, s->name);
	if (fd < 0) {
		r = fd;
		goto out;
	}
	/* Written whole before it is mapped: the page is there also on a file system that then fills. */
	if (pwrite(fd, rest, sizeof(rest), sizeof(page)) != (ssize_t)sizeof(rest) ||
	    pwrite(fd, &page, sizeof(page), 0) != (ssize_t)sizeof(page) || fstat(fd, &st) < 0) {
		r = -EIO;
		goto gone;
	}
	at = mmap(NULL, AIF_STANDBY_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		r = -errno;
		goto gone;
	}
	madvise(at, AIF_STANDBY_SIZE, MADV_DONTFORK);
	munlock(at, AIF_STANDBY_SIZE); /* after mlockall(MCL_FUTURE) */
	s->bell = (const uint32_t *)((const uint8_t *)at + offsetof(struct aif_standby_page, bell));
	s->inode = st.st_ino;
	s->owner = getpid();
	memcpy(s->runtime, page.runtime, sizeof(s->runtime));
	s->checked_ns = aif_now_ns();
	s->shown = true;
	goto close;
gone:
	unlinkat(dirfd, s->name, 0);
close:
	close(fd);
out:
	close(dirfd);
	return r;
}

static int page_open(const struct aif_standby *s, const char *dir, int access)
{
	int dirfd = aif_standby_open(dir, geteuid(), false), fd = -1;
	struct stat st;

	if (dirfd < 0)
		return dirfd;
	fd = openat(dirfd, s->name, OPEN_HOSTILE | access);
	close(dirfd);
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_ino != s->inode)) {
		close(fd);
		return -ENOENT;
	}
	return fd < 0 ? -errno : fd;
}

void aif_standby_hide(struct aif_standby *s, const char *dir)
{
	int dirfd;

	if (!s->shown || s->owner != getpid())
		return;
	dirfd = aif_standby_open(dir, geteuid(), false);
	if (dirfd < 0)
		return;
	unlinkat(dirfd, s->name, 0);
	close(dirfd);
}

static bool call_of(const struct aif_standby_call *from, const char *dir, struct aif_call *ret)
{
	struct aif_standby_call call = *from;
	int n;

	call.socket[sizeof(call.socket) - 1] = '\0';
	call.name[sizeof(call.name) - 1] = '\0';
	if (!*call.socket)
		return false;
	n = snprintf(ret->path, sizeof(ret->path), "%s/%s", dir, call.socket);
	memcpy(ret->token, call.token, sizeof(ret->token));
	memcpy(ret->name, call.name, sizeof(ret->name));
	return n > 0 && (size_t)n < sizeof(ret->path);
}

/* `name`: of a recording's directory. */
static bool read_recording(int dirfd, const char *dir, const char *name, struct aif_call *ret)
{
	struct aif_standby_recording about;
	char path[64];
	ssize_t n;
	int fd;

	if (snprintf(path, sizeof(path), "%s/about", name) >= (int)sizeof(path))
		return false;
	fd = openat(dirfd, path, OPEN_HOSTILE);
	if (fd < 0)
		return false;
	n = read(fd, &about, sizeof(about));
	close(fd);
	return n == (ssize_t)sizeof(about) && about.magic == AIF_STANDBY_MAGIC &&
	       about.wire_version == AIF_WIRE_VERSION && about.wants != AIF_WANTS_NONE &&
	       call_of(&about.call, dir, ret);
}

bool aif_standby_asked(const char *dir, unsigned i, struct aif_call *ret)
{
	struct aif_dir names = {.fd = aif_standby_open(dir, geteuid(), false)};
	bool found = false;
	unsigned at_i = 0;
	const char *name;

	if (names.fd < 0)
		return false;
	while (!found && (name = aif_dir_next(&names)) != NULL)
		if (!strncmp(name, AIF_STANDBY_RECORDING, sizeof(AIF_STANDBY_RECORDING) - 1) &&
		    read_recording(names.fd, dir, name, ret))
			found = at_i++ == i;
	close(names.fd);
	return found;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / AIF_NS_PER_S),
				 .tv_nsec = (long)(ns % AIF_NS_PER_S)};
}

void aif_standby_sleep(uint64_t ns)
{
	static const uint32_t never_changes;
	struct timespec time = timespec_of(ns);

	if (syscall(SYS_futex, &never_changes, FUTEX_WAIT, 0, &time, NULL, 0) < 0 &&
	    errno != ETIMEDOUT && errno != EINTR)
		nanosleep(&time, NULL); /* a sandbox that knows no futexes */
}

bool aif_standby_wait(struct aif_standby *s, uint64_t ns)
{
	struct timespec time = timespec_of(ns);

	if (s->shown) {
		if (syscall(SYS_futex, s->bell, FUTEX_WAIT, s->answered, &time, NULL, 0) == 0)
			return true; /* or somebody else's mistake, which answering finds out */
		if (errno == EAGAIN)
			return true;
		if (errno == ETIMEDOUT || errno == EINTR)
			return false;
		s->shown = false; /* somebody has cut the file short */
	}
	nanosleep(&time, NULL);
	return false;
}

bool aif_standby_has_rung(struct aif_standby *s)
{
	return s->shown && aif_standby_wait(s, 0);
}

bool aif_standby_answer(struct aif_standby *s, const char *dir, struct aif_call *ret)
{
	struct aif_standby_page page;
	int fd = page_open(s, dir, O_RDONLY);
	ssize_t n;
	bool rung;

	n = fd < 0 ? 0 : pread(fd, &page, sizeof(page), 0);
	if (fd >= 0)
		close(fd);
	if (n != (ssize_t)sizeof(page)) {
		/* Gone or cut short. It still rings: only a page of our own makes it stop. */
		s->shown = false;
		return false;
	}
	rung = page.bell != s->answered;
	s->answered = page.bell;
	return rung && page.recorder && call_of(&page.call, dir, ret);
}

/* Names the runtime in the page: into a process that was not prepared the agent comes before it. */
static void name_runtime(struct aif_standby *s, const char *dir, const char *runtime)
{
	int fd;

	if (!s->shown || s->owner != getpid() ||
	    !strncmp(s->runtime, runtime, sizeof(s->runtime) - 1))
		return;
	memset(s->runtime, 0, sizeof(s->runtime));
	strncpy(s->runtime, runtime, sizeof(s->runtime) - 1);
	fd = page_open(s, dir, O_RDWR);
	if (fd < 0)
		return;
	/* For people: who cannot read it there does without. */
	if (pwrite(fd, s->runtime, sizeof(s->runtime), offsetof(struct aif_standby_page, runtime)) <
	    0)
		errno = 0;
	close(fd);
}

void aif_standby_check(struct aif_standby *s, const char *dir, enum aif_standby_level level,
		       const char *runtime, uint64_t now)
{
	const struct aif_standby old = *s;
	int fd;

	name_runtime(s, dir, runtime);
	if (now - s->checked_ns < CHECK_EACH_NS)
		return;
	s->checked_ns = now;
	fd = s->shown ? page_open(s, dir, O_RDONLY) : -ENOENT;
	if (fd >= 0) {
		close(fd);
		return;
	}
	if (old.bell)
		munmap((void *)((uintptr_t)old.bell & ~(uintptr_t)(AIF_STANDBY_SIZE - 1)),
		       AIF_STANDBY_SIZE);
	if (aif_standby_show(s, dir, level, runtime) < 0)
		s->checked_ns = now;
}
