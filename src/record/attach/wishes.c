/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach/attach.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/process_open.h"
#include "base/program_held.h"
#include "record/attach/attach_dir.h"
#include "record/attach/unprepared.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Processes that the user has named. */

/* A program has its libraries within milliseconds, as a rule. */
#define LOADING_NS    (3 * AIF_NS_PER_S)
#define LOOK_AGAIN_NS 2000000

/* Says why a process's memory map or environment cannot be read, and what helps. */
static int say_unreadable(int pid, int error, struct aif_err *err)
{
	const char *help = "see ps -e";

	if (aif_proc_has_ended(pid))
		return aif_err_set(err, -ESRCH, "process %d: has ended; see ps -e", pid);
	if (error == -ETIMEDOUT)
		return aif_err_set(
			err, error,
			"process %d: its memory map cannot be read: it, or another process of its "
			"user's, keeps readers waiting; see which processes ps -e stops at",
			pid);
	if (error == -EACCES || error == -EPERM)
		help = geteuid() ? "it has privileges that this command lacks; record as "
				   "root, with CAP_SYS_PTRACE"
				 : "CAP_SYS_PTRACE is missing, or the process is protected";
	return aif_err_set(err, error, "process %d: its memory map cannot be read: %s; %s", pid,
			   strerror(-error), help);
}

void aif_attach_use_dir(struct aif_attach *a, int dir, uid_t owner, const char *shown)
{
	struct stat st;

	a->dir = dir;
	a->owner = owner;
	a->group = fstat(dir, &st) == 0 ? st.st_gid : getegid();
	snprintf(a->path, sizeof(a->path), "/proc/self/fd/%d", dir);
	snprintf(a->shown, sizeof(a->shown), "%s", shown);
}

static struct aif_attach_request *request_add(struct aif_attach *a, int pid, bool no_agent)
{
	a->pids[a->requests] = pid;
	a->request[a->requests] =
		(struct aif_attach_request){.pid = pid,
					    .pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
					    .no_agent = no_agent,
					    .became = {.program = -1}};
	return &a->request[a->requests++];
}

/* Finds the standby directory of a process that carries the agent, as the process names it. */
static int find_standby(int pid, uid_t uid, const struct aif_standby_maps *maps,
			char standby[AIF_STANDBY_DIR_MAX], struct aif_err *err)
{
	int r = aif_standby_environment(pid, AIF_ENV_STANDBY, standby, AIF_STANDBY_DIR_MAX);
	bool is_empty = r == -ENOENT || r == -EAGAIN;
	char socket[256];

	if (r >= 0)
		return 0;
	/* A server that has written its title over its arguments may have no environment left. */
	if (is_empty && *maps->dir) {
		memcpy(standby, maps->dir, AIF_STANDBY_DIR_MAX);
		return 0;
	}
	/* Forked by a process that the agent was put into: on standby where that one is. */
	if (is_empty && maps->is_injected) {
		aif_unprepared_standby(pid, uid, standby);
		return 0;
	}
	if (!is_empty || aif_proc_has_ended(pid))
		return say_unreadable(pid, r, err);
	if (aif_standby_environment(pid, AIF_ENV_SOCKET, socket, sizeof(socket)) < 0)
		return aif_err_set(
			err, r,
			"process %d: carries the agent, but its environment does not say "
			"where it is on standby; start it with the variables that `aiflame "
			"env` prints, or, if the process has overwritten them with a title, "
			"record with -a",
			pid);
	return aif_err_set(err, r,
			   "process %d: carries the agent but is not on standby: a recorder "
			   "has started it; start it with the variables that `aiflame env` "
			   "prints",
			   pid);
}

static bool is_same_file(int fd, int other)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

int aif_attach_use_standby(struct aif_attach *a, int pid, uid_t uid, const char *standby,
			   struct aif_err *err)
{
	int dir, r = 0;

	/* The path is the process's own, which may be in a container: nothing is made there. */
	dir = aif_standby_accept(aif_process_open_dir(pid, standby), uid);
	if (dir == -ENOENT && uid == geteuid() && !aif_process_is_elsewhere(pid))
		dir = aif_standby_open(standby, uid, true);
	if (dir < 0)
		return aif_err_set(err, dir,
				   "process %d: %s: %s; it must be a directory of the user's, with "
				   "mode 0700",
				   pid, standby, strerror(-dir));
	if (a->dir < 0) {
		aif_attach_use_dir(a, dir, uid, standby);
		return 0;
	}
	if (!is_same_file(dir, a->dir))
		r = aif_err_set(err, -EXDEV,
				"process %d: its standby directory %s is not that "
				"of the other processes; record it separately",
				pid, standby);
	close(dir);
	return r;
}

/* A process that the user has named, on its way to be a request. */
struct wish {
	int pid;
	uid_t uid;
	struct aif_standby_maps maps;
	int program;   /* into which the agent was put (base/program_held.h); -1: it was not */
	bool is_woken; /* the agent is there, and asleep */
	struct aif_injection in; /* under way: its injector is not 0 */
	char standby[AIF_STANDBY_DIR_MAX];
};

/* Begins to put the agent into a process. One that has just been started has no C library yet, which is waited for until
 * `until`. */
static int inject(struct wish *w, const struct aif_record_opts *o, uint64_t until,
		  struct aif_err *err)
{
	const struct aif_inject_left none = {0};
	struct aif_err why;
	int r;

	while ((r = aif_unprepared_start(&w->in, w->pid, w->uid, o->agent, o->runtime, &none,
					 w->standby, &why)) == -EINPROGRESS &&
	       aif_now_ns() < until)
		nanosleep(&(struct timespec){.tv_nsec = LOOK_AGAIN_NS}, NULL);
	if (r < 0)
		*err = why;
	return r;
}

/* Begins to wake an agent that sleeps since its process has used no device, for CPU samples: it alone sees Python's functions. Where it
 * cannot be woken, the process is recorded as without CPU samples or from outside, unless `--inject always` was given. */
static int wake(struct wish *w, const struct aif_record_opts *o, uint64_t until,
		struct aif_err *err)
{
	const bool is_asked = o->inject == AIF_RECORD_INJECT_ALWAYS;
	struct aif_err why;
	int r;

	if (w->maps.has_page || !o->agent || !o->cpu || !o->cpu_rate ||
	    o->inject == AIF_RECORD_INJECT_NEVER || (o->ebpf && !is_asked))
		return 0;
	w->is_woken = true;
	r = inject(w, o, until, is_asked ? err : &why);
	return is_asked && !o->ebpf ? r : 0;
}

/* Looks at it. One without the agent will do where it is sampled from outside; else begins to put the agent into it. */
static int wish_begin(struct wish *w, int pid, const struct aif_record_opts *o, uint64_t until,
		      struct aif_err *err)
{
	/* An agent that comes late sees launches of CUDA only, and BPF leaves those of a process with an agent to it. */
	const bool injects =
		o->agent && (o->inject == AIF_RECORD_INJECT_ALWAYS ||
			     (o->inject == AIF_RECORD_INJECT_AUTO && !o->outside && !o->ebpf));
	char path[64];
	struct stat st;
	int r;

	*w = (struct wish){.pid = pid, .program = -1};
	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st) < 0)
		return aif_err_set(err, -ESRCH, "process %d: does not exist; see ps -e", pid);
	if (st.st_uid != geteuid() && geteuid() != 0)
		return aif_err_set(err, -EPERM,
				   "process %d: belongs to user %u; record as that user or as root",
				   pid, (unsigned)st.st_uid);
	w->uid = st.st_uid;
	r = aif_standby_maps(pid, 0, &w->maps);
	/* The map of a process that has ended is empty, or cannot be read. */
	if (r < 0 || (!w->maps.has_agent && aif_proc_has_ended(pid)))
		return say_unreadable(pid, r, err);
	if (!w->maps.has_agent && !injects && o->outside_refused)
		return aif_err_set(
			err, -EPERM,
			"process %d: does not carry the agent, and perf_event may not sample "
			"it from outside; record as root, or set kernel.perf_event_paranoid to 2 "
			"and record as its user, or start it with the variables that `aiflame "
			"env` prints, or leave out --inject never",
			pid);
	if (!w->maps.has_agent && !injects && !o->ebpf && !o->outside)
		return aif_err_set(err, -ENOENT,
				   "process %d: does not carry the agent; start it with the "
				   "variables that `aiflame env` prints, or use `aiflame record` "
				   "with --cpu (CPU samples from outside), with --ebpf or without "
				   "--inject never",
				   pid);
	if (w->maps.is_injected && o->agent && o->inject != AIF_RECORD_INJECT_NEVER)
		w->program = aif_program_hold_in_time(pid);
	if (w->maps.has_agent) {
		r = find_standby(pid, w->uid, &w->maps, w->standby, err);
		return r < 0 ? r : wake(w, o, until, err);
	}
	if (!injects)
		return 0;
	r = inject(w, o, until, err);
	return o->ebpf ? 0 : r;
}

/* Waits for an agent that is on its way, also into what the process becomes meanwhile. */
static int await(struct wish *w, const struct aif_record_opts *o, uint64_t until,
		 struct aif_inject_times *ret_times, struct aif_err *err)
{
	struct aif_err why;
	int r;

	while ((r = aif_unprepared_finish(&w->in, ret_times, &w->program, &why)) == -ESRCH &&
	       !aif_proc_has_ended(w->pid) && aif_now_ns() < until) {
		r = inject(w, o, until, err);
		if (r < 0)
			return r;
	}
	if (r == -ESRCH && !aif_proc_has_ended(w->pid))
		return aif_err_set(
			err, r,
			"process %d: becomes one program after the other; try again when "
			"it stays one",
			w->pid);
	if (r < 0)
		*err = why;
	return r;
}

/* Waits for an agent that is on its way, and adds the request. */
static int wish_end(struct aif_attach *a, struct wish *w, const struct aif_record_opts *o,
		    uint64_t until, struct aif_err *err)
{
	struct aif_inject_times times = {.stops = 0};
	struct aif_attach_request *request;
	int r;

	if (w->in.injector) {
		r = await(w, o, until, &times, err);
		if (r < 0 && !o->ebpf && !(w->is_woken && o->inject != AIF_RECORD_INJECT_ALWAYS))
			return r;
		if (!w->is_woken)
			w->maps.has_agent = w->maps.is_injected = r == 0;
	}
	if (w->maps.has_agent) {
		r = aif_attach_use_standby(a, w->pid, w->uid, w->standby, err);
		if (r < 0)
			return r;
	}
	times.was_there = w->is_woken;
	request = request_add(a, w->pid, !w->maps.has_agent);
	request->times = times;
	/* Waits for nothing more where the process is sampled from outside. */
	request->was_announced = o->outside;
	request->is_late = w->maps.is_injected && w->maps.has_runtime;
	aif_became_watch(&request->became, w->program, w->uid, o);
	w->program = -1;
	return 0;
}

/* Processes into which the agent is put at the same time: in each a thread stops, and goes before all others. */
#define WISHES 8

static bool is_among(const struct wish *wish, unsigned n, int pid)
{
	for (unsigned i = 0; i < n; i++)
		if (wish[i].pid == pid)
			return true;
	return false;
}

/* Takes the next processes that are named, up to one that is named twice. Adds to *ret_n how many. */
static int take_some(struct aif_attach *a, const char *const pids[],
		     const struct aif_record_opts *o, uint64_t until, unsigned *ret_n,
		     struct aif_err *err)
{
	struct wish wish[WISHES] = {{.pid = 0}};
	unsigned n = 0;
	int r = 0;

	for (; !r && n < WISHES && pids[n] && !is_among(wish, n, atoi(pids[n])); n++)
		r = wish_begin(&wish[n], atoi(pids[n]), o, until, err);
	for (unsigned i = 0; !r && i < n; i++)
		r = wish_end(a, &wish[i], o, until, err);
	/* Leaves the rest to itself: those processes are on standby then. */
	for (unsigned i = 0; i < n; i++) {
		if (wish[i].in.injector)
			aif_inject_cancel(&wish[i].in);
		if (wish[i].program >= 0)
			close(wish[i].program);
	}
	*ret_n += n;
	return r;
}

int aif_attach_wishes(struct aif_attach *a, const struct aif_record_opts *o, struct aif_err *err)
{
	/* All that are named load their libraries at the same time. */
	const uint64_t until = aif_now_ns() + LOADING_NS;
	unsigned n = 0;
	int r = 0;

	while (!r && n < AIF_RECORD_PIDS && o->pids[n])
		r = take_some(a, o->pids + n, o, until, &n, err);
	return r;
}
