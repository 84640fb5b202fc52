/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/sleep_calls.h"
#include "stacks/objects.h"
#include "stacks/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

/*
 * A thread waits in a system call, for the object that this names. A futex is a word of memory: the kind of lock that it is
 * part of shows in the C library's function that waits for it. Who holds a mutex stands in the mutex, where glibc keeps the
 * owner's number.
 */

enum descriptors { NONE, FIRST, POLL, SELECT };

static const struct call {
	long number;
	const char *name;
	enum descriptors descriptors;
} calls[] = {
#define AIF_SLEEP_CALL(number, name, descriptors) {number, name, descriptors},
#include "record/sources/sleep_calls.def"
#undef AIF_SLEEP_CALL
};

/* Descriptors of a call that are named. */
#define DESCRIPTORS 4
#define SET_WORDS   16

static const struct aif_stacks_thread *thread_of_inner(const struct aif_stacks *s, uint32_t inner)
{
	for (size_t i = 0; inner && i < s->len; i++)
		if (s->threads[i].inner == inner)
			return &s->threads[i];
	return NULL;
}

static const struct aif_stacks_thread *thread_of(const struct aif_stacks *s, int tid)
{
	size_t lo = AIF_BISECT(mid, 0, s->len, s->threads[mid].tid < tid);

	return lo < s->len && s->threads[lo].tid == tid ? &s->threads[lo] : NULL;
}

static const struct aif_stacks_thread *thread_of_state(const struct aif_stacks *s, uint64_t state)
{
	for (size_t i = 0; state && i < s->python.threads_len; i++)
		if (s->python.threads[i].state == state)
			return thread_of_inner(s, s->python.threads[i].tid);
	return NULL;
}

/* ---- futexes ---- */

/* Functions of C libraries that wait, by a part of their names, the first that fits. */
static const struct {
	const char *part;
	enum aif_stacks_lock lock;
} waiters[] = {
	{"cond_wait", AIF_STACKS_CONDITION},
	{"cond_timedwait", AIF_STACKS_CONDITION},
	{"cond_clockwait", AIF_STACKS_CONDITION},
	{"cnd_wait", AIF_STACKS_CONDITION},
	{"rwlock", AIF_STACKS_RWLOCK},
	{"mutex_lock", AIF_STACKS_MUTEX},
	{"mutex_timedlock", AIF_STACKS_MUTEX},
	{"mutex_clocklock", AIF_STACKS_MUTEX},
	{"mtx_lock", AIF_STACKS_MUTEX},
	{"sem_wait", AIF_STACKS_SEMAPHORE},
	{"sem_timedwait", AIF_STACKS_SEMAPHORE},
	{"sem_clockwait", AIF_STACKS_SEMAPHORE},
	{"new_sem_wait", AIF_STACKS_SEMAPHORE},
	{"barrier_wait", AIF_STACKS_BARRIER},
	{"pthread_join", AIF_STACKS_JOIN},
	{"clockjoin", AIF_STACKS_JOIN},
	{"pthread_timedjoin", AIF_STACKS_JOIN},
	{"thrd_join", AIF_STACKS_JOIN},
};

/* Frames within which the function stands. */
#define WAITER_FRAMES 6

static enum aif_stacks_lock lock_of(const struct aif_stacks_thread *t)
{
	for (size_t i = 0; i < t->frames_len && i < WAITER_FRAMES; i++)
		for (size_t k = 0; k < AIF_ARRAY_LEN(waiters); k++)
			if (!t->frames[i].is_python &&
			    strstr(t->frames[i].function, waiters[k].part))
				return waiters[k].lock;
	return AIF_STACKS_FUTEX;
}

/* A pthread_mutex_t, and a pthread_rwlock_t, of glibc on 64-bit machines. */
#define MUTEX_OWNER    8
#define RWLOCK_WRPHASE 8 /* the words that are waited for */
#define RWLOCK_WRITERS 12
#define RWLOCK_WRITER  24
#define GIL_BYTES      512

static uint32_t read_word(struct aif_stacks *s, uint64_t at)
{
	uint32_t word = 0;

	aif_remote_read(s->memory, at, &word, sizeof(word));
	return word;
}

static void find_lock(struct aif_stacks *s, struct aif_stacks_thread *t)
{
	const uint64_t at = t->call.args[0];
	const unsigned op = t->call.args[1] & FUTEX_CMD_MASK;
	const struct aif_stacks_thread *holder = NULL;

	t->lock = lock_of(t);
	t->lock_at = at;
	if (s->python.gil && at >= s->python.gil && at - s->python.gil < GIL_BYTES) {
		t->lock = AIF_STACKS_GIL;
		t->lock_at = s->python.gil;
		holder = thread_of_state(s, s->python.gil_holder);
	} else if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2) {
		t->lock = AIF_STACKS_MUTEX;
		holder = thread_of_inner(s, read_word(s, at) & FUTEX_TID_MASK);
	} else if (t->lock == AIF_STACKS_MUTEX) {
		holder = thread_of_inner(s, read_word(s, at + MUTEX_OWNER));
	} else if (t->lock == AIF_STACKS_RWLOCK) {
		/* Takes the one of the two words for which the lock's writer is one of ours. */
		for (unsigned word = RWLOCK_WRPHASE; word <= RWLOCK_WRITERS && !holder;
		     word += RWLOCK_WRITERS - RWLOCK_WRPHASE) {
			holder = thread_of_inner(s, read_word(s, at - word + RWLOCK_WRITER));
			if (holder)
				t->lock_at = at - word;
		}
	} else if (t->lock == AIF_STACKS_JOIN) {
		holder = thread_of_inner(s, read_word(s, at));
	}
	if (holder && holder != t)
		t->holder = holder->tid;
}

static void put_lock(const struct aif_stacks *s, const struct aif_stacks_thread *t,
		     struct aif_buf *b)
{
	static const char *const names[] = {
		[AIF_STACKS_MUTEX] = "mutex",         [AIF_STACKS_RWLOCK] = "read-write lock",
		[AIF_STACKS_CONDITION] = "condition", [AIF_STACKS_SEMAPHORE] = "semaphore",
		[AIF_STACKS_BARRIER] = "barrier",     [AIF_STACKS_FUTEX] = "futex",
	};
	const struct aif_stacks_thread *holder = thread_of(s, t->holder);

	if (t->lock == AIF_STACKS_GIL)
		aif_buf_puts(b, "Python's GIL");
	else if (t->lock == AIF_STACKS_JOIN)
		aif_buf_puts(b, holder ? "" : "the end of a thread");
	else
		aif_buf_printf(b, "%s 0x%" PRIx64, names[t->lock], t->lock_at);
	if (holder)
		aif_buf_printf(b, "%s thread %d \"%s\"",
			       t->lock == AIF_STACKS_JOIN ? "the end of" : ", held by", holder->tid,
			       holder->name);
}

/* ---- descriptors ---- */

static unsigned polled(struct aif_stacks *s, const struct aif_remote_call *call, int *fds)
{
	unsigned n = 0;

	for (uint64_t i = 0; i < AIF_MIN(call->args[1], 64) && n < DESCRIPTORS; i++) {
		struct pollfd p;

		if (!aif_remote_read(s->memory, call->args[0] + i * sizeof(p), &p, sizeof(p)))
			break;
		if (p.fd >= 0)
			fds[n++] = p.fd;
	}
	return n;
}

static unsigned selected(struct aif_stacks *s, const struct aif_remote_call *call, int *fds)
{
	const uint64_t bits = AIF_MIN(call->args[0], 64 * SET_WORDS);
	unsigned n = 0;

	for (unsigned set = 1; set <= 3; set++)
		for (uint64_t i = 0; call->args[set] && i < bits && n < DESCRIPTORS; i += 64) {
			uint64_t word;

			if (!aif_remote_u64(s->memory, call->args[set] + i / 8, &word))
				break;
			for (unsigned k = 0; k < 64 && i + k < bits && n < DESCRIPTORS; k++)
				if (word >> k & 1)
					fds[n++] = (int)(i + k);
		}
	return n;
}

static enum descriptors descriptors_of(const struct call *c)
{
	switch (c->number) {
	case SYS_accept4:
#ifdef SYS_accept
	case SYS_accept:
#endif
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_flock:
		return FIRST;
	default:
		return c->descriptors;
	}
}

static void put_descriptors(struct aif_stacks *s, const struct aif_remote_call *call,
			    enum descriptors which, struct aif_buf *b)
{
	int fds[DESCRIPTORS];
	unsigned n = 0;

	if (which == FIRST) {
		fds[0] = (int)call->args[0];
		n = 1;
	} else if (which == POLL) {
		n = polled(s, call, fds);
	} else if (which == SELECT) {
		n = selected(s, call, fds);
	}
	for (unsigned i = 0; i < n; i++) {
		aif_buf_puts(b, i ? ", " : " of ");
		aif_stacks_put_descriptor(s->pid, fds[i], b);
	}
}

/* ---- the whole ---- */

static void put_wait(struct aif_stacks *s, struct aif_stacks_thread *t, struct aif_buf *b)
{
	const struct aif_remote_call *call = &t->call;
	size_t i = 0;

	while (i < AIF_ARRAY_LEN(calls) && calls[i].number != call->number)
		i++;
	if (call->number == SYS_futex) {
		find_lock(s, t);
		put_lock(s, t, b);
	} else if (call->number == SYS_wait4 || call->number == SYS_waitid) {
		aif_stacks_put_child(call->number == SYS_wait4 || call->args[0] == 1 /* P_PID */
					     ? (int)call->args[call->number == SYS_waitid]
					     : -1,
				     s->pid, b);
	} else if (i == AIF_ARRAY_LEN(calls)) {
		aif_buf_printf(b, "system call %ld", call->number);
	} else {
		aif_buf_puts(b, calls[i].name);
		put_descriptors(s, call, descriptors_of(&calls[i]), b);
	}
}

int aif_stacks_waits(struct aif_stacks *s)
{
	const struct aif_stacks_thread *holder = thread_of_state(s, s->python.gil_holder);

	aif_remote_forget(s->memory);
	for (size_t i = 0; i < s->len; i++) {
		struct aif_stacks_thread *t = &s->threads[i];
		struct aif_buf b = {0};

		t->holds_gil = t == holder;
		if (t->activity == AIF_STACKS_FAULT)
			aif_buf_puts(&b, "a page of memory");
		else if (t->activity == AIF_STACKS_WAITS)
			put_wait(s, t, &b);
		if (b.len)
			t->waits = strdup(aif_buf_str(&b));
		if (aif_buf_failed(&b) || (b.len && !t->waits)) {
			aif_buf_finish(&b);
			return -ENOMEM;
		}
		aif_buf_finish(&b);
	}
	return 0;
}

/* Each thread waits for at most one other, so that a walk from any thread ends, or runs into a ring. */
int aif_stacks_deadlocks(struct aif_stacks *s)
{
	/* The walk that a thread was met in, + 1. */
	size_t *met = calloc(AIF_MAX(s->len, 1), sizeof(*met));
	size_t cap = 0;

	if (!met)
		return -ENOMEM;
	for (size_t i = 0; i < s->len; i++) {
		const struct aif_stacks_thread *t = &s->threads[i], *first;

		while (t && !met[t - s->threads]) {
			met[t - s->threads] = i + 1;
			t = t->holder ? thread_of(s, t->holder) : NULL;
		}
		if (!t || met[t - s->threads] != i + 1)
			continue;
		first = t;
		do {
			if (aif_grow(&s->deadlocks, &cap, s->deadlocks_len + 2,
				     sizeof(*s->deadlocks))) {
				free(met);
				return -ENOMEM;
			}
			s->deadlocks[s->deadlocks_len++] = (size_t)(t - s->threads);
			t = thread_of(s, t->holder);
		} while (t != first);
		s->deadlocks[s->deadlocks_len++] = SIZE_MAX;
	}
	free(met);
	return 0;
}
