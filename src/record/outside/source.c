/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process_read.h"
#include "base/clock.h"
#include "base/open_regular.h"
#include "base/proc.h"
#include "base/process.h"
#include "record/ebpf/processes.h"
#include "record/ingest/ids.h"
#include "record/outside/children.h"
#include "record/outside/outside.h"
#include "record/outside/rings.h"
#include "record/outside/spent.h"
#include "record/outside/waits.h"
#include "record/sources/cpu.h"
#include "record/sources/sources.h"
#include "symbolize/kallsyms.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * CPU samples of processes without the agent: `record -p PID --cpu` and `-a --cpu`. Each thread that uses CPU time has a perf_event
 * and a ring of its own; what comes out are registers and a copy of the stack, unwound here by the tables in the
 * process's memory (src/remote). Threads are found by looking: at all of a named process and of its children, at those that have used CPU
 * time since the last look of others. With `-p PID --inject always` it is for what these processes start by exec(). What threads with a ring waited for a CPU is read once a second, and as sampling ends.
 */

#define THREADS_MAX 4096 /* with a ring */
#define LOOKS_MAX   256  /* threads without one whose time is read in one look: 5 us each */
/* Threads with a ring whose waits for a CPU are read in one second. */
#define WAITS_MAX  1024
#define FRAMES_MAX 256
#define MAPS_MAX   (4u << 20)
/* Pages of a process that are read between two looks at its maps. */
#define PAGES_MAX 65536
/* Maps are read again at most so often. */
#define MAPS_NS (100 * UINT64_C(1000000))

struct thread {
	uint32_t tid, pid;
	uint64_t used; /* ns of CPU time, at the last look */
	struct aif_outside_wait wait;
	bool has_ring, was_refused, seen;
	char name[64]; /* "": not known yet */
	struct aif_outside_ring ring;
};

/* A process's code, and its tables. */
struct code {
	uint32_t pid;
	bool is_stale;
	uint64_t read_ns;
	struct aif_remote_memory *memory;
	struct aif_remote_modules modules;
};

struct outside {
	bool is_on, has_user_only;
	struct aif_drainer *d;
	struct aif_ebpf_processes processes;
	struct thread *threads;
	size_t len, cap, rings, next_look, next_wait;
	struct aif_map by_tid;            /* -> index of `threads` */
	struct aif_outside_spents spents; /* of named processes and their children */
	struct aif_map met; /* with --inject always: processes that have been looked at */
	struct code *codes;
	size_t codes_len, codes_cap;
	uint8_t *scratch;
	uint64_t random;
	struct thread *reading; /* whose ring is read */
	bool collects;
	uint64_t collects_from; /* 0: it does not */
	char host[256];
};

static struct outside *outside_of(const struct aif_drainer *d)
{
	return d->source_state[AIF_SOURCE_OUTSIDE];
}

/* ---- code ---- */

static struct code *code_of(struct outside *o, uint32_t pid)
{
	for (size_t i = 0; i < o->codes_len; i++)
		if (o->codes[i].pid == pid)
			return &o->codes[i];
	if (aif_grow(&o->codes, &o->codes_cap, o->codes_len + 1, sizeof(*o->codes)))
		return NULL;
	o->codes[o->codes_len] = (struct code){.pid = pid, .is_stale = true};
	return &o->codes[o->codes_len++];
}

static void code_free(struct code *c)
{
	if (c->memory)
		aif_remote_modules_finish(&c->modules);
	free(c->memory);
	c->memory = NULL;
}

static void read_maps(struct code *c)
{
	struct aif_buf maps = {0};

	code_free(c);
	c->memory = aif_remote_memory_new((int)c->pid, PAGES_MAX);
	(void)aif_process_text((int)c->pid, "maps", MAPS_MAX, &maps);
	aif_buf_putc(&maps, '\0');
	if (c->memory && (aif_buf_failed(&maps) ||
			  aif_remote_modules_init(&c->modules, c->memory, (char *)maps.data))) {
		free(c->memory);
		c->memory = NULL;
	}
	aif_buf_finish(&maps);
}

/* NULL: it is not known. */
static struct aif_remote_modules *modules_of(struct outside *o, uint32_t pid)
{
	struct code *c = code_of(o, pid);
	uint64_t now = aif_now_ns();

	if (!c)
		return NULL;
	if (c->is_stale && (!c->memory || now - c->read_ns >= MAPS_NS)) {
		read_maps(c);
		c->is_stale = false;
		c->read_ns = now;
	}
	return c->memory ? &c->modules : NULL;
}

/* ---- samples ---- */

static uint32_t push(struct aif_store *s, uint32_t stack, uint32_t frame, uint32_t flags)
{
	uint32_t next = frame == AIF_NONE ? AIF_NONE : aif_store_stack(s, stack, frame, flags);

	return next == AIF_NONE ? stack : next;
}

static uint32_t native_frame(struct outside *o, struct aif_ebpf_process *p, struct aif_target *t,
			     uint64_t pc, uint64_t now)
{
	const struct aif_address_range *range =
		aif_ebpf_process_range(o->d, &o->processes, p, t, pc, now);

	if (!range || range->module == AIF_NONE)
		return AIF_NONE;
	if (range->module == t->jit.modules[0])
		aif_jit_names_seen(&t->jit, &t->files, now);
	return aif_store_frame(o->d->store, range->is_kernel ? AIF_FRAME_DEVICE : AIF_FRAME_NATIVE,
			       range->module, pc - range->base);
}

static uint32_t stack_of(struct outside *o, struct aif_ebpf_process *p, struct aif_target *t,
			 const char *comm, const struct aif_outside_sample *s)
{
	struct aif_remote_modules *modules = s->has_user ? modules_of(o, s->pid) : NULL;
	uint64_t pcs[FRAMES_MAX], sps[FRAMES_MAX];
	struct aif_store *store = o->d->store;
	struct aif_remote_walk w = {.end = AIF_REMOTE_TRUNCATED};
	uint32_t at = AIF_NONE, flags = 0, kernel = AIF_NONE;

	if (modules)
		w = aif_remote_unwind(modules, &s->regs, &s->stack, pcs, sps, FRAMES_MAX);
	if (w.end != AIF_REMOTE_END)
		flags |= AIF_STACK_TRUNCATED;
	if (w.guessed)
		flags |= AIF_STACK_GUESSED;
	if (s->in_kernel) {
		uint32_t module = aif_store_module(store, AIF_MODULE_OS, AIF_OS_KERNEL,
						   strlen(AIF_OS_KERNEL), NULL, 0);

		if (module != AIF_NONE)
			kernel = aif_store_frame(store, AIF_FRAME_OS, module,
						 AIF_KALLSYMS_ADDRESS(s->ip));
	}
	if (o->processes.all) /* whose it is: many programs have a main() */
		at = push(store, at, aif_store_mark(store, comm), w.depth ? 0 : flags);
	for (unsigned i = w.depth; i-- > 0;)
		at = push(store, at, native_frame(o, p, t, pcs[i] - (i > 0), s->time),
			  i || kernel != AIF_NONE ? 0 : flags);
	if (kernel != AIF_NONE)
		at = push(store, at, kernel, flags);
	return at;
}

static const char *name_of(struct thread *th)
{
	char path[64];

	if (th->name[0])
		return th->name;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", th->pid, th->tid);
	if (aif_proc_read(path, th->name, sizeof(th->name)) <= 0)
		snprintf(th->name, sizeof(th->name), "%u", th->tid);
	th->name[strcspn(th->name, "\n")] = '\0';
	return th->name;
}

static void on_sample(void *arg, const struct aif_outside_sample *s)
{
	struct outside *o = arg;
	struct aif_drainer *d = o->d;
	struct aif_ebpf_process *p = aif_ebpf_process(&o->processes, s->pid, false);
	struct aif_cpu_row row = {.time = s->time, .weight = s->period}, *to;
	const char *comm;
	struct aif_target *t;

	if (!p || !p->wanted || !o->collects)
		return;
	comm = name_of(o->reading);
	t = aif_ebpf_process_target(d, &o->processes, p, comm, s->time);
	if (!t || (t->shm && aif_cpu_is_sampled(t)))
		return;
	d->store->payer = &t->quota;
	row.thread = aif_target_thread(d, t, s->tid, comm);
	row.stack = stack_of(o, p, t, comm, s);
	to = aif_batches_row(&d->store->batches, AIF_BATCH_CPU);
	if (to)
		*to = row;
	else
		aif_store_loss(d->store, AIF_REASON_WRITER_BEHIND, t->process,
			       aif_store_puts(d->store, "CPU samples"), 1);
	d->samples += to != NULL;
	aif_outside_spent_sampled(&o->spents, s->pid, s->period);
	d->store->payer = NULL;
	if (t == p->t)
		aif_store_refused(d->store, &t->quota, t->process);
}

static void on_lost(void *arg, uint64_t n)
{
	struct outside *o = arg;

	if (o->collects)
		aif_store_loss(o->d->store, AIF_REASON_OUTSIDE_SAMPLES, AIF_NONE, AIF_NONE, n);
}

static void on_mapped(void *arg)
{
	struct outside *o = arg;
	struct aif_ebpf_process *p = aif_ebpf_process(&o->processes, o->reading->pid, false);
	struct code *c = code_of(o, o->reading->pid);

	if (c)
		c->is_stale = true;
	if (p && p->t) {
		p->t->ranges.len = 0;
		p->t->maps_read_ns = 0;
	}
}

static void read_ring(struct outside *o, struct thread *th)
{
	const struct aif_outside_reader reader = {
		.arg = o,
		.sample = on_sample,
		.lost = on_lost,
		.mapped = on_mapped,
		.scratch = o->scratch,
	};

	o->reading = th;
	aif_outside_ring_read(&th->ring, &reader);
	aif_outside_ring_vary(&th->ring, o->d->opts->cpu_rate, &o->random);
}

/* ---- threads ---- */

/* Reads the CPU time of a thread, and what it waited for a CPU, ns. False: it has ended. */
static bool read_times(const struct thread *th, uint64_t *ret_used, uint64_t *ret_waited)
{
	char path[64], text[128], *end;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", th->pid, th->tid);
	if (aif_proc_read(path, text, sizeof(text)) <= 0)
		return false;
	*ret_used = strtoull(text, &end, 10);
	*ret_waited = strtoull(end, NULL, 10);
	return true;
}

/* Makes a row of what a thread has waited for a CPU since the last look. */
static void look_at_wait(struct outside *o, struct thread *th)
{
	struct aif_drainer *d = o->d;
	struct aif_ebpf_process *p = aif_ebpf_process(&o->processes, th->pid, false);
	uint64_t used, waited, now = aif_now_ns();
	struct aif_outside_waited sum;
	struct aif_cpu_row row, *to;
	struct aif_target *t;
	uint32_t mark;

	if (!read_times(th, &used, &waited) ||
	    !aif_outside_wait_look(&th->wait, waited, now, o->collects_from, &sum) || !p ||
	    !p->wanted)
		return;
	row = (struct aif_cpu_row){.time = sum.since_ns, .waiting = sum.ns};
	t = aif_ebpf_process_target(d, &o->processes, p, name_of(th), now);
	if (!t || (t->shm && aif_cpu_is_sampled(t)))
		return;
	to = aif_batches_row(&d->store->batches, AIF_BATCH_CPU);
	if (!to) {
		aif_store_loss(d->store, AIF_REASON_WRITER_BEHIND, t->process,
			       aif_store_puts(d->store, "times off CPU"), 1);
		return;
	}
	d->store->payer = &t->quota;
	row.thread = aif_target_thread(d, t, th->tid, name_of(th));
	mark = aif_store_mark(d->store, AIF_OFF_CPU_SEEN_RUNNABLE);
	row.stack = mark == AIF_NONE
			    ? AIF_NONE
			    : aif_store_stack(d->store, AIF_NONE, mark, AIF_STACK_FRAME_POINTERS);
	*to = row;
	d->store->payer = NULL;
}

static void sample(struct outside *o, struct thread *th)
{
	int r = o->rings < THREADS_MAX
			? aif_outside_ring_open(&th->ring, th->tid, o->d->opts->cpu_rate)
			: -EMFILE;

	th->has_ring = r == 0;
	o->rings += th->has_ring;
	if (!r && !th->ring.sees_kernel && !o->has_user_only) {
		o->has_user_only = true;
		aif_store_loss(o->d->store, AIF_REASON_OUTSIDE_USER_ONLY, AIF_NONE, AIF_NONE, 1);
	}
	if (!r || r == -ESRCH)
		return;
	th->was_refused = true;
	aif_store_loss(o->d->store,
		       aif_open_lacks_descriptors(r) ? AIF_REASON_CPU_TOO_MANY
						     : AIF_REASON_OUTSIDE_REFUSED,
		       AIF_NONE, aif_store_puts(o->d->store, strerror(-r)), 1);
}

static void thread_drop(struct outside *o, size_t i)
{
	struct thread *th = &o->threads[i];

	if (th->has_ring) {
		read_ring(o, th);
		aif_outside_ring_close(&th->ring);
		o->rings--;
	}
	aif_map_put(&o->by_tid, th->tid, UINT64_MAX);
	*th = o->threads[--o->len];
	if (i < o->len)
		aif_map_put(&o->by_tid, th->tid, i);
}

static bool carries_agent(const struct outside *o, uint32_t pid)
{
	for (const struct aif_target *t = o->d->targets; t; t = t->next)
		if (t->pid == (int)pid && !t->ended && t->shm)
			return true;
	return false;
}

/* Returns true if a process carries the agent, or is about to: one that the agent is put into, and a new one of which it is not known yet
 * whether it brings the agent along. */
static bool is_agents(struct outside *o, uint32_t pid)
{
	bool may_come = o->d->opts->inject == AIF_RECORD_INJECT_ALWAYS && !o->processes.all;
	uint64_t met;

	if (carries_agent(o, pid))
		return true;
	for (const char *const *p = o->d->opts->pids; may_come && *p; p++)
		if (strtoul(*p, NULL, 10) == pid)
			return true;
	if (!may_come || aif_map_get(&o->met, pid, &met))
		return false;
	(void)aif_map_put(&o->met, pid, 1);
	return true;
}

/* Adds a process that one of those that are recorded has started. */
static void want_child(void *arg, uint32_t child)
{
	struct outside *o = arg;
	struct aif_ebpf_process *p = aif_ebpf_process(&o->processes, child, true);

	if (p)
		p->wanted = true;
}

/* Adds the threads of a process that are new, and marks all as seen. */
static void list_threads(struct outside *o, uint32_t pid)
{
	const bool samples = !is_agents(o, pid);
	struct dirent *e;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir)) != NULL) {
		uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);
		uint64_t i, waited = 0;

		if (!tid)
			continue;
		if (!o->processes.all)
			aif_outside_children(pid, tid, want_child, o);
		if (!samples)
			continue;
		if (aif_map_get(&o->by_tid, tid, &i) && i < o->len) {
			o->threads[i].seen = true;
			continue;
		}
		if (aif_grow(&o->threads, &o->cap, o->len + 1, sizeof(*o->threads)) ||
		    aif_map_put(&o->by_tid, tid, o->len))
			break;
		o->threads[o->len] = (struct thread){.tid = tid, .pid = pid, .seen = true};
		(void)read_times(&o->threads[o->len], &o->threads[o->len].used, &waited);
		aif_outside_wait_init(&o->threads[o->len].wait, waited, aif_now_ns());
		if (!o->processes.all)
			sample(o, &o->threads[o->len]);
		o->len++;
	}
	if (dir)
		closedir(dir);
}

static void look_at_threads(struct outside *o)
{
	for (size_t i = 0; i < o->len; i++)
		o->threads[i].seen = false;
	for (size_t i = 0; i < o->processes.len; i++) {
		struct aif_ebpf_process *p = o->processes.at[i];

		if (!p || !p->wanted || p->pid == (uint32_t)getpid())
			continue;
		list_threads(o, p->pid);
		if (!o->processes.all && !carries_agent(o, p->pid))
			aif_outside_spent_look(&o->spents, p->pid, o->collects);
	}
	for (size_t i = 0; i < o->len;) {
		if (o->threads[i].seen)
			i++;
		else
			thread_drop(o, i);
	}
}

/* Gives a ring to threads that have used CPU time: those that wait need none. */
static void look_at_times(struct outside *o)
{
	for (size_t n = 0; n < AIF_MIN(o->len, (size_t)LOOKS_MAX); n++) {
		struct thread *th = &o->threads[o->next_look++ % o->len];
		uint64_t used, waited;

		if (th->has_ring || th->was_refused)
			continue;
		if (!read_times(th, &used, &waited))
			continue;
		if (used > th->used)
			sample(o, th);
		else
			aif_outside_wait_init(&th->wait, waited, aif_now_ns());
		th->used = used;
	}
}

static void look_at_waits(struct outside *o, size_t most)
{
	for (size_t n = 0; n < AIF_MIN(o->len, most); n++) {
		struct thread *th = &o->threads[o->next_wait++ % o->len];

		if (th->has_ring)
			look_at_wait(o, th);
	}
}

/* Makes a row of CPU time that is in no sample, and counts it. */
static void put_missing(struct outside *o, struct aif_ebpf_process *p)
{
	struct thread main = {.tid = p->pid, .pid = p->pid};
	struct aif_drainer *d = o->d;
	uint64_t missing, now = aif_now_ns();
	struct aif_cpu_row *to;
	struct aif_target *t;
	uint32_t mark;

	if (!p->exit_ns)
		aif_outside_spent_look(&o->spents, p->pid, true);
	missing = aif_outside_spent_missing(&o->spents, p->pid);
	if (!missing || !p->wanted || carries_agent(o, p->pid))
		return;
	t = aif_ebpf_process_target(d, &o->processes, p, name_of(&main), now);
	to = t ? aif_batches_row(&d->store->batches, AIF_BATCH_CPU) : NULL;
	if (!t)
		return;
	mark = aif_store_mark(d->store, AIF_CPU_NOT_MARK);
	if (to)
		*to = (struct aif_cpu_row){
			.time = now,
			.weight = missing,
			.thread = aif_target_thread(d, t, 0, NULL),
			.stack = mark == AIF_NONE ? AIF_NONE
						  : aif_store_stack(d->store, AIF_NONE, mark, 0)};
	aif_store_loss(d->store, AIF_REASON_CPU_UNSAMPLED, t->process, AIF_NONE, missing / 1000000);
}

/* A thread of the OS kernel has no program. */
static bool has_program(int pid)
{
	char path[64], link[8];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return readlink(path, link, sizeof(link)) > 0;
}

static void look_for_processes(struct outside *o)
{
	struct dirent *e;
	DIR *dir;

	for (const char *const *p = o->d->opts->pids; *p; p++)
		aif_ebpf_processes_want(&o->processes, (uint32_t)strtoul(*p, NULL, 10));
	dir = o->processes.all ? opendir("/proc") : NULL;
	while (dir && (e = readdir(dir)) != NULL) {
		int pid = atoi(e->d_name);

		if (pid > 0 && pid != getpid() &&
		    !aif_ebpf_process(&o->processes, (uint32_t)pid, false) && has_program(pid))
			aif_ebpf_process(&o->processes, (uint32_t)pid, true);
	}
	if (dir)
		closedir(dir);
	/* Forgets those that have ended, with their code. */
	for (size_t i = 0; i < o->processes.len; i++) {
		struct aif_ebpf_process *p = o->processes.at[i];

		if (p && !p->exit_ns && aif_proc_has_ended((int)p->pid))
			p->exit_ns = aif_now_ns();
		if (p && p->exit_ns)
			put_missing(o, p);
	}
	for (size_t i = 0; i < o->codes_len;) {
		if (!aif_proc_has_ended((int)o->codes[i].pid)) {
			i++;
			continue;
		}
		code_free(&o->codes[i]);
		o->codes[i] = o->codes[--o->codes_len];
	}
}

/* ---- the source ---- */

static int init(struct aif_drainer *d, struct aif_err *err)
{
	struct outside *o = outside_of(d);

	if (!d->opts->outside || !d->opts->cpu_rate)
		return 0;
	o->scratch = malloc(AIF_OUTSIDE_RECORD);
	if (!o->scratch)
		return aif_err_set(err, -ENOMEM, "out of memory");
	o->d = d;
	o->is_on = true;
	o->random = aif_now_ns();
	gethostname(o->host, sizeof(o->host) - 1);
	o->processes.host = o->host;
	o->processes.all = d->opts->all_processes;
	o->processes.own_pid = (uint32_t)getpid();
	d->has_kernel_rings = d->has_small_rings = true;
	return 0;
}

static void read_all(struct outside *o)
{
	for (size_t i = 0; i < o->len; i++)
		if (o->threads[i].has_ring)
			read_ring(o, &o->threads[i]);
}

/* Follows whether is collected. What threads waited until then is not theirs to tell. */
static void begin_or_pause(struct outside *o, bool collects)
{
	if (collects && !o->collects)
		look_at_waits(o, o->len);
	if (!collects || !o->collects)
		o->collects_from = collects ? aif_now_ns() : 0;
	o->collects = collects;
}

static void step(struct aif_drainer *d, const struct aif_turn *turn)
{
	struct outside *o = outside_of(d);

	if (!o->is_on)
		return;
	begin_or_pause(o, turn->collects);
	/* While the writer is behind what is in the rings waits there. */
	if (aif_batches_room(&d->store->batches))
		read_all(o);
	if (turn->each_second || !o->processes.len)
		look_for_processes(o);
	/* Lists threads of the whole machine less often. */
	if (o->processes.all ? turn->each_second || !o->len : turn->new_threads)
		look_at_threads(o);
	if (turn->new_threads)
		look_at_times(o);
	if (turn->each_second)
		look_at_waits(o, WAITS_MAX);
	if (turn->each_second)
		aif_ebpf_processes_tidy(d, &o->processes,
					turn->now > AIF_NS_PER_S ? turn->now - AIF_NS_PER_S : 0);
}

static uint64_t stop(struct aif_drainer *d, bool collects)
{
	struct outside *o = outside_of(d);

	if (o->is_on) {
		begin_or_pause(o, collects);
		read_all(o);
		look_at_waits(o, o->len);
		for (size_t i = 0; i < o->processes.len && !o->processes.all && collects; i++)
			if (o->processes.at[i])
				put_missing(o, o->processes.at[i]);
	}
	return aif_now_ns();
}

static void finish(struct aif_drainer *d)
{
	struct outside *o = outside_of(d);

	for (size_t i = 0; i < o->len; i++)
		if (o->threads[i].has_ring)
			aif_outside_ring_close(&o->threads[i].ring);
	for (size_t i = 0; i < o->codes_len; i++)
		code_free(&o->codes[i]);
	free(o->codes);
	free(o->threads);
	free(o->scratch);
	aif_map_finish(&o->by_tid);
	aif_map_finish(&o->met);
	aif_outside_spents_finish(&o->spents);
	if (o->is_on)
		aif_ebpf_processes_finish(d, &o->processes);
}

const struct aif_source aif_source_outside = {
	.name = "outside",
	.state_size = sizeof(struct outside),
	.init = init,
	.step = step,
	.stop = stop,
	.finish = finish,
};

void aif_outside_check(struct aif_record_opts *o)
{
	if (!o->cpu || o->argv || o->ebpf || o->cpu_event || o->wall || !o->cpu_rate)
		return;
	for (const char *const *p = o->pids; *p; p++) {
		struct aif_outside_ring ring;
		int r = aif_outside_ring_open(&ring, (uint32_t)strtoul(*p, NULL, 10), o->cpu_rate);

		if (r == -EACCES || r == -EPERM) {
			o->outside_refused = true;
			return;
		}
		if (r == 0)
			aif_outside_ring_close(&ring);
	}
	o->outside = true;
}
