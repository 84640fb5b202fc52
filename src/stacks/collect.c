/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "base/sort.h"
#include "base/proc.h"
#include "base/process.h"
#include "base/process_read.h"
#include "stacks/stacks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COMMAND_MAX (64u << 10)
/* Pages of the process that are read in all: some seconds of reading. */
#define PAGES_MAX (UINT64_C(1) << 22)
/* A thread that wakes while it is looked at is looked at again so often, then stopped. */
#define TRIES 3

/* ---- /proc ---- */

/* A process's arguments, with blanks between; its name if it has none. */
static char *command_of(int pid)
{
	struct aif_buf b = {0};
	char path[64], name[64];
	char *ret;
	int r = aif_process_text(pid, "cmdline", COMMAND_MAX, &b);

	if ((!r || r == -EFBIG) && b.len) {
		while (b.len && !b.data[b.len - 1])
			b.len--;
		for (size_t i = 0; i < b.len; i++)
			if (!b.data[i])
				b.data[i] = ' ';
	}
	if (!b.len) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		if (aif_proc_read(path, name, sizeof(name)) > 0) {
			name[strcspn(name, "\n")] = '\0';
			aif_buf_puts(&b, name);
		}
	}
	ret = strdup(aif_buf_str(&b));
	aif_buf_finish(&b);
	return ret;
}

/* The last number of a thread's NSpid: in its innermost namespace. */
static uint32_t inner_number(int pid, int tid)
{
	char path[64], text[8192];
	const char *at, *end;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	if (aif_proc_read(path, text, sizeof(text)) < 0 || !(at = strstr(text, "\nNSpid:")))
		return (uint32_t)tid;
	at += strlen("\nNSpid:");
	end = at + strcspn(at, "\n");
	while (end > at && end[-1] != '\t')
		end--;
	return (uint32_t)strtoul(end, NULL, 10);
}

static bool read_state(int pid, struct aif_stacks_thread *t)
{
	const char *state, *name, *end;
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, t->tid);
	if (aif_proc_read(path, text, sizeof(text)) < 0)
		return false;
	state = aif_proc_stat_field(text, 3);
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!state || !name || end < name)
		return false;
	t->state = *state;
	snprintf(t->name, sizeof(t->name), "%.*s", (int)(end - name - 1), name + 1);
	return true;
}

static void read_wchan(int pid, struct aif_stacks_thread *t)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", pid, t->tid);
	if (aif_proc_read(path, t->wchan, sizeof(t->wchan)) <= 0 || !strcmp(t->wchan, "0"))
		t->wchan[0] = '\0';
}

static int compare_tids(const void *a, const void *b)
{
	const struct aif_stacks_thread *x = a, *y = b;

	return AIF_ORDER(x->tid, y->tid);
}

static int list_threads(struct aif_stacks *s)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", s->pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((entry = readdir(dir)) != NULL) {
		int tid = atoi(entry->d_name);

		if (tid <= 0)
			continue;
		if (s->len >= AIF_STACKS_THREADS_MAX) {
			s->left_out++;
			continue;
		}
		if (aif_grow(&s->threads, &s->cap, s->len + 1, sizeof(*s->threads))) {
			closedir(dir);
			return -ENOMEM;
		}
		s->threads[s->len++] =
			(struct aif_stacks_thread){.tid = tid, .inner = inner_number(s->pid, tid)};
	}
	closedir(dir);
	if (!s->len)
		return -ESRCH;
	qsort(s->threads, s->len, sizeof(*s->threads), compare_tids);
	return 0;
}

/* ---- one thread ---- */

struct look {
	struct aif_stacks *s;
	struct aif_stacks_thread *t;
	uint8_t *stack;
	int64_t copied;
	uint64_t at;
	struct aif_remote_regs regs;
	struct aif_python_frame *python;
	unsigned python_len;
	bool python_whole;
};

static uint64_t python_state_of(const struct aif_stacks *s, const struct aif_stacks_thread *t)
{
	uint64_t state;

	return aif_map_get(&s->python_states, t->inner, &state) ? state : 0;
}

/* Copies what changes when the thread runs: its stack, its Python frames. */
static void copy_stack(struct look *l)
{
	uint64_t state = python_state_of(l->s, l->t);

	l->at = l->regs.regs.sp - AIF_ARCH_RED_ZONE;
	l->copied = aif_remote_copy(l->s->pid, l->at, l->stack, AIF_REMOTE_STACK_MAX);
	l->python_len = 0;
	l->python_whole = true;
	if (!state)
		return;
	aif_remote_forget(l->s->memory);
	l->python_len = aif_remote_python_walk(&l->s->python, state, l->regs.regs.sp, l->python,
					       AIF_STACKS_FRAMES_MAX, &l->python_whole);
}

static void seen_stopped(void *arg, const struct aif_remote_regs *regs)
{
	struct look *l = arg;

	l->regs = *regs;
	copy_stack(l);
}

/* Unwinds what was copied. `search`: for want of a frame pointer. */
static int unwind(struct look *l, bool search)
{
	struct aif_remote_stack stack = {.at = l->at,
					 .len = (size_t)AIF_MAX(l->copied, 0),
					 .bytes = l->stack,
					 .may_read = true,
					 .may_search = search};
	uint64_t pcs[AIF_STACKS_FRAMES_MAX], sps[AIF_STACKS_FRAMES_MAX];
	struct aif_stacks_thread *t = l->t;

	t->is_served = l->copied == -EREMOTE;
	free(t->pcs);
	free(t->sps);
	free(t->python);
	t->pcs = t->sps = NULL;
	t->python = NULL;
	t->walk = aif_remote_unwind(&l->s->modules, &l->regs, &stack, pcs, sps,
				    AIF_STACKS_FRAMES_MAX);
	t->pcs = malloc(t->walk.depth * sizeof(*pcs));
	t->sps = malloc(t->walk.depth * sizeof(*sps));
	t->python = malloc(AIF_MAX(l->python_len, 1) * sizeof(*t->python));
	if (!t->pcs || !t->sps || !t->python)
		return -ENOMEM;
	memcpy(t->pcs, pcs, t->walk.depth * sizeof(*pcs));
	memcpy(t->sps, sps, t->walk.depth * sizeof(*sps));
	memcpy(t->python, l->python, l->python_len * sizeof(*t->python));
	t->python_len = l->python_len;
	t->has_python = python_state_of(l->s, t) != 0;
	t->python_cut = t->has_python && !l->python_whole;
	return 0;
}

/* True if two readings are of one sleep. */
static bool is_same_sleep(const struct aif_remote_call *a, const struct aif_remote_call *b)
{
	return a->number == b->number && a->sp == b->sp && a->pc == b->pc;
}

/* Looks at a thread that sleeps, without any effect on it. 1: done; 0: it runs, or woke meanwhile; -errno. */
static int look_asleep(struct look *l)
{
	struct aif_remote_call after;
	uint64_t switches, switches_after;
	int r;

	if (!aif_remote_switches(l->s->pid, l->t->tid, &switches))
		return -ESRCH;
	r = aif_remote_call_read(l->s->pid, l->t->tid, &l->t->call);
	if (r <= 0)
		return r;
	l->regs = (struct aif_remote_regs){.regs = {l->t->call.pc, l->t->call.sp, 0}};
	copy_stack(l);
	if (aif_remote_call_read(l->s->pid, l->t->tid, &after) != 1 ||
	    !is_same_sleep(&l->t->call, &after) ||
	    !aif_remote_switches(l->s->pid, l->t->tid, &switches_after) ||
	    switches != switches_after)
		return 0;
	r = unwind(l, false);
	return r < 0 ? r : 1;
}

static int look_stopped(struct look *l)
{
	struct aif_stacks_thread *t = l->t;
	int r = aif_remote_stop(t->tid, seen_stopped, l, &t->stop_ns);

	if (r < 0)
		return r;
	t->was_stopped = true;
	l->s->stops++;
	l->s->longest_stop_ns = AIF_MAX(l->s->longest_stop_ns, t->stop_ns);
	return unwind(l, false);
}

static enum aif_stacks_activity activity_of(char state)
{
	switch (state) {
	case 'R':
		return AIF_STACKS_RUNS;
	case 'T':
	case 't':
		return AIF_STACKS_STOPPED;
	case 'Z':
	case 'X':
		return AIF_STACKS_ENDED;
	default:
		return AIF_STACKS_UNKNOWN;
	}
}

/* 0, also where there is no stack; or -ENOMEM. */
static int look_at(struct look *l)
{
	struct aif_stacks_thread *t = l->t;
	int r = 0;

	if (!read_state(l->s->pid, t)) {
		t->activity = AIF_STACKS_ENDED;
		return 0;
	}
	t->activity = activity_of(t->state);
	if (t->activity == AIF_STACKS_ENDED)
		return 0;
	for (unsigned i = 0; i < TRIES && !r && t->activity != AIF_STACKS_RUNS; i++) {
		r = look_asleep(l);
		if (!r && !read_state(l->s->pid, t))
			r = -ESRCH;
		if (!r)
			t->activity = activity_of(t->state);
	}
	if (r == 1) {
		bool needs_more = t->walk.end == AIF_REMOTE_REGISTERS;

		if (t->activity != AIF_STACKS_STOPPED)
			t->activity = t->call.number < 0 ? AIF_STACKS_FAULT : AIF_STACKS_WAITS;
		read_wchan(l->s->pid, t);
		if (!needs_more)
			return 0;
		if (t->state != 'D' && aif_remote_call_restarts(t->call.number) &&
		    look_stopped(l) == 0)
			return 0;
		return unwind(l, true);
	}
	/* Some kernels do not show its system call, or not to everybody who may stop it. */
	if (r == 0 || r == -ENOENT || r == -EPERM || r == -EACCES) {
		r = look_stopped(l);
		if (t->activity == AIF_STACKS_UNKNOWN)
			t->activity = AIF_STACKS_RUNS;
	}
	if (r == -ESRCH) {
		t->activity = AIF_STACKS_ENDED;
		return 0;
	}
	t->error = AIF_MIN(r, 0);
	return r == -ENOMEM ? r : 0;
}

/* ---- the process ---- */

static int find_python(struct aif_stacks *s)
{
	uint32_t *tids = malloc(s->len * sizeof(*tids));
	int r = 0;

	if (!tids)
		return -ENOMEM;
	for (size_t i = 0; i < s->len; i++)
		tids[i] = s->threads[i].inner;
	qsort(tids, s->len, sizeof(*tids), aif_by_u32);
	s->python_found = aif_remote_python_find(&s->python, &s->modules, tids, s->len);
	free(tids);
	for (size_t i = 0; i < s->python.threads_len && !r; i++)
		if (s->python.threads[i].tid)
			r = aif_map_put(&s->python_states, s->python.threads[i].tid,
					s->python.threads[i].state);
	return r;
}

static int take(struct aif_stacks *s, struct aif_buf *maps, struct aif_err *err)
{
	struct look l = {.s = s};
	int r = 0;

	l.stack = malloc(AIF_REMOTE_STACK_MAX);
	l.python = malloc(AIF_STACKS_FRAMES_MAX * sizeof(*l.python));
	s->memory = aif_remote_memory_new(s->pid, PAGES_MAX);
	if (!l.stack || !l.python || !s->memory) {
		r = -ENOMEM;
	} else {
		memset(l.stack, 0, AIF_REMOTE_STACK_MAX); /* touched before any thread stands */
		memset(l.python, 0, AIF_STACKS_FRAMES_MAX * sizeof(*l.python));
		aif_buf_putc(maps, '\0');
		r = aif_remote_modules_init(&s->modules, s->memory, (char *)maps->data);
	}
	if (!r)
		r = find_python(s);
	for (size_t i = 0; i < s->len && !r; i++) {
		l.t = &s->threads[i];
		r = look_at(&l);
	}
	free(l.stack);
	free(l.python);
	return r < 0 ? aif_err_set(err, r, "process %d: %s", s->pid, strerror(-r)) : 0;
}

/* 0, or -errno with *err if the process cannot be looked at by us at all. */
static int probe(struct aif_stacks *s, const struct aif_buf *maps, struct aif_err *err)
{
	char byte[64];
	uint64_t at;
	int64_t r;

	if (!maps->len) /* of the kernel, or it has just ended */
		return aif_err_set(
			err, -ESRCH,
			"process %d: it has no memory of its own: it has ended, or is the kernel's",
			s->pid);
	at = strtoull((const char *)maps->data, NULL, 16);
	r = aif_remote_copy(s->pid, at, byte, sizeof(byte));
	if (r == -EPERM || r == -EACCES) {
		aif_stacks_refused_by(s->pid, err);
		return (int)r;
	}
	if (r == -ESRCH)
		return aif_err_set(err, -ESRCH, "process %d has ended", s->pid);
	if (r >= 5 && !memcmp(byte, "\177ELF\1", 5))
		return aif_err_set(
			err, -ENOTSUP,
			"process %d is a 32-bit program; aiflame unwinds 64-bit ones only", s->pid);
	return 0;
}

int aif_stacks_take(struct aif_stacks *s, int pid, struct aif_err *err)
{
	struct aif_buf maps = {0};
	int r;

	*s = (struct aif_stacks){.pid = pid};
	if (aif_proc_why_none())
		return aif_err_set(err, -ENOENT, "stacks: %s", aif_proc_why_none());
	if (!aif_proc_user(pid, &s->uid))
		return aif_err_set(err, -ESRCH, "there is no process %d", pid);
	s->command = command_of(pid);
	r = list_threads(s);
	if (r == -ESRCH)
		return aif_err_set(err, r, "process %d has ended", pid);
	if (r < 0)
		return aif_err_set(err, r, "threads of process %d: %s", pid, strerror(-r));
	r = aif_process_text(pid, "maps", AIF_PROCESS_MAPS_MAX, &maps);
	if (r == -EFBIG) /* what there is of it is looked at */
		r = 0;
	if (r == -EPERM || r == -EACCES)
		aif_stacks_refused_by(pid, err);
	else if (r < 0)
		aif_err_set(err, r, "process %d: %s", pid,
			    r == -ENOENT || r == -ESRCH ? "it has ended"
			    : r == -ETIMEDOUT ? "it keeps readers of its memory maps waiting"
					      : strerror(-r));
	if (!r)
		r = probe(s, &maps, err);
	if (!r)
		r = take(s, &maps, err);
	aif_buf_finish(&maps);
	return r;
}

void aif_stacks_finish(struct aif_stacks *s)
{
	for (size_t i = 0; i < s->len; i++) {
		struct aif_stacks_thread *t = &s->threads[i];

		for (size_t k = 0; k < t->frames_len; k++) {
			free(t->frames[k].function);
			free(t->frames[k].file);
			free(t->frames[k].module);
		}
		free(t->frames);
		free(t->pcs);
		free(t->sps);
		free(t->python);
		free(t->waits);
	}
	free(s->threads);
	free(s->command);
	free(s->deadlocks);
	aif_map_finish(&s->python_states);
	aif_remote_python_finish(&s->python);
	aif_remote_modules_finish(&s->modules);
	free(s->memory);
	*s = (struct aif_stacks){0};
}
