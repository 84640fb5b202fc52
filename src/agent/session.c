/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/session.h"

#include "agent/children.h"
#include "agent/emit.h"
#include "agent/memory/pages.h"
#include "agent/runtime.h"
#include "agent/sandbox.h"
#include "base/clock.h"
#include "base/proc.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define START_TIMEOUT_MS 1000
#define START_LOOK_NS    1000000 /* between looks whether another thread has started the session */
/* A recorder that has not answered by then may have had no CPU: the helper asks it so many times more. */
#define LATE_ANSWERS    300
#define LATE_TIMEOUT_MS 100
/* Answers take a millisecond; with 30 runnable processes on two CPUs some take more than 100. */
#define FORK_TIMEOUT_MS   500
#define FILTER_TIMEOUT_MS 500
/* A recording that waits for processes like this one; there may be several. */
#define OFFER_TIMEOUT_MS 200
#define OFFERS           8
/* See session.h: more than any store buffer needs, and than most entries. */
#define SETTLE_NS 10000000

static void wipe(void)
{
	struct aif_armed *armed = aif_agent.session.armed;

	if (armed)
		memset(armed, 0, sizeof(*armed));
}

/* pthread_atfork() by way of dlsym: it is the only thing that we need and that only glibc has, and musl's
 * loader would end a program that it preloads us into and cannot bind it. */
void aif_session_at_fork(void (*child)(void))
{
	typedef int (*register_fn)(void (*)(void), void (*)(void), void (*)(void), void *);
	register_fn fn = (register_fn)dlsym(RTLD_DEFAULT, "__register_atfork");

	if (fn)
		fn(NULL, NULL, child, NULL);
}

static int armed_new(struct aif_armed **ret)
{
	struct aif_armed *armed = aif_pages_unlocked((size_t)sysconf(_SC_PAGESIZE));

	if (!armed)
		return -ENOMEM;
	if (madvise(armed, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK) < 0)
		aif_session_at_fork(wipe);
	*ret = armed;
	return 0;
}

static void unmap(struct aif_attachment *a)
{
	for (uint32_t i = 0; i < a->slots; i++)
		if (a->ring[i])
			munmap(a->ring[i], a->ring_size);
	munmap(a->shm, a->size);
	*a = (struct aif_attachment){0};
}

bool aif_session_reclaim(uint64_t now)
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
			unmap(a);
		} else {
			left = true;
		}
	}
	return !left;
}

/* Finds a place for the next session. NULL while a thread is inside an entry of an old one. */
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

void aif_session_report_state(struct aif_shm *shm, bool collect, uint64_t now)
{
	uint64_t began = atomic_load_explicit(&shm->began_ns, memory_order_relaxed),
		 stopped = atomic_load_explicit(&shm->stopped_ns, memory_order_relaxed);

	if (collect != (began && began >= stopped))
		atomic_store_explicit(collect ? &shm->began_ns : &shm->stopped_ns, now,
				      memory_order_release);
}

/* Reports to the recorder that its memory is not used: the process would be one that launches nothing. */
static void report_failure(const struct aif_call *call, int r, int timeout_ms)
{
	struct aif_hello hello = {.magic = AIF_WIRE_MAGIC,
				  .version = AIF_WIRE_VERSION,
				  .kind = AIF_HELLO_FAILED,
				  .error = (uint32_t)-r};

	memcpy(hello.token, call->token, sizeof(hello.token));
	(void)aif_hello_send(call->path, &hello, timeout_ms, NULL);
}

static uint32_t filters_known(const struct aif_session *s)
{
	uint32_t filters = aif_agent.env.filters;

	return filters == AIF_FILTERS_UNKNOWN ? filters : filters + atomic_load(&s->harmless);
}

/* True if the program is under a filter that was not seen to be installed. It opens files at this moment. */
static bool has_unknown_filter(const struct aif_session *s)
{
	char status[4096];

	if (aif_agent.env.filters == AIF_FILTERS_UNKNOWN)
		return false;
	aif_proc_read("/proc/self/status", status, sizeof(status));
	return aif_proc_filters(status).len > filters_known(s);
}

struct aif_shm *aif_session_memory(void)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_armed *armed = atomic_load(&s->armed);
	const struct aif_attachment *a = atomic_load(&s->attached);

	return armed && atomic_load(&armed->generation) && a ? a->shm : NULL;
}

void aif_session_report_filter(void)
{
	const struct aif_environment *env = &aif_agent.env;
	struct aif_hello hello = {
		.magic = AIF_WIRE_MAGIC, .version = AIF_WIRE_VERSION, .kind = AIF_HELLO_FILTERED};

	if (!env->children || !*env->socket)
		return;
	memcpy(hello.token, env->token, sizeof(hello.token));
	(void)aif_hello_send(env->socket, &hello, FILTER_TIMEOUT_MS, NULL);
}

/* Meets a recorder and takes its memory. Nobody collects yet: arm(). -EBUSY: not now. */
static int meet(const struct aif_call *call, int timeout_ms, uint32_t joins)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_hello hello = {.magic = AIF_WIRE_MAGIC,
				  .version = AIF_WIRE_VERSION,
				  .kind = AIF_HELLO_RUNTIME,
				  .joins = joins,
				  .filters = filters_known(s)};
	struct aif_attachment *a = place_of_next();
	struct aif_shm *shm;
	uint64_t size;
	int fd, r;

	if (!a)
		return -EBUSY;
	memcpy(hello.token, call->token, sizeof(hello.token));
	strncpy(hello.runtime, aif_runtimes_first(), sizeof(hello.runtime) - 1);
	r = aif_hello_send(call->path, &hello, timeout_ms, &fd);
	if (r < 0)
		return r == -EBUSY ? -EIO : r;
	r = aif_shm_map(fd, &shm, &size);
	close(fd);
	if (r < 0) {
		report_failure(call, r, timeout_ms);
		return r;
	}
	*a = (struct aif_attachment){.shm = shm,
				     .size = size,
				     .slots = shm->slots,
				     .ring_size = shm->ring_size,
				     .generation = ++s->generation};
	if (call != &s->met.call)
		aif_call_set(&s->met, call);
	s->shm = shm;
	s->options = shm->options;
	s->device_rate = shm->device_rate;
	s->stall_rate = shm->stall_rate;
	memcpy(s->counters, shm->counters, sizeof(s->counters) - 1);
	s->counters_period_ns = shm->counters_period_ns;
	s->cpu_rate = shm->cpu_rate;
	s->schedule = shm->schedule;
	s->steps_base = s->schedule.counts_from_attach ? atomic_load(&aif_agent.steps_begun) : 0;
	s->python_reason = 0;
	s->alive_ns = aif_now_ns();
	/* In a child the helper looks for it: the loader may have been locked at the fork. */
	if (!(s->options & AIF_OPTION_NO_PYTHON) && !(joins & AIF_JOINS_AFTER_FORK))
		aif_python_detect(aif_agent.python);
	if (s->options & AIF_OPTION_CHILDREN)
		aif_children_watch_forks(false);
	atomic_store(&s->no_slot, 0);
	atomic_store(&s->no_memory, 0);
	atomic_store(&s->no_calls, 0);
	atomic_store(&s->spent_ns, 0);
	atomic_store(&s->records_ns, 0);
	atomic_store(&s->samples_ns, 0);
	atomic_store(&s->block_records_ns, 0);
	atomic_store(&s->cpu_samples_ns, 0);
	atomic_store(&s->device_bytes, 0);
	atomic_store(&aif_agent.objects_bytes, 0);
	atomic_store_explicit(&shm->launching_at, aif_launching_at(), memory_order_relaxed);
	atomic_store_explicit(&shm->stopped_ns, s->born_ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&shm->before_attach, atomic_exchange(&s->before_attach, 0),
				  memory_order_relaxed);
	aif_budget_init(&aif_agent.budget, shm->overhead_ppm, aif_runtimes_bound_ns(), aif_now_ns(),
			aif_now_ns());
	aif_budget_join(&aif_agent.budget, shm->job, shm->realtime);
	atomic_store_explicit(&s->armed->recorder_alive, 1, memory_order_relaxed);
	atomic_store(&s->attached, a);
	/* Unloading by dlclose() is seen from now on; the unwinder is refreshed for what was
	 * unloaded before. */
	if (atomic_exchange(&s->armed->generation, a->generation) == AIF_GENERATION_DORMANT)
		aif_unwinder_refresh(s->unwinder);
	return 0;
}

/* Returns how many steps of the schedule have begun. */
static uint64_t steps_begun(const struct aif_session *s)
{
	return atomic_load_explicit(&aif_agent.steps_begun, memory_order_relaxed) - s->steps_base;
}

bool aif_session_is_to_run(const struct aif_attachment *a)
{
	const struct aif_session *s = &aif_agent.session;

	return atomic_load_explicit(&a->shm->command, memory_order_relaxed) == AIF_COMMAND_RUN &&
	       aif_schedule_is_on(&s->schedule, steps_begun(s));
}

bool aif_session_awaits_steps(void)
{
	const struct aif_session *s = &aif_agent.session;
	uint64_t begun = steps_begun(s);

	return s->schedule.active && !(begun && aif_schedule_is_over(&s->schedule, begun - 1));
}

static void arm(void)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_attachment *a = atomic_load(&s->attached);
	bool collect = a && aif_session_is_to_run(a);

	if (!a)
		return;
	atomic_store_explicit(&s->armed->on, collect, memory_order_release);
	if (collect)
		aif_session_report_state(a->shm, true, aif_now_ns());
}

/* True if the recorder is there and has not answered in time. */
static bool is_timeout(int r)
{
	return r == -EAGAIN || r == -ETIMEDOUT;
}

bool aif_session_join(void)
{
	struct aif_session *s = &aif_agent.session;
	int r = meet(&s->met.call, s->is_late ? LATE_TIMEOUT_MS : START_TIMEOUT_MS, s->late_joins);

	if (r == -EBUSY || (s->is_late && is_timeout(r)))
		return false;
	s->is_late = false;
	s->late_joins = 0;
	arm();
	return true;
}

/* Looks for a recorder, `first` before others, and if there may be one later, waits for it. */
static int begin(const struct aif_call *first, int timeout_ms, uint32_t joins)
{
	const struct aif_environment *env = &aif_agent.env;
	struct aif_session *s = &aif_agent.session;
	struct aif_attachment *a;
	struct aif_call call;
	int r = -ENOENT, r2;

	/* Meeting a recorder takes calls that may be forbidden. */
	if (aif_sandbox_is_on() || has_unknown_filter(s))
		return -EPERM;
	/* The runtime starts, or a child's first object is made: nothing was launched before. */
	s->born_ns = aif_now_ns();
	if (*env->standby)
		(void)aif_standby_show(&s->standby, env->standby, env->level, aif_runtimes_first());
	if (first)
		r = meet(first, timeout_ms, joins);
	s->is_late = first && is_timeout(r);
	if (s->is_late) {
		if (first != &s->met.call)
			aif_call_set(&s->met, first);
		s->late_joins = joins;
		s->answers = LATE_ANSWERS;
	}
	for (unsigned i = 0;
	     r < 0 && s->standby.shown && i < OFFERS && aif_standby_asked(env->standby, i, &call);
	     i++)
		r = meet(&call, OFFER_TIMEOUT_MS, joins);
	if (r == 0 && s->is_late) { /* another recorder took it */
		s->is_late = false;
		s->answers = 0;
	}
	if (r < 0 && !s->standby.shown && !s->is_late)
		return r;
	a = atomic_load(&s->attached);
	if (r < 0)
		atomic_store(&s->armed->generation, AIF_GENERATION_DORMANT);
	else if (a && aif_session_is_to_run(a))
		aif_session_report_state(a->shm, true, s->born_ns); /* nothing was missed */
	/* Without the helper nobody would notice that a recorder has come or gone. */
	r2 = s->hooks->start_helper();
	if (r2 < 0) {
		a = atomic_load(&s->attached);
		atomic_store(&s->attached, NULL);
		if (a) {
			unmap(a); /* nobody has collected */
			report_failure(&s->met.call, r2, timeout_ms);
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

/* Makes what the agent needs before it meets a recorder. */
static int make_own(struct aif_session *s, struct aif_armed **ret_armed)
{
	int r;

	s->unwinder = aif_pages_unlocked(aif_unwinder_size());
	aif_agent.python = aif_pages_unlocked(sizeof(*aif_agent.python));
	if (!s->unwinder || !aif_agent.python)
		return -ENOMEM;
	r = aif_unwinder_init(s->unwinder);
	if (r == 0)
		r = aif_threads_init(&aif_agent.threads);
	return r ? r : armed_new(ret_armed);
}

static int first_start(struct aif_session *s, uint32_t joins)
{
	struct aif_armed *armed = NULL;
	struct aif_call call;
	int r = make_own(s, &armed);

	if (r < 0) {
		if (own_recorder(&call))
			report_failure(&call, r, START_TIMEOUT_MS);
		return r;
	}
	/* Entries must find the page before it says anything but zero. */
	s->armed = armed;
	r = begin(own_recorder(&call), START_TIMEOUT_MS, joins);
	if (r < 0)
		atomic_store(&armed->generation, AIF_GENERATION_LOST);
	return r;
}

/* Waits for the thread that starts the session. */
static bool await_start(struct aif_session *s)
{
	uint64_t until = aif_now_ns() + START_TIMEOUT_MS * START_LOOK_NS;

	while (!atomic_load(&s->started) && aif_now_ns() < until)
		aif_standby_sleep(START_LOOK_NS);
	return atomic_load(&s->started) && s->armed && s->armed->generation != AIF_GENERATION_LOST;
}

static int start(struct aif_session *s, const struct aif_session_hooks *hooks, uint32_t joins)
{
	int r;

	if (atomic_exchange(&s->starting, true))
		return await_start(s) ? 0 : -EAGAIN;
	s->hooks = hooks;
	if (s->is_child_of_start) {
		aif_threads_after_fork(&aif_agent.threads);
		hooks->after_fork();
		joins |= AIF_JOINS_AFTER_FORK;
	}
	r = first_start(s, joins);
	atomic_store(&s->started, true);
	return r;
}

/* Starts the helper again which has ended, or is about to, in a session without a device. */
static void wake_helper(struct aif_session *s)
{
	uint64_t until = aif_now_ns() + START_TIMEOUT_MS * START_LOOK_NS;

	int32_t self = getpid();

	if (!atomic_compare_exchange_strong(&s->helper_rests, &self, 0))
		return;
	while (s->hooks->start_helper() == -EBUSY && aif_now_ns() < until)
		aif_standby_sleep(START_LOOK_NS);
}

int aif_session_start(enum aif_runtime_id runtime, const struct aif_session_hooks *hooks)
{
	struct aif_session *s = &aif_agent.session;
	int saved = errno, r;

	if (!aif_agent.env.carrier ||
	    (*aif_agent.env.runtime && strcmp(aif_agent.env.runtime, aif_runtime_name(runtime))))
		return -ENOENT;
	s->runtimes |= 1u << runtime;
	aif_agent.budget.bound_ns = aif_runtimes_bound_ns();
	/* A session without a device may have begun, and be looked after already. */
	r = aif_own_threads_share_files() ? start(s, hooks, 0) : -EPERM;
	wake_helper(s);
	errno = saved;
	return r;
}

int aif_session_start_without_device(const struct aif_session_hooks *hooks)
{
	struct aif_session *s = &aif_agent.session;

	/* Only children of a session have its helper's mark; without it another thread is at the start. */
	if (s->armed && atomic_load(&s->helped) && !atomic_load(&s->armed->generation))
		return aif_session_rearm(AIF_JOINS_WITHOUT_DEVICE) ? 0 : -EAGAIN;
	return start(s, hooks, AIF_JOINS_WITHOUT_DEVICE);
}

void aif_session_forget_start(void)
{
	struct aif_session *s = &aif_agent.session;

	if (!atomic_load(&s->starting) || atomic_load(&s->started) || atomic_load(&s->helped))
		return;
	/* The unwinder's pages stay unused: the thread may have left them half made. */
	memset(s->place, 0, sizeof(s->place));
	atomic_store(&s->attached, NULL);
	s->shm = NULL;
	s->standby = (struct aif_standby){.shown = false};
	atomic_store(&s->armed, NULL);
	s->is_child_of_start = true;
	atomic_store(&s->starting, false);
}

bool aif_session_rearm(uint32_t joins)
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
	/* Another thread may have rearmed meanwhile. */
	if (atomic_load(&s->armed->generation))
		goto out;
	/* Only this thread of the parent lives on here; locks are as they were at the fork. */
	aif_threads_after_fork(&aif_agent.threads);
	s->hooks->after_fork();
	atomic_store(&aif_agent.steps_begun, 0);
	/* The parent's mappings of shared memory are not in the child. */
	recorded = atomic_load(&s->attached);
	memset(s->place, 0, sizeof(s->place));
	atomic_store(&s->attached, NULL);
	s->shm = NULL;
	s->answers = 0;
	s->standby = (struct aif_standby){.shown = false};
	aif_unwinder_after_fork(s->unwinder);
	if (aif_loader_list_is_free(&aif_agent.loader))
		aif_unwinder_reopen(s->unwinder);
	if (begin(recorded ? &s->met.call : own_recorder(&call), FORK_TIMEOUT_MS,
		  joins | AIF_JOINS_AFTER_FORK) < 0) {
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

		aif_session_rearm(0);
		errno = saved;
	}
	if (!armed)
		return false;
	return atomic_load_explicit(&armed->recorder_alive, memory_order_relaxed) ||
	       atomic_load(&aif_agent.session.is_late) ||
	       (*aif_agent.env.standby && aif_agent.env.level == AIF_LEVEL_GRAPHS &&
		atomic_load_explicit(&armed->generation, memory_order_relaxed) !=
			AIF_GENERATION_LOST);
}

void aif_session_publish(struct aif_shm *shm)
{
	struct aif_session *s = &aif_agent.session;

	atomic_fetch_add_explicit(&shm->no_slot, atomic_exchange(&s->no_slot, 0),
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&shm->no_calls, atomic_exchange(&s->no_calls, 0),
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&shm->no_memory, atomic_exchange(&s->no_memory, 0),
				  memory_order_relaxed);
	atomic_store_explicit(&shm->spent_ns, atomic_load(&s->spent_ns), memory_order_relaxed);
	atomic_store_explicit(&shm->records_ns, atomic_load(&s->records_ns), memory_order_relaxed);
	atomic_store_explicit(&shm->samples_ns, atomic_load(&s->samples_ns), memory_order_relaxed);
	atomic_store_explicit(&shm->block_records_ns, atomic_load(&s->block_records_ns),
			      memory_order_relaxed);
	atomic_store_explicit(&shm->cpu_samples_ns, atomic_load(&s->cpu_samples_ns),
			      memory_order_relaxed);
	atomic_store_explicit(&shm->worked_ns, aif_budget_worked(&aif_agent.budget, aif_now_ns()),
			      memory_order_relaxed);
	atomic_store_explicit(&shm->device_bytes, atomic_load(&s->device_bytes),
			      memory_order_relaxed);
}

void aif_session_at_exit(void)
{
	struct aif_session *s = &aif_agent.session;
	struct aif_attachment *a;

	atomic_store(&s->leaving, true); /* from here on nothing is unmapped */
	a = atomic_load(&s->attached);
	if (a && atomic_load(&s->armed->generation) == a->generation)
		aif_session_publish(a->shm);
	if (!aif_sandbox_is_on())
		aif_standby_hide(&s->standby, aif_agent.env.standby);
}
