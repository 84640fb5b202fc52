/* SPDX-License-Identifier: Apache-2.0 */
#include "base/open_regular.h"
#include "base/proc.h"
#include "base/process_read.h"
#include "record/asleep/asleep.h"
#include "record/sources/sources.h"
#include "record/sources/tids.h"
#include "wire/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Looks from outside for what launching threads wait: each LOOK_NS reads their counts of CPU time and of turns on a CPU
 * (/proc/PID/task/TID/schedstat), and of one that has had a turn since, the system call that it sleeps in
 * (/proc/PID/task/TID/syscall, as ptrace(2) permits it). The target does nothing for it. Two kinds of rows come of that:
 *
 *   a sleep that lasted from one look to the next and beyond has its time, .is_whole, but for its two edges
 *   a look that finds a thread in a sleep which it was not in before stands for the time since the look before, as a
 *   sample does: .waiting is that time, .time the moment. Edges and shorter sleeps are in such rows.
 *
 * A third kind is what a thread waited for a CPU between two looks, by the same counts, which begins at the first of them. What
 * the main thread waited before it was first looked at is spread over the time since the recorder met it, in BEGIN_PARTS.
 *
 * Other threads of a process that launches are looked at each second, since one that waits for clients makes it a
 * server (analysis/idle/demand.h). Of a process that launches nothing (record --cpu) only what its threads wait for a CPU is
 * read, each DELAYS_NS: whether the machine let it run. The stack of a launching thread is read from its memory when it is first seen in a sleep
 * (asleep.h). record --wall and --ebpf --off-cpu have exact stacks, and no looks then; nor has a recording without calls (--calls off),
 * where threads wait for devices in system calls, too.
 *
 * Measured on Linux 6.18 in a virtual machine of 2 busy CPUs: a launching thread that sleeps 2 ms in each turn takes 0.3 % of
 * a core of the recorder's, nearly all of it caches that are cold; warm, a look takes 0.8 us, and 1.9 where the system call
 * is read, 4.7 for its descriptor. So at most LOOKS threads are looked at in a turn, the next ones in the next.
 */
#define LOOK_NS  UINT64_C(10000000)
#define OTHER_NS AIF_NS_PER_S
/* Time between two looks at a thread's wait for CPUs alone, which take 5 to 10 us, and the most of them in a turn. */
#define DELAYS_NS  UINT64_C(200000000)
#define DELAYS_MAX 64
/* Waits for a CPU of less are added up before they are a row. */
#define WAITED_NS    1000000
#define BEGIN_PARTS  16
#define LOOKS        8
#define PYTHON_LOOKS 4
/* Reading a stack takes 50 to 300 us of a CPU, and the first one, or one behind new modules, what reading the memory map and the
 * modules takes: tens of milliseconds in a process with 2,000 mappings, as PyTorch's are. It may take this part of the time, in one
 * process, and so much at once: sleeps whose stack is not read are like those of which it is (analysis/idle/looks.h). With 20 ms at
 * once and half of that part none of 167 looks at a training's main thread, in its loop, had a stack. */
#define STACKS_OF_TIME 100
#define STACKS_NS      200000000
#define MAPS_MAX       (UINT64_C(4) << 20)
/* The drain thread's turns come up to a tenth earlier than they are due. */
#define SLACK_NS (LOOK_NS / 10)

struct sleeper {
	uint32_t tid; /* thread number as the agent lists it; 0: none */
	/* thread number in the recorder's pid namespace; 0: not found yet */
	uint32_t outer;
	bool launches; /* has launched work */
	/* counters and system call of a thread that launches; -1: not open */
	int counts_fd, call_fd;
	uint64_t looked_ns;     /* time of the last look; 0: none yet, or a pause came since */
	uint64_t cpu_ns, turns; /* CPU time and turns on a CPU, at the last look */
	uint64_t delay_ns;      /* total wait for a CPU, at the last look */
	/* part of .delay_ns that is in no row yet; begin of the look after which it passed */
	uint64_t waited_ns, waited_since_ns;
	/* function in which the thread slept at the last look; "": did not sleep */
	char in[AIF_SLEEP_NAME];
	/* stack of the sleep, without that function; AIF_NONE: not known */
	uint32_t stack;
	/* first and last look that saw the sleep; the same: seen once */
	uint64_t since_ns, seen_ns;
};

struct target_state {
	struct sleeper *at; /* AIF_SHM_CPU_THREADS; NULL: nobody is looked at */
	size_t len;         /* entries in use, now or before */
	bool are_ours;      /* thread numbers of the target are those of the recorder */
	bool any_launches, is_refused;
	bool has_begun; /* the main thread has been looked at */
	/* time at which the recorder met the target; wait of the main thread for a CPU until then */
	uint64_t met_ns, before_ns;
	uint64_t launching; /* the target's count when those that launch were found last */
	uint64_t next_ns, next_others_ns;
	size_t first;              /* thread to begin with in the next turn */
	struct aif_asleep *asleep; /* reads stacks; NULL: not yet, or it cannot */
	/* time of the first stack read; CPU time of all reads */
	uint64_t stacks_since_ns, stacks_ns;
	struct aif_sleep_python python;
	unsigned python_looks; /* number of searches for the interpreter */
};

static struct target_state *sleeps_of(const struct aif_target *t)
{
	return t->source_state[AIF_SOURCE_SLEEPS];
}

static bool is_wanted(const struct aif_record_opts *o, const struct aif_target *t)
{
	uint32_t mode =
		t->shm ? atomic_load_explicit(&t->shm->cpu, memory_order_relaxed) : AIF_CPU_NONE;

	return (mode == AIF_CPU_RECORDER || mode == AIF_CPU_BOTH || mode == AIF_CPU_TICK) &&
	       !o->cpu_event && !o->off_cpu && o->calls != AIF_RECORD_CALLS_OFF;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void put_row(struct aif_drainer *d, struct aif_target *t, const struct sleeper *s,
		    const char *text, uint32_t of, uint64_t time, uint64_t ns, bool is_whole)
{
	/* Callers are missing where no stack could be read. */
	uint32_t flags = of == AIF_NONE ? AIF_STACK_FRAME_POINTERS : d->store->p.stacks[of].flags;
	struct aif_cpu_row *row;
	uint32_t mark;

	if (!ns)
		return;
	row = aif_batches_row(&d->store->batches, AIF_BATCH_CPU);
	if (!row) {
		aif_store_loss(d->store, AIF_REASON_WRITER_BEHIND, t->process,
			       aif_store_puts(d->store, "times off CPU"), 1);
		return;
	}
	d->store->payer = &t->quota;
	mark = aif_store_mark(d->store, text);
	*row = (struct aif_cpu_row){
		.time = time,
		.waiting = ns,
		.is_whole = is_whole,
		.thread = aif_target_thread(d, t, s->tid, NULL),
		.stack = mark == AIF_NONE ? AIF_NONE : aif_store_stack(d->store, of, mark, flags),
	};
	d->store->payer = NULL;
}

static void put_asleep(struct aif_drainer *d, struct aif_target *t, const struct sleeper *s,
		       uint64_t time, uint64_t ns, bool is_whole)
{
	char text[sizeof(AIF_OFF_CPU_SEEN_IN) + AIF_SLEEP_NAME];

	snprintf(text, sizeof(text), AIF_OFF_CPU_SEEN_IN "%s]", s->in);
	if (*s->in)
		put_row(d, t, s, text, s->stack, time, ns, is_whole);
}

/* Makes a row of a sleep that has lasted; it may go on. */
static void put_sleep(struct aif_drainer *d, struct aif_target *t, struct sleeper *s)
{
	put_asleep(d, t, s, s->since_ns, s->seen_ns - s->since_ns, true);
	s->since_ns = s->seen_ns;
}

/* Makes a row of what was waited for a CPU, from `least` ns on. */
static void put_waited(struct aif_drainer *d, struct aif_target *t, struct sleeper *s,
		       uint64_t least)
{
	if (s->waited_ns < least)
		return;
	put_row(d, t, s, AIF_OFF_CPU_SEEN_RUNNABLE, AIF_NONE, s->waited_since_ns, s->waited_ns,
		false);
	s->waited_ns = 0;
}

/* ---- looks ------------------------------------------------------------------------------------- */

static void close_files(struct sleeper *s)
{
	if (s->counts_fd >= 0)
		close(s->counts_fd);
	if (s->call_fd >= 0)
		close(s->call_fd);
	s->counts_fd = s->call_fd = -1;
}

/* Reads a file of a thread, which stays open where *fd is to. Returns its length or -errno. */
static ssize_t read_file(const struct aif_target *t, const struct sleeper *s, const char *name,
			 int *fd, char *text, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%" PRIu32 "/%s", t->pid, s->outer, name);
	if (!s->launches)
		return aif_proc_read(path, text, size);
	if (*fd < 0) {
		*fd = open(path, O_RDONLY | O_CLOEXEC);
		*fd = aif_open_spare(*fd < 0 ? -errno : *fd);
	}
	if (*fd < 0)
		return *fd;
	n = pread(*fd, text, size - 1, 0);
	n = n < 0 ? -errno : n;
	text[AIF_MAX(n, 0)] = '\0';
	return n;
}

/* True if the thread has ended, or has given up its memory already: from then on its files are root's. */
static bool is_ending(const struct aif_target *t, const struct sleeper *s)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%" PRIu32 "/statm", t->pid, s->outer);
	return aif_proc_read(path, text, sizeof(text)) <= 0 || !strncmp(text, "0 ", 2);
}

/* Looks for the process's interpreter, PYTHON_LOOKS times at most: a program may load it when it has waited for other locks already.
 * Maps of 2,000 lines take 1 ms. */
static void find_python(const struct aif_target *t, struct target_state *state)
{
	struct aif_buf maps = {0};

	if (state->python.end || state->python_looks == PYTHON_LOOKS)
		return;
	state->python_looks++;
	(void)aif_process_text(t->pid, "maps", MAPS_MAX, &maps);
	if (maps.len && !aif_buf_failed(&maps))
		state->python = aif_sleep_python_find(aif_buf_str(&maps));
	aif_buf_finish(&maps);
}

/* A sleep whose stack is read. */
struct sleep {
	const struct aif_target *t;
	struct sleeper *s;
	uint64_t cpu_ns, turns;
};

/* Returns true if a thread has not run since the look at hand began. */
static bool is_still_asleep(void *arg)
{
	struct sleep *z = arg;
	uint64_t cpu_ns, delay_ns, turns;
	char text[128];

	return read_file(z->t, z->s, "schedstat", &z->s->counts_fd, text, sizeof(text)) > 0 &&
	       sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &cpu_ns, &delay_ns, &turns) == 3 &&
	       cpu_ns == z->cpu_ns && turns == z->turns;
}

/* Reads the stack of a launching thread into s->stack. */
static void read_stack(struct aif_drainer *d, struct aif_target *t, struct sleep *z,
		       const struct aif_sleep_call *call)
{
	struct aif_asleep_thread thread = {.tid = z->s->tid, .call = call};
	struct target_state *state = sleeps_of(t);
	uint32_t tids[AIF_SHM_CPU_THREADS];
	uint64_t begin = aif_now_ns(), cpu = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (!z->s->launches)
		return;
	if (!state->asleep) {
		state->asleep = aif_asleep_new(t->pid, !d->opts->no_python);
		state->stacks_since_ns = begin;
	}
	if (!state->asleep ||
	    state->stacks_ns > STACKS_NS + (begin - state->stacks_since_ns) / STACKS_OF_TIME)
		return;
	for (size_t i = 0; i < state->len; i++)
		tids[i] = state->at[i].tid;
	d->store->payer = &t->quota;
	z->s->stack = aif_asleep_stack(state->asleep, d, t, &thread, tids, state->len,
				       is_still_asleep, z);
	d->store->payer = NULL;
	state->stacks_ns += aif_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

/* Reads the system call of a thread into s->in, and its stack. */
static void read_call(struct aif_drainer *d, struct aif_target *t, struct sleep *z)
{
	struct target_state *state = sleeps_of(t);
	struct sleeper *s = z->s;
	struct aif_sleep_call call;
	char text[256];
	ssize_t n =
		state->is_refused ? 0 : read_file(t, s, "syscall", &s->call_fd, text, sizeof(text));

	*s->in = '\0';
	s->stack = AIF_NONE;
	if (n > 0 && aif_sleep_call_parse(text, &call)) {
		if (call.number == SYS_futex)
			find_python(t, state);
		aif_sleep_call_name(t->pid, &call, &state->python, s->in);
		read_stack(d, t, z, &call);
	}
	if (n >= 0 || n == -ESRCH || n == -EMFILE)
		return;
	/* A thread that has just ended is no refusal. */
	if ((n == -ENOENT || n == -EACCES) && is_ending(t, s))
		return;
	state->is_refused = true;
	aif_store_loss(d->store, AIF_REASON_SLEEPS_HIDDEN, t->process,
		       aif_store_puts(d->store, strerror((int)-n)), 1);
}

/* Adds a wait for a CPU that has ended since the look before; it may have begun before that. */
static void add_wait(struct aif_drainer *d, struct aif_target *t, struct sleeper *s, uint64_t ns,
		     uint64_t now)
{
	if (!s->waited_ns)
		s->waited_since_ns = AIF_MIN(s->looked_ns, now - AIF_MIN(ns, now));
	s->waited_ns += ns;
	put_waited(d, t, s, WAITED_NS);
}

/* Notes what a program's main thread has waited for a CPU as the recorder meets it: of the program that it was before exec(). */
static void meet(const struct aif_target *t, struct target_state *state, uint64_t now)
{
	char path[64], text[128];
	uint64_t cpu_ns, delay_ns, turns;

	state->met_ns = now;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", t->pid, t->pid);
	if (aif_proc_read(path, text, sizeof(text)) > 0 &&
	    sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &cpu_ns, &delay_ns, &turns) == 3)
		state->before_ns = delay_ns;
}

/* Adds what a program's main thread waited for a CPU until now, the first look. */
static void add_waits_before(struct aif_drainer *d, struct aif_target *t, struct sleeper *s,
			     uint64_t ns, uint64_t now)
{
	uint64_t start = sleeps_of(t)->met_ns;

	ns -= AIF_MIN(ns, sleeps_of(t)->before_ns);
	if (!aif_record_has_all_cpu(d->opts) || ns < WAITED_NS || start >= now || ns > now - start)
		return;
	for (uint64_t i = 0; i < BEGIN_PARTS; i++)
		put_row(d, t, s, AIF_OFF_CPU_SEEN_RUNNABLE, AIF_NONE,
			start + (now - start) / BEGIN_PARTS * i, ns / BEGIN_PARTS, false);
}

/* A thread's counts, ever: CPU time, turns on a CPU, and time in which it could have run and had none. */
struct counts {
	uint64_t cpu_ns, delay_ns, turns;
};

/* Reads the counts of a thread, and makes rows of what it has waited for a CPU since the last look. False: it has ended, or what it
 * waits for is not known any more. */
static bool look_at_counts(struct aif_drainer *d, struct aif_target *t, struct sleeper *s,
			   uint64_t now, struct counts *ret)
{
	char text[128];

	if (read_file(t, s, "schedstat", &s->counts_fd, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ret->cpu_ns, &ret->delay_ns,
		   &ret->turns) != 3) {
		put_waited(d, t, s, 0);
		put_sleep(d, t, s);
		*s->in = '\0';
		s->looked_ns = 0;
		return false;
	}
	if (!s->looked_ns && s->outer == (uint32_t)t->pid && !sleeps_of(t)->has_begun) {
		sleeps_of(t)->has_begun = true;
		add_waits_before(d, t, s, ret->delay_ns, now);
	}
	if (s->looked_ns && ret->delay_ns > s->delay_ns)
		add_wait(d, t, s, ret->delay_ns - s->delay_ns, now);
	return true;
}

static void note_counts(struct sleeper *s, uint64_t now, const struct counts *c)
{
	s->looked_ns = now;
	s->cpu_ns = c->cpu_ns;
	s->turns = c->turns;
	s->delay_ns = c->delay_ns;
}

static void look_for_delays(struct aif_drainer *d, struct aif_target *t, struct sleeper *s,
			    uint64_t now)
{
	struct counts c;

	if (look_at_counts(d, t, s, now, &c))
		note_counts(s, now, &c);
}

static void look(struct aif_drainer *d, struct aif_target *t, struct sleeper *s, uint64_t now)
{
	bool is_first = !s->looked_ns, goes_on;
	struct counts c;

	if (!look_at_counts(d, t, s, now, &c))
		return;
	goes_on = !is_first && *s->in && c.cpu_ns == s->cpu_ns && c.turns == s->turns;
	if (goes_on) {
		s->seen_ns = now;
		if (now - s->since_ns >= AIF_NS_PER_S)
			put_sleep(d, t, s);
	} else {
		put_sleep(d, t, s);
		read_call(d, t, &(struct sleep){t, s, c.cpu_ns, c.turns});
		s->since_ns = s->seen_ns = now;
		if (!is_first)
			put_asleep(d, t, s, now, now - s->looked_ns, false);
	}
	note_counts(s, now, &c);
}

/* ---- threads ----------------------------------------------------------------------------------- */

static void found(void *arg, uint32_t outer, uint32_t inner)
{
	struct target_state *state = arg;

	for (size_t i = 0; i < AIF_SHM_CPU_THREADS; i++)
		if (state->at[i].tid == inner)
			state->at[i].outer = outer;
}

static void forget_thread(struct aif_drainer *d, struct aif_target *t, struct sleeper *s)
{
	put_waited(d, t, s, 0);
	put_sleep(d, t, s);
	close_files(s);
	*s = (struct sleeper){.counts_fd = -1, .call_fd = -1};
}

/* Follows the agent's list. */
static void follow(struct aif_drainer *d, struct aif_target *t, struct target_state *state)
{
	bool any_new = false;

	for (size_t i = 0; i < AIF_SHM_CPU_THREADS; i++) {
		struct sleeper *s = &state->at[i];
		uint32_t tid = atomic_load_explicit(&t->shm->cpu_tids[i], memory_order_acquire);

		if (tid == s->tid)
			continue;
		forget_thread(d, t, s);
		s->tid = tid;
		s->outer = state->are_ours ? tid : 0;
		state->len = AIF_MAX(state->len, i + 1);
		state->launching = 0; /* the thread of a reused entry may have launched before */
		any_new |= tid && !state->are_ours;
	}
	if (any_new) /* all in one go, as each one's file must be read */
		aif_tids_each(t->pid, found, state);
}

static void find_launching(const struct aif_drainer *d, const struct aif_target *t,
			   struct target_state *state)
{
	if (state->launching == t->launching)
		return;
	state->launching = t->launching;
	for (uint32_t k = 0; k < t->slots_len; k++) {
		const struct aif_target_slot *slot = &t->slots[k];
		uint32_t tid;

		if (!slot->has_launched || slot->thread == AIF_NONE)
			continue;
		tid = d->store->p.threads[slot->thread].tid;
		for (size_t i = 0; i < state->len; i++)
			if (state->at[i].tid == tid)
				state->at[i].launches = state->any_launches = true;
	}
}

static bool start(const struct aif_target *t, struct target_state *state)
{
	state->at = malloc(AIF_SHM_CPU_THREADS * sizeof(*state->at));
	for (size_t i = 0; state->at && i < AIF_SHM_CPU_THREADS; i++)
		state->at[i] = (struct sleeper){.counts_fd = -1, .call_fd = -1};
	state->are_ours = aif_tids_are_ours(t->pid);
	return state->at;
}

/* Ends the sleeps that have been seen: what comes next is not known, or nothing. */
static void pause_looks(struct aif_drainer *d, struct aif_target *t, struct target_state *state)
{
	for (size_t i = 0; state->at && i < state->len; i++) {
		put_waited(d, t, &state->at[i], 0);
		put_sleep(d, t, &state->at[i]);
		*state->at[i].in = '\0';
		state->at[i].looked_ns = 0;
	}
}

/* Looks at LOOKS threads that launch, from where the turn before has ended. */
static void look_at_launching(struct aif_drainer *d, struct aif_target *t,
			      struct target_state *state)
{
	unsigned looks = 0;

	for (size_t n = 0; n < state->len && looks < LOOKS; n++) {
		struct sleeper *s = &state->at[state->first];

		state->first = (state->first + 1) % state->len;
		if (!s->launches || !s->outer)
			continue;
		look(d, t, s, aif_now_ns());
		looks++;
	}
}

/* Looks at what up to DELAYS_MAX threads have waited for a CPU, from where the turn before has ended. */
static void look_at_delays(struct aif_drainer *d, struct aif_target *t, struct target_state *state)
{
	for (size_t n = 0; n < AIF_MIN(state->len, DELAYS_MAX); n++) {
		struct sleeper *s = &state->at[state->first];

		state->first = (state->first + 1) % state->len;
		if (s->outer)
			look_for_delays(d, t, s, aif_now_ns());
	}
}

static void target_step(struct aif_drainer *d, struct aif_target *t, const struct aif_turn *turn)
{
	struct target_state *state = sleeps_of(t);

	if (!state->met_ns)
		meet(t, state, turn->now);
	if (!is_wanted(d->opts, t) || (!state->at && !start(t, state)))
		return;
	if (turn->new_threads)
		follow(d, t, state);
	if (turn->now < state->next_ns)
		return;
	state->next_ns = turn->now + LOOK_NS - SLACK_NS;
	find_launching(d, t, state);
	if (!state->any_launches && !d->opts->cpu)
		return;
	if (!turn->collects || t->gap_since) {
		pause_looks(d, t, state);
		return;
	}
	if (state->any_launches)
		look_at_launching(d, t, state);
	if (turn->now < state->next_others_ns)
		return;
	if (!state->any_launches) {
		state->next_others_ns = turn->now + DELAYS_NS;
		look_at_delays(d, t, state);
		return;
	}
	state->next_others_ns = turn->now + OTHER_NS;
	for (size_t i = 0; i < state->len; i++)
		if (state->at[i].outer && !state->at[i].launches)
			look(d, t, &state->at[i], aif_now_ns());
}

static void target_end(struct aif_drainer *d, struct aif_target *t, uint64_t now)
{
	(void)now;
	pause_looks(d, t, sleeps_of(t));
}

static void target_free(struct aif_target *t)
{
	struct target_state *state = sleeps_of(t);

	for (size_t i = 0; state->at && i < state->len; i++)
		close_files(&state->at[i]);
	free(state->at);
	aif_asleep_free(state->asleep);
}

const struct aif_source aif_source_sleeps = {
	.name = "sleeps",
	.target_state_size = sizeof(struct target_state),
	.target_step = target_step,
	.target_end = target_end,
	.target_free = target_free,
};
