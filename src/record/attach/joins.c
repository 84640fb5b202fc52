/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach/joins.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/name_sanitize.h"
#include "base/proc.h"
#include "base/process.h"
#include "base/process_open.h"
#include "record/attach/attach_dir.h"
#include "record/attach/unprepared.h"
#include "wire/standby.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT_ONCE   8 /* injections */
#define SOON_NS   (AIF_NS_PER_S / 5)
#define SELDOM_NS (5 * AIF_NS_PER_S)
/* An injector gives up earlier. */
#define GIVE_UP_NS (20 * AIF_NS_PER_S)
/* A driver takes more of an address space: libcuda 30 MB, libpocl 3 MB with LLVM's 100 MB behind it. */
#define GROWN_BYTES (UINT64_C(1) << 20)
/* Pauses before a process is tried again that could not be joined as it was: stopped, traced, computing all the time. */
#define AGAIN_NS      AIF_NS_PER_S
#define AGAIN_MOST_NS (60 * AIF_NS_PER_S)
/* Each stops threads. */
#define TRIES_MOST 5
/* A loader maps libraries one after the other, within milliseconds, or minutes where they come from afar. Before that a process is
 * looked at again as usual. */
#define LOADING_NS (60 * AIF_NS_PER_S)
/* An agent says hello some microseconds before its injector ends, which may need a processor for that. */
#define SETTLE_NS (AIF_NS_PER_S / 2)

/* The file of a program. */
struct program {
	uint64_t device, inode;
};

/* A process of the user's, or, for root, of any. */
struct process {
	int pid;
	uid_t uid;
	bool is_done;           /* joined, or left alone */
	bool is_said;           /* that nothing of it can be recorded */
	unsigned tries;         /* that could not join it as it was */
	uint64_t started;       /* as /proc says: another process with that number has another */
	struct program program; /* exec() changes it */
	uint64_t found_ns, next_ns;
	uint64_t pages;              /* of its address space when its map was read last */
	uint64_t pause_ns;           /* before the next try; 0: it was not tried so far */
	struct aif_inject_left left; /* by the last one */
};

struct joining {
	struct aif_injection in;
	uint64_t since_ns;
	uid_t uid;
	char standby[AIF_STANDBY_DIR_MAX]; /* below the process's root */
};

struct aif_joins {
	struct aif_joins_opts opts;
	uid_t uid;
	struct program own_program; /* ours: injectors have it, and other recorders */
	struct process *process;
	size_t processes;
	struct joining active[AT_ONCE]; /* pid 0: free */
	struct aif_join *over;
	size_t over_at, over_len, over_cap; /* from over_at on to be told */
};

/* Finds the file of a process's program. By what the kernel knows: stat() asks the file system, which may be its user's (FUSE). */
static bool program_of(const char *process, struct program *ret)
{
	struct statx st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/exe", process);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &st) < 0)
		return false;
	*ret = (struct program){(uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor, st.stx_ino};
	return true;
}

static bool is_same_program(const struct program *a, const struct program *b)
{
	return a->device == b->device && a->inode == b->inode;
}

struct aif_joins *aif_joins_open(const struct aif_joins_opts *opts)
{
	struct aif_joins *j = calloc(1, sizeof(*j));

	if (j) {
		*j = (struct aif_joins){.opts = *opts, .uid = geteuid()};
		(void)program_of("self", &j->own_program);
	}
	return j;
}

static struct aif_join *over_add(struct aif_joins *j, int pid, uid_t uid)
{
	struct aif_join *o;
	char path[64];

	if (aif_grow(&j->over, &j->over_cap, j->over_len + 1, sizeof(*j->over)) < 0)
		return NULL;
	o = &j->over[j->over_len++];
	*o = (struct aif_join){.pid = pid, .uid = uid};
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	aif_proc_read(path, o->name, sizeof(o->name));
	o->name[strcspn(o->name, "\n")] = '\0';
	aif_name_sanitize_in_place(o->name);
	return o;
}

static void leave_alone(struct aif_joins *j, int pid, uid_t uid, const char *why)
{
	struct aif_join *o = over_add(j, pid, uid);

	if (o)
		snprintf(o->text, sizeof(o->text), "%s", why);
}

/* Notes where a process is on standby. The recording's own directory may have the same name in a container. */
static void note_standby(const struct aif_joins *j, struct aif_join *o, const char *standby)
{
	if (o && (o->uid != j->uid || strcmp(standby, j->opts.standby) != 0 ||
		  aif_process_is_elsewhere(o->pid)))
		snprintf(o->standby, sizeof(o->standby), "%s", standby);
}

/* /proc lists processes in the order of their numbers. */
static struct process *find_process(const struct aif_joins *j, int pid)
{
	size_t at = AIF_BISECT(mid, 0, j->processes, j->process[mid].pid < pid);

	return at < j->processes && j->process[at].pid == pid ? &j->process[at] : NULL;
}

/* True if a process that could not be joined may be joined later as it is: its threads or its tracer were in the way. Not behind
 * -ETIMEDOUT: the agent's thread is in it, and joins when the loader lets it. */
static bool is_passing(int error)
{
	return error == -EAGAIN || error == -EBUSY;
}

/* A process could not be joined: says so the first time, and tries again later where that can help. One that has ended, or become
 * another program, meanwhile is not spoken of. */
static void fail(struct aif_joins *j, int pid, uid_t uid, int error, const char *why, uint64_t now)
{
	struct process *p = find_process(j, pid);

	if (error == -ESRCH) {
		if (p)
			p->is_done = false;
		return;
	}
	if (!p || !p->pause_ns || !is_passing(error))
		leave_alone(j, pid, uid, why);
	if (!p || !is_passing(error) || ++p->tries >= TRIES_MOST)
		return;
	p->is_done = false;
	p->pause_ns = AIF_MIN(AIF_MAX(2 * p->pause_ns, AGAIN_NS), AGAIN_MOST_NS);
	p->next_ns = now + p->pause_ns;
	p->pages = 0;
}

static void look_after(struct aif_joins *j, struct joining *a, uint64_t now)
{
	struct process *p = find_process(j, a->in.pid);
	struct aif_inject_result result;
	struct aif_join *o;
	char text[128];

	if (aif_inject_poll(&a->in, 0, &result)) {
		if (result.program >= 0)
			close(result.program);
		if (p)
			p->left = result.left;
		if (result.error) {
			fail(j, a->in.pid, a->uid, result.error, result.text, now);
		} else {
			o = over_add(j, a->in.pid, a->uid);
			if (o)
				o->times = result.times;
			note_standby(j, o, a->standby);
		}
		a->in.pid = 0;
	} else if (now - a->since_ns > GIVE_UP_NS) {
		snprintf(text, sizeof(text),
			 "process %d: the agent has not started in it within %d s", a->in.pid,
			 (int)(GIVE_UP_NS / AIF_NS_PER_S));
		leave_alone(j, a->in.pid, a->uid, text);
		aif_inject_cancel(&a->in);
		a->in.pid = 0;
	}
}

static bool begin(struct aif_joins *j, const struct process *p, uint64_t now)
{
	char text[AIF_STANDBY_DIR_MAX + 128];
	struct joining *a = j->active;
	const int pid = p->pid;
	struct aif_err err = {0};
	int r;

	for (; a < j->active + AT_ONCE; a++)
		if (a->in.pid == pid)
			return true;
	for (a = j->active; a < j->active + AT_ONCE && a->in.pid;)
		a++;
	if (a == j->active + AT_ONCE)
		return false;
	aif_unprepared_standby(pid, p->uid, a->standby);
	if (p->uid == j->uid && strcmp(a->standby, j->opts.standby) != 0 &&
	    !aif_process_is_elsewhere(pid)) {
		snprintf(text, sizeof(text),
			 "process %d: its standby directory %s is not that of this recording; "
			 "record it with -p",
			 pid, a->standby);
		leave_alone(j, pid, p->uid, text);
		return true;
	}
	a->since_ns = now;
	a->uid = p->uid;
	r = aif_unprepared_start(&a->in, pid, p->uid, j->opts.agent, j->opts.runtime, &p->left,
				 a->standby, &err);
	if (r == -EINPROGRESS && now - p->found_ns < LOADING_NS) {
		a->in.pid = 0;
		return false;
	}
	/* The maps could not be read in time: the process is as it was. */
	if (r == -ETIMEDOUT)
		r = -EAGAIN;
	if (r < 0) {
		a->in.pid = 0;
		fail(j, pid, p->uid, r, err.text, now);
		return !is_passing(r);
	}
	return true;
}

/* A process that carries the agent, of another user or in a container: finds where it is on standby. Returns true if it needs no
 * further look. */
static bool find_standby(struct aif_joins *j, const struct process *p,
			 const struct aif_standby_maps *maps)
{
	char standby[AIF_STANDBY_DIR_MAX], text[192];
	int r = 0;

	if (*maps->dir)
		memcpy(standby, maps->dir, sizeof(standby));
	else if (maps->is_injected)
		aif_unprepared_standby(p->pid, p->uid, standby);
	else
		r = aif_standby_environment(p->pid, AIF_ENV_STANDBY, standby, sizeof(standby));
	if (r < 0 && r != -ENOENT)
		return false;
	if (!r) {
		note_standby(j, over_add(j, p->pid, p->uid), standby);
		return true;
	}
	snprintf(text, sizeof(text),
		 "process %d: carries the agent, but is not on standby: another recorder has "
		 "started it",
		 p->pid);
	leave_alone(j, p->pid, p->uid, text);
	return true;
}

/* True of this program: a recorder, or an injector. */
static bool is_own_program(const struct aif_joins *j, int pid)
{
	struct program p;
	char number[16];

	snprintf(number, sizeof(number), "%d", pid);
	return program_of(number, &p) && is_same_program(&p, &j->own_program);
}

static void say_level_zero(struct aif_joins *j, struct process *p)
{
	char text[192];

	if (p->is_said)
		return;
	snprintf(text, sizeof(text),
		 "process %d: uses Level Zero, which lets no tool in later; to record its "
		 "launches, start it with the variables that `aiflame env` prints",
		 p->pid);
	leave_alone(j, p->pid, p->uid, text);
	p->is_said = true;
}

/* Returns true if the process needs no further look. */
static bool is_judged(struct aif_joins *j, struct process *p, uint64_t now)
{
	struct aif_standby_maps maps;
	const int pid = p->pid;
	bool is_wanted;
	char text[192];

	/* In /proc a process that may not be looked at is root's, whoever's it is. */
	if (aif_standby_maps(pid, 0, &maps) < 0 || !aif_proc_user(pid, &p->uid))
		return false;
	is_wanted = maps.has_driver || maps.has_loader;
	/* An agent that was put into it sees none of its launches, either. */
	if (maps.is_injected && maps.has_runtime && !is_wanted)
		say_level_zero(j, p);
	if (maps.has_agent && p->uid == j->uid && !aif_process_is_elsewhere(pid))
		return true;
	if (maps.has_agent)
		return (is_wanted || maps.has_page || j->opts.all) && find_standby(j, p, &maps);
	if (is_wanted || (j->opts.all && !is_own_program(j, pid)))
		return begin(j, p, now);
	if (maps.has_runtime) {
		say_level_zero(j, p);
		return true;
	}
	if (!maps.has_device || p->is_said)
		return false;
	snprintf(text, sizeof(text),
		 "process %d: has a GPU open, for pictures: no runtime whose launches could be "
		 "recorded is in it",
		 pid);
	leave_alone(j, pid, p->uid, text);
	p->is_said = true;
	return false;
}

/* The size of a process's address space, in pages; 0: it has none, or has ended. */
static uint64_t pages_of(int pid)
{
	char path[64], text[128];
	uint64_t pages = 0;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	if (aif_proc_read(path, text, sizeof(text)) > 0)
		sscanf(text, "%" SCNu64, &pages);
	return pages;
}

static void process_look(struct aif_joins *j, struct process *p, uint64_t now)
{
	const uint64_t grown = GROWN_BYTES / (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t started, age, pages;
	struct program program;
	char number[16];

	if (now < p->next_ns && (p->is_done || p->pause_ns))
		return;
	pages = pages_of(p->pid);
	if (!pages)
		return; /* a thread of the OS kernel, or a process that has ended */
	if (now < p->next_ns && pages < p->pages + grown)
		return;
	snprintf(number, sizeof(number), "%d", p->pid);
	if (aif_standby_started(number, &started) < 0)
		return;
	if (!program_of(number, &program))
		program = p->program;
	if (started != p->started || !is_same_program(&program, &p->program))
		*p = (struct process){.pid = p->pid,
				      .uid = p->uid,
				      .started = started,
				      .program = program,
				      .found_ns = now};
	p->pages = pages;
	age = now - p->found_ns;
	p->next_ns = now + AIF_MIN(AIF_MAX(age / 8, SOON_NS), SELDOM_NS);
	if (p->is_done || is_judged(j, p, now)) {
		p->is_done = true;
		p->next_ns = now + SELDOM_NS;
	}
}

/* Lists the user's processes anew, with what is known of those that were there. */
static void processes_find(struct aif_joins *j)
{
	struct aif_map known = {0};
	struct process *all = NULL;
	size_t len = 0, cap = 0;
	DIR *proc = opendir("/proc");
	struct dirent *d;
	struct stat st;
	uint64_t at;

	if (!proc)
		return;
	for (size_t i = 0; i < j->processes; i++)
		aif_map_put(&known, (uint64_t)j->process[i].pid, i);
	while ((d = readdir(proc)) != NULL) {
		int pid = atoi(d->d_name);

		if (pid <= 0 || pid == getpid() || fstatat(dirfd(proc), d->d_name, &st, 0) < 0 ||
		    (st.st_uid != j->uid && j->uid))
			continue;
		if (aif_grow(&all, &cap, len + 1, sizeof(*all)) < 0) {
			free(all);
			all = j->process;
			len = j->processes;
			break;
		}
		all[len] = aif_map_get(&known, (uint64_t)pid, &at) ? j->process[at]
								   : (struct process){.pid = pid};
		all[len++].uid = st.st_uid;
	}
	closedir(proc);
	aif_map_finish(&known);
	if (all != j->process)
		free(j->process);
	j->process = all;
	j->processes = len;
}

void aif_joins_look(struct aif_joins *j, uint64_t now)
{
	for (unsigned i = 0; i < AT_ONCE; i++)
		if (j->active[i].in.pid)
			look_after(j, &j->active[i], now);
	processes_find(j);
	for (size_t i = 0; i < j->processes; i++)
		process_look(j, &j->process[i], now);
}

void aif_joins_settle(struct aif_joins *j)
{
	const uint64_t until = aif_now_ns() + SETTLE_NS;

	for (unsigned i = 0; j && i < AT_ONCE; i++) {
		struct joining *a = &j->active[i];
		uint64_t now = aif_now_ns();
		struct pollfd fd = {.fd = a->in.fd, .events = POLLIN};

		if (a->in.pid &&
		    poll(&fd, 1, now < until ? (int)((until - now) / 1000000) : 0) == 1)
			look_after(j, a, now);
	}
}

bool aif_joins_next(struct aif_joins *j, struct aif_join *ret)
{
	if (!j || j->over_at == j->over_len)
		return false;
	*ret = j->over[j->over_at++];
	if (j->over_at == j->over_len)
		j->over_at = j->over_len = 0;
	return true;
}

void aif_joins_close(struct aif_joins *j)
{
	if (!j)
		return;
	for (unsigned i = 0; i < AT_ONCE; i++)
		if (j->active[i].in.pid)
			aif_inject_cancel(&j->active[i].in);
	free(j->process);
	free(j->over);
	free(j);
}
