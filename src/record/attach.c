/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach.h"

#include "base/clock.h"
#include "record/attach_dir.h"
#include "record/proc.h"
#include "record/welcome.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How soon a process is found that did not find us by itself: one whose runtime has started before. */
#define LOOK_EACH_NS (AIF_NS_PER_S / 5)
/* An agent answers within milliseconds, unless its machine is very busy. */
#define RING_AGAIN_NS (3 * AIF_NS_PER_S)
#define LOCK_TRIES    20
#define LOCK_PAUSE_NS 2000000
/* Generations of processes between one that was named and its descendant. */
#define DEPTH_MAX 64

/* ---- who is to be recorded ------------------------------------------------------------------- */

static int parent_of(int pid)
{
	uint64_t start;
	int parent;

	return aif_proc_stat(pid, &parent, &start) ? parent : 0;
}

static bool has_met(const struct aif_attach *a, int pid)
{
	uint64_t value;

	return aif_map_get(&a->met, (uint64_t)pid, &value);
}

bool aif_attach_wished(const struct aif_attach *a, int pid)
{
	for (unsigned i = 0; i < a->wishes; i++)
		if (a->wish[i].pid == pid && !a->wish[i].ended)
			return true;
	return false;
}

bool aif_attach_wanted(const struct aif_attach *a, int pid, bool after_fork)
{
	/* Its parent was recorded: how else would it know of us? */
	if (a->wants != AIF_WANTS_SOME || after_fork)
		return true;
	for (int depth = 0; pid > 1 && depth < DEPTH_MAX; depth++, pid = parent_of(pid))
		if (aif_attach_wished(a, pid) || has_met(a, pid))
			return true;
	return false;
}

/* Why its memory map or its environment cannot be read, and what helps. */
static int say_unreadable(int pid, int error, struct aif_err *err)
{
	const char *help = "see ps -e";

	if (aif_proc_has_ended(pid))
		return aif_err_set(err, -ESRCH, "process %d: has ended; see ps -e", pid);
	if (error == -EACCES || error == -EPERM)
		help = geteuid() ? "it has rights that this command has not: record as root, with "
				   "CAP_SYS_PTRACE"
				 : "not by this root: CAP_SYS_PTRACE is missing, or the process is "
				   "protected";
	return aif_err_set(err, error, "process %d: its memory map cannot be read: %s; %s", pid,
			   strerror(-error), help);
}

static int wish_add(struct aif_attach *a, int pid)
{
	a->wish[a->wishes].pid = a->pids[a->wishes] = pid;
	a->wish[a->wishes++].pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return 0;
}

/* with_ebpf: one without the agent will do. */
static int check_wish(struct aif_attach *a, int pid, bool with_ebpf, struct aif_err *err)
{
	char standby[AIF_STANDBY_DIR_MAX], path[AIF_STANDBY_DIR_MAX + 32], socket[256];
	struct aif_standby_maps maps = {.has_agent = false};
	struct stat st, first;
	int r, dir;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st) < 0)
		return aif_err_set(err, -ESRCH, "process %d: there is none; see ps -e", pid);
	if (st.st_uid != geteuid() && geteuid() != 0)
		return aif_err_set(err, -EPERM,
				   "process %d: belongs to user %u; record as that user or as root",
				   pid, (unsigned)st.st_uid);
	r = aif_standby_maps(pid, 0, &maps);
	/* Of one that has ended the map is empty, or cannot be read. */
	if (r < 0 || (!maps.has_agent && aif_proc_has_ended(pid)))
		return say_unreadable(pid, r, err);
	if (!maps.has_agent && with_ebpf) {
		a->wish[a->wishes].no_agent = true;
		return wish_add(a, pid);
	}
	if (!maps.has_agent)
		return aif_err_set(err, -ENOENT,
				   "process %d: does not carry the agent; start it with the "
				   "variables that `aiflame env` prints, or add --ebpf",
				   pid);
	r = aif_standby_environment(pid, AIF_ENV_STANDBY, standby, sizeof(standby));
	/* A server that has written its title over its arguments may have no environment left. */
	if ((r == -ENOENT || r == -EAGAIN) && *maps.dir) {
		memcpy(standby, maps.dir, sizeof(standby));
		r = 0;
	}
	if (r < 0 && ((r != -ENOENT && r != -EAGAIN) || aif_proc_has_ended(pid)))
		return say_unreadable(pid, r, err);
	if (r < 0 && aif_standby_environment(pid, AIF_ENV_SOCKET, socket, sizeof(socket)) < 0)
		return aif_err_set(
			err, r,
			"process %d: carries the agent, but its environment does not say "
			"where it is on standby; start it with the variables that `aiflame "
			"env` prints, or, if a title was written over them, record with -a",
			pid);
	if (r < 0)
		return aif_err_set(
			err, r,
			"process %d: carries the agent but is not on standby: a recorder "
			"has started it; start it with the variables that `aiflame env` "
			"prints",
			pid);
	/* As the process sees it, which may be in a container. */
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, standby);
	dir = aif_standby_open(path, st.st_uid, st.st_uid == geteuid());
	if (dir < 0)
		return aif_err_set(err, dir,
				   "process %d: %s: %s; it must be a directory of the user's, with "
				   "mode 0700",
				   pid, standby, strerror(-dir));
	if (a->dir < 0) {
		a->dir = dir;
		a->owner = st.st_uid;
		snprintf(a->path, sizeof(a->path), "/proc/self/fd/%d", dir);
		snprintf(a->shown, sizeof(a->shown), "%s", standby);
	} else {
		r = fstat(dir, &st) < 0 || fstat(a->dir, &first) < 0 || st.st_dev != first.st_dev ||
				    st.st_ino != first.st_ino
			    ? -EXDEV
			    : 0;
		close(dir);
		if (r < 0)
			return aif_err_set(err, r,
					   "process %d: its standby directory %s is not that of "
					   "the others; record it apart",
					   pid, standby);
	}
	return wish_add(a, pid);
}

static bool has_ended(struct aif_attach_wish *w)
{
	struct pollfd pfd = {.fd = w->pidfd, .events = POLLIN};
	char path[64];

	if (!w->ended) {
		snprintf(path, sizeof(path), "/proc/%d", w->pid);
		w->ended = w->pidfd >= 0 ? poll(&pfd, 1, 0) == 1 : access(path, F_OK) < 0;
	}
	return w->ended;
}

bool aif_attach_over(struct aif_attach *a)
{
	for (unsigned i = 0; i < a->wishes; i++)
		if (!has_ended(&a->wish[i]))
			return false;
	return a->wants == AIF_WANTS_SOME;
}

int aif_attach_awaited(struct aif_attach *a)
{
	for (unsigned i = 0; i < a->wishes; i++) {
		struct aif_attach_wish *w = &a->wish[i];
		bool has_page = false;

		for (size_t k = 0; k < a->pages; k++)
			has_page |= a->page[k].pid == w->pid;
		if (!has_page && !w->was_told && !w->no_agent && !has_ended(w)) {
			w->was_told = true;
			return w->pid;
		}
	}
	return 0;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static bool is_held(const struct aif_attach *a, ino_t inode)
{
	for (size_t i = 0; i < a->pages; i++)
		if (a->page[i].inode == inode)
			return true;
	return false;
}

/* Wakes the agent. The mapping is only named to the kernel: who cuts the file short makes that fail. */
static void ring(struct aif_attach *a, struct aif_attach_page *p, uint64_t now)
{
	const off_t at = offsetof(struct aif_standby_page, recorder);
	uint32_t recorder = (uint32_t)getpid(), bell;
	uint8_t *map;

	p->rung_ns = now;
	if (pread(p->fd, &bell, sizeof(bell), offsetof(struct aif_standby_page, bell)) !=
		    (ssize_t)sizeof(bell) ||
	    pwrite(p->fd, &a->call, sizeof(a->call), offsetof(struct aif_standby_page, call)) < 0 ||
	    pwrite(p->fd, &recorder, sizeof(recorder), at) < 0)
		return;
	if (p->met)
		return; /* only said who records it */
	bell++;
	if (pwrite(p->fd, &bell, sizeof(bell), offsetof(struct aif_standby_page, bell)) < 0)
		return;
	map = mmap(NULL, AIF_STANDBY_SIZE, PROT_READ, MAP_SHARED, p->fd, 0);
	if (map == MAP_FAILED)
		return;
	syscall(SYS_futex, map + offsetof(struct aif_standby_page, bell), FUTEX_WAKE, INT_MAX, NULL,
		NULL, 0);
	munmap(map, AIF_STANDBY_SIZE);
}

static void let_go(struct aif_attach_page *p)
{
	uint32_t nobody = 0;

	/* What cannot be written is found to be nobody's by its lock. */
	if (pwrite(p->fd, &nobody, sizeof(nobody), offsetof(struct aif_standby_page, recorder)) < 0)
		errno = 0;
	close(p->fd);
}

static bool say_once(struct aif_attach *a, ino_t inode)
{
	uint64_t value;

	return !aif_map_get(&a->refused, inode, &value) && aif_map_put(&a->refused, inode, 1) == 0;
}

/* `ctl` and other recorders hold a lock for microseconds, to see whether it can be had. */
static bool take_lock(int fd, int tries)
{
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (--tries <= 0)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
	}
	return true;
}

static void say_busy(struct aif_attach *a, const struct aif_standby_entry *e)
{
	struct aif_buf name = {0};

	aif_buf_shell(&name, e->page.call.name);
	snprintf(a->busy, sizeof(a->busy),
		 "process %d: is being recorded by %s (process %" PRIu32
		 "); end that first: aiflame ctl stop %s",
		 e->pid, e->page.call.name, e->page.recorder, aif_buf_str(&name));
	aif_buf_finish(&name);
}

/* Is there a lock to be had, and do we want it? */
static bool visit(void *arg, struct aif_standby_entry *e)
{
	struct aif_attach *a = arg;
	bool met = e->pid && has_met(a, e->pid), wished = e->pid && aif_attach_wished(a, e->pid);
	struct aif_attach_page *more;

	if (e->uid != a->owner || is_held(a, e->inode))
		return true;
	if (!met &&
	    (a->wants == AIF_WANTS_NONE ||
	     (a->wants == AIF_WANTS_SOME && !(e->pid && aif_attach_wanted(a, e->pid, false)))))
		return true;
	if (e->page.wire_version != AIF_WIRE_VERSION) {
		if (say_once(a, e->inode))
			a->old_agents++;
		if (wished)
			snprintf(a->busy, sizeof(a->busy),
				 "process %d: carries the agent of another version (%s, this is "
				 "%s); start it with this one's",
				 e->pid, e->page.version, AIF_VERSION);
		return true;
	}
	/* Others are looked at again soon, and there may be many that are recorded already. */
	if (!take_lock(e->fd, wished ? LOCK_TRIES : 1)) {
		if (wished)
			say_busy(a, e);
		return true;
	}
	if (a->pages == a->cap) {
		more = realloc(a->page, (a->cap * 2 + 16) * sizeof(*more));
		if (!more)
			return false;
		a->page = more;
		a->cap = a->cap * 2 + 16;
	}
	a->page[a->pages] =
		(struct aif_attach_page){.fd = e->fd, .pid = e->pid, .inode = e->inode, .met = met};
	memcpy(a->page[a->pages++].name, e->name, sizeof(e->name));
	e->fd = -1;
	return true;
}

static bool wish_has_ended(struct aif_attach *a, int pid)
{
	for (unsigned i = 0; i < a->wishes; i++)
		if (a->wish[i].pid == pid)
			return has_ended(&a->wish[i]);
	return false;
}

/* The end of a process that could not take its page away, and of one that could. */
static bool is_over(struct aif_attach *a, struct aif_attach_page *p)
{
	char pid[16];
	uint64_t started;
	struct stat st;

	if (fstat(p->fd, &st) < 0 || !st.st_nlink)
		return true;
	if (!p->pid)
		return false;
	snprintf(pid, sizeof(pid), "%d", p->pid);
	/* One that its parent has not waited for yet is still to be seen in /proc. */
	if (!wish_has_ended(a, p->pid) && aif_standby_started(pid, &started) == 0)
		return false;
	unlinkat(a->dir, p->name, 0);
	return true;
}

static void look(struct aif_attach *a, uint64_t now)
{
	a->looked_ns = now;
	for (size_t i = 0; i < a->pages;) {
		if (is_over(a, &a->page[i])) {
			let_go(&a->page[i]);
			a->page[i] = a->page[--a->pages];
		} else {
			i++;
		}
	}
	a->busy[0] = '\0';
	aif_standby_pages(a->dir, a->pids, visit, a);
	for (size_t i = 0; a->about >= 0 && i < a->pages; i++) {
		struct aif_attach_page *p = &a->page[i];

		if (!p->rung_ns || (!p->met && now - p->rung_ns >= RING_AGAIN_NS))
			ring(a, p, now);
	}
}

void aif_attach_look(struct aif_attach *a, uint64_t now)
{
	if (a->dir >= 0 && a->wants != AIF_WANTS_NONE && now - a->looked_ns >= LOOK_EACH_NS)
		look(a, now);
}

void aif_attach_met(struct aif_attach *a, int pid)
{
	bool known = false;

	aif_map_put(&a->met, (uint64_t)pid, 1);
	for (size_t i = 0; i < a->pages; i++)
		if (a->page[i].pid == pid)
			a->page[i].met = known = true;
	/* It has found us, or we have started it: its page is ours, too, before another takes it. */
	if (!known && a->dir >= 0)
		look(a, aif_now_ns());
}

/* ---- the recording --------------------------------------------------------------------------- */

int aif_attach_as_owner(const struct aif_attach *a)
{
	setfsuid(a->owner);
	if ((uid_t)setfsuid((uid_t)-1) == a->owner) /* which changes nothing, and says what it is */
		return 0;
	aif_attach_as_ourselves();
	return -EPERM;
}

void aif_attach_as_ourselves(void)
{
	setfsuid(geteuid());
}

static bool remove_ended(void *arg, const struct aif_standby_found *found)
{
	if (found->has_ended)
		aif_standby_remove(*(int *)arg, found->name);
	return true;
}

int aif_attach_open(struct aif_attach *a, const struct aif_record_opts *opts, struct aif_err *err)
{
	int r = 0;

	*a = (struct aif_attach){.dir = -1, .about = -1, .owner = geteuid()};
	a->wants = opts->all_processes ? AIF_WANTS_ALL
		   : opts->pids[0]     ? AIF_WANTS_SOME
				       : AIF_WANTS_NONE;
	for (unsigned i = 0; !r && i < AIF_RECORD_PIDS && opts->pids[i]; i++)
		r = check_wish(a, atoi(opts->pids[i]), opts->ebpf, err);
	if (r < 0)
		return r;
	if (a->dir < 0) {
		aif_standby_default(a->shown);
		snprintf(a->path, sizeof(a->path), "%s", a->shown);
		a->dir = aif_standby_open(a->path, a->owner, true);
		/* Without it a command can still be recorded, only not controlled. */
		if (a->dir < 0 && a->wants != AIF_WANTS_NONE)
			return aif_err_set(
				err, a->dir,
				"%s: %s; it must be a directory of yours with mode 0700, "
				"or set " AIF_ENV_STANDBY " to another",
				a->path, strerror(-a->dir));
		if (a->dir < 0)
			return 0;
	}
	if (aif_attach_as_owner(a) == 0)
		aif_standby_recordings(a->dir, remove_ended, &a->dir);
	aif_attach_as_ourselves();
	if (a->wants == AIF_WANTS_SOME) {
		look(a, aif_now_ns());
		if (a->busy[0])
			return aif_err_set(err, -EBUSY, "%s", a->busy);
	}
	return 0;
}

int aif_attach_announce(struct aif_attach *a, const struct aif_welcome_desk *desk,
			const struct aif_record_opts *opts, const char *output)
{
	const char *base = strrchr(output, '/') ? strrchr(output, '/') + 1 : output;
	struct aif_standby_recording about = {
		.magic = AIF_STANDBY_MAGIC,
		.wire_version = AIF_WIRE_VERSION,
		.pid = (uint32_t)getpid(),
		.wants = a->wants,
		.state = opts->delay_ns ? AIF_STATE_HELD : AIF_STATE_RUN,
		.started_realtime_ns = aif_clock_ns(CLOCK_REALTIME),
	};
	char path[192], new[192];
	int r;

	if (a->dir < 0 || !desk->in_standby)
		return 0;
	snprintf(about.call.socket, sizeof(about.call.socket), "%s", strrchr(desk->dir, '/') + 1);
	strncat(about.call.socket, "/agent",
		sizeof(about.call.socket) - strlen(about.call.socket) - 1);
	memcpy(about.call.token, desk->token, sizeof(about.call.token));
	snprintf(about.call.name, sizeof(about.call.name), "%s", opts->name ? opts->name : base);
	snprintf(about.output, sizeof(about.output), "%s", output);
	for (char *const *w = opts->argv; w && *w; w++) {
		size_t len = strlen(about.command);

		snprintf(about.command + len, sizeof(about.command) - len, "%s%s", len ? " " : "",
			 *w);
	}
	a->call = about.call;
	/* Under another name until it is locked and whole: who finds it finds us alive. */
	snprintf(new, sizeof(new), "%s/" AIF_STANDBY_ABOUT_NEW, desk->dir);
	snprintf(path, sizeof(path), "%s/" AIF_STANDBY_ABOUT, desk->dir);
	r = aif_attach_as_owner(a);
	if (r < 0)
		return r;
	a->about = open(new, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	r = a->about < 0 ? -errno : 0;
	if (!r && (!take_lock(a->about, LOCK_TRIES) ||
		   pwrite(a->about, &about, sizeof(about), 0) != (ssize_t)sizeof(about) ||
		   rename(new, path) < 0)) {
		r = errno ? -errno : -EIO;
		close(a->about);
		unlink(new);
		a->about = -1;
	}
	aif_attach_as_ourselves();
	a->looked_ns = 0;
	return r;
}

void aif_attach_state(struct aif_attach *a, enum aif_standby_state state)
{
	uint32_t value = state;

	if (a->about >= 0 && pwrite(a->about, &value, sizeof(value),
				    offsetof(struct aif_standby_recording, state)) < 0)
		errno = 0; /* then it cannot be seen */
}

void aif_attach_close(struct aif_attach *a)
{
	/* Often the end of a process is that of the recording, and comes between two looks. */
	for (size_t i = 0; i < a->pages; i++) {
		(void)is_over(a, &a->page[i]);
		let_go(&a->page[i]);
	}
	for (unsigned i = 0; i < a->wishes; i++)
		if (a->wish[i].pidfd >= 0)
			close(a->wish[i].pidfd);
	free(a->page);
	aif_map_finish(&a->met);
	aif_map_finish(&a->refused);
	if (a->about >= 0)
		close(a->about);
	if (a->dir >= 0)
		close(a->dir);
	*a = (struct aif_attach){.dir = -1, .about = -1};
}
