/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/cpu_account.h"
#include "agent/memory/pages.h"
#include "wire/shm.h"

#include <pthread.h>
#include <signal.h>

/*
 * CPU samples of the target: native and Python stacks of all threads of a process in which an accelerator runtime has
 * started, --cpu-rate times for each second of a thread's CPU time.
 *
 *     recorder: perf_event of the thread -- SIGURG --> cpu_sample.c: the thread unwinds itself
 *     (or --wall: a timer of ours)                     into memory that is its own
 *                                                          |
 *                      ring <-- cpu_carry.c, each 250 ms <-+
 *
 * The helper thread lists the threads that have such memory in the shared page, and the recorder lets the
 * kernel signal these (record/sources/cpu.h says why no system call of theirs is interrupted). Not listed: the
 * helper; a CPU device's workers, whose time is device time and is sampled as such; threads that
 * block the signal, which could read it from sigwait() or a signalfd.
 *
 * A sample weighs a period of CPU time, of which cpu_weight.h says whose it is; with --wall it weighs one period of the
 * timer, and may be of waiting (wait.h).
 */

struct aif_cpu_thread;
struct aif_cpu_code;

/* States of a thread's place: whoever changes it from FREE, LIVE or ENDED has it alone. */
enum aif_cpu_place_state {
	AIF_CPU_PLACE_EMPTY,  /* has no memory yet */
	AIF_CPU_PLACE_FREE,   /* belongs to no thread; may hold samples of the last one */
	AIF_CPU_PLACE_TAKEN,  /* begins or ends: of the thread that does it */
	AIF_CPU_PLACE_LIVE,   /* belongs to a thread */
	AIF_CPU_PLACE_LOOKED, /* belongs to a thread, and is used by the holder of the lock */
	AIF_CPU_PLACE_ENDED,  /* the thread has gone, and left the rest to the helper */
};

/* Code objects that samples can tell of. PyTorch with all of its tests has 100,000. */
#define AIF_CPU_CODES (1u << 20)

struct aif_cpu {
	/* Read by the handler. A thread that has gone leaves its place to another. */
	atomic_bool on;
	atomic_bool arms;          /* new threads begin their samples themselves (births.h) */
	atomic_bool is_silenced;   /* by aif_cpu_silence(), and is to go on */
	_Atomic uint32_t handling; /* threads that are inside the handler */
	_Atomic uint32_t len;
	struct aif_cpu_place {
		_Atomic uint32_t tid;                  /* 0 = free */
		struct aif_cpu_thread *_Atomic thread; /* there but for EMPTY */
		_Atomic uint32_t state;                /* enum aif_cpu_place_state */
	} at[AIF_SHM_CPU_THREADS];
	_Atomic uint64_t
		wait_period_ns; /* of one row about waiting, or AIF_WAIT_SAMPLED (wait.h); 0 = none */
	_Atomic uint32_t spin_epoch; /* calls that wait and began in another are over (wait.h) */
	_Atomic uint64_t *copied;    /* bitmap by number: code objects that were copied */
	uint64_t text_lo, text_hi;   /* the agent's code */
	uint64_t stack_top;          /* an address on the main thread's stack, above all frames */

	/* The helper's, that of a thread which unloads a library, and at the end of the process its last one's: who holds
	 * the lock. */
	pthread_mutex_t lock;
	bool ready, refused, too_many;
	atomic_bool installed;  /* the handler, once */
	atomic_bool is_watched; /* the program has asked for the signal */
	/* Since then: an answer of the recorder's was waited for; no event of its own is left. */
	atomic_bool has_waited, events_gone;
	uint32_t asked, answers; /* the helper's, to find that */
	atomic_bool interrupts;  /* the program has asked so by siginterrupt() */
	uint32_t generation;     /* the session whose list has our threads */
	/* Constant while `arms`. */
	uint32_t mode; /* enum aif_shm_cpu */
	bool sees_tls; /* aif_tls_can_be_seen(); set before the handler is installed */
	uint32_t rate;
	uint64_t tick_ns; /* of the kernel */
	int pid;          /* in which sampling began: a forked child has it from its parent */
	/* Has a destructor, which ends the samples of a thread that began them. */
	pthread_key_t key;
	bool has_key;
	uint32_t looked; /* place whose signal mask was looked at last */
	struct aif_arena arena;
	struct aif_cpu_code **codes; /* by number */
	uint64_t codes_bytes;
	uint64_t lost, interrupted; /* samples, and calls that returned EINTR, yet untold */
	uint64_t discarded_ns;      /* samples of before are none of this session's */
	_Atomic uint64_t
		unloaded_ns; /* a library went then, and samples of before had not been carried */
	struct aif_cpu_account account;
};

/* True if the threads that this process creates are to call the next function as they begin, which arms their
 * samples. */
bool aif_cpu_arms(const struct aif_cpu *c);
void aif_cpu_arm_here(struct aif_cpu *c);
/* Notes for the recorder that memory for CPU samples could not be mapped. */
void aif_cpu_lacks_memory(void);
/* Helper thread, each 250 ms. */
void aif_cpu_tick(struct aif_cpu *c, bool collect);
/* Helper thread: from now on no thread is signalled, and what is in the buffers is lost; makes no system
 * call. */
void aif_cpu_stop_signals(struct aif_cpu *c);
/* Any thread: as that, and no signal that is on its way is handled any more, nor one that comes: since the return from a
 * handler is a system call, too. */
void aif_cpu_silence(struct aif_cpu *c);
/* After aif_cpu_silence(): the helper's next visit lets signals come again. */
void aif_cpu_go_on(struct aif_cpu *c);
/* Any thread: the program is about to read the signal itself. From now on no thread is signalled, and none of ours waits,
 * if the recorder answers in time; without `waits` its signals may come until it does. */
void aif_cpu_leave_signal(struct aif_cpu *c, bool waits);
/* Stops the calling thread's timer, which is about to become another program, or lets it go on. */
void aif_cpu_hold_timer(struct aif_cpu *c, bool hold);
/* Helper thread: collecting is about to end; what is in the buffers goes to its ring, as long as it may be entered. */
void aif_cpu_flush(struct aif_cpu *c);
/* Helper thread: the session is over, and what is still in the buffers is none of the next one's. */
void aif_cpu_forget(struct aif_cpu *c);
/* The process ends, or the helper does: what is in the buffers goes to the ring of this thread. */
void aif_cpu_last(struct aif_cpu *c);
/* A thread that is about to unload a library: what is in the buffers goes to its ring, while the library's addresses are
 * still its own. */
void aif_cpu_before_unload(struct aif_cpu *c);
void aif_cpu_after_fork(struct aif_cpu *c);
