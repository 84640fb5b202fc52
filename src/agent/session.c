/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/session.h"

#include "agent/emit.h"
#include "agent/memory.h"
#include "agent/runtime.h"
#include "base/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
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
/* Four wake-ups a second cost about 0.01 % of a core. */
#define HELPER_PERIOD_NS (AIF_NS_PER_S / 4)
/* At first, when devices are opened and threads are made: short programs are recorded, too. */
#define EARLY_NS        AIF_NS_PER_S
#define EARLY_PERIOD_NS 25000000
/* The recorder's heart beats at least each 500 ms. */
#define SILENCE_NS      (2 * AIF_NS_PER_S)
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

static void publish_budget(struct aif_shm *shm)
{
	struct aif_budget *b = &aif_agent.budget;

	atomic_store_explicit(&shm->duty_ppm, atomic_load(&b->duty_ppm), memory_order_relaxed);
	atomic_store_explicit(&shm->cost_ppm, atomic_load(&b->cost_ppm), memory_order_relaxed);
	atomic_store_explicit(&shm->cost_error_ppm, atomic_load(&b->cost_error_ppm),
			      memory_order_relaxed);
}

static void *helper(void *arg)
{
	struct aif_session *s = &aif_agent.session;
	struct timespec period = {0};
	uint64_t looked = 0, began = aif_now_ns();

	(void)arg;
	prctl(PR_SET_NAME, "aiflame");
	atomic_store_explicit(&s->shm->helper_tid, (uint32_t)syscall(SYS_gettid),
			      memory_order_relaxed);
	for (;;) {
		uint64_t now = aif_now_ns(),
			 beat = atomic_load_explicit(&s->shm->heartbeat_ns, memory_order_relaxed);
		bool alive = now < beat || now - beat < SILENCE_NS,
		     collect = alive &&
			       atomic_load_explicit(&s->shm->command, memory_order_relaxed) ==
				       AIF_COMMAND_RUN;

		atomic_store_explicit(&s->armed->recorder_alive, alive, memory_order_relaxed);
		atomic_store_explicit(&s->armed->on, collect, memory_order_release);
		if (collect)
			tick_runtimes(now);
		aif_sampler_tick(&aif_agent.sampler, collect, now);
		publish_budget(s->shm);
		atomic_store_explicit(&s->shm->helper_cpu_ns, aif_clock_ns(CLOCK_THREAD_CPUTIME_ID),
				      memory_order_relaxed);
		if (now - looked >= LAST_LOOK_NS) {
			looked = now;
			watch_python(collect);
			if (is_last())
				return NULL; /* the C library then ends the process, as without us */
		}
		period.tv_nsec = now - began < EARLY_NS ? EARLY_PERIOD_NS : HELPER_PERIOD_NS;
		nanosleep(&period, NULL);
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
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

static const char *runtime_name(void)
{
	for (unsigned i = 0; aif_runtimes[i]; i++)
		if (aif_agent.session.runtimes & 1u << i)
			return aif_runtimes[i]->name;
	return "";
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

/* Meets the recorder, takes its memory, arms. */
static int attach(int timeout_ms, bool after_fork)
{
	const struct aif_environment *env = &aif_agent.env;
	struct aif_session *s = &aif_agent.session;
	struct aif_hello hello = {.magic = AIF_WIRE_MAGIC,
				  .version = AIF_WIRE_VERSION,
				  .kind = AIF_HELLO_RUNTIME,
				  .after_fork = after_fork};
	struct aif_shm *shm;
	uint64_t size;
	int fd, r;

	memcpy(hello.token, env->token, sizeof(hello.token));
	strncpy(hello.runtime, runtime_name(), sizeof(hello.runtime) - 1);
	r = aif_hello_send(env->socket, &hello, timeout_ms, &fd);
	if (r < 0)
		return r;
	r = aif_shm_map(fd, &shm, &size);
	close(fd);
	if (r < 0)
		return r;
	/* A child must not write into its parent's rings. */
	if (madvise(shm, size, MADV_DONTFORK) < 0) {
		r = -errno;
		goto fail;
	}
	s->shm = shm;
	s->slots = shm->slots;
	s->ring_size = shm->ring_size;
	s->options = shm->options;
	s->device_rate = shm->device_rate;
	s->python_reason = 0;
	if (!(s->options & AIF_OPTION_NO_PYTHON))
		aif_python_detect(aif_agent.python);
	atomic_fetch_add_explicit(&shm->before_attach, atomic_exchange(&s->before_attach, 0),
				  memory_order_relaxed);
	aif_budget_init(&aif_agent.budget, shm->overhead_ppm, bound_ns(), aif_now_ns(),
			aif_now_ns());
	atomic_store_explicit(&s->armed->recorder_alive, 1, memory_order_relaxed);
	atomic_store_explicit(&s->armed->generation, ++s->generation, memory_order_release);
	/* Without the helper nobody would notice that the recorder has gone. */
	r = helper_start();
	if (r < 0)
		goto fail;
	atomic_store_explicit(&s->armed->on,
			      atomic_load_explicit(&shm->command, memory_order_relaxed) ==
				      AIF_COMMAND_RUN,
			      memory_order_release);
	return 0;
fail:
	munmap(shm, size);
	return r;
}

static int first_start(struct aif_session *s)
{
	struct aif_armed *armed;
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
	aif_announced_init(&aif_agent.announced);
	/* Entries must find the page before it says anything but zero. */
	s->armed = armed;
	r = attach(START_TIMEOUT_MS, false);
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
	uint32_t idle = 0;

	if (atomic_load_explicit(&s->armed->generation, memory_order_acquire))
		return atomic_load_explicit(&s->armed->on, memory_order_acquire);
	if (!s->generation || !atomic_compare_exchange_strong(&s->armed->attaching, &idle, 1))
		return false; /* another thread is at it: this launch is counted */
	/* Only this thread of the parent lives on here; locks are as they were at the fork. */
	aif_threads_forked(&aif_agent.threads);
	aif_announced_init(&aif_agent.announced);
	aif_sampler_forked(&aif_agent.sampler);
	for (unsigned i = 0; aif_runtimes[i]; i++)
		if ((s->runtimes & 1u << i) && aif_runtimes[i]->forked)
			aif_runtimes[i]->forked();
	if (aif_unwinder_init(s->unwinder) < 0 || attach(FORK_TIMEOUT_MS, true) < 0) {
		atomic_store(&s->armed->on, 0);
		atomic_store(&s->armed->generation, AIF_GENERATION_LOST);
	}
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
	return armed && atomic_load_explicit(&armed->recorder_alive, memory_order_relaxed);
}

void aif_session_modules_changed(void)
{
	struct aif_session *s = &aif_agent.session;
	int saved = errno;

	if (s->armed && s->armed->generation)
		aif_unwinder_refresh(s->unwinder);
	errno = saved;
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
