/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/cpu.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/open_regular.h"
#include "base/process.h"
#include "record/sources/cpu_clock.h"
#include "record/sources/cpu_event.h"
#include "record/sources/filter_code.h"
#include "record/sources/sources.h"
#include "record/sources/tids.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Many programs repeat themselves each few milliseconds, and samples that are exactly as far apart would find
 * some of their functions too often: in a loop of 5 ms at 199 Hz a function of 67 % had 27 to 89. So after so many
 * samples of a thread, and so long, its period is another, at random within a quarter of what was asked: 200 samples of
 * that loop are then as good as 200 at random (3.7 points of standard deviation instead of 3.4, in a simulation). Setting
 * it makes the kernel begin a new one, which costs half a sample; a thread that needs longer for a sample than the time
 * between two changes would never give one. */
#define SAMPLES_A_PERIOD 16
#define PERIOD_NS        UINT64_C(50000000)

/* Weight of one sample at most: no thread computes in the kernel for a day. Sums of them do not
 * overflow. */
#define MAX_WEIGHT (UINT64_C(86400) * AIF_NS_PER_S)

struct events {
	uint64_t random, change_ns; /* time of the next look for periods to change */
	bool same_namespace;        /* the target's thread numbers are ours */
	struct {
		uint32_t tid;        /* thread number as listed; 0 = none */
		int fd;              /* -1 = it could not be had */
		int also;            /* of the other kind that the event counts, -1 = none */
		bool is_new;         /* listed, and still to be found */
		bool is_alone;       /* listed, and needs no event */
		uint64_t changed_ns; /* CPU time of the thread when its period was last changed */
	} at[AIF_SHM_CPU_THREADS];
};

struct state {
	/* process -> CPU time in its rows, over all programs that it executed */
	struct aif_map known;
	struct aif_filter_code *filter_code; /* NULL: nobody is sampled */
};

struct target_state {
	bool is_decided; /* the way of sampling is decided */
	bool may_filter; /* nobody samples: the program may install a filter that is not seen */
	struct aif_filter_code_target filter_code;
	size_t modules;        /* modules known at the last look at the program's files */
	uint64_t process;      /* the same for all programs of a process */
	struct events *events; /* NULL: the threads get no signals from the recorder */
};

static struct target_state *cpu_of(const struct aif_target *t)
{
	return t->source_state[AIF_SOURCE_CPU];
}

/* Opens what starts samples of a thread: CPU time, or the event that was asked for. */
static int sampler_open(const struct aif_record_opts *o, uint32_t tid)
{
	if (!o->cpu_event)
		return aif_cpu_clock_open(tid, o->cpu_rate);
	return aif_cpu_event_open(tid, o->cpu_event->type, o->cpu_event->config, o->cpu_period);
}

int aif_cpu_sampler_probe(const struct aif_record_opts *o, struct aif_err *err)
{
	int fd = sampler_open(o, (uint32_t)syscall(SYS_gettid));

	if (fd < 0)
		return aif_cpu_event_refused(o->cpu_event, fd, err);
	close(fd);
	return 0;
}

static void lose(struct aif_drainer *d, const struct aif_target *t, enum aif_reason reason,
		 int error)
{
	bool lacks = aif_open_lacks_descriptors(error);

	aif_store_loss(
		d->store, lacks ? AIF_REASON_NO_DESCRIPTORS : reason, t->process,
		aif_store_puts(d->store, lacks ? "CPU samples of a thread" : strerror(-error)), 1);
}

static void close_samplers(struct events *e, size_t i)
{
	if (e->at[i].fd >= 0)
		close(e->at[i].fd);
	if (e->at[i].also >= 0)
		close(e->at[i].also);
	e->at[i].fd = e->at[i].also = -1;
}

/* Place i's thread, as we know it. */
static void sample_thread(struct aif_drainer *d, struct aif_target *t, size_t i, uint32_t tid)
{
	const struct aif_cpu_event *event = d->opts->cpu_event;
	int fd = sampler_open(d->opts, tid);

	cpu_of(t)->events->at[i].fd = fd;
	if (fd >= 0 && event && event->also) {
		fd = aif_cpu_event_open(tid, event->type, event->also, d->opts->cpu_period);
		cpu_of(t)->events->at[i].also = fd;
	}
	if (fd < 0 && fd != -ESRCH)
		lose(d, t, AIF_REASON_CPU_TOO_MANY, fd);
}

struct finding {
	struct aif_drainer *d;
	struct aif_target *t;
};

static void found(void *arg, uint32_t outer, uint32_t inner)
{
	const struct finding *f = arg;
	struct events *e = cpu_of(f->t)->events;

	for (size_t i = 0; i < AIF_ARRAY_LEN(e->at); i++)
		if (e->at[i].is_new && e->at[i].tid == inner) {
			e->at[i].is_new = false;
			sample_thread(f->d, f->t, i, outer);
		}
}

/* The places that wait for it get their threads, found by what the target calls these: in one go, since each
 * thread's file must be read. */
static void find_threads(struct aif_drainer *d, struct aif_target *t)
{
	struct events *e = cpu_of(t)->events;

	aif_tids_each(t->pid, found, &(struct finding){d, t});
	for (size_t i = 0; i < AIF_ARRAY_LEN(e->at); i++)
		e->at[i].is_new = false; /* ended, or never there, whatever the target says */
}

/* Decides who samples, and tells the agent. */
static void start(struct aif_drainer *d, struct aif_target *t)
{
	struct events *e;
	uint64_t begun = 0;
	int parent, fd;

	(void)aif_proc_stat(t->pid, &parent, &begun);
	cpu_of(t)->process = aif_mix64(begun << 22 ^ (uint32_t)t->pid);
	if (d->opts->wall) {
		atomic_store(&t->shm->cpu, AIF_CPU_WALL);
		return;
	}
	if (d->opts->cpu_clock == AIF_RECORD_CPU_CLOCK_TICK) {
		atomic_store(&t->shm->cpu, AIF_CPU_TICK);
		return;
	}
	fd = aif_cpu_clock_open((uint32_t)t->pid, AIF_CPU_PROBE_RATE);
	if (fd == -ESRCH)
		return; /* the process ended before the probe */
	if (fd < 0) {
		lose(d, t, AIF_REASON_CPU_NO_PERF, fd);
		return;
	}
	close(fd);
	e = calloc(1, sizeof(*e));
	if (!e)
		return;
	for (size_t i = 0; i < AIF_ARRAY_LEN(e->at); i++)
		e->at[i].fd = e->at[i].also = -1;
	e->random = aif_now_ns();
	e->same_namespace = aif_tids_are_ours(t->pid);
	cpu_of(t)->events = e;
	/* Events other than time are sampled in user code only. */
	atomic_store(&t->shm->cpu, !d->opts->cpu_event && aif_cpu_ticks_are_safe()
					   ? AIF_CPU_BOTH
					   : AIF_CPU_RECORDER);
}

/* Returns the CPU time of a thread between two changes of its period. */
static uint64_t between_changes(uint64_t period)
{
	return AIF_MAX(SAMPLES_A_PERIOD * period, PERIOD_NS);
}

static void change_period(struct events *e, uint64_t period)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(e->at); i++) {
		uint64_t one, used;

		if (e->at[i].fd < 0 || read(e->at[i].fd, &used, sizeof(used)) != sizeof(used) ||
		    used - e->at[i].changed_ns < between_changes(period))
			continue;
		e->at[i].changed_ns = used;
		e->random = aif_mix64(e->random + 1);
		one = period * 3 / 4 + e->random % (period / 2 + 1);
		ioctl(e->at[i].fd, PERF_EVENT_IOC_PERIOD, &one);
	}
}

/* Follows the agent's list of threads. */
static void follow(struct aif_drainer *d, struct aif_target *t, uint64_t now)
{
	uint64_t period = AIF_NS_PER_S / d->opts->cpu_rate;
	struct events *e = cpu_of(t)->events;
	bool any_new = false;

	if (now >= e->change_ns && !d->opts->cpu_event) {
		e->change_ns = now + between_changes(period) / 2;
		change_period(e, period);
	}

	for (size_t i = 0; i < AIF_ARRAY_LEN(e->at); i++) {
		uint32_t tid = atomic_load_explicit(&t->shm->cpu_tids[i], memory_order_acquire),
			 alone = atomic_load_explicit(&t->shm->cpu_alone[i / 32],
						      memory_order_relaxed);
		bool is_alone = alone >> i % 32 & 1;
		char path[64];

		if (tid == e->at[i].tid && is_alone == e->at[i].is_alone)
			continue;
		close_samplers(e, i);
		e->at[i].tid = tid;
		e->at[i].changed_ns = 0;
		e->at[i].is_alone = is_alone;
		e->at[i].is_new = tid && !is_alone && !e->same_namespace;
		any_new |= e->at[i].is_new;
		/* Only threads of the process itself are sampled, whatever its agent lists. */
		snprintf(path, sizeof(path), "/proc/%d/task/%u", t->pid, tid);
		if (tid && !is_alone && e->same_namespace && access(path, F_OK) == 0)
			sample_thread(d, t, i, tid);
	}
	if (any_new)
		find_threads(d, t);
}

bool aif_cpu_is_sampled(const struct aif_target *t)
{
	if (atomic_load_explicit(&t->shm->cpu, memory_order_relaxed) == AIF_CPU_NONE)
		return false;
	for (size_t i = 0; i < AIF_SHM_CPU_THREADS; i++)
		if (atomic_load_explicit(&t->shm->cpu_tids[i], memory_order_relaxed))
			return true;
	return false;
}

static void put_row(struct aif_ingest *in, const struct aif_cpu_row *from)
{
	struct aif_drainer *d = in->drainer;
	struct aif_cpu_row *row = aif_batches_row(&d->store->batches, AIF_BATCH_CPU);

	if (row)
		*row = *from;
	else
		aif_store_loss(d->store, AIF_REASON_WRITER_BEHIND, in->target->process,
			       aif_store_puts(d->store, "CPU samples"), 1);
}

/* Rows of one call of the OS kernel at most. */
#define OS_ROWS_MAX UINT64_C(4096)

/* A call of the OS kernel of many periods becomes as many samples, the last one at its end. */
static uint64_t rows_of(const struct aif_drainer *d, const struct aif_wire_cpu_sample *r)
{
	uint64_t period = AIF_NS_PER_S / AIF_MAX(d->opts->cpu_rate, UINT32_C(1));

	if (!(r->flags & AIF_WIRE_CPU_OS) || (r->flags & AIF_WIRE_CPU_WAITING) ||
	    d->opts->cpu_event || r->weight < period || r->weight > r->time)
		return 1;
	return AIF_MIN(r->weight / period, OS_ROWS_MAX);
}

#define WITHOUT_SAMPLES (AIF_WIRE_CPU_BEFORE | AIF_WIRE_CPU_AFTER)

/* Returns what a row is to weigh, and counts it for its process: of the process's own time at the beginning of samples what
 * other rows of it do not have, as of a program that it was before exec(). */
static uint64_t weigh(struct aif_ingest *in, const struct aif_wire_cpu_sample *r)
{
	struct aif_drainer *d = in->drainer;
	struct state *s = d->source_state[AIF_SOURCE_CPU];
	uint64_t process = cpu_of(in->target)->process, known = 0,
		 weight = AIF_MIN(d->opts->cpu_event ? d->opts->cpu_period : r->weight, MAX_WEIGHT);

	aif_map_get(&s->known, process, &known);
	if (r->flags & AIF_WIRE_CPU_PROCESS)
		weight -= AIF_MIN(weight, known);
	if (!(r->flags & AIF_WIRE_CPU_WAITING))
		aif_map_put(&s->known, process, known + weight);
	d->cpu_sampled_ns += weight;
	if (r->flags & WITHOUT_SAMPLES)
		d->cpu_without_ns += weight;
	return weight;
}

static uint32_t mark_stack(struct aif_store *s, const char *text)
{
	uint32_t frame = aif_store_mark(s, text);

	return frame == AIF_NONE ? AIF_NONE : aif_store_stack(s, AIF_NONE, frame, 0);
}

static void on_record(struct aif_ingest *in, const void *record)
{
	const struct aif_wire_cpu_sample *r = record;
	struct aif_drainer *d = in->drainer;
	uint64_t weight = weigh(in, r), stack = AIF_NONE, rows = rows_of(d, r);
	bool waits = r->flags & AIF_WIRE_CPU_WAITING;
	struct aif_cpu_row row = {.thread = aif_target_thread(d, in->target, r->head.aux, NULL)};

	if (r->flags & WITHOUT_SAMPLES) {
		stack = mark_stack(d->store, r->flags & AIF_WIRE_CPU_BEFORE ? AIF_CPU_BEFORE_MARK
									    : AIF_CPU_AFTER_MARK);
		rows = weight ? 1 : 0;
	} else {
		aif_map_get(&in->slot->stacks, r->stack, &stack);
	}
	row.stack = (uint32_t)stack;
	while (rows) {
		uint64_t part = weight / rows;

		weight -= part;
		row.time = r->time - weight;
		row.weight = waits ? 0 : part;
		row.waiting = waits ? part : 0;
		rows--;
		put_row(in, &row);
	}
}

static void events_close(struct target_state *s)
{
	for (size_t i = 0; s->events && i < AIF_ARRAY_LEN(s->events->at); i++)
		close_samplers(s->events, i);
	free(s->events);
	s->events = NULL;
}

/* Looks through the program's code before it is sampled, and where it has more. False: it is not sampled yet, or no more. */
static bool may_signal(struct aif_drainer *d, struct aif_target *t, const struct aif_turn *turn)
{
	struct state *all = d->source_state[AIF_SOURCE_CPU];
	struct target_state *s = cpu_of(t);
	bool is_due = !s->is_decided || turn->each_second || s->modules != t->ranges.len;
	enum aif_filter_code_verdict v;

	if (s->may_filter || !all->filter_code)
		return false;
	s->modules = t->ranges.len;
	v = aif_filter_code_look(all->filter_code, &s->filter_code, &t->files, is_due);
	if (v != AIF_FILTER_CODE_HAS)
		return v == AIF_FILTER_CODE_NONE || s->is_decided;
	s->may_filter = true;
	atomic_store(&t->shm->cpu, AIF_CPU_NEVER);
	events_close(s);
	aif_store_loss(d->store, AIF_REASON_CPU_FILTER_CODE, t->process,
		       aif_store_puts(d->store, s->filter_code.place), 1);
	return false;
}

/* Closes the events of threads that are not to be signalled any more before the agent has an answer: one turn may give two,
 * and a recording that ends has no turns. */
static void target_drain(struct aif_drainer *d, struct aif_target *t)
{
	struct events *e = cpu_of(t)->events;

	(void)d;
	for (size_t i = 0; e && aif_shm_is_asked(t->shm) && i < AIF_ARRAY_LEN(e->at); i++) {
		if (e->at[i].fd < 0 || atomic_load_explicit(&t->shm->cpu_tids[i],
							    memory_order_acquire) == e->at[i].tid)
			continue;
		close_samplers(e, i);
		e->at[i].tid = 0;
	}
}

static void target_step(struct aif_drainer *d, struct aif_target *t, const struct aif_turn *turn)
{
	struct target_state *s = cpu_of(t);

	if (!d->opts->cpu_rate || t->pid <= 0 || !may_signal(d, t, turn))
		return;
	if (!s->is_decided) {
		s->is_decided = true;
		start(d, t);
	}
	if (s->events)
		follow(d, t, turn->now);
}

/* The agent's threads are no part of what the process's next program finds on its clock and reports. */
static void target_end(struct aif_drainer *d, struct aif_target *t, uint64_t now)
{
	struct state *s = d->source_state[AIF_SOURCE_CPU];
	uint64_t process = cpu_of(t)->process, known = 0;

	(void)now;
	if (!process)
		return;
	aif_map_get(&s->known, process, &known);
	aif_map_put(&s->known, process,
		    known + atomic_load_explicit(&t->shm->helper_cpu_ns, memory_order_relaxed));
}

static void target_free(struct aif_target *t)
{
	events_close(cpu_of(t));
	aif_filter_code_target_finish(&cpu_of(t)->filter_code);
}

static int init(struct aif_drainer *d, struct aif_err *err)
{
	struct state *s = d->source_state[AIF_SOURCE_CPU];

	if (!d->opts->cpu_rate)
		return 0;
	s->filter_code = aif_filter_code_new();
	return s->filter_code ? 0 : aif_err_set(err, -ENOMEM, "cannot start a thread");
}

static void finish(struct aif_drainer *d)
{
	struct state *s = d->source_state[AIF_SOURCE_CPU];

	aif_filter_code_free(s->filter_code);
	aif_map_finish(&s->known);
}

const struct aif_source aif_source_cpu = {
	.name = "cpu",
	.state_size = sizeof(struct state),
	.init = init,
	.finish = finish,
	.target_state_size = sizeof(struct target_state),
	.records = AIF_SOURCE_RECORD(CPU_SAMPLE),
	.on_record = on_record,
	.target_drain = target_drain,
	.target_step = target_step,
	.target_end = target_end,
	.target_free = target_free,
};
