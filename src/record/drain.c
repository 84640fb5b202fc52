/* SPDX-License-Identifier: Apache-2.0 */
#include "record/drain.h"

#include "base/open_regular.h"
#include "record/counters.h"
#include "record/cpu.h"
#include "record/device_samples.h"
#include "record/ebpf/ebpf.h"
#include "record/ingest.h"
#include "record/marks.h"
#include "record/perf_source.h"
#include "record/streamed.h"
#include "record/xe_join.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

/* A ring holds 40 ms of a million launches a second: 5 ms leaves room for a slow moment. With
 * nothing to do the thread looks 50 times a second. */
#define BUSY_NS    (5 * 1000 * 1000)
#define IDLE_NS    (20 * 1000 * 1000)
#define BUSY_BYTES 65536
/* Where targets had more to say than their turns allowed: others get the store's lock meanwhile. */
#define CUT_NS (1000 * 1000)
/* The rings of the BPF programs and of perf_event's side-band hold more than a tenth of a second of a busy machine. */
#define EBPF_NS (50 * 1000 * 1000)

#define BEAT_NS    (50 * 1000 * 1000)
#define THREADS_NS (100 * 1000 * 1000) /* how soon a new thread is sampled */
#define SECOND_NS  AIF_NS_PER_S
/* What is older than a second survives our death: with the writer's 20 ms and its work. */
#define FLUSH_NS (900 * 1000 * 1000)

struct aif_drain_thread {
	struct aif_drainer d;
	pthread_t thread;
	pthread_mutex_t lock;        /* of the fields below */
	struct aif_target *incoming; /* not yet the thread's */
	int forget[64];
	unsigned forget_len;
	bool stop;
	struct aif_drain_stats stats, ended; /* ended: of targets that are gone */
	enum aif_shm_command command;
	struct aif_ebpf *ebpf; /* not yet the thread's */
	int ends;              /* epoll: pidfds of targets, each until it has told */
	atomic_uint held;      /* targets, from their hello until their last words */
};

static bool read_clock(void *arg, uint64_t *ret_value)
{
	const clockid_t *id = arg;

	*ret_value = aif_clock_ns(*id);
	return true;
}

static void sample_clocks(struct aif_store *s)
{
	static const struct {
		clockid_t id;
		uint32_t clock;
	} clocks[] = {{CLOCK_MONOTONIC_RAW, AIF_CLOCK_MONOTONIC_RAW},
		      {CLOCK_REALTIME, AIF_CLOCK_REALTIME},
		      {CLOCK_BOOTTIME, AIF_CLOCK_BOOTTIME}};

	for (size_t i = 0; i < AIF_ARRAY_LEN(clocks); i++) {
		clockid_t id = clocks[i].id;
		struct aif_clock_reading r;

		if (aif_clock_read(read_clock, &id, &r))
			aif_store_clock(s, &(struct aif_clock_pair){.clock = clocks[i].clock,
								    .process = AIF_NONE,
								    .before = r.before,
								    .after = r.after,
								    .value = r.value});
	}
}

/* Closes the window under way and opens the next. */
static void turn_window(struct aif_drainer *d, struct aif_target *t, uint64_t now, bool collected)
{
	struct aif_window_row *row;
	uint32_t sampling = atomic_load_explicit(&t->shm->sampling, memory_order_relaxed),
		 share = t->perf ? aif_perf_share(t->perf) : 0;

	if (t->cpu_device != AIF_NONE && t->window_start && collected &&
	    (row = aif_batches_row(&d->store->batches, AIF_BATCH_WINDOW)) != NULL)
		*row = (struct aif_window_row){
			.start = t->window_start,
			.end = now,
			.window = t->window,
			.device = t->cpu_device,
			.process = t->process,
			.held = sampling != AIF_SAMPLING_NONE,
			.period_ns =
				d->opts->device_rate ? AIF_NS_PER_S / aif_record_rate(d->opts) : 0,
			.lost = t->window_lost,
			.thread = AIF_NONE,
			.p_ppm = t->perf                         ? share
				 : sampling != AIF_SAMPLING_NONE ? 1000000
								 : 0,
		};
	t->window = d->windows++;
	t->window_start = now;
	t->window_lost = 0;
}

static void note_end(struct aif_target *t)
{
	t->ended = true;
	t->ended_ns = t->ended_ns ? t->ended_ns : aif_now_ns();
}

static void look_for_end(struct aif_target *t)
{
	struct pollfd pfd = {.fd = t->pidfd, .events = POLLIN};

	if (t->pidfd >= 0 ? poll(&pfd, 1, 0) == 1
			  : t->pid > 0 && kill(t->pid, 0) < 0 && errno == ESRCH)
		note_end(t);
}

/* Waits that long, and notes when processes end: nothing else keeps the time of that. */
static void await_end(struct aif_drain_thread *dt, uint64_t ns)
{
	uint64_t now = aif_now_ns(), until = now + ns;

	do {
		struct epoll_event ends[64];
		int n = epoll_wait(dt->ends, ends, AIF_ARRAY_LEN(ends),
				   (int)((until - now + 999999) / 1000000));

		for (int i = 0; i < n; i++)
			note_end(ends[i].data.ptr);
		now = aif_now_ns();
	} while (now < until);
}

/* Beside --overhead, which is capture's: what sampling CPU devices may cost. */
static uint32_t sampling_ppm(const struct aif_record_opts *o)
{
	return o->all_launches ? 0 : AIF_MAX(o->overhead_ppm / 2, 1);
}

/* A CPU device has appeared: sample its process, or let the agent do it. */
static void start_sampling(struct aif_drainer *d, struct aif_target *t, uint64_t now)
{
	int r;

	t->sampling_decided = true;
	if (!d->opts->device_rate)
		return;
	t->window_start = now;
	r = t->pid > 0 ? aif_perf_new(t->pid, aif_record_rate(d->opts), sampling_ppm(d->opts),
				      &t->perf)
		       : -ESRCH;
	if (!r) {
		atomic_store(&t->shm->sampling, AIF_SAMPLING_RECORDER);
		return;
	}
	if (r == -ESRCH && t->pid > 0)
		return; /* it is ending, or was over before anybody could look */
	atomic_store(&t->shm->sampling, AIF_SAMPLING_TIMERS);
	if (aif_open_lacks_descriptors(r))
		aif_store_loss(d->store, AIF_REASON_NO_DESCRIPTORS, t->process,
			       aif_store_puts(d->store, "device samples come from timers"), 1);
	else
		aif_store_loss(d->store, AIF_REASON_SAMPLES_NO_PERF, t->process,
			       aif_store_puts(d->store, strerror(-r)), 1);
}

static void follow_threads(struct aif_drainer *d, struct aif_target *t)
{
	if (!aif_open_lacks_descriptors(aif_perf_threads(t->perf, t->pid)) || t->perf_lacks)
		return;
	t->perf_lacks = true;
	aif_store_loss(d->store, AIF_REASON_NO_DESCRIPTORS, t->process,
		       aif_store_puts(d->store, "device samples of some threads"), 1);
}

static void add_stats(struct aif_drain_stats *to, const struct aif_target *t)
{
	to->launches += t->launches;
	to->execs += t->execs;
	to->uncaptured += t->uncaptured;
	if (t->launches + t->uncaptured >= to->most_launches) {
		to->most_launches = t->launches + t->uncaptured;
		to->cost_ppm = atomic_load_explicit(&t->shm->cost_ppm, memory_order_relaxed);
		to->cost_error_ppm =
			atomic_load_explicit(&t->shm->cost_error_ppm, memory_order_relaxed);
	}
	to->agent_cpu_ns += atomic_load_explicit(&t->shm->helper_cpu_ns, memory_order_relaxed);
	to->spent_ns += atomic_load_explicit(&t->shm->spent_ns, memory_order_relaxed);
	to->sampling_ns += t->perf ? aif_perf_cost_ns(t->perf) : 0;
	to->capture_ns += atomic_load_explicit(&t->shm->capture_ns, memory_order_relaxed);
	to->captures += atomic_load_explicit(&t->shm->captures, memory_order_relaxed);
}

static size_t drain_target(struct aif_drainer *d, struct aif_target *t)
{
	size_t bytes = aif_target_drain(d, t);

	aif_filter_look(d, t, false);
	if (t->perf) {
		d->store->payer = &t->account;
		aif_perf_drain(d, t);
		d->store->payer = NULL;
	}
	return bytes;
}

/* False while the writer is so far behind that rings wait. Who has ended writes no more. */
static bool is_drained(const struct aif_target *t)
{
	for (uint32_t i = 0; i < t->slots_len; i++)
		if (aif_target_unread(t, i))
			return false;
	return true;
}

/* It has not done yet what we told it to: what was under way comes before it says that it has stopped. */
static bool collects(const struct aif_target *t)
{
	uint64_t began = atomic_load_explicit(&t->shm->began_ns, memory_order_acquire);

	return began && began >= atomic_load_explicit(&t->shm->stopped_ns, memory_order_acquire);
}

/* A gap (gaps.c) is in no window of sampling. */
static void follow_gaps(struct aif_drainer *d, struct aif_target *t, uint64_t now, bool each_second)
{
	bool collected = !t->gap_since;

	aif_target_gaps(d, t, each_second);
	if (each_second || collected != !t->gap_since)
		turn_window(d, t, now, collected);
}

static void note_cupti(struct aif_drain_stats *to, const struct aif_target *t)
{
	if (t->cupti.use == AIF_CUPTI_USE_AUTO)
		return;
	if (to->cupti_len == AIF_DRAIN_CUPTIS)
		memmove(to->cupti, to->cupti + 1, --to->cupti_len * sizeof(*to->cupti));
	to->cupti[to->cupti_len++] = (struct aif_drain_cupti){.its = t->cupti,
							      .pid = t->pid,
							      .process = t->process,
							      .ended = t->ended && t->ended_ns};
}

/* What one that lives has written and nobody has read, because it wrote more than its turns. */
static void lose_unread(struct aif_drainer *d, struct aif_target *t)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < t->slots_len; i++)
		bytes += AIF_MIN(aif_target_unread(t, i), t->ring_size);
	if (bytes)
		aif_store_loss(d->store, AIF_REASON_RING_UNREAD, t->process, AIF_NONE, bytes);
}

/* Last words of a target: everything that it wrote is in the memory that we hold. One that lives was told
 * `now`; the recording goes on until `end`. */
static void end_target(struct aif_drain_thread *dt, struct aif_target *t, uint64_t now,
		       uint64_t end)
{
	struct aif_drainer *d = &dt->d;

	drain_target(d, t);
	lose_unread(d, t);
	aif_ingest_deferred(d, t, t->deferred_len);
	aif_device_samples_last(d, t);
	aif_ingest_last_blocks(d, t, now);
	aif_marks_last(d, t, t->ended && t->ended_ns ? t->ended_ns : now);
	aif_target_losses(d, t);
	follow_gaps(d, t, now, true);
	aif_target_last_gap(d, t, now, end);
	aif_jit_names_last(&t->jit, t->pid, d->files);
	if (t->ended && d->store->p.processes[t->process].end_ns == 0)
		d->store->p.processes[t->process].end_ns = t->ended_ns ? t->ended_ns : now;
	aif_places_end(&d->places, t->process, t->ended_ns ? t->ended_ns : now);
	aif_counters_end(d, t);
	aif_streamed_end(d, t);
	aif_device_samples_end(d, t);
	add_stats(&dt->ended, t);
	aif_target_cupti(t);
	note_cupti(&dt->ended, t);
	for (unsigned i = 0; i < AIF_SHM_TIMES; i++)
		dt->ended.capture_times[i] +=
			atomic_load_explicit(&t->shm->capture_times[i], memory_order_relaxed);
	/* Closing it is not enough while a child of ours that is about to exec has it, too. */
	if (t->pidfd >= 0)
		epoll_ctl(dt->ends, EPOLL_CTL_DEL, t->pidfd, NULL);
	aif_target_free(d, t);
	dt->held--;
}

/* Returns what targets are to do. */
static enum aif_shm_command take_incoming(struct aif_drain_thread *dt)
{
	enum aif_shm_command command;

	pthread_mutex_lock(&dt->lock);
	command = dt->command;
	dt->d.ebpf = dt->ebpf;
	for (unsigned i = 0; i < dt->forget_len; i++)
		for (struct aif_target *t = dt->d.targets; t; t = t->next)
			t->ended |= t->pid == dt->forget[i];
	dt->forget_len = 0;
	while (dt->incoming) {
		struct aif_target *t = dt->incoming;
		struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = t};

		/* Where this fails its end is looked for. */
		if (t->pidfd >= 0)
			epoll_ctl(dt->ends, EPOLL_CTL_ADD, t->pidfd, &event);
		dt->incoming = t->next;
		t->next = dt->d.targets;
		dt->d.targets = t;
	}
	pthread_mutex_unlock(&dt->lock);
	return command;
}

/* Tells all that we are there. With many targets and little CPU one look takes seconds: not only before it. */
static bool beat(struct aif_drainer *d, uint64_t *beaten)
{
	uint64_t now = aif_now_ns();

	if (now - *beaten < BEAT_NS)
		return false;
	*beaten = now;
	for (struct aif_target *t = d->targets; t; t = t->next)
		aif_target_beat(t, now);
	return true;
}

/* Processes that follow one another have not their memory at the same time. */
static void measure_device_bytes(struct aif_drain_thread *dt)
{
	uint64_t bytes = 0;

	for (struct aif_target *t = dt->d.targets; t; t = t->next)
		bytes += atomic_load_explicit(&t->shm->device_bytes, memory_order_relaxed);
	dt->ended.device_bytes = AIF_MAX(dt->ended.device_bytes, bytes);
}

/* One look at everything. Returns the bytes that came. */
static size_t step(struct aif_drain_thread *dt, uint64_t now, bool look_at_threads,
		   bool each_second, bool flush)
{
	struct aif_drainer *d = &dt->d;
	struct aif_drain_stats stats = {0};
	enum aif_shm_command command;
	uint64_t beaten = 0;
	size_t bytes = 0;

	command = take_incoming(dt);
	measure_device_bytes(dt);
	pthread_mutex_lock(&d->store->lock);
	if (each_second)
		sample_clocks(d->store);
	for (struct aif_target **at = &d->targets, *t; (t = *at) != NULL;) {
		if (beat(d, &beaten))
			await_end(dt, 0);
		aif_shm_order(t->shm, command);
		/* Asked before the last drain, so that nothing can come after it. */
		if (look_at_threads) {
			look_for_end(t);
			aif_filter_look(d, t, true);
		}
		bytes += drain_target(d, t);
		if (t->ended && is_drained(t)) {
			*at = t->next;
			end_target(dt, t, now, now);
			continue;
		}
		if (t->cpu_device != AIF_NONE && !t->sampling_decided)
			start_sampling(d, t, now);
		if (!t->cpu_decided) {
			t->cpu_decided = true;
			aif_cpu_start(d, t);
		}
		if (t->cpu)
			aif_cpu_follow(d, t, now);
		if (look_at_threads && t->perf)
			follow_threads(d, t);
		if (each_second)
			aif_target_losses(d, t);
		aif_target_cupti(t);
		follow_gaps(d, t, now, each_second);
		add_stats(&stats, t);
		stats.targets++;
		at = &t->next;
	}
	aif_xe_follow(d, now, command == AIF_COMMAND_RUN);
	aif_streamed_follow(d, now);
	aif_counters_follow(d);
	if (d->ebpf)
		aif_ebpf_drain(d, d->ebpf, now, command == AIF_COMMAND_RUN, each_second);
	if (flush)
		aif_batches_flush(&d->store->batches);
	pthread_mutex_unlock(&d->store->lock);

	stats.launches += dt->ended.launches;
	stats.execs += dt->ended.execs;
	stats.agent_cpu_ns += dt->ended.agent_cpu_ns;
	stats.capture_ns += dt->ended.capture_ns;
	stats.captures += dt->ended.captures;
	stats.sampling_ns += dt->ended.sampling_ns;
	stats.spent_ns += dt->ended.spent_ns;
	stats.samples = d->samples;
	if (d->ebpf) {
		stats.samples += aif_ebpf_samples(d->ebpf);
		stats.launches += aif_ebpf_launches(d->ebpf);
	}
	stats.sampled_by_perf = d->sampled_by_perf > 0;
	stats.sampled_by_timer = d->sampled_by_timer > 0;
	pthread_mutex_lock(&dt->lock);
	dt->stats = stats;
	pthread_mutex_unlock(&dt->lock);
	return bytes;
}

static bool any_cut(const struct aif_drainer *d)
{
	for (const struct aif_target *t = d->targets; t; t = t->next)
		if (t->is_cut)
			return true;
	return false;
}

static void *drain_main(void *arg)
{
	struct aif_drain_thread *dt = arg;
	uint64_t next_threads = 0, next_second = 0, next_flush = 0;

	for (;;) {
		uint64_t now = aif_now_ns();
		bool threads = now >= next_threads, second = now >= next_second,
		     flush = now >= next_flush, stop;
		size_t bytes;

		if (threads)
			next_threads = now + THREADS_NS;
		if (second)
			next_second = now + SECOND_NS;
		if (flush)
			next_flush = now + FLUSH_NS;
		pthread_mutex_lock(&dt->lock);
		stop = dt->stop;
		pthread_mutex_unlock(&dt->lock);
		if (stop) {
			dt->ended.drain_cpu_ns = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);
			return NULL;
		}
		bytes = step(dt, now, threads, second, flush);
		await_end(dt, any_cut(&dt->d)      ? CUT_NS
			      : bytes > BUSY_BYTES ? BUSY_NS
			      : dt->d.targets      ? 2 * BUSY_NS
			      : dt->d.ebpf         ? EBPF_NS
						   : IDLE_NS);
	}
}

int aif_drain_thread_new(struct aif_store *s, struct aif_modfiles *files,
			 const struct aif_record_opts *opts, struct aif_drain_thread **ret)
{
	struct aif_drain_thread *dt = calloc(1, sizeof(*dt));
	int r;

	if (!dt)
		return -ENOMEM;
	dt->d = (struct aif_drainer){.store = s, .files = files, .opts = opts};
	dt->command = AIF_COMMAND_RUN;
	dt->d.scratch = malloc(AIF_DRAIN_SCRATCH);
	pthread_mutex_init(&dt->lock, NULL);
	dt->ends = epoll_create1(EPOLL_CLOEXEC);
	if (dt->ends < 0)
		r = -errno;
	else
		r = dt->d.scratch ? -pthread_create(&dt->thread, NULL, drain_main, dt) : -ENOMEM;
	if (r < 0) {
		if (dt->ends >= 0)
			close(dt->ends);
		free(dt->d.scratch);
		pthread_mutex_destroy(&dt->lock);
		free(dt);
		return r;
	}
	*ret = dt;
	return 0;
}

int aif_drain_thread_add(struct aif_drain_thread *dt, int pid, int pidfd, uint32_t process,
			 struct aif_shm *shm, uint32_t slots, uint64_t ring_size)
{
	struct aif_target *t = aif_target_new(&dt->d, pid, process, shm, slots, ring_size);

	if (!t) {
		munmap(shm, aif_shm_size(slots, ring_size));
		if (pidfd >= 0)
			close(pidfd);
		return -ENOMEM;
	}
	t->pidfd = pidfd;
	aif_target_beat(t, aif_now_ns());
	pthread_mutex_lock(&dt->lock);
	atomic_store(&shm->command, dt->command);
	t->next = dt->incoming;
	dt->incoming = t;
	dt->held++;
	pthread_mutex_unlock(&dt->lock);
	return 0;
}

unsigned aif_drain_thread_targets(struct aif_drain_thread *dt)
{
	return dt->held;
}

void aif_drain_thread_forget(struct aif_drain_thread *dt, int pid)
{
	pthread_mutex_lock(&dt->lock);
	if (dt->forget_len < AIF_ARRAY_LEN(dt->forget))
		dt->forget[dt->forget_len++] = pid;
	pthread_mutex_unlock(&dt->lock);
}

void aif_drain_thread_command(struct aif_drain_thread *dt, enum aif_shm_command command)
{
	pthread_mutex_lock(&dt->lock);
	dt->command = command;
	pthread_mutex_unlock(&dt->lock);
}

void aif_drain_thread_stats(struct aif_drain_thread *dt, struct aif_drain_stats *ret)
{
	pthread_mutex_lock(&dt->lock);
	*ret = dt->stats;
	pthread_mutex_unlock(&dt->lock);
}

void aif_drain_thread_ebpf(struct aif_drain_thread *dt, struct aif_ebpf *ebpf)
{
	pthread_mutex_lock(&dt->lock);
	dt->ebpf = ebpf;
	pthread_mutex_unlock(&dt->lock);
}

void aif_drain_thread_finish(struct aif_drain_thread *dt, struct aif_drain_stats *ret_stats)
{
	struct aif_store *s = dt->d.store;
	enum aif_shm_command command;
	uint64_t now, end;
	bool any_left;

	pthread_mutex_lock(&dt->lock);
	dt->stop = true;
	pthread_mutex_unlock(&dt->lock);
	pthread_join(dt->thread, NULL);
	command = take_incoming(dt);
	measure_device_bytes(dt);
	now = aif_now_ns();
	for (struct aif_target *t = dt->d.targets; t; t = t->next) {
		aif_shm_order(t->shm, AIF_COMMAND_END);
		look_for_end(t);
	}
	/* The writer goes on taking batches, so a full ring empties in a few rounds; a slow disk has a
	 * minute. Who lives may go on filling it, and has two seconds for its last words. */
	for (int round = 0;; round++) {
		struct timespec pause = {.tv_nsec = BUSY_NS};

		pthread_mutex_lock(&s->lock);
		/* What the BPF programs tell is taken below, once. */
		any_left = dt->d.ebpf && !aif_batches_room(&s->batches) && round < 12000;
		for (struct aif_target *t = dt->d.targets; t; t = t->next) {
			/* In this order: what it wrote before is drained afterwards. */
			bool lives = !t->ended && collects(t), busy;

			if (lives)
				look_for_end(t);
			busy = drain_target(&dt->d, t) > BUSY_BYTES ||
			       !aif_batches_room(&s->batches);
			any_left |= t->ended ? !is_drained(t) && round < 12000
					     : (busy || lives) && round < 400;
		}
		pthread_mutex_unlock(&s->lock);
		if (!any_left)
			break;
		nanosleep(&pause, NULL);
	}
	pthread_mutex_lock(&s->lock);
	sample_clocks(s);
	aif_xe_last(&dt->d);
	end = aif_now_ns();
	if (dt->d.ebpf)
		aif_ebpf_last(&dt->d, dt->d.ebpf, end, command == AIF_COMMAND_RUN);
	while (dt->d.targets) {
		struct aif_target *t = dt->d.targets;

		dt->d.targets = t->next;
		end_target(dt, t, now, end);
	}
	aif_streamed_last(&dt->d);
	aif_counters_last(&dt->d);
	aif_batches_flush(&s->batches);
	aif_ebpf_free(&dt->d, dt->d.ebpf);
	pthread_mutex_unlock(&s->lock);
	*ret_stats = dt->ended;
	ret_stats->end_ns = end;
	ret_stats->samples = dt->d.samples;
	ret_stats->sampled_by_perf = dt->d.sampled_by_perf > 0;
	ret_stats->sampled_by_timer = dt->d.sampled_by_timer > 0;
	aif_pycodes_finish(&dt->d.pycodes);
	aif_places_finish(&dt->d.places);
	aif_map_finish(&dt->d.read_cards);
	close(dt->ends);
	free(dt->d.scratch);
	pthread_mutex_destroy(&dt->lock);
	free(dt);
}
