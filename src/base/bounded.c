/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bounded.h"

#include "base/clock.h"
#include "base/process.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* The first wait, and the shortest. */
#define WAIT_NS     (2 * AIF_NS_PER_S)
#define WAIT_MIN_NS (AIF_NS_PER_S / 20)
/* Waits are made of such parts, which may take longer where processors are short: of what all of them take, a wait counts no more than
 * WAIT_MOST times what was asked for, if that is more than WAIT_LEAST_MOST_NS, and of one no more than WAIT_PART_MOST_NS. */
#define WAIT_PART_NS       (AIF_NS_PER_S / 40)
#define WAIT_PART_MOST_NS  (AIF_NS_PER_S / 2)
#define WAIT_MOST          2
#define WAIT_LEAST_MOST_NS AIF_NS_PER_S
/* Threads that are waited for no more. */
#define ABANDONED_MAX 64
/* Texts of one user's processes may take so much of a period. */
#define PERIOD_NS (10 * AIF_NS_PER_S)
#define SHARE_NS  (2 * AIF_NS_PER_S)

#define USERS 256
/* Threads that stay for the next calls. */
#define IDLE_MAX    4
#define STACK_BYTES (256u << 10)

struct user {
	uid_t uid;
	unsigned abandoned; /* threads that its processes keep waiting */
	uint64_t since_ns, spent_ns;
};

struct worker {
	pthread_cond_t changed;
	const struct aif_bounded *call; /* NULL: end */
	void *arg;
	struct user *user;
	uint64_t spent_ns; /* what the last call has taken */
	bool is_asked;
	atomic_bool is_abandoned;
	struct worker *next; /* of those that are idle */
};

static struct {
	pthread_mutex_t lock;
	pid_t pid; /* a child after fork() has none of the threads */
	struct worker *idle;
	unsigned idle_len, abandoned;
	struct user users[USERS];
	size_t users_len;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- threads ------------------------------------------------------------------------------------- */

static void worker_free(struct worker *w)
{
	pthread_cond_destroy(&w->changed);
	free(w);
}

/* Makes the call. What it has taken is its time on a CPU, and all of it if it has waited: who waits for a CPU only is on a
 * busy machine. */
static void run_call(struct worker *w)
{
	uint64_t cpu = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID), began = aif_now_ns();
	struct rusage before = {0}, after = {0};

	getrusage(RUSAGE_THREAD, &before);
	w->call->run(w->arg, &w->is_abandoned);
	getrusage(RUSAGE_THREAD, &after);
	w->spent_ns = after.ru_nvcsw != before.ru_nvcsw
			      ? aif_now_ns() - began
			      : aif_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	for (;;) {
		pthread_mutex_lock(&pool.lock);
		while (!w->is_asked)
			pthread_cond_wait(&w->changed, &pool.lock);
		pthread_mutex_unlock(&pool.lock);
		if (w->call)
			run_call(w);
		pthread_mutex_lock(&pool.lock);
		if (atomic_load(&w->is_abandoned))
			break;
		w->is_asked = false;
		pthread_cond_signal(&w->changed);
		pthread_mutex_unlock(&pool.lock);
	}
	w->user->abandoned--;
	pool.abandoned--;
	pthread_mutex_unlock(&pool.lock);
	if (w->call)
		w->call->release(w->arg);
	worker_free(w);
	return NULL;
}

/* No signal is this thread's to handle. */
static int start(struct worker *w)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int r;

	if (pthread_attr_init(&attr))
		return -ENOMEM;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&thread, &attr, worker_main, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return r;
}

static struct worker *worker_new(void)
{
	struct worker *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;

	if (!w)
		return NULL;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (start(w) < 0) {
		worker_free(w);
		return NULL;
	}
	return w;
}

static struct worker *worker_take(void)
{
	struct worker *w = pool.idle;

	if (!w)
		return worker_new();
	pool.idle = w->next;
	pool.idle_len--;
	return w;
}

/* Keeps a thread; one too many ends as if it had been abandoned. */
static void worker_put(struct worker *w)
{
	if (pool.idle_len < IDLE_MAX) {
		w->next = pool.idle;
		pool.idle = w;
		pool.idle_len++;
		return;
	}
	w->call = NULL;
	w->user->abandoned++;
	pool.abandoned++;
	atomic_store(&w->is_abandoned, true);
	w->is_asked = true;
	pthread_cond_signal(&w->changed);
}

/* ---- users --------------------------------------------------------------------------------------- */

/* Finds a user's entry, or takes that of one who keeps nobody waiting; those that find none share one. */
static struct user *user_of(uid_t uid, uint64_t now)
{
	struct user *u = NULL;

	for (size_t i = 0; i < pool.users_len; i++) {
		struct user *at = &pool.users[i];

		if (at->uid == uid)
			return at;
		if (!at->abandoned && (!u || at->since_ns < u->since_ns))
			u = at;
	}
	if (pool.users_len < USERS)
		u = &pool.users[pool.users_len++];
	if (!u)
		return &pool.users[USERS - 1];
	*u = (struct user){.uid = uid, .since_ns = now};
	return u;
}

static bool is_refused(struct user *u, bool is_text, uint64_t now)
{
	if (now - u->since_ns > PERIOD_NS) {
		u->since_ns = now;
		u->spent_ns = 0;
	}
	/* Root's processes are not one man's. */
	return pool.abandoned >= ABANDONED_MAX || (u->abandoned && u->uid != 0) ||
	       (is_text && u->uid != 0 && u->spent_ns > SHARE_NS);
}

static uint64_t wait_ns(void)
{
	return AIF_MAX(WAIT_NS >> AIF_MIN(pool.abandoned, 16u), WAIT_MIN_NS);
}

/* ---- a call -------------------------------------------------------------------------------------- */

/* The threads that a parent has are not this process's. Needs the lock. */
static void begin_in_child(void)
{
	if (pool.pid == getpid())
		return;
	pool.pid = getpid();
	pool.idle = NULL;
	pool.idle_len = pool.abandoned = 0;
	pool.users_len = 0;
}

/*
 * Waits for the end of the call. False: it takes too long. Needs the lock.
 *
 * Time in which this process did not run (it was stopped, or had no CPU) is no time that the other one has kept it waiting: of
 * each part counts no more than what was asked for. Yet the caller has others to look after: on a machine that is so busy
 * that each part takes several times as long, it does not wait for all of them.
 */
static bool await(struct worker *w)
{
	uint64_t spent = 0, most = AIF_MAX(WAIT_MOST * wait_ns(), WAIT_LEAST_MOST_NS);

	for (uint64_t left = wait_ns() / WAIT_PART_NS; w->is_asked && left && spent < most;
	     left--) {
		uint64_t begin = aif_now_ns(), end = begin + WAIT_PART_NS;
		const struct timespec until = {.tv_sec = (time_t)(end / AIF_NS_PER_S),
					       .tv_nsec = (long)(end % AIF_NS_PER_S)};
		int r = 0;

		while (w->is_asked && !r)
			r = pthread_cond_timedwait(&w->changed, &pool.lock, &until);
		spent += AIF_MIN(aif_now_ns() - begin, WAIT_PART_MOST_NS);
	}
	return !w->is_asked;
}

/* Has a thread make the call. Needs the lock. */
static int call_by_thread(const struct aif_bounded *call, void *arg, uid_t uid, bool is_text)
{
	uint64_t now = aif_now_ns();
	struct user *u = user_of(uid, now);
	struct worker *w;

	if (is_refused(u, is_text, now)) {
		call->release(arg);
		return -ETIMEDOUT;
	}
	w = worker_take();
	if (!w) {
		call->release(arg);
		return -ENOMEM;
	}
	w->call = call;
	w->arg = arg;
	w->user = u;
	w->is_asked = true;
	pthread_cond_signal(&w->changed);
	if (!await(w)) {
		atomic_store(&w->is_abandoned, true);
		u->abandoned++;
		pool.abandoned++;
		return -ETIMEDOUT;
	}
	if (is_text)
		u->spent_ns += w->spent_ns;
	worker_put(w);
	return 0;
}

bool aif_bounded_is_needed(void)
{
	struct __user_cap_header_struct self = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	return geteuid() == 0 ||
	       (!syscall(SYS_capget, &self, caps) && caps[0].effective >> CAP_SYS_PTRACE & 1);
}

int aif_bounded_call(const struct aif_bounded *call, void *arg, int pid, bool is_text)
{
	const atomic_bool never = false;
	uid_t uid = geteuid();
	int r;

	if (pid != getpid() && !aif_proc_user(pid, &uid)) {
		call->release(arg);
		return -ESRCH;
	}
	/* A user's own processes can do to this one what they like. */
	if (pid == getpid() || (uid != 0 && uid == geteuid())) {
		call->run(arg, &never);
		return 0;
	}
	pthread_mutex_lock(&pool.lock);
	begin_in_child();
	r = call_by_thread(call, arg, uid, is_text);
	pthread_mutex_unlock(&pool.lock);
	return r;
}
