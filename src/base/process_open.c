/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process_open.h"

#include "base/bounded.h"
#include "base/mounts.h"
#include "base/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534

enum kind { PATH, MAPPED, EXE, DIRECTORY };

struct request {
	enum kind kind;
	int pid, flags;
	struct aif_rights rights;
	uint64_t lo, hi;
	int fd;
	char path[]; /* terminated */
};

/* Finds the home of a process, with 0 for what cannot be seen of it. False: it has none, as one that ends gives up its root
 * directory shortly before its namespaces. statx() asks the kernel's cache: a root directory on FUSE could keep a caller of
 * stat() waiting. */
static bool home_of(const char *process, struct aif_process_home *home)
{
	struct statx root;
	char path[64];
	struct stat st;

	*home = (struct aif_process_home){0};
	snprintf(path, sizeof(path), "/proc/%s/ns/mnt", process);
	if (stat(path, &st) == 0)
		home->mounts = st.st_ino;
	snprintf(path, sizeof(path), "/proc/%s/root", process);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &root) < 0)
		return errno != ENOENT && errno != ESRCH;
	home->device = (uint64_t)root.stx_dev_major << 32 | root.stx_dev_minor;
	home->inode = root.stx_ino;
	return true;
}

/* True if it can be seen, and is not ours. A root directory that cannot be looked at by who sees the namespace is not; one that a
 * process has no more says nothing. */
static bool is_other(const struct aif_process_home *theirs, bool has_root)
{
	struct aif_process_home ours;

	(void)home_of("self", &ours);
	return (has_root && theirs->mounts && !theirs->inode) ||
	       (ours.mounts && theirs->mounts && ours.mounts != theirs->mounts) ||
	       (ours.inode && theirs->inode &&
		(ours.device != theirs->device || ours.inode != theirs->inode));
}

static bool home_of_pid(int pid, struct aif_process_home *home)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", pid);
	return home_of(number, home);
}

bool aif_process_is_elsewhere(int pid)
{
	struct aif_process_home home;

	return is_other(&home, home_of_pid(pid, &home));
}

/* False: there is no such process any more. Of one that ends, its home is what was seen last. */
static bool see(struct aif_process_files *f)
{
	struct aif_process_home home;
	struct aif_rights now;

	if (aif_rights_of(f->pid, &now) < 0)
		return false;
	f->rights = now;
	if (!home_of_pid(f->pid, &home)) {
		f->is_elsewhere |= is_other(&home, false);
		return true;
	}
	f->is_known = true;
	f->home = home;
	f->is_elsewhere = is_other(&home, true);
	return true;
}

void aif_process_files_init(struct aif_process_files *f, int pid)
{
	*f = (struct aif_process_files){.pid = pid, .rights = {.uid = NOBODY, .gid = NOBODY}};
	(void)see(f);
}

static bool may(void *arg, int handle)
{
	return aif_mounts_allow_handle((int)(intptr_t)arg, handle);
}

static struct aif_open_guard guard_of(int pid)
{
	return (struct aif_open_guard){may, (void *)(intptr_t)pid, aif_mounts_any_users(pid)};
}

/* Opens with those rights, of this thread alone. */
static int open_path(int pid, int root, const char *path, int flags,
		     const struct aif_rights *rights)
{
	const struct aif_open_guard guard = guard_of(pid);
	struct aif_rights_before before;
	int fd = aif_rights_take(rights, &before);

	if (fd < 0)
		return fd;
	fd = aif_open_regular_in(root, path, flags, &guard);
	aif_rights_give_back(&before);
	return fd;
}

/* The same of a directory. */
static int open_dir(int pid, int root, const char *path, const struct aif_rights *rights)
{
	const struct aif_open_guard guard = guard_of(pid);
	struct aif_rights_before before;
	int fd = aif_rights_take(rights, &before);

	if (fd < 0)
		return fd;
	fd = aif_open_dir_in(root, path, &guard);
	aif_rights_give_back(&before);
	return fd;
}

/* Opens what a link of /proc leads to, which is nothing but the file; its directory may be closed to the process itself. */
static int open_link(const struct request *r)
{
	struct aif_rights_before before;
	char name[96];
	int handle, e;

	if (r->kind == EXE)
		snprintf(name, sizeof(name), "/proc/%d/exe", r->pid);
	else
		snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, r->pid,
			 r->lo, r->hi);
	handle = open(name, O_PATH | O_CLOEXEC);
	if (handle < 0)
		return -errno;
	e = aif_mounts_allow_handle(r->pid, handle) ? aif_rights_take(&r->rights, &before)
						    : AIF_MOUNTS_REFUSED;
	if (e < 0) {
		close(handle);
		return e;
	}
	handle = aif_open_handle(handle, O_RDONLY);
	aif_rights_give_back(&before);
	return handle;
}

static void run(void *arg, const atomic_bool *is_abandoned)
{
	struct request *r = arg;
	int root;

	(void)is_abandoned;
	if (r->kind == MAPPED || r->kind == EXE) {
		r->fd = open_link(r);
		return;
	}
	/* With our own rights: the process's may not lead there. */
	root = aif_open_root_of(r->pid);
	if (root < 0)
		r->fd = root;
	else if (r->kind == DIRECTORY)
		r->fd = open_dir(r->pid, root, r->path, &r->rights);
	else
		r->fd = open_path(r->pid, root, r->path, r->flags, &r->rights);
	if (root >= 0)
		close(root);
}

static void release(void *arg)
{
	struct request *r = arg;

	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

static int ask(const struct request *what, const char *path)
{
	static const struct aif_bounded call = {run, release};
	size_t len = strlen(path) + 1;
	struct request *r = malloc(sizeof(*r) + len);
	int fd;

	if (!r)
		return -ENOMEM;
	*r = *what;
	r->fd = -1;
	memcpy(r->path, path, len);
	fd = aif_bounded_call(&call, r, r->pid, false);
	if (fd < 0)
		return fd;
	fd = r->fd;
	free(r);
	return fd;
}

/* True if nothing can be said of its files by way of the process: it has ended, or this one may not look there. */
static bool is_out_of_reach(int error)
{
	return error == -ENOENT || error == -ESRCH || error == -EACCES || error == -EPERM;
}

int aif_process_open(struct aif_process_files *f, const char *path, int flags)
{
	struct request r = {.kind = PATH, .pid = f->pid, .flags = flags};
	bool lives = see(f);
	int fd = -ESRCH, root;

	r.rights = f->rights;
	if (*path != '/')
		return -ENOENT;
	if (lives)
		fd = ask(&r, path);
	if (fd >= 0 || !is_out_of_reach(fd))
		return fd;
	root = lives ? aif_open_root_of(f->pid) : -ESRCH;
	if (root >= 0) {
		close(root);
		return fd;
	}
	if (f->is_elsewhere)
		return -ESRCH;
	root = aif_open_root_of(getpid());
	if (root < 0)
		return root;
	fd = open_path(getpid(), root, path, flags, &f->rights);
	close(root);
	return fd;
}

int aif_process_open_mapped(struct aif_process_files *f, uint64_t lo, uint64_t hi)
{
	struct request r = {.kind = MAPPED, .pid = f->pid, .lo = lo, .hi = hi};

	if (!see(f))
		return -ESRCH;
	r.rights = f->rights;
	return ask(&r, "");
}

int aif_process_open_exe(struct aif_process_files *f)
{
	struct request r = {.kind = EXE, .pid = f->pid};

	if (!see(f))
		return -ESRCH;
	r.rights = f->rights;
	return ask(&r, "");
}

int aif_process_open_dir(int pid, const char *path)
{
	struct request r = {.kind = DIRECTORY, .pid = pid};
	int e = aif_rights_of(pid, &r.rights);

	if (e < 0)
		return e == -ENOENT ? -ESRCH : e;
	return *path == '/' ? ask(&r, path) : -ENOENT;
}
