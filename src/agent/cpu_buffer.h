/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/agent.h"
#include "agent/cpu_weight.h"

/*
 * Memory of one sampled thread: a queue of words that its signal handler writes and the helper reads, and the handler's
 * scratch, since the thread's stack may be small.
 *
 * An item is a header (kind << 32 | words) and what it says, in one piece: where it would wrap, a PAD
 * fills the end. An empty queue begins at its first word again, so that memory is touched only as far as it
 * is needed between two visits of the helper, and all of it is free then.
 */

enum aif_cpu_item {
	AIF_CPU_PAD,
	AIF_CPU_SAMPLE, /* struct aif_cpu_sample */
	AIF_CPU_CODE,   /* struct aif_cpu_code */
};

/* A stack as it goes onto the wire, but for its functions' numbers, which are the process's. */
struct aif_cpu_sample {
	uint64_t head, time, weight;
	uint32_t tid, owner; /* as in struct aif_cpu_thread; the thread may have ended */
	uint32_t len, stop;  /* entries; enum aif_unwind_stop with enum aif_cpu_flag */
	uint64_t entries[];
};

/* A Python function, before the first sample with it. */
struct aif_cpu_code {
	uint64_t head;
	uint32_t id;
	int32_t first_line;
	uint32_t name_len, file_len, lines_len, minor;
	char text[]; /* name, file, line table */
};

/* Flags of a sample's stack, beside enum aif_wire_stack_flag. */
#define AIF_CPU_NO_CODE 1024u  /* without Python frames: one of their functions could not be told */
#define AIF_CPU_WAITING 4096u  /* the stack is that of a call that waits for a device */
#define AIF_CPU_IN_OS   8192u  /* its innermost entry is AIF_WIRE_OS */
#define AIF_CPU_UNKNOWN 16384u /* of CPU time whose stack is not known: no entries */
#define AIF_CPU_BEFORE  32768u /* the CPU time before the thread's first sample: no entries */
#define AIF_CPU_FLAGS \
	(AIF_CPU_NO_CODE | AIF_CPU_WAITING | AIF_CPU_IN_OS | AIF_CPU_UNKNOWN | AIF_CPU_BEFORE)
static_assert(!(AIF_CPU_FLAGS &
		(0xffu | AIF_WIRE_STACK_CUT | AIF_WIRE_STACK_BLOCK | AIF_WIRE_STACK_GUESSED)),
	      "flags of their own");

/* Clock id of one thread's CPU clock, as in linux/posix-timers.h. */
#define AIF_THREAD_CPU_CLOCK(tid) ((clockid_t)(~(tid) << 3 | 6))

struct aif_cpu_thread {
	struct aif_cpu_place *place;
	uint32_t tid;
	uint32_t owner; /* threads that have had this memory */
	int pid;        /* a forked child has the memory, not the timer */
	/* The helper's: `owner` at its last visit, and that of counted_ns. */
	uint32_t seen_owner, counted_owner, sampled_owner;
	uint64_t samples_to, codes_at; /* aif_cpu_carry()'s */
	uint64_t counted_ns;           /* CPU time that is accounted for: cpu_account.c */
	bool is_listed;
	uint64_t blocks_cpu_ns; /* its CPU time when it was first seen to block the signal */
	bool blocks, blocks_told;
	uint64_t switches, switches_cpu_ns; /* when its changes of the CPU were counted last */
	uint64_t event_ns;                  /* the period of its events */
	/* Set by the helper, read by the handler: the thread leaves the CPU often and is sampled by ticks alone. */
	atomic_bool is_often;
	/* Says that the thread has begun its samples itself, and each tick is a signal: the helper leaves its timer alone. */
	atomic_bool is_young;
	/* The handler's. */
	void *stack; /* its upper end: cpu_signal.S */
	atomic_bool is_inside;
	struct aif_cpu_clocks clocks;
	struct aif_cpu_credit credit; /* passes on from thread to thread */
	uint64_t unknown_ns;          /* not reported yet */
	uint64_t
		found_ns; /* CPU time that the thread had used when it was found, of which nobody else reports */
	bool is_wall, is_alone;
	bool only_ticks; /* whatever the thread does */
	int timer;
	uint64_t tcb; /* of the thread that `bounds` are of: a new one may have its number */
	struct aif_stack_bounds bounds;    /* the known part of the thread's own stack */
	struct aif_stack_bounds elsewhere; /* readable memory that is not part of it */
	bool is_for_us; /* the thread that is sampled was inside an entry: what we called is ours, too */
	struct aif_scratch scratch;
	/* The queue. */
	_Alignas(64) _Atomic uint64_t head; /* words ever written */
	_Alignas(64) _Atomic uint64_t tail; /* words ever read */
	_Atomic uint32_t lost;              /* samples */
	_Atomic uint32_t interrupted; /* calls that returned EINTR because of a sample (--wall) */
	/* The position that is the first word. The writer changes it while the queue is empty, and then the
	 * reader, who has read all up to head, looks at nothing. */
	_Atomic uint64_t origin;
	uint64_t words_len; /* a power of two */
	uint64_t *words;
};

static inline uint64_t aif_cpu_head(enum aif_cpu_item kind, uint64_t words)
{
	return (uint64_t)kind << 32 | words;
}

static inline uint64_t *aif_cpu_word(const struct aif_cpu_thread *t, uint64_t position)
{
	return &t->words[(position - atomic_load_explicit(&t->origin, memory_order_relaxed)) &
			 (t->words_len - 1)];
}

/* Room for an item, its header written, or NULL. Visible after aif_cpu_commit(). */
static inline void *aif_cpu_reserve(struct aif_cpu_thread *t, enum aif_cpu_item kind, size_t bytes)
{
	uint64_t head = atomic_load_explicit(&t->head, memory_order_relaxed),
		 tail = atomic_load_explicit(&t->tail, memory_order_acquire),
		 words = (bytes + 7) / 8, to_end, pad = 0;
	uint64_t *at;

	if (head == tail)
		atomic_store_explicit(&t->origin, head, memory_order_relaxed);
	at = aif_cpu_word(t, head);
	to_end = (uint64_t)(t->words + t->words_len - at);
	if (words > to_end)
		pad = to_end;
	if (head - tail + pad + words > t->words_len)
		return NULL;
	if (pad) {
		*at = aif_cpu_head(AIF_CPU_PAD, pad);
		atomic_store_explicit(&t->head, head + pad, memory_order_release);
		at = t->words;
	}
	*at = aif_cpu_head(kind, words);
	return at;
}

static inline void aif_cpu_commit(struct aif_cpu_thread *t, const void *item)
{
	atomic_store_explicit(&t->head,
			      atomic_load_explicit(&t->head, memory_order_relaxed) +
				      (uint32_t) * (const uint64_t *)item,
			      memory_order_release);
}

/* cpu_action.c. Sets the handler. Once set it stays: signals may be on their way. A handler that the application sets
 * later wins; the default, which some set when they restore all signals, ignores this one as ours does. Where the signal
 * is ignored it stays so: programs that are started by this one inherit that, and no handler. False: threads are not to
 * be signalled. */
bool aif_cpu_action_set(struct aif_cpu *c, bool *ret_is_new);
/* Drops the signals of ours that wait, in all threads: the kernel does so when a signal is to be ignored from now on. The
 * handler `goes_on` then, or the default stays. One that the program sets meanwhile stays. */
void aif_cpu_action_drop(bool goes_on);

/* cpu_place.c: places of threads. Takes a free one for a thread; NULL: there is none, or no memory. */
struct aif_cpu_thread *aif_cpu_place_take(struct aif_cpu *c, uint32_t tid);
/* Lets the handler find it. False: the thread has another one, and this is free again. The caller changes the state. */
bool aif_cpu_place_publish(struct aif_cpu *c, struct aif_cpu_thread *t);
/* Gives back a place that is TAKEN, LOOKED or ENDED. */
void aif_cpu_place_free(struct aif_cpu_thread *t);
bool aif_cpu_place_change(struct aif_cpu_place *p, uint32_t from, enum aif_cpu_place_state to);
/* Lets new threads begin their samples themselves, in modes where they can. */
void aif_cpu_arm_from_now(struct aif_cpu *c);
/* Begins sampling a thread: time before that does not count for its first sample. */
void aif_cpu_thread_begin(const struct aif_cpu *c, struct aif_cpu_thread *t);
/* Makes and starts the timer. 0 or -errno; -EAGAIN: the user has too many timers and waiting signals
 * (RLIMIT_SIGPENDING). */
int aif_cpu_timer_start(struct aif_cpu_thread *t);
void aif_cpu_timer_set(const struct aif_cpu_thread *t);
void aif_cpu_timer_delete(struct aif_cpu_thread *t);

/* cpu_signal.S */
void aif_cpu_on_signal(int signal, siginfo_t *info, void *context);

/* cpu_sample.c. Returns what is kept of the calling thread. NULL: it is not sampled. */
struct aif_cpu_thread *aif_cpu_thread_here(struct aif_cpu *c);

/* cpu_carry.c: from all queues to self's ring. Holding the lock. */
void aif_cpu_carry(struct aif_cpu *c, struct aif_thread *self);
/* Drops the samples in all queues. Holding the lock. */
void aif_cpu_discard(struct aif_cpu *c);
