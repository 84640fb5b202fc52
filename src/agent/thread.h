/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/announce.h"
#include "agent/memory/idtable.h"
#include "agent/scratch.h"
#include "unwind/interleave.h"
#include "unwind/memo.h"
#include "wire/ring.h"

#include <pthread.h>

/*
 * State of a thread that launches: its ring, its stack's bounds, its tables of stacks and shapes. Made at the thread's
 * first launch, given back when it ends, then used by the next thread: 10,000 short threads use the memory of as many
 * as are alive together.
 *
 * Rules for entries (functions that the target or a vendor's library calls):
 *   1. First statement: t = aif_thread_enter(). NULL: forward the call, do nothing else.
 *   2. The vendor's function that an entry stands for is called between aif_thread_vendor(t) and
 *      aif_thread_back(t). What the vendor calls meanwhile is hidden: an entry within an entry gets
 *      NULL. Only its callbacks, which bring the ends of executions, may speak: they enter by
 *      aif_thread_enter_callback().
 *   3. aif_thread_leave(t) on every way out, on the same thread.
 *   4. errno is as it was: whoever makes a system call restores it.
 *   5. No memory but what t holds; no lock but for a definition that was not made yet.
 *   6. Between enter and leave the ring is there, whatever becomes of the session (session.h says how);
 *      a child that was forked in between has a t that stays busy, and is silent.
 */

/* A thread with this many different stacks starts its table anew (a new THREAD record): nothing is
 * lost, they are defined again. A training loop has about 100, all of PyTorch's tests less
 * than 10,000. */
#define AIF_THREAD_STACKS 16384
#define AIF_THREAD_SHAPES 2048
#define AIF_THREAD_CODES  4096 /* Python functions */
/* Python frames of one stack at most: CPython's own limit of recursion. */
#define AIF_THREAD_PYTHON 1000
/* Threads with a memo, of 1.2 MB at most each: 58 MB. The others unwind each stack. */
#define AIF_THREAD_MEMOS 48

enum aif_busy {
	AIF_BUSY_NOT = 0,
	AIF_BUSY_ENTRY = 1,  /* inside an entry: nothing else may use the ring */
	AIF_BUSY_VENDOR = 2, /* an entry has called the vendor: callbacks may use the ring */
};

enum aif_refused {
	AIF_REFUSED_NOT = 0,
	AIF_REFUSED_SLOT = 1,   /* none was free */
	AIF_REFUSED_MEMORY = 2, /* its ring could not be mapped */
	AIF_REFUSED_CALLS = 3,  /* the program's seccomp filter may end it at what that needs */
};

struct aif_emit_api;
struct aif_nvtx_thread;

/* wait.h: one that is under way. */
struct aif_wait {
	uint64_t since; /* CLOCK_MONOTONIC; 0 = this one is not measured */
	uint64_t cpu_ns;
	bool is_shown; /* to samples */
};

/* wait.h: short waits that are yet unreported, and when they will be. */
struct aif_wait_sum {
	uint64_t ns, told_at; /* 0 = not begun */
};

/* The runtime's call that the thread waits in, for signal handlers (wait.h). */
struct aif_waiting {
	struct aif_regs regs;                     /* of the entry */
	_Atomic(const struct aif_emit_api *) api; /* what it stands for; NULL: it does not wait */
};

/* calls/host_call.h: calls that have not returned yet, the outermost first. */
#define AIF_OPEN_CALLS 4
struct aif_open_call {
	uint64_t since, sp; /* CLOCK_MONOTONIC ns; of its entry */
	uint32_t stack, id; /* slot, AIF_WIRE_NONE = not captured yet; enum aif_host_call_id */
	uint32_t token;
	uint32_t least_ns; /* a shorter call is counted and not written */
};
struct aif_open_calls {
	struct aif_open_call at[AIF_OPEN_CALLS];
	uint32_t len, last_token;
	uint32_t shorts; /* too short to be written, one after another */
	uint32_t brief;  /* that were written since: */
	uint64_t brief_since;
};

struct aif_thread {
	_Atomic uint8_t busy; /* enum aif_busy; written by the thread, read by the helper */
	/* The session that it is in, or is about to join; with `busy` it says what memory must stay. */
	_Atomic uint32_t generation;
	uint8_t refused;               /* enum aif_refused: why its last entry got no ring */
	struct aif_attachment *joined; /* that of `generation` */
	struct aif_ring ring;
	struct aif_slot *slot;
	uint32_t slot_index;
	uint32_t tid;
	uint32_t unwind_generation; /* that `stacks` was filled in */
	uint32_t countdown;         /* to the next launch whose own cost is measured */
	uint32_t block;             /* of the overhead budget, at its last launch */
	uint32_t block_duty_ppm;    /* as it was when that block was chosen */
	uint64_t block_start, block_launches;
	uint64_t cpu_ns, cpu_read_ns; /* its CPU time when wait.c read it last, and when that was */
	uint32_t graph_nodes;         /* of CUDA: made since its last call began */
	uint32_t graph_call;          /* that call's number */
	uint8_t graph_copies;         /* enum aif_cuda_copies */
	uint32_t correlation;         /* CUPTI's correlation id of its last launch */
	uint32_t takes;               /* threads that have had this memory */
	uint32_t announcements; /* THREAD records written: definitions in the ring start anew */
	struct aif_nvtx_thread *nvtx; /* of agent/nvtx: made at its first range, then kept */
	struct aif_waiting waiting;
	struct aif_wait_sum waited;
	struct aif_wait wait; /* of CUDA and Level Zero: between a call's two callbacks */
	_Atomic uint32_t
		spins; /* the epoch + 1 in which such a call of CUDA's began; 0 = it is in none */
	struct aif_stack_bounds bounds;
	struct aif_idtable stacks, shapes, codes;
	struct aif_memo *memo; /* NULL: there are too many */
	struct aif_open_calls calls;
	uint64_t copy_token;            /* of CUDA: of a copy's two callbacks */
	uint32_t call_token;            /* of Level Zero: of a call's two callbacks */
	struct aif_scratch scratch;     /* pcs and frames without memo */
	uint64_t *entries;              /* AIF_WIRE_MAX_DEPTH; scratch, too */
	struct aif_thread *next;        /* in the pool */
	struct aif_thread *next_of_all; /* constant: none is ever given back */
	struct aif_announced announced;
};

struct aif_threads {
	pthread_mutex_t lock; /* of the pool */
	struct aif_thread *pool;
	_Atomic(struct aif_thread *) all; /* ever made */
	uint32_t memos;                   /* made so far; threads that end leave theirs to others */
	pthread_key_t key;                /* its destructor gives back */
	atomic_bool have_key;
	_Atomic uint64_t scavenged_ns;
};

/* The calling thread's state. An initial-exec pointer, and a word: a preloaded library has little
 * static TLS. */
extern __thread struct aif_thread *aif_self __attribute__((tls_model("initial-exec")));

/* 1 + the number of the launch in whose vendor's call the thread is; 0: in none. The recorder's BPF
 * programs read it when the thread enters the OS kernel (record --ebpf), at aif_launching_at() from
 * the thread pointer. */
extern __thread uint64_t aif_launching __attribute__((tls_model("initial-exec")));

static inline void aif_launching_set(uint64_t launching)
{
	*(volatile uint64_t *)&aif_launching = launching;
}

int64_t aif_launching_at(void);

/* Prefetches the part of the thread's state that an entry uses, without its first line, which the
 * entry reads first. */
static inline void aif_thread_prefetch(void)
{
	const char *t = (const char *)aif_self;

	for (size_t at = 64; t && at <= offsetof(struct aif_thread, memo); at += 64)
		__builtin_prefetch(t + at, 1);
}

/* A new session begins: the key exists afterwards. 0 or -errno. */
int aif_threads_init(struct aif_threads *threads);
/* In a child: nobody holds the lock. */
void aif_threads_after_fork(struct aif_threads *threads);

/* True if a thread is inside an entry of that session, or, if `within_vendor`, in the vendor's call of one. */
bool aif_threads_use(struct aif_threads *threads, uint32_t generation, bool within_vendor);

/* Takes the memory of a thread that has ended, or new memory. NULL: there is none. */
struct aif_thread *aif_thread_take(void);
/* Takes a slot of the current session for this thread, which is busy. False: t->refused says why. */
bool aif_thread_join(struct aif_thread *t);

/* Writes a THREAD record: who writes the ring, and that slot-scoped ids start anew. False: ring full. */
bool aif_thread_announce(struct aif_thread *t);
/* Starts all tables anew, since one is full, and says so in the ring. False: ring full. */
bool aif_thread_start_anew(struct aif_thread *t);
