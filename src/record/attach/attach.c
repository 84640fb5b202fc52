/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach/attach.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/process.h"
#include "base/process_open.h"
#include "record/attach/attach_dir.h"

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

/* Interval of looks for processes that do not find us by themselves: those whose runtime has started before. */
#define LOOK_EACH_NS (AIF_NS_PER_S / 5)
/* A look that takes more CPU time than LOOK_QUICK_NS, since the directory's owner has filled it, is followed by LOOK_SHARE times
 * as long without one. */
#define LOOK_SHARE    20
#define LOOK_QUICK_NS (AIF_NS_PER_S / 50)
/* An agent answers within milliseconds, unless its machine is very busy. */
#define RING_AGAIN_NS (3 * AIF_NS_PER_S)
#define LOCK_TRIES    20
#define LOCK_PAUSE_NS 2000000
/* Generations of processes between one that was named and its descendant. */
#define DEPTH_MAX 64
/* Pages of another user's directory that are held: each is a descriptor. */
#define FOREIGN_PAGES_MAX 512
/* Time that such a page is waited for when somebody asks whether all have joined. */
#define FOREIGN_JOIN_NS (10 * AIF_NS_PER_S)
/* A look at a directory of theirs takes no longer. */
#define FOREIGN_LOOK_NS (AIF_NS_PER_S / 50)

/* ---- who is to be recorded ------------------------------------------------------------------- */

static int parent_of(int pid)
{
	uint64_t start;
	int parent;

	return aif_proc_stat(pid, &parent, &start) ? parent : 0;
}

static bool has_joined(const struct aif_attach *a, int pid)
{
	uint64_t value;

	return aif_map_get(&a->joined, (uint64_t)pid, &value) && value;
}

bool aif_attach_is_requested(const struct aif_attach *a, int pid)
{
	for (unsigned i = 0; i < a->requests; i++)
		if (a->request[i].pid == pid && !a->request[i].ended)
			return true;
	return false;
}

bool aif_attach_accepts(const struct aif_attach *a, int pid, bool after_fork)
{
	/* A process after fork() knows of us from its parent, which was recorded. */
	if (a->wants != AIF_WANTS_SOME || after_fork)
		return true;
	for (int depth = 0; pid > 0 && depth < DEPTH_MAX; depth++, pid = parent_of(pid))
		if (aif_attach_is_requested(a, pid) || has_joined(a, pid))
			return true;
	return false;
}

bool aif_attach_has_ended(struct aif_attach_request *w)
{
	struct pollfd pfd = {.fd = w->pidfd, .events = POLLIN};
	char path[64];

	if (!w->ended) {
		snprintf(path, sizeof(path), "/proc/%d", w->pid);
		w->ended = w->pidfd >= 0 ? poll(&pfd, 1, 0) == 1 : access(path, F_OK) < 0;
	}
	return w->ended;
}

bool aif_attach_all_ended(struct aif_attach *a)
{
	for (unsigned i = 0; i < a->requests; i++)
		if (!aif_attach_has_ended(&a->request[i]))
			return false;
	return a->wants == AIF_WANTS_SOME;
}

int aif_attach_injected(struct aif_attach *a, struct aif_inject_times *ret_times)
{
	for (unsigned i = 0; i < a->requests; i++) {
		struct aif_attach_request *w = &a->request[i];

		if (w->times.stops) {
			*ret_times = w->times;
			w->times.stops = 0;
			return w->pid;
		}
	}
	return 0;
}

int aif_attach_late(struct aif_attach *a)
{
	for (unsigned i = 0; i < a->requests; i++)
		if (a->request[i].is_late) {
			a->request[i].is_late = false;
			return a->request[i].pid;
		}
	return 0;
}

int aif_attach_awaited(struct aif_attach *a)
{
	for (unsigned i = 0; i < a->requests; i++) {
		struct aif_attach_request *w = &a->request[i];
		bool has_page = false;

		for (size_t k = 0; k < a->pages; k++)
			has_page |= a->page[k].pid == w->pid;
		if (!has_page && !w->was_announced && !w->no_agent && !aif_attach_has_ended(w)) {
			w->was_announced = true;
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

/* Wakes the agent. The mapping is only an address for the OS kernel: if the target cuts the file short, the wake fails. */
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
	if (p->joined)
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

static void let_go(struct aif_attach *a, struct aif_attach_page *p)
{
	uint32_t nobody = 0;

	if (a->held)
		aif_fair_shares_give(a->held, a->owner);
	/* A page that cannot be written is free all the same: its lock is released. */
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
		 "), which may be completing its profile; wait, or end it: aiflame ctl stop %s",
		 e->pid, e->page.call.name, e->page.recorder, aif_buf_str(&name));
	aif_buf_finish(&name);
}

/* Takes the page's lock if its process is to be recorded and nobody else records it. */
static bool visit(void *arg, struct aif_standby_entry *e)
{
	struct aif_attach *a = arg;
	bool joined = e->pid && has_joined(a, e->pid),
	     wished = e->pid && aif_attach_is_requested(a, e->pid);

	if (e->uid != a->owner || is_held(a, e->inode))
		return true;
	if (!joined &&
	    (a->wants == AIF_WANTS_NONE ||
	     (a->wants == AIF_WANTS_SOME && !(e->pid && aif_attach_accepts(a, e->pid, false)))))
		return true;
	if (e->page.wire_version != AIF_WIRE_VERSION) {
		if (say_once(a, e->inode))
			a->old_agents++;
		if (wished)
			snprintf(a->busy, sizeof(a->busy),
				 "process %d: carries the agent of another version (%s, this "
				 "is %s); restart it with this version's",
				 e->pid, e->page.version, AIF_VERSION);
		return true;
	}
	/* Only a page that is asked for is worth several tries: others are looked at again soon,
	 * and many may be recorded already. */
	if (!take_lock(e->fd, wished ? LOCK_TRIES : 1)) {
		if (wished)
			say_busy(a, e);
		return true;
	}
	if ((a->sharers && a->pages >= FOREIGN_PAGES_MAX) ||
	    aif_grow(&a->page, &a->cap, a->pages + 1, sizeof(*a->page)) < 0 ||
	    (a->held && !aif_fair_shares_take(a->held, a->owner)))
		return false;
	a->page[a->pages] = (struct aif_attach_page){.fd = e->fd,
						     .pid = e->pid,
						     .inode = e->inode,
						     .found_ns = aif_now_ns(),
						     .joined = joined};
	memcpy(a->page[a->pages++].name, e->name, sizeof(e->name));
	e->fd = -1;
	return true;
}

static bool request_has_ended(struct aif_attach *a, int pid)
{
	for (unsigned i = 0; i < a->requests; i++)
		if (a->request[i].pid == pid)
			return aif_attach_has_ended(&a->request[i]);
	return false;
}

/* True if the page's process has ended, whether it has taken its page away or could not. */
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
	/* A process that its parent has not waited for yet is still in /proc. */
	if (!request_has_ended(a, p->pid) && aif_standby_started(pid, &started) == 0)
		return false;
	unlinkat(a->dir, p->name, 0);
	return true;
}

/* True if looks have had their share of the time. */
static bool is_dear(const struct aif_attach *a, uint64_t now)
{
	const unsigned n = 1 + a->sharers;

	return a->look_ns > LOOK_QUICK_NS / n && now - a->looked_ns < LOOK_SHARE * n * a->look_ns;
}

static void look(struct aif_attach *a, uint64_t now)
{
	uint64_t cpu = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	a->looked_ns = now;
	for (size_t i = 0; i < a->pages;) {
		if (is_over(a, &a->page[i])) {
			let_go(a, &a->page[i]);
			a->page[i] = a->page[--a->pages];
		} else {
			i++;
		}
	}
	a->busy[0] = '\0';
	aif_standby_pages(a->dir, a->pids, a->sharers ? now + FOREIGN_LOOK_NS : 0, visit, a);
	for (size_t i = 0; a->about >= 0 && i < a->pages; i++) {
		struct aif_attach_page *p = &a->page[i];

		if (!p->rung_ns || (!p->joined && now - p->rung_ns >= RING_AGAIN_NS))
			ring(a, p, now);
	}
	a->look_ns = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

void aif_attach_look(struct aif_attach *a, uint64_t now)
{
	if (a->dir < 0 || a->wants == AIF_WANTS_NONE || now - a->looked_ns < LOOK_EACH_NS ||
	    is_dear(a, now))
		return;
	look(a, now);
	if (a->joins)
		aif_joins_look(a->joins, now);
	for (unsigned i = 0; i < a->requests; i++)
		aif_became_look(a, &a->request[i], now);
}

void aif_attach_joined(struct aif_attach *a, int pid)
{
	bool known = false;

	aif_map_put(&a->joined, (uint64_t)pid, 1);
	for (size_t i = 0; i < a->pages; i++)
		if (a->page[i].pid == pid)
			a->page[i].joined = known = true;
	/* The page of a process that has found us, or that we have started, is taken before another recorder takes
	 * it. */
	if (!known && a->dir >= 0 && !is_dear(a, aif_now_ns()))
		look(a, aif_now_ns());
}

void aif_attach_left(struct aif_attach *a, int pid)
{
	aif_map_put(&a->joined, (uint64_t)pid, 0);
	for (size_t i = 0; i < a->pages;) {
		struct aif_attach_page *p = &a->page[i];

		if (p->pid != pid) {
			i++;
			continue;
		}
		unlinkat(a->dir, p->name, 0);
		let_go(a, p);
		*p = a->page[--a->pages];
	}
}

bool aif_attach_all_joined(const struct aif_attach *a)
{
	const uint64_t now = aif_now_ns();

	for (size_t i = 0; i < a->pages; i++)
		if (a->page[i].pid && !a->page[i].joined &&
		    (!a->sharers || now - a->page[i].found_ns < FOREIGN_JOIN_NS))
			return false;
	return true;
}

/* ---- the recording --------------------------------------------------------------------------- */

int aif_attach_as_owner(const struct aif_attach *a)
{
	if (a->owner != geteuid())
		setfsgid(a->group);
	setfsuid(a->owner);
	if ((uid_t)setfsuid((uid_t)-1) == a->owner) /* which changes nothing, and says what it is */
		return 0;
	aif_attach_as_ourselves();
	return -EPERM;
}

void aif_attach_as_ourselves(void)
{
	setfsuid(geteuid());
	setfsgid(getegid());
}

static bool remove_ended(void *arg, const struct aif_standby_found *found)
{
	if (found->has_ended)
		aif_standby_remove(*(int *)arg, found->name);
	return true;
}

int aif_attach_open(struct aif_attach *a, const struct aif_record_opts *opts, struct aif_err *err)
{
	int r;

	*a = (struct aif_attach){.dir = -1, .about = -1, .owner = geteuid()};
	a->wants = opts->all_processes ? AIF_WANTS_ALL
		   : opts->pids[0]     ? AIF_WANTS_SOME
				       : AIF_WANTS_NONE;
	r = aif_attach_wishes(a, opts, err);
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
	if (a->wants == AIF_WANTS_ALL && opts->agent && opts->inject != AIF_RECORD_INJECT_NEVER)
		a->joins = aif_joins_open(
			&(struct aif_joins_opts){.agent = opts->agent,
						 .runtime = opts->runtime,
						 .standby = a->shown,
						 .all = opts->inject == AIF_RECORD_INJECT_ALWAYS});
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

int aif_attach_announce(struct aif_attach *a, const struct aif_recording_dir *dir,
			const char *token, const struct aif_record_opts *opts, const char *output)
{
	const char *base = strrchr(output, '/') ? strrchr(output, '/') + 1 : output;
	struct aif_standby_recording about = {
		.magic = AIF_STANDBY_MAGIC,
		.wire_version = AIF_WIRE_VERSION,
		.pid = (uint32_t)getpid(),
		.wants = a->wants,
		.state = aif_record_is_delayed(opts) ? AIF_STATE_HELD : AIF_STATE_RUN,
		.started_realtime_ns = aif_clock_ns(CLOCK_REALTIME),
	};
	int r;

	if (a->dir < 0)
		return 0;
	snprintf(about.call.socket, sizeof(about.call.socket), "%s/agent", dir->name);
	memcpy(about.call.token, token, sizeof(about.call.token));
	snprintf(about.call.name, sizeof(about.call.name), "%s", opts->name ? opts->name : base);
	snprintf(about.output, sizeof(about.output), "%s", output);
	for (char *const *w = opts->argv; w && *w; w++) {
		size_t len = strlen(about.command);

		snprintf(about.command + len, sizeof(about.command) - len, "%s%s", len ? " " : "",
			 *w);
	}
	a->call = about.call;
	/* Under another name until it is locked and whole: who finds it finds us alive. */
	r = aif_attach_as_owner(a);
	if (r < 0)
		return r;
	a->about = openat(dir->fd, AIF_STANDBY_ABOUT_NEW,
			  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	r = a->about < 0 ? -errno : 0;
	if (!r && (!take_lock(a->about, LOCK_TRIES) ||
		   pwrite(a->about, &about, sizeof(about), 0) != (ssize_t)sizeof(about) ||
		   renameat(dir->fd, AIF_STANDBY_ABOUT_NEW, dir->fd, AIF_STANDBY_ABOUT) < 0)) {
		r = errno ? -errno : -EIO;
		close(a->about);
		unlinkat(dir->fd, AIF_STANDBY_ABOUT_NEW, 0);
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
		let_go(a, &a->page[i]);
	}
	for (unsigned i = 0; i < a->requests; i++) {
		aif_became_finish(&a->request[i].became);
		if (a->request[i].pidfd >= 0)
			close(a->request[i].pidfd);
	}
	aif_joins_close(a->joins);
	free(a->page);
	free(a->news);
	aif_map_finish(&a->joined);
	aif_map_finish(&a->refused);
	if (a->about >= 0)
		close(a->about);
	if (a->dir >= 0)
		close(a->dir);
	*a = (struct aif_attach){.dir = -1, .about = -1};
}
