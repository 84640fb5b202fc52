/* SPDX-License-Identifier: Apache-2.0 */
#include "record/drain.h"

#include "record/ingest/launches.h"
#include "record/ingest/program_ranges.h"
#include "record/sources/sources.h"
#include "record/thread_error.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

/* A ring holds 40 ms of a million launches a second: 5 ms leaves room for a slow moment. With
 * nothing to do the thread looks 50 times a second. */
#define BUSY_NS    (5 * 1000 * 1000)
#define IDLE_NS    (20 * 1000 * 1000)
#define BUSY_BYTES 65536
/* Pause after targets had more to say than their turns allowed: others get the store's lock
 * meanwhile. */
#define CUT_NS (1000 * 1000)
/* A process that has just come asks to be sampled, and is answered in a turn: turns are short for so long. */
#define HURRY_NS (30 * 1000 * 1000)
/* Rings that the OS kernel fills for BPF programs hold more than a tenth of a second of a busy machine. */
#define KERNEL_NS (50 * 1000 * 1000)

#define BEAT_NS    (50 * 1000 * 1000)
#define THREADS_NS (100 * 1000 * 1000) /* how soon a new thread is sampled */
#define SECOND_NS  AIF_NS_PER_S
/* Rows older than a second survive the recorder's death: the rest of the second is the writer's 20
 * ms and its work. */
#define FLUSH_NS (900 * 1000 * 1000)

struct aif_drain_thread {
	struct aif_drainer d;
	pthread_t thread;
	pthread_mutex_t lock;        /* of the fields below */
	struct aif_target *incoming; /* not yet the thread's */
	int forget[64];
	unsigned forget_len;
	bool stop;
	struct aif_drain_progress progress;
	enum aif_shm_command command;
	uint64_t sync_wanted, sync_done; /* tickets */
	uint64_t sync;                   /* the thread's: the ticket that is worked at; 0 = none */
	struct aif_drain_stats ended;    /* the thread's: of targets that have ended */
	int ends;    /* epoll: pidfds of targets, each until it has fired, and .arrival */
	int arrival; /* eventfd: a target has come */
	uint64_t hurries_until_ns;   /* the thread's: it answers a new target */
	struct aif_fair_shares held; /* targets, from their hello until their last records */
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

/* Waits that long, or until a process has come, and notes when processes end: nobody else knows that time. */
static void await_end(struct aif_drain_thread *dt, uint64_t ns)
{
	uint64_t now = aif_now_ns(), until = now + ns;

	do {
		struct epoll_event ends[64];
		int n = epoll_wait(dt->ends, ends, AIF_ARRAY_LEN(ends),
				   (int)((until - now + 999999) / 1000000));

		now = aif_now_ns();
		for (int i = 0; i < n; i++) {
			eventfd_t came;

			if (ends[i].data.ptr)
				note_end(ends[i].data.ptr);
			else if (ns && eventfd_read(dt->arrival, &came) == 0)
				until = now;
		}
	} while (now < until);
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
	to->records_ns += atomic_load_explicit(&t->shm->records_ns, memory_order_relaxed);
	to->samples_ns += atomic_load_explicit(&t->shm->samples_ns, memory_order_relaxed);
	to->block_records_ns +=
		atomic_load_explicit(&t->shm->block_records_ns, memory_order_relaxed);
	if (t->launches + t->uncaptured)
		to->cpu_samples_ns +=
			atomic_load_explicit(&t->shm->cpu_samples_ns, memory_order_relaxed);
	if (t->launches + t->uncaptured)
		to->worked_ns += atomic_load_explicit(&t->shm->worked_ns, memory_order_relaxed);
	to->capture_ns += atomic_load_explicit(&t->shm->capture_ns, memory_order_relaxed);
	to->captures += atomic_load_explicit(&t->shm->captures, memory_order_relaxed);
}

static size_t drain_target(struct aif_drainer *d, struct aif_target *t)
{
	size_t bytes = aif_target_drain(d, t);

	d->store->payer = &t->quota;
	AIF_SOURCES_CALL(d, target_drain, d, t);
	d->store->payer = NULL;
	/* The agent takes an answer for one of the sources, too. */
	aif_filter_look(d, t, false);
	return bytes;
}

/* True if the rings of a target that has ended are empty. They are not while the writer is far behind. */
static bool is_drained(const struct aif_target *t)
{
	for (uint32_t i = 0; i < t->slots_len; i++)
		if (aif_target_unread(t, i))
			return false;
	return true;
}

/* True until the target says that it has stopped; the records of what was under way come before that. */
static bool collects(const struct aif_target *t)
{
	uint64_t began = atomic_load_explicit(&t->shm->began_ns, memory_order_acquire);

	return began && began >= atomic_load_explicit(&t->shm->stopped_ns, memory_order_acquire);
}

/* Follows when the target does not collect (gaps.c); no window of a source extends into a gap. */
static void follow_gaps(struct aif_drainer *d, struct aif_target *t, uint64_t now, bool each_second)
{
	bool collected = !t->gap_since;

	aif_target_gaps(d, t, each_second);
	if (each_second || collected != !t->gap_since)
		AIF_SOURCES_CALL(d, target_window, d, t, now, collected);
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

/* Counts what a target that still lives has written beyond what its turns allowed to read. */
static void lose_unread(struct aif_drainer *d, struct aif_target *t)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < t->slots_len; i++)
		bytes += AIF_MIN(aif_target_unread(t, i), t->ring_size);
	if (bytes)
		aif_store_loss(d->store, AIF_REASON_RING_UNREAD, t->process, AIF_NONE, bytes);
}

/* Reads what a target has written last, which is in its rings even after its end, and frees the target. One that lives
 * was told to end at `now`; the recording goes on until `end`. */
static void end_target(struct aif_drain_thread *dt, struct aif_target *t, uint64_t now,
		       uint64_t end)
{
	struct aif_drainer *d = &dt->d;

	drain_target(d, t);
	lose_unread(d, t);
	aif_launches_deferred(d, t, t->deferred_len);
	aif_ingest_last_blocks(d, t, now);
	aif_program_ranges_last(d, t, t->ended && t->ended_ns ? t->ended_ns : now);
	aif_target_losses(d, t);
	aif_filter_last(d, t);
	follow_gaps(d, t, now, true);
	aif_target_last_gap(d, t, now, end);
	aif_jit_names_last(&t->jit, &t->files, d->files);
	if (t->ended && d->store->p.processes[t->process].end_ns == 0)
		d->store->p.processes[t->process].end_ns = t->ended_ns ? t->ended_ns : now;
	AIF_SOURCES_CALL(d, target_end, d, t, now);
	add_stats(&dt->ended, t);
	aif_target_cupti(t);
	note_cupti(&dt->ended, t);
	for (unsigned i = 0; i < AIF_SHM_TIMES; i++)
		dt->ended.capture_times[i] +=
			atomic_load_explicit(&t->shm->capture_times[i], memory_order_relaxed);
	/* Closing it is not enough while a child of ours that is about to exec has it, too. */
	if (t->pidfd >= 0)
		epoll_ctl(dt->ends, EPOLL_CTL_DEL, t->pidfd, NULL);
	aif_fair_shares_give(&dt->held, t->user);
	aif_target_free(d, t);
}

/* Begins to work at the last ticket, if there is one and it is not worked at already. Needs dt->lock. */
static void sync_begin(struct aif_drain_thread *dt)
{
	if (dt->sync || dt->sync_done == dt->sync_wanted)
		return;
	dt->sync = dt->sync_wanted;
	for (struct aif_target *t = dt->d.targets; t; t = t->next)
		t->sync = AIF_TARGET_SYNC_ORDER;
}

/* True if the target does what it was told. While it awaits steps (--steps) it may do either. */
static bool follows(const struct aif_target *t, enum aif_shm_command command,
		    const struct aif_record_opts *opts)
{
	return collects(t) == (command == AIF_COMMAND_RUN) ||
	       (command == AIF_COMMAND_RUN && opts->schedule.active);
}

static void sync_note_heads(struct aif_target *t)
{
	for (uint32_t i = 0; i < t->slots_len; i++)
		t->slots[i].sync_head =
			t->slots[i].drain.tail + AIF_MIN(aif_target_unread(t, i), t->ring_size);
}

static bool sync_has_read(const struct aif_target *t)
{
	for (uint32_t i = 0; i < t->slots_len; i++)
		if ((int64_t)(t->slots[i].drain.tail - t->slots[i].sync_head) < 0 &&
		    aif_target_unread(t, i))
			return false;
	return true;
}

/* After a turn of the target. */
static void sync_target(struct aif_drainer *d, struct aif_target *t, enum aif_shm_command command)
{
	switch (t->sync) {
	case AIF_TARGET_SYNC_ORDER:
		if (!follows(t, command, d->opts))
			break;
		sync_note_heads(t);
		t->sync = AIF_TARGET_SYNC_RINGS;
		break;
	case AIF_TARGET_SYNC_RINGS:
		if (sync_has_read(t))
			t->sync = t->deferred_len ? AIF_TARGET_SYNC_DEFERRED : AIF_TARGET_SYNCED;
		break;
	case AIF_TARGET_SYNC_DEFERRED:
		if (!t->is_cut && aif_batches_room(&d->store->batches))
			t->sync = AIF_TARGET_SYNCED;
		break;
	case AIF_TARGET_SYNCED:
		break;
	}
}

static bool is_synced(const struct aif_drainer *d)
{
	for (const struct aif_target *t = d->targets; t; t = t->next)
		if (t->sync != AIF_TARGET_SYNCED)
			return false;
	return true;
}

/* Returns what targets are to do. */
static enum aif_shm_command take_incoming(struct aif_drain_thread *dt)
{
	enum aif_shm_command command;
	struct aif_target **end = &dt->d.targets;

	/* Reads a process's rings before those of the program that it has become by exec. */
	while (*end)
		end = &(*end)->next;
	pthread_mutex_lock(&dt->lock);
	command = dt->command;
	for (unsigned i = 0; i < dt->forget_len; i++)
		for (struct aif_target *t = dt->d.targets; t; t = t->next)
			t->ended |= t->pid == dt->forget[i];
	dt->forget_len = 0;
	while (dt->incoming) {
		struct aif_target *t = dt->incoming;
		struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = t};

		/* Without this event look_for_end() finds the end. */
		if (t->pidfd >= 0)
			epoll_ctl(dt->ends, EPOLL_CTL_ADD, t->pidfd, &event);
		dt->incoming = t->next;
		dt->hurries_until_ns = aif_now_ns() + HURRY_NS;
		/* The newest comes first. */
		t->next = *end;
		*end = t;
	}
	sync_begin(dt);
	pthread_mutex_unlock(&dt->lock);
	return command;
}

/* Renews the heartbeat of all targets. With many targets and little CPU one turn takes seconds, so it is called within
 * the turn, too. */
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

/* Measures what all targets together hold of devices' memory: the most at a time. */
static void measure_device_bytes(struct aif_drain_thread *dt)
{
	uint64_t bytes = 0;

	for (struct aif_target *t = dt->d.targets; t; t = t->next)
		bytes += atomic_load_explicit(&t->shm->device_bytes, memory_order_relaxed);
	dt->ended.device_bytes = AIF_MAX(dt->ended.device_bytes, bytes);
}

/* The turn of one target. False: it has ended, and is to be freed. */
static bool turn_target(struct aif_drainer *d, struct aif_target *t, const struct aif_turn *turn,
			size_t *bytes)
{
	/* Asked before the last drain, so that nothing can come after it. */
	if (turn->new_threads) {
		look_for_end(t);
		aif_filter_look(d, t, true);
	}
	*bytes += drain_target(d, t);
	if (t->ended && is_drained(t))
		return false;
	AIF_SOURCES_CALL(d, target_step, d, t, turn);
	if (turn->each_second)
		aif_target_losses(d, t);
	aif_target_cupti(t);
	follow_gaps(d, t, turn->now, turn->each_second);
	return true;
}

static void set_progress(struct aif_drain_thread *dt)
{
	const struct aif_drainer *d = &dt->d;
	struct aif_drain_progress p = {.launches = dt->ended.launches + d->agentless_launches,
				       .samples = d->samples};

	for (const struct aif_target *t = d->targets; t; t = t->next) {
		p.launches += t->launches;
		p.targets++;
	}
	pthread_mutex_lock(&dt->lock);
	dt->progress = p;
	pthread_mutex_unlock(&dt->lock);
}

static void sync_end(struct aif_drain_thread *dt)
{
	pthread_mutex_lock(&dt->lock);
	dt->sync_done = dt->sync;
	dt->sync = 0;
	pthread_mutex_unlock(&dt->lock);
}

/* The turn of all targets and sources. Returns the bytes that came. */
static size_t step(struct aif_drain_thread *dt, struct aif_turn *turn, bool flush)
{
	struct aif_drainer *d = &dt->d;
	enum aif_shm_command command = take_incoming(dt);
	uint64_t beaten = 0;
	size_t bytes = 0;
	bool synced;

	turn->collects = command == AIF_COMMAND_RUN;
	measure_device_bytes(dt);
	pthread_mutex_lock(&d->store->lock);
	if (turn->each_second)
		sample_clocks(d->store);
	for (struct aif_target **at = &d->targets, *t; (t = *at) != NULL;) {
		if (beat(d, &beaten))
			await_end(dt, 0);
		aif_shm_order(t->shm, command);
		if (turn_target(d, t, turn, &bytes)) {
			sync_target(d, t, command);
			at = &t->next;
			continue;
		}
		*at = t->next;
		end_target(dt, t, turn->now, turn->now);
	}
	AIF_SOURCES_CALL(d, step, d, turn);
	synced = dt->sync && is_synced(d);
	if (flush || synced)
		aif_batches_flush(&d->store->batches);
	pthread_mutex_unlock(&d->store->lock);
	if (synced)
		sync_end(dt);
	set_progress(dt);
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
		struct aif_turn turn = {.now = now,
					.new_threads = now >= next_threads,
					.each_second = now >= next_second};
		bool flush = now >= next_flush, stop, hurries;
		size_t bytes;

		if (turn.new_threads)
			next_threads = now + THREADS_NS;
		if (turn.each_second)
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
		bytes = step(dt, &turn, flush);
		/* Not where a turn takes long: many processes come and go then. */
		hurries = now < dt->hurries_until_ns && aif_now_ns() - now < CUT_NS;
		await_end(dt, any_cut(&dt->d) || hurries ? CUT_NS
			      : bytes > BUSY_BYTES       ? BUSY_NS
			      : dt->d.targets            ? 2 * BUSY_NS
			      : dt->d.has_small_rings    ? 2 * BUSY_NS
			      : dt->d.has_kernel_rings   ? KERNEL_NS
							 : IDLE_NS);
	}
}

static void drain_thread_free(struct aif_drain_thread *dt)
{
	aif_sources_finish(&dt->d);
	aif_pycodes_finish(&dt->d.pycodes);
	aif_generated_finish(&dt->d.generated);
	if (dt->ends >= 0)
		close(dt->ends);
	if (dt->arrival >= 0)
		close(dt->arrival);
	free(dt->d.scratch);
	pthread_mutex_destroy(&dt->lock);
	aif_fair_shares_finish(&dt->held);
	free(dt);
}

int aif_drain_thread_new(struct aif_store *s, struct aif_modfiles *files,
			 const struct aif_record_opts *opts, struct aif_drain_thread **ret,
			 struct aif_err *err)
{
	struct aif_drain_thread *dt = calloc(1, sizeof(*dt));
	struct epoll_event arrival = {.events = EPOLLIN};
	int r;

	if (!dt)
		return aif_thread_error(err, -ENOMEM);
	dt->d = (struct aif_drainer){.store = s, .files = files, .opts = opts};
	dt->command = AIF_COMMAND_RUN;
	pthread_mutex_init(&dt->lock, NULL);
	aif_fair_shares_init(&dt->held, AIF_DRAIN_TARGETS_MAX, geteuid());
	dt->d.scratch = malloc(AIF_DRAIN_SCRATCH);
	dt->ends = epoll_create1(EPOLL_CLOEXEC);
	dt->arrival = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (dt->ends < 0 || dt->arrival < 0 ||
	    epoll_ctl(dt->ends, EPOLL_CTL_ADD, dt->arrival, &arrival) < 0)
		r = aif_thread_error(err, -errno);
	else if (!dt->d.scratch)
		r = aif_thread_error(err, -ENOMEM);
	else
		r = aif_sources_init(&dt->d, aif_sources, AIF_SOURCE_COUNT, err);
	if (!r) {
		r = -pthread_create(&dt->thread, NULL, drain_main, dt);
		r = r < 0 ? aif_thread_error(err, r) : 0;
	}
	if (r < 0) {
		drain_thread_free(dt);
		return r;
	}
	*ret = dt;
	return 0;
}

bool aif_drain_thread_has_place(struct aif_drain_thread *dt, uid_t user)
{
	return aif_fair_shares_has(&dt->held, user);
}

int aif_drain_thread_add(struct aif_drain_thread *dt, int pid, uid_t user, int pidfd,
			 uint32_t process, const struct aif_proc_clocks *clocks,
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
	t->user = user;
	(void)aif_fair_shares_take(&dt->held, user);
	aif_target_set_clocks(t, clocks);
	aif_target_beat(t, aif_now_ns());
	pthread_mutex_lock(&dt->lock);
	atomic_store(&shm->command, dt->command);
	t->next = dt->incoming;
	dt->incoming = t;
	pthread_mutex_unlock(&dt->lock);
	(void)eventfd_write(dt->arrival, 1); /* it is full: the thread has not read it yet */
	return 0;
}

unsigned aif_drain_thread_targets(struct aif_drain_thread *dt)
{
	return aif_fair_shares_taken(&dt->held);
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

uint64_t aif_drain_thread_sync(struct aif_drain_thread *dt)
{
	uint64_t ticket;

	pthread_mutex_lock(&dt->lock);
	ticket = ++dt->sync_wanted;
	pthread_mutex_unlock(&dt->lock);
	return ticket;
}

bool aif_drain_thread_is_synced(struct aif_drain_thread *dt, uint64_t ticket)
{
	bool done;

	pthread_mutex_lock(&dt->lock);
	done = dt->sync_done >= ticket;
	pthread_mutex_unlock(&dt->lock);
	return done;
}

void aif_drain_thread_progress(struct aif_drain_thread *dt, struct aif_drain_progress *ret)
{
	pthread_mutex_lock(&dt->lock);
	*ret = dt->progress;
	pthread_mutex_unlock(&dt->lock);
}

/* Returns when the last source has stopped sampling. */
static uint64_t stop_sources(struct aif_drainer *d, bool collects)
{
	uint64_t end = aif_now_ns();

	for (unsigned i = 0; i < d->sources_len; i++)
		if (d->sources[i]->stop)
			end = AIF_MAX(end, d->sources[i]->stop(d, collects));
	return end;
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
		/* Records in the OS kernel's rings are taken below, once. */
		any_left =
			dt->d.has_kernel_rings && !aif_batches_room(&s->batches) && round < 12000;
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
	end = stop_sources(&dt->d, command == AIF_COMMAND_RUN);
	while (dt->d.targets) {
		struct aif_target *t = dt->d.targets;

		dt->d.targets = t->next;
		end_target(dt, t, now, end);
	}
	AIF_SOURCES_CALL(&dt->d, last, &dt->d);
	aif_batches_flush(&s->batches);
	aif_sources_finish(&dt->d);
	pthread_mutex_unlock(&s->lock);
	*ret_stats = dt->ended;
	ret_stats->end_ns = end;
	ret_stats->sampling_ns = dt->d.sampling_ns;
	ret_stats->cpu_sampled_ns = dt->d.cpu_sampled_ns;
	ret_stats->cpu_without_ns = dt->d.cpu_without_ns;
	ret_stats->short_calls = dt->d.short_calls;
	ret_stats->short_calls_ns = dt->d.short_calls_ns;
	ret_stats->sampled_by_perf = dt->d.sampled_by_perf;
	ret_stats->sampled_by_timer = dt->d.sampled_by_timer;
	drain_thread_free(dt);
}
