/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/session.h"

#include "agent/emit.h"
#include "agent/memory.h"
#include "agent/runtime.h"
#include "base/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define START_TIMEOUT_MS 1000
#define FORK_TIMEOUT_MS  100
/* A recording that waits for processes like this one; there may be several. */
#define OFFER_TIMEOUT_MS 200
#define OFFERS           8
/* Four wake-ups a second cost about 0.01 % of a core. */
#define HELPER_PERIOD_NS (AIF_NS_PER_S / 4)
/* At first, when devices are opened and threads are made: short programs are recorded, too. */
#define EARLY_NS        AIF_NS_PER_S
#define EARLY_PERIOD_NS 25000000
/* The recorder's heart beats at least each 500 ms. */
#define SILENCE_NS (2 * AIF_NS_PER_S)
/* On standby: one that has been silent for so long is dead. */
#define GONE_NS (30 * AIF_NS_PER_S)
/* See session.h: more than any store buffer needs, and than most entries. */
#define SETTLE_NS 10000000
/* How often a ring is answered while old entries are under way, then given up. */
#define ANSWERS         200
#define REFRESH_EACH_NS (AIF_NS_PER_S / 10)
/* The process's static TLS (KiBs in large programs) comes out of this, and once the exit handlers of a
 * program whose other threads have all ended (is_last). */
#define HELPER_STACK (1u << 20)
/* A look costs 15 us. */
#define LAST_LOOK_NS AIF_NS_PER_S

static void wipe(void)
{
	struct aif_armed *armed = aif_agent.session.armed;

	if (armed)
		memset(armed, 0, sizeof(*armed));
}

/* pthread_atfork() by way of dlsym: it is the only thing that we need and that only glibc has, and musl's
 * loader would end a program that it preloads us into and cannot bind it. */
static void at_fork(void (*child)(void))
{
	typedef int (*register_fn)(void (*)(void), void (*)(void), void (*)(void), void *);
	register_fn fn = (register_fn)dlsym(RTLD_DEFAULT, "__register_atfork");

	if (fn)
		fn(NULL, NULL, child, NULL);
}

static int armed_new(struct aif_armed **ret)
{
	struct aif_armed *armed = aif_pages((size_t)sysconf(_SC_PAGESIZE));

	if (!armed)
		return -ENOMEM;
	if (madvise(armed, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK) < 0)
		at_fork(wipe);
	*ret = armed;
	return 0;
}

static const char *runtime_name(void)
{
	for (unsigned i = 0; aif_runtimes[i]; i++)
		if (aif_agent.session.runtimes & 1u << i)
			return aif_runtimes[i]->name;
	return "";
}

static void switch_runtimes(bool collect)
{
	for (unsigned i = 0; aif_runtimes[i]; i++)
		if ((aif_agent.session.runtimes & 1u << i) && aif_runtimes[i]->collect)
			aif_runtimes[i]->collect(collect);
}

static void tick_runtimes(uint64_t now)
{
	for (unsigned i = 0; aif_runtimes[i]; i++)
		if ((aif_agent.session.runtimes & 1u << i) && aif_runtimes[i]->tick)
			aif_runtimes[i]->tick(now);
}

/* A process whose main thread has called pthread_exit() ends with its last other thread. Is that the
 * helper, which nobody waits for? Then there are two: the main thread's remains and this one. */
static bool is_last(void)
{
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	const char *at;
	char text[1024];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')'); /* the name before it may hold anything */
	if (!at || strncmp(at, ") Z ", 4))
		return false;
	for (int field = 2; at && field < 20; field++)
		at = strchr(at + 1, ' ');
	return at && !strncmp(at, " 2 ", 3);
}

/* An interpreter may be loaded late; and when nobody listens it gets back what we took. */
static void watch_python(bool collect)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_python *py = aif_agent.python;
	int reason;

	if (!collect || (s->options & AIF_OPTION_NO_PYTHON)) {
		if (aif_python_state(py) == AIF_PYTHON_ON ||
		    aif_python_state(py) == AIF_PYTHON_CHECKING)
			aif_python_stop(py);
		return;
	}
	if (aif_python_wanted(py))
		aif_python_detect(py);
	reason = aif_python_reason(py);
	if (reason && reason != s->python_reason) {
		struct aif_thread *t = aif_thread_enter();

		if (t && aif_emit_note(t, (enum aif_reason)reason, 1, ""))
			s->python_reason = reason;
		if (t)
			aif_thread_leave(t);
	}
}

static void publish(struct aif_attachment *a)
{
	struct aif_budget *b = &aif_agent.budget;
	struct aif_shm *shm = a->shm;

	atomic_store_explicit(&shm->duty_ppm, atomic_load(&b->duty_ppm), memory_order_relaxed);
	atomic_store_explicit(&shm->cost_ppm, atomic_load(&b->cost_ppm), memory_order_relaxed);
	atomic_store_explicit(&shm->cost_error_ppm, atomic_load(&b->cost_error_ppm),
			      memory_order_relaxed);
	atomic_fetch_add_explicit(&shm->no_slot, atomic_exchange(&aif_agent.session.no_slot, 0),
				  memory_order_relaxed);
	atomic_store_explicit(&shm->helper_cpu_ns, aif_clock_ns(CLOCK_THREAD_CPUTIME_ID),
			      memory_order_relaxed);
}

/* Ends the session; the memory stays until reclaim(). */
static void retire(struct aif_attachment *a, uint64_t now)
{
	struct aif_session *s = &aif_agent.session;

	atomic_store(&s->armed->on, 0);
	atomic_store(&s->armed->recorder_alive, 0);
	watch_python(false);
	switch_runtimes(false);
	aif_sampler_tick(&aif_agent.sampler, false, now);
	aif_cpu_tick(&aif_agent.cpu, false);
	atomic_store(&s->armed->generation, AIF_GENERATION_DORMANT);
	atomic_store(&s->attached, NULL);
	s->shm = NULL;
	s->options = 0;
	a->retired_ns = aif_now_ns();
}

/* Unmaps what nobody uses any more. True if nothing is left. */
static bool reclaim(uint64_t now)
{
	struct aif_session *s = &aif_agent.session;
	bool left = false;

	for (unsigned i = 0; i < AIF_ATTACHMENTS; i++) {
		struct aif_attachment *a = &s->place[i];

		if (!a->shm)
			continue;
		if (a->retired_ns && now - a->retired_ns >= SETTLE_NS &&
		    !atomic_load(&s->leaving) &&
		    !aif_threads_use(&aif_agent.threads, a->generation, true)) {
			munmap(a->shm, a->size);
			*a = (struct aif_attachment){0};
		} else {
			left = true;
		}
	}
	return !left;
}

/* A place for the next session, or NULL while a thread is inside an entry of an old one. */
static struct aif_attachment *place_of_next(void)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_attachment *found = NULL;
	uint64_t now = aif_now_ns();

	for (unsigned i = 0; i < AIF_ATTACHMENTS; i++) {
		struct aif_attachment *a = &s->place[i];

		if (!a->shm)
			found = a;
		else if (!a->retired_ns || now - a->retired_ns < SETTLE_NS ||
			 aif_threads_use(&aif_agent.threads, a->generation, false))
			return NULL;
	}
	return found;
}

/* Looks after the session. Does it collect? */
static bool attend(struct aif_attachment *a, uint64_t now)
{
	struct aif_session *s = &aif_agent.session;
	uint64_t beat = atomic_load_explicit(&a->shm->heartbeat_ns, memory_order_relaxed);
	uint32_t command = atomic_load_explicit(&a->shm->command, memory_order_relaxed);
	bool alive = now < beat || now - beat < SILENCE_NS,
	     collect = alive && command == AIF_COMMAND_RUN;

	if (alive)
		s->alive_ns = now;
	atomic_store_explicit(&s->armed->recorder_alive, alive, memory_order_relaxed);
	/* What is under way is told while entries still may. */
	if (!collect)
		switch_runtimes(false);
	atomic_store_explicit(&s->armed->on, collect, memory_order_release);
	if (collect) {
		switch_runtimes(true);
		tick_runtimes(now);
	}
	aif_sampler_tick(&aif_agent.sampler, collect, now);
	aif_cpu_tick(&aif_agent.cpu, collect);
	if (collect)
		aif_unwinder_look(s->unwinder);
	publish(a);
	if (command == AIF_COMMAND_END || (s->standby.shown && now - s->alive_ns >= GONE_NS))
		retire(a, now);
	return collect;
}

static int meet(const struct aif_call *call, int timeout_ms, bool after_fork);
static void arm(void);

/* A recorder has rung. It holds our page's lock, so that whom we had is dead or has let go. */
static void answer(uint64_t now)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_attachment *a = atomic_load(&s->attached);
	struct aif_call call;

	if (aif_standby_answer(&s->standby, aif_agent.env.standby, &call)) {
		s->call = call;
		s->answers = ANSWERS;
	}
	if (!s->answers)
		return;
	if (a)
		retire(a, now);
	/* Nothing is waited for here: threads that are inside an entry are met again at the next try. */
	if (meet(&s->call, START_TIMEOUT_MS, false) == -EBUSY) {
		s->answers--;
		return;
	}
	s->answers = 0;
	arm();
}

static void *helper(void *arg)
{
	struct aif_session *s = &aif_agent.session;
	const struct aif_environment *env = &aif_agent.env;
	uint64_t looked = 0, began = 0;
	uint32_t generation = 0;

	(void)arg;
	prctl(PR_SET_NAME, "aiflame");
	for (;;) {
		struct aif_attachment *a = atomic_load(&s->attached);
		uint64_t now = aif_now_ns(), period = LAST_LOOK_NS;
		bool collect = false, nothing_left;

		if (a) {
			if (generation != a->generation) {
				generation = a->generation;
				began = now;
				atomic_store_explicit(&a->shm->helper_tid,
						      (uint32_t)syscall(SYS_gettid),
						      memory_order_relaxed);
			}
			collect = attend(a, now);
			period = now - began < EARLY_NS ? EARLY_PERIOD_NS : HELPER_PERIOD_NS;
		}
		nothing_left = reclaim(aif_now_ns());
		if (now - looked >= LAST_LOOK_NS) {
			looked = now;
			if (atomic_load(&s->attached))
				watch_python(collect);
			if (is_last())
				return NULL; /* the C library then ends the process, as without us */
			if (*env->standby)
				aif_standby_check(&s->standby, env->standby, env->level,
						  runtime_name(), now);
		}
		if (!atomic_load(&s->attached)) {
			if (nothing_left && !*env->standby)
				return NULL; /* nobody can come any more */
			if (!nothing_left || s->answers)
				period = EARLY_PERIOD_NS;
		}
		if (aif_standby_wait(&s->standby, period) || s->answers)
			answer(aif_now_ns());
	}
}

/* The helper takes none of the target's signals. */
static int helper_start(void)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, HELPER_STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, &attr, helper, NULL);
	atomic_store_explicit(&aif_agent.session.helped, !r, memory_order_relaxed);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

/* Of the dearest runtime that has started. */
static uint64_t bound_ns(void)
{
	uint64_t ns = 0;

	for (unsigned i = 0; aif_runtimes[i]; i++)
		if (aif_agent.session.runtimes & 1u << i)
			ns = AIF_MAX(ns, aif_runtimes[i]->bound_ns);
	return ns;
}

/* Meets a recorder and takes its memory. Nobody collects yet: arm(). -EBUSY: not now. */
static int meet(const struct aif_call *call, int timeout_ms, bool after_fork)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_hello hello = {.magic = AIF_WIRE_MAGIC,
				  .version = AIF_WIRE_VERSION,
				  .kind = AIF_HELLO_RUNTIME,
				  .after_fork = after_fork};
	struct aif_attachment *a = place_of_next();
	struct aif_shm *shm;
	uint64_t size;
	int fd, r;

	if (!a)
		return -EBUSY;
	memcpy(hello.token, call->token, sizeof(hello.token));
	strncpy(hello.runtime, runtime_name(), sizeof(hello.runtime) - 1);
	r = aif_hello_send(call->path, &hello, timeout_ms, &fd);
	if (r < 0)
		return r == -EBUSY ? -EIO : r;
	r = aif_shm_map(fd, &shm, &size);
	close(fd);
	if (r < 0)
		return r;
	/* A child must not write into its parent's rings. */
	if (madvise(shm, size, MADV_DONTFORK) < 0) {
		r = -errno;
		munmap(shm, size);
		return r;
	}
	*a = (struct aif_attachment){.shm = shm,
				     .size = size,
				     .slots = shm->slots,
				     .ring_size = shm->ring_size,
				     .generation = ++s->generation};
	if (call != &s->call)
		s->call = *call;
	s->shm = shm;
	s->options = shm->options;
	s->device_rate = shm->device_rate;
	s->cpu_rate = shm->cpu_rate;
	s->python_reason = 0;
	s->alive_ns = aif_now_ns();
	/* In a child the helper looks for it: the loader may have been locked at the fork. */
	if (!(s->options & AIF_OPTION_NO_PYTHON) && !after_fork)
		aif_python_detect(aif_agent.python);
	atomic_store(&s->no_slot, 0);
	atomic_fetch_add_explicit(&shm->before_attach, atomic_exchange(&s->before_attach, 0),
				  memory_order_relaxed);
	aif_budget_init(&aif_agent.budget, shm->overhead_ppm, bound_ns(), aif_now_ns(),
			aif_now_ns());
	atomic_store_explicit(&s->armed->recorder_alive, 1, memory_order_relaxed);
	atomic_store(&s->attached, a);
	/* What dlclose() takes away from now on we are told; what it took before is looked up now. */
	if (atomic_exchange(&s->armed->generation, a->generation) == AIF_GENERATION_DORMANT)
		aif_unwinder_refresh(s->unwinder);
	return 0;
}

static void arm(void)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_attachment *a = atomic_load(&s->attached);

	if (a)
		atomic_store_explicit(&s->armed->on,
				      atomic_load_explicit(&a->shm->command,
							   memory_order_relaxed) == AIF_COMMAND_RUN,
				      memory_order_release);
}

/* Looks for a recorder, `first` before others, and if there may be one later, waits for it. */
static int begin(const struct aif_call *first, int timeout_ms, bool after_fork)
{
	const struct aif_environment *env = &aif_agent.env;
	struct aif_session *s = &aif_agent.session;
	struct aif_attachment *a;
	struct aif_call call;
	int r = -ENOENT, r2;

	if (*env->standby)
		(void)aif_standby_show(&s->standby, env->standby, env->level, runtime_name());
	if (first)
		r = meet(first, timeout_ms, after_fork);
	for (unsigned i = 0;
	     r < 0 && s->standby.shown && i < OFFERS && aif_standby_asked(env->standby, i, &call);
	     i++)
		r = meet(&call, OFFER_TIMEOUT_MS, after_fork);
	if (r < 0 && !s->standby.shown)
		return r;
	if (r < 0)
		atomic_store(&s->armed->generation, AIF_GENERATION_DORMANT);
	/* Without the helper nobody would notice that a recorder has come or gone. */
	r2 = helper_start();
	if (r2 < 0) {
		a = atomic_load(&s->attached);
		atomic_store(&s->attached, NULL);
		if (a) {
			munmap(a->shm, a->size); /* nobody has collected */
			*a = (struct aif_attachment){0};
		}
		aif_standby_hide(&s->standby, env->standby);
		return r2;
	}
	arm();
	return 0;
}

/* The recorder that has started this program. */
static const struct aif_call *own_recorder(struct aif_call *call)
{
	const struct aif_environment *env = &aif_agent.env;

	*call = (struct aif_call){.name = ""};
	memcpy(call->path, env->socket, sizeof(call->path));
	memcpy(call->token, env->token, sizeof(call->token));
	return *env->socket ? call : NULL;
}

static int first_start(struct aif_session *s)
{
	struct aif_armed *armed = NULL;
	struct aif_call call;
	int r;

	s->unwinder = aif_pages(aif_unwinder_size());
	aif_agent.python = aif_pages(sizeof(*aif_agent.python));
	if (!s->unwinder || !aif_agent.python)
		return -ENOMEM;
	r = aif_unwinder_init(s->unwinder);
	if (r == 0)
		r = aif_threads_init(&aif_agent.threads);
	if (r == 0)
		r = armed_new(&armed);
	if (r < 0)
		return r;
	/* Entries must find the page before it says anything but zero. */
	s->armed = armed;
	r = begin(own_recorder(&call), START_TIMEOUT_MS, false);
	if (r < 0)
		atomic_store(&armed->generation, AIF_GENERATION_LOST);
	return r;
}

int aif_session_start(const struct aif_runtime *runtime)
{
	struct aif_session *s = &aif_agent.session;
	int saved = errno, r = 0;

	if (!aif_agent.env.carrier ||
	    (*aif_agent.env.runtime && strcmp(aif_agent.env.runtime, runtime->name)))
		return -ENOENT;
	for (unsigned i = 0; aif_runtimes[i]; i++)
		if (aif_runtimes[i] == runtime)
			s->runtimes |= 1u << i;
	aif_agent.budget.bound_ns = bound_ns();
	if (!atomic_exchange(&s->starting, true))
		r = first_start(s);
	else if (!s->armed || s->armed->generation == AIF_GENERATION_LOST)
		r = -EAGAIN;
	errno = saved;
	return r;
}

bool aif_session_rearm(void)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_call call;
	bool recorded;
	uint32_t idle = 0;

	if (atomic_load_explicit(&s->armed->generation, memory_order_acquire))
		return atomic_load_explicit(&s->armed->on, memory_order_acquire);
	if (!atomic_load_explicit(&s->helped, memory_order_relaxed) ||
	    !atomic_compare_exchange_strong(&s->armed->attaching, &idle, 1))
		return false; /* another thread is at it: this launch is counted */
	/* It may have been at it, and be done by now. */
	if (atomic_load(&s->armed->generation))
		goto out;
	/* Only this thread of the parent lives on here; locks are as they were at the fork. */
	aif_threads_forked(&aif_agent.threads);
	aif_sampler_forked(&aif_agent.sampler);
	aif_cpu_forked(&aif_agent.cpu);
	for (unsigned i = 0; aif_runtimes[i]; i++)
		if ((s->runtimes & 1u << i) && aif_runtimes[i]->forked)
			aif_runtimes[i]->forked();
	/* None of the parent's mappings is here. */
	recorded = atomic_load(&s->attached);
	memset(s->place, 0, sizeof(s->place));
	atomic_store(&s->attached, NULL);
	s->shm = NULL;
	s->answers = 0;
	s->standby = (struct aif_standby){.shown = false};
	aif_unwinder_forked(s->unwinder);
	if (begin(recorded ? &s->call : own_recorder(&call), FORK_TIMEOUT_MS, true) < 0) {
		atomic_store(&s->armed->on, 0);
		atomic_store(&s->armed->generation, AIF_GENERATION_LOST);
	}
out:
	atomic_store(&s->armed->attaching, 0);
	return atomic_load(&s->armed->on);
}

bool aif_session_wanted(void)
{
	struct aif_armed *armed = aif_agent.session.armed;

	/* A child's first object comes before its first launch, and would be made in vain. */
	if (armed && !atomic_load_explicit(&armed->generation, memory_order_acquire)) {
		int saved = errno;

		aif_session_rearm();
		errno = saved;
	}
	if (!armed)
		return false;
	return atomic_load_explicit(&armed->recorder_alive, memory_order_relaxed) ||
	       (*aif_agent.env.standby && aif_agent.env.level == AIF_LEVEL_GRAPHS &&
		atomic_load_explicit(&armed->generation, memory_order_relaxed) !=
			AIF_GENERATION_LOST);
}

static bool is_met(const struct aif_session *s)
{
	uint32_t generation = s->armed ? atomic_load(&s->armed->generation) : 0;

	return generation && generation != AIF_GENERATION_DORMANT;
}

bool aif_session_modules_go(void)
{
	struct aif_armed *armed = aif_agent.session.armed;

	if (!armed)
		return false;
	atomic_fetch_add(&armed->closing, 1);
	/* Each of the two says what it is about to do before it asks for the other. */
	while (atomic_load(&armed->looking))
		sched_yield();
	if (is_met(&aif_agent.session))
		aif_unwinder_forget(aif_agent.session.unwinder);
	return true;
}

void aif_session_modules_gone(bool was_counted)
{
	struct aif_session *s = &aif_agent.session;
	int saved = errno;

	atomic_thread_fence(memory_order_seq_cst); /* the module went before this look: meet() */
	if (is_met(s))
		aif_unwinder_refresh(s->unwinder);
	/* 0 in a child that a destructor has forked. */
	if (was_counted && atomic_load(&s->armed->closing))
		atomic_fetch_sub(&s->armed->closing, 1);
	errno = saved;
}

bool aif_session_modules_look(void)
{
	struct aif_armed *armed = aif_agent.session.armed;

	atomic_store(&armed->looking, 1);
	if (!atomic_load(&armed->closing))
		return true;
	atomic_store(&armed->looking, 0);
	return false;
}

void aif_session_modules_looked(void)
{
	atomic_store(&aif_agent.session.armed->looking, 0);
}

bool aif_session_refresh(uint64_t now)
{
	struct aif_session *s = &aif_agent.session;
	uint64_t last = atomic_load_explicit(&s->refreshed_ns, memory_order_relaxed);

	if (now - last < REFRESH_EACH_NS ||
	    !atomic_compare_exchange_strong(&s->refreshed_ns, &last, now))
		return false;
	aif_unwinder_refresh(s->unwinder);
	return true;
}

void aif_session_leave(void)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_attachment *a;

	atomic_store(&s->leaving, true); /* from here on nothing is unmapped */
	a = atomic_load(&s->attached);
	if (a && atomic_load(&s->armed->generation) == a->generation)
		atomic_fetch_add_explicit(&a->shm->no_slot, atomic_exchange(&s->no_slot, 0),
					  memory_order_relaxed);
	aif_standby_hide(&s->standby, aif_agent.env.standby);
}
