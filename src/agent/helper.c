/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper.h"

#include "agent/emit.h"
#include "agent/runtime.h"
#include "agent/sandbox.h"
#include "base/clock.h"
#include "base/proc.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Four wake-ups a second cost about 0.01 % of a core. */
#define HELPER_PERIOD_NS (AIF_NS_PER_S / 4)
/* At first, when devices are opened and threads are made: short programs are recorded, too. */
#define EARLY_NS        AIF_NS_PER_S
#define EARLY_PERIOD_NS 25000000
/* While steps are awaited (--steps): a thousandth of a core. */
#define STEP_PERIOD_NS 2000000
/* On standby: one that has been silent for so long is dead. */
#define GONE_NS (30 * AIF_NS_PER_S)
/* A recorder that is silent for so long is taken for dead, though it may yet be stopped only. */
#define OVER_NS (10 * AIF_NS_PER_S)
/* How often a ring is answered while old entries are under way, then given up. */
#define ANSWERS 200
/* The process's static TLS (KiBs in large programs) comes out of this, and once the exit handlers of a
 * program whose other threads have all ended (is_last). */
#define HELPER_STACK (1u << 20)
/* A look costs 15 us. */
#define LAST_LOOK_NS AIF_NS_PER_S

static __thread bool is_here __attribute__((tls_model("initial-exec")));

bool aif_helper_is_here(void)
{
	return is_here;
}

static void switch_runtimes(bool collect)
{
	for (unsigned i = 0; aif_runtimes[i]; i++)
		if ((aif_agent.session.runtimes & 1u << i) && aif_runtimes[i]->collect)
			aif_runtimes[i]->collect(collect);
}

static void end_runtimes(void)
{
	for (unsigned i = 0; aif_runtimes[i]; i++)
		if ((aif_agent.session.runtimes & 1u << i) && aif_runtimes[i]->over)
			aif_runtimes[i]->over();
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
	const char *state, *threads;
	char text[1024];

	aif_proc_read("/proc/self/stat", text, sizeof(text));
	state = aif_proc_stat_field(text, 3);
	threads = aif_proc_stat_field(text, 20);
	return state && threads && *state == 'Z' && !strncmp(threads, "2 ", 2);
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
	if (aif_python_wanted(py) && !aif_unwinder_closed(s->unwinder))
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
	aif_session_publish(shm);
	atomic_store_explicit(&shm->helper_cpu_ns, aif_clock_ns(CLOCK_THREAD_CPUTIME_ID),
			      memory_order_relaxed);
}

/* Takes a ring while that may be: under a filter the helper writes what threads without one would have. */
static void take_ring(void)
{
	struct aif_thread *t = aif_thread_enter();

	if (t)
		aif_thread_leave(t);
}

/* Samples from signals and what else needs system calls. */
static void tick_callers(const struct aif_attachment *a, bool alive, bool collect, uint64_t now)
{
	if (aif_sandbox_begin(a, alive)) {
		if (collect)
			take_ring();
		aif_sampler_tick(&aif_agent.sampler, collect, now);
		aif_cpu_tick(&aif_agent.cpu, collect);
		if (collect)
			aif_unwinder_look(aif_agent.session.unwinder);
		aif_sandbox_end();
	} else if (aif_sandbox_is_on()) {
		aif_cpu_hush(&aif_agent.cpu);
	}
}

/* Ends the session; the memory stays until aif_session_reclaim(). */
static void retire(struct aif_attachment *a, bool alive, uint64_t now)
{
	struct aif_session *s = &aif_agent.session;

	atomic_store(&s->armed->on, 0);
	atomic_store(&s->armed->recorder_alive, 0);
	watch_python(false);
	switch_runtimes(false);
	tick_callers(a, alive, false, now);
	atomic_store(&s->armed->generation, AIF_GENERATION_DORMANT);
	atomic_store(&s->attached, NULL);
	s->shm = NULL;
	s->options = 0;
	a->retired_ns = aif_now_ns();
}

/* What the helper has seen of the recorder. */
struct look {
	bool alive, collect;
	uint32_t command;
};

/* Looks after the session. */
static struct look attend(struct aif_attachment *a, uint64_t now)
{
	struct aif_session *s = &aif_agent.session;
	uint64_t beat = atomic_load_explicit(&a->shm->heartbeat_ns, memory_order_relaxed);
	uint32_t command = atomic_load_explicit(&a->shm->command, memory_order_relaxed);
	bool alive = now < beat || now - beat < AIF_SHM_SILENT_NS,
	     collect = alive && aif_session_is_to_run(a);

	if (alive)
		s->alive_ns = now;
	atomic_store_explicit(&s->armed->recorder_alive, alive, memory_order_relaxed);
	/* What is under way is told while entries still may. */
	if (!collect)
		switch_runtimes(false);
	else if (aif_python_state(aif_agent.python) == AIF_PYTHON_STOPPED)
		watch_python(true); /* before the first launch, which has Python frames, too */
	atomic_store_explicit(&s->armed->on, collect, memory_order_release);
	if (collect) {
		switch_runtimes(true);
		tick_runtimes(now);
	}
	aif_session_tell(a->shm, collect, collect ? aif_now_ns() : now);
	/* Steps are short, and asking takes longer. */
	if (!aif_session_awaits_steps() || now - s->called_ns >= HELPER_PERIOD_NS) {
		s->called_ns = now;
		tick_callers(a, alive, collect, now);
	}
	publish(a);
	if (command == AIF_COMMAND_END || (s->standby.shown && now - s->alive_ns >= GONE_NS)) {
		retire(a, alive, now);
		end_runtimes();
	} else if (!alive && now - s->alive_ns >= OVER_NS) {
		end_runtimes();
	}
	return (struct look){.alive = alive, .collect = collect, .command = command};
}

/* A recorder has rung. It holds our page's lock, so that whom we had is dead or has let go. */
static void answer(uint64_t now)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_attachment *a = atomic_load(&s->attached);
	struct aif_call call;

	if (aif_standby_answer(&s->standby, aif_agent.env.standby, &call)) {
		aif_call_set(&s->met, &call);
		s->answers = ANSWERS;
	}
	if (!s->answers)
		return;
	if (a)
		retire(a, false, now);
	/* Nothing is waited for here: threads that are inside an entry are met again at the next try. */
	s->answers = aif_session_meet() == -EBUSY ? s->answers - 1 : 0;
}

/* Our threads take none of the target's signals. */
static int thread_start(void *(*run)(void *), void *arg)
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
	r = pthread_create(&thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

/* In a forked child: see aif_unwinder_forked(). A thread of its own, since it may be its end. */
static void *reopen(void *arg)
{
	prctl(PR_SET_NAME, "aiflame");
	aif_unwinder_reopen(arg);
	return NULL;
}

/* A thread waits for one word only. While a recorder has us that is its command, since the bell rings for
 * the next one: it is looked at afterwards. True: it has rung. */
static bool rest(const struct aif_attachment *a, const struct look *look, uint64_t ns)
{
	struct aif_standby *standby = &aif_agent.session.standby;

	if (!a || !look->alive)
		return aif_standby_wait(standby, ns);
	aif_shm_await_order(a->shm, look->command, ns);
	return standby->shown && aif_standby_wait(standby, 0);
}

static bool has_new_order(const struct aif_attachment *a, const struct look *look)
{
	return a && look->alive &&
	       (atomic_load_explicit(&a->shm->command, memory_order_relaxed) != look->command ||
		(atomic_load_explicit(&a->shm->filter, memory_order_relaxed) &&
		 !aif_sandbox_is_on()));
}

/* Until the time is over or the recorder wants something else. Meanwhile runtimes do what is due more
 * often than the rest. True: the bell has rung. */
static bool wait_and_turn(const struct look *look, uint64_t period)
{
	struct aif_session *s = &aif_agent.session;
	const struct aif_attachment *a = atomic_load(&s->attached);
	uint64_t now = aif_now_ns(), until = now + period;

	do {
		uint64_t next = until;

		for (unsigned i = 0; aif_runtimes[i] && look->collect; i++)
			if ((s->runtimes & 1u << i) && aif_runtimes[i]->turn)
				next = AIF_MIN(next, aif_runtimes[i]->turn(now));
		now = aif_now_ns();
		if (rest(a, look, next > now ? next - now : 0))
			return true;
		now = aif_now_ns();
	} while (now < until && !has_new_order(a, look));
	return false;
}

/* True if this is the last thread. */
static bool look_each_second(const struct look *look, uint64_t now)
{
	struct aif_session *s = &aif_agent.session;
	const struct aif_environment *env = &aif_agent.env;

	if (atomic_load(&s->attached))
		watch_python(look->collect);
	if (is_last())
		return true;
	/* What could not be switched off yet. */
	if (!atomic_load(&s->attached) && s->generation)
		end_runtimes();
	if (*env->standby)
		aif_standby_check(&s->standby, env->standby, env->level, aif_session_runtime(),
				  now);
	return false;
}

static void *helper(void *arg)
{
	struct aif_session *s = &aif_agent.session;
	const struct aif_environment *env = &aif_agent.env;
	uint64_t looked = 0, began = 0;
	uint32_t generation = 0;

	(void)arg;
	is_here = true;
	prctl(PR_SET_NAME, "aiflame");
	if (aif_unwinder_closed(s->unwinder))
		(void)thread_start(reopen, s->unwinder);
	for (;;) {
		struct aif_attachment *a = atomic_load(&s->attached);
		uint64_t now = aif_now_ns(), period = LAST_LOOK_NS;
		struct look look = {0};
		bool nothing_left;

		if (a) {
			if (generation != a->generation) {
				generation = a->generation;
				began = now;
				atomic_store_explicit(&a->shm->helper_tid,
						      (uint32_t)syscall(SYS_gettid),
						      memory_order_relaxed);
			}
			look = attend(a, now);
			period = now - began < EARLY_NS ? EARLY_PERIOD_NS : HELPER_PERIOD_NS;
			if (aif_session_awaits_steps())
				period = STEP_PERIOD_NS;
		}
		nothing_left = !aif_sandbox_is_on() && aif_session_reclaim(aif_now_ns());
		/* Under a filter the recorder looks whether this is the last thread. Without one we sleep
		 * for ever: to end a thread takes system calls, too. */
		if (aif_sandbox_is_on() && atomic_load(&s->attached) == a && a &&
		    atomic_load(&a->shm->filter) == AIF_FILTER_LAST)
			return NULL;
		if (now - looked >= LAST_LOOK_NS && aif_sandbox_begin(a, look.alive)) {
			looked = now;
			if (look_each_second(&look, now))
				return NULL; /* the C library then ends the process, as without us */
			aif_sandbox_end();
		}
		if (!atomic_load(&s->attached)) {
			if (nothing_left && !*env->standby)
				return NULL; /* nobody can come any more */
			if ((!nothing_left && !aif_sandbox_is_on()) || s->answers)
				period = EARLY_PERIOD_NS;
		}
		if ((wait_and_turn(&look, period) || s->answers) && !aif_sandbox_is_on())
			answer(aif_now_ns());
	}
}

int aif_helper_start(void)
{
	int r = thread_start(helper, NULL);

	atomic_store_explicit(&aif_agent.session.helped, !r, memory_order_relaxed);
	return r;
}
