/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper.h"

#include "agent/emit.h"
#include "agent/injection.h"
#include "agent/own_threads.h"
#include "agent/runtime.h"
#include "agent/sandbox.h"
#include "base/clock.h"
#include "base/proc.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Four wake-ups a second cost about 0.01 % of a core. */
#define HELPER_PERIOD_NS (AIF_NS_PER_S / 4)
/* At first, when devices are opened and threads are made: short programs are recorded, too. */
#define EARLY_NS        AIF_NS_PER_S
#define EARLY_PERIOD_NS 25000000
/* While steps are awaited (--steps): a thousandth of a core. */
#define STEP_PERIOD_NS 2000000
/* On standby, while a recorder has the process: how often the bell is looked at. Each time costs 5 us. */
#define BELL_EACH_NS (AIF_NS_PER_S / 20)
/* A recorder that is silent for so long is taken for dead, though it may yet be stopped only: runtimes detach. */
#define DETACH_NS (10 * AIF_NS_PER_S)
/* On standby, one that is silent for so long is dead: its session ends. */
#define RETIRE_NS (30 * AIF_NS_PER_S)
/* Tries to answer a recorder that has rung while threads are inside entries of an old session. */
#define ANSWERS 200
/* Between two looks whether this is the last thread, of 15 us each. */
#define LAST_LOOK_NS AIF_NS_PER_S

static __thread bool is_here __attribute__((tls_model("initial-exec")));

bool aif_helper_is_here(void)
{
	return is_here;
}

/* A process whose main thread has ended alone ends with its last other thread. Is that the helper, which nobody waits for? Then there are
 * two: the main thread's remains and this one. *ret_status: what the main thread ended with. */
static bool is_last(int *ret_status)
{
	const char *state, *threads, *status;
	char text[1024];

	aif_proc_read("/proc/self/stat", text, sizeof(text));
	state = aif_proc_stat_field(text, 3);
	threads = aif_proc_stat_field(text, 20);
	status = aif_proc_stat_field(text, 52);
	*ret_status = status ? atoi(status) : 0;
	return state && threads && *state == 'Z' && !strncmp(threads, "2 ", 2);
}

/* Ends the process as its main thread has ended, with no exit handlers: by a system call of its own with a status, or killed alone (by a
 * filter). After pthread_exit() that is 0, and the C library does it with them, as without us. Linux has the status of the thread that
 * ends last from 5.17 on, that of the main thread before. `status`: as of wait(). */
static void end_as_main(int status)
{
	struct sigaction by_default = {.sa_handler = SIG_DFL};
	int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (by) {
		sigaction(by, &by_default, NULL);
		kill(getpid(), by);
	}
	if (status)
		syscall(SYS_exit, WEXITSTATUS(status));
}

/* Opens the unwinder in a forked child, if no thread of the parent has left the loader's list locked. */
static void reopen_unwinder(void)
{
	struct aif_unwinder *u = aif_agent.session.unwinder;

	if (aif_unwinder_closed(u) && aif_loader_list_is_free(&aif_agent.loader))
		aif_unwinder_reopen(u);
}

/* Returns true if the unwinder can be asked for modules. A closed one does not ask the loader. */
static bool may_use_unwinder(void)
{
	return aif_unwinder_closed(aif_agent.session.unwinder) ||
	       aif_loader_await_list(&aif_agent.loader);
}

/* Looks for an interpreter, which may be loaded late; while nobody collects, gives back what was changed in it. */
static void tick_python(bool collect)
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
	if (aif_python_wanted(py) && !aif_unwinder_closed(s->unwinder) &&
	    !aif_loader_is_busy(&aif_agent.loader))
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
}

/* Asks the clocks of threads, by system calls. */
static void publish_times(const struct aif_attachment *a)
{
	atomic_store_explicit(&a->shm->helper_cpu_ns, aif_own_threads_cpu_ns(),
			      memory_order_relaxed);
}

/* Takes a ring while a system call is allowed: under a filter the helper writes what threads without one would. */
static void take_ring(void)
{
	struct aif_thread *t = aif_thread_enter();

	if (t) {
		aif_injection_report(t);
		aif_thread_leave(t);
	}
}

/* Ticks what makes system calls: samplers, and the unwinder. */
static void tick_samplers(const struct aif_attachment *a, bool alive, bool collect, uint64_t now)
{
	if (aif_sandbox_begin(a, alive)) {
		if (collect)
			take_ring();
		aif_sampler_tick(&aif_agent.sampler, collect, now);
		if (!collect || may_use_unwinder()) {
			aif_cpu_tick(&aif_agent.cpu, collect);
			if (collect)
				aif_unwinder_look(aif_agent.session.unwinder);
		}
		publish_times(a);
		aif_sandbox_end();
	} else if (aif_sandbox_is_on()) {
		aif_cpu_stop_signals(&aif_agent.cpu);
	}
}

/* Carries the samples since the helper's last visit, before nobody collects: then no ring can be entered. Steps are shorter than
 * asking the recorder takes. */
static void flush_samples(const struct aif_attachment *a)
{
	if (!atomic_load(&aif_agent.cpu.on) || aif_session_awaits_steps() || !may_use_unwinder())
		return;
	if (aif_sandbox_begin(a, true)) {
		aif_cpu_flush(&aif_agent.cpu);
		aif_sandbox_end();
	}
}

/* Ends samples, and drops those that are left: they are none of the next session's. The recorder is not asked for a filter:
 * one that has done answers no more, and what it saw last is in the memory. */
static void end_samples(const struct aif_attachment *a, uint64_t now)
{
	tick_samplers(a, false, false, now);
	if (aif_sandbox_begin(a, false)) {
		aif_cpu_forget(&aif_agent.cpu);
		aif_sandbox_end();
	}
}

/* Ends the session; the memory stays until aif_session_reclaim(). */
static void retire(struct aif_attachment *a, uint64_t now)
{
	struct aif_session *s = &aif_agent.session;

	atomic_store(&s->armed->on, 0);
	atomic_store(&s->armed->recorder_alive, 0);
	tick_python(false);
	aif_runtimes_enable(false);
	end_samples(a, now);
	atomic_store(&s->armed->generation, AIF_GENERATION_DORMANT);
	atomic_store(&s->attached, NULL);
	s->shm = NULL;
	s->options = 0;
	a->retired_ns = aif_now_ns();
}

/* The recorder's state at the helper's last look. */
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
	/* Launches under way are written while entries still may write. */
	if (!collect) {
		aif_runtimes_enable(false);
		if (alive && atomic_load(&s->armed->on))
			flush_samples(a);
	} else if (aif_python_state(aif_agent.python) == AIF_PYTHON_STOPPED) {
		tick_python(true); /* before the first launch, which has Python frames, too */
	}
	atomic_store_explicit(&s->armed->on, collect, memory_order_release);
	if (collect) {
		aif_runtimes_enable(true);
		aif_runtimes_tick(now);
	}
	aif_session_report_state(a->shm, collect, aif_now_ns());
	/* Steps are shorter than asking the recorder takes (aif_sandbox_begin). */
	if (!aif_session_awaits_steps() || now - s->called_ns >= HELPER_PERIOD_NS) {
		s->called_ns = now;
		tick_samplers(a, alive, collect, now);
	}
	publish(a);
	if (command == AIF_COMMAND_END || (s->standby.shown && now - s->alive_ns >= RETIRE_NS)) {
		retire(a, now);
		aif_runtimes_detach();
	} else if (!alive && now - s->alive_ns >= DETACH_NS) {
		aif_runtimes_detach();
	}
	return (struct look){.alive = alive, .collect = collect, .command = command};
}

/* Answers a recorder that has rung, or asks one again that was late. One that has rung holds our page's lock, so that the one before
 * is dead or has let go. */
static void answer(uint64_t now)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_attachment *a = atomic_load(&s->attached);
	struct aif_call call;

	aif_injected_start_runtimes(); /* before the recorder asks which there are */
	if (*aif_agent.env.standby &&
	    aif_standby_answer(&s->standby, aif_agent.env.standby, &call)) {
		/* A recorder rings before it sees that we have found it by ourselves, and again where it knows no number of ours. */
		if (a && !memcmp(call.token, s->met.call.token, sizeof(call.token)))
			return;
		aif_call_set(&s->met, &call);
		s->answers = ANSWERS;
		s->is_late = false;
		s->late_joins = 0;
	}
	if (!s->answers)
		return;
	if (a)
		retire(a, now);
	/* Does not wait for threads that are inside an entry: there is a next try. */
	s->answers = aif_session_join() ? 0 : s->answers - 1;
	if (!s->answers)
		s->is_late = false;
}

/* Waits for one word, since a thread cannot wait for two: the bell, or while a recorder has the process its
 * command. The bell then rings if that recorder was killed and another has come, and is looked at in
 * between. Under a filter of system calls it cannot be answered. True: it has rung. */
static bool rest(const struct aif_attachment *a, const struct look *look, uint64_t ns)
{
	struct aif_standby *standby = &aif_agent.session.standby;

	if (!a || !look->alive) {
		if (!aif_sandbox_is_on() && standby->shown)
			return aif_standby_wait(standby, ns);
		aif_own_thread_sleep(ns);
		return false;
	}
	if (!aif_sandbox_is_on() && aif_standby_has_rung(standby))
		return true;
	aif_shm_await_order(a->shm, look->command, standby->shown ? AIF_MIN(ns, BELL_EACH_NS) : ns);
	return false;
}

/* Returns the word that rest() waits on. NULL: none that another thread would have to be woken by. */
static const void *wait_word(const struct aif_attachment *a, const struct look *look)
{
	return a && look->alive ? (const void *)&a->shm->command : aif_agent.session.standby.bell;
}

static bool has_new_order(const struct aif_attachment *a, const struct look *look)
{
	return a && look->alive &&
	       (atomic_load_explicit(&a->shm->command, memory_order_relaxed) != look->command ||
		(atomic_load_explicit(&a->shm->filter, memory_order_relaxed) &&
		 !aif_sandbox_is_on()));
}

/* Waits until the time is over or the recorder wants something else. Meanwhile runtimes do what is due more often.
 * True: the bell has rung. */
static bool wait_and_poll(const struct look *look, uint64_t period)
{
	const struct aif_attachment *a = atomic_load(&aif_agent.session.attached);
	uint64_t now = aif_now_ns(), until = now + period;
	bool rang;

	do {
		uint64_t next = look->collect ? aif_runtimes_poll(now) : UINT64_MAX;

		next = AIF_MIN(next, until);
		now = aif_now_ns();
		aif_own_thread_waits_on(wait_word(a, look));
		rang = !aif_own_thread_is_to_leave() && rest(a, look, next > now ? next - now : 0);
		aif_own_thread_waits_on(NULL);
		if (rang)
			return true;
		now = aif_now_ns();
	} while (now < until && !has_new_order(a, look) && !aif_own_thread_is_to_leave());
	return false;
}

/* Does what is due each second. True if this is the last thread. */
static bool look_each_second(const struct look *look, uint64_t now)
{
	struct aif_session *s = &aif_agent.session;
	const struct aif_environment *env = &aif_agent.env;
	int status;

	reopen_unwinder();
	if (atomic_load(&s->attached))
		tick_python(look->collect);
	if (env->injected && atomic_load(&s->attached) && may_use_unwinder())
		aif_unwinder_refresh(s->unwinder); /* an injected agent does not see dlclose() */
	aif_injected_start_runtimes();
	if (is_last(&status)) {
		end_as_main(status);
		return true;
	}
	/* Some of it may not have been possible yet. */
	if (!atomic_load(&s->attached) && s->generation)
		aif_runtimes_detach();
	if (*env->standby)
		aif_standby_check(&s->standby, env->standby, env->level, aif_runtimes_first(), now);
	return false;
}

/* Returns the time between two looks in a session of this age. */
static uint64_t attended_period(uint64_t age)
{
	if (aif_session_awaits_steps())
		return STEP_PERIOD_NS;
	return age < EARLY_NS ? EARLY_PERIOD_NS : HELPER_PERIOD_NS;
}

/* Under a filter the recorder looks whether this is the last thread. */
static bool is_last_under_filter(const struct aif_attachment *a)
{
	return aif_sandbox_is_on() && atomic_load(&aif_agent.session.attached) == a && a &&
	       atomic_load(&a->shm->filter) == AIF_FILTER_LAST;
}

/* Hands on what only this thread would, before it makes way. */
static void make_way(struct aif_attachment *a)
{
	if (!a || aif_sandbox_is_on())
		return;
	aif_cpu_last(&aif_agent.cpu);
	publish(a);
	publish_times(a);
}

/* True if this thread is there for CPU samples, and the recorder has found that the program gets none: a filter that is
 * not seen to come may forbid what this thread calls. A runtime that starts wakes it. */
static bool may_rest(const struct aif_attachment *a)
{
	struct aif_session *s = &aif_agent.session;

	if (!a || s->runtimes || *aif_agent.env.standby || aif_sandbox_is_on() ||
	    atomic_load(&a->shm->cpu) != AIF_CPU_NEVER)
		return false;
	/* Each of the two says what it is about to do before it looks at the other. */
	atomic_store(&s->helper_rests, getpid());
	return !s->runtimes || !atomic_exchange(&s->helper_rests, 0);
}

static bool helper(void)
{
	struct aif_session *s = &aif_agent.session;
	const struct aif_environment *env = &aif_agent.env;
	uint64_t looked = 0, began = 0;
	uint32_t generation = 0;

	is_here = true;
	reopen_unwinder();
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
			period = attended_period(now - began);
			if (may_rest(a))
				return false;
		}
		nothing_left = !aif_sandbox_is_on() && aif_session_reclaim(aif_now_ns());
		/* Without a recorder we sleep for ever there: to end a thread takes system calls, too. */
		if (is_last_under_filter(a)) {
			end_as_main((int)atomic_load(&a->shm->main_status));
			return false;
		}
		if (now - looked >= LAST_LOOK_NS && aif_sandbox_begin(a, look.alive)) {
			looked = now;
			if (look_each_second(&look, now))
				return false; /* the C library then ends the process, as without us */
			aif_sandbox_end();
		}
		if (!atomic_load(&s->attached)) {
			if (nothing_left && !*env->standby && !s->answers)
				return false; /* no recorder can attach any more */
			if ((!nothing_left && !aif_sandbox_is_on()) || s->answers)
				period = EARLY_PERIOD_NS;
		}
		if ((wait_and_poll(&look, period) || s->answers) && !aif_sandbox_is_on() &&
		    !aif_own_thread_is_to_leave())
			answer(aif_now_ns());
		if (aif_own_thread_is_to_leave()) {
			make_way(atomic_load(&s->attached));
			return true;
		}
	}
}

int aif_helper_start(void)
{
	int r = aif_own_thread_start(AIF_OWN_HELPER, helper);

	/* -EBUSY: the one that is there helps, or did until now. */
	if (r != -EBUSY)
		atomic_store_explicit(&aif_agent.session.helped, !r, memory_order_relaxed);
	return r;
}
