/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/call.h"
#include "agent/runtime.h"
#include "agent/standby.h"
#include "unwind/unwind.h"

#include <stdatomic.h>

/*
 * The connection to the recorder: none until the first accelerator runtime starts, then shared memory
 * and a helper thread; no descriptor. Who is on standby (standby.h) may have one recorder after the
 * other, and none in between.
 *
 * "Armed" is the word that every entry of the agent tests first (aif_thread_enter). It lies alone on a
 * page that a fork wipes (MADV_WIPEONFORK; before Linux 4.14 a fork handler does it), because the
 * rings are not there in a child (MADV_DONTFORK). It is also what the helper clears when the recorder
 * has been silent for 2 s or says stop, and sets when it is back.
 *
 * Fork. A child that never uses the runtime does nothing, but for --children (children.h). One that does finds the page wiped at its
 * first call of any hooked function and then asks the recorder for a memory of its own, at once and in
 * that call. That is one wait of about a millisecond, bounded by 500 ms, once in a child's life; in
 * return not a single launch of the child is lost. A helper thread could do it in the background, but
 * then what the child launches first, often all that it launches, would be lost, and the thread has
 * to be made in that call anyway.
 *
 * One session after the other. Each has a generation and a struct aif_attachment; threads join by
 * themselves, at their first entry of a generation that is not theirs, and whatever was defined for an older
 * one is defined anew. What ends a session is the generation becoming AIF_GENERATION_DORMANT. Threads may
 * still be inside an entry then, writing to a ring that nobody reads, some for as long as the vendor's
 * call takes. So:
 *   - a thread that enters becomes busy, then looks at the generation, and leaves if it is not its own
 *     (enter.h); one that joins says which generation before it looks (thread.c). Hence once the helper
 *     has changed the generation and the store buffers are empty, a thread that it sees not busy with the
 *     old generation will never be again;
 *   - the old memory is unmapped when no thread is busy with it, not even in the vendor's call;
 *   - a next session begins when none is inside an entry of an old one: those in the vendor's call come
 *     back to write to their ring and to nothing else that sessions share;
 *   - at most AIF_ATTACHMENTS memories are there: while long calls hold all old ones, nobody attaches.
 * Store buffers: the helper waits SETTLE_NS, instead of asking each processor by membarrier(), which
 * old kernels and some sandboxes do not have. They are empty after less than a microsecond.
 */

/* From the environment, read once by the constructor. */
struct aif_environment {
	atomic_bool is_read; /* the constructor has run */
	bool carrier;        /* the variables are there and we are the copy that acts on them */
	char socket[108];    /* "" = no recorder started us */
	char token[AIF_TOKEN_LEN];
	char runtime[16];                  /* the only one to listen to; "" = all */
	char standby[AIF_STANDBY_DIR_MAX]; /* "" = not on standby */
	enum aif_standby_level level;
	bool is_filtered;     /* by a filter that its recorder does not have: it is left alone */
	uint32_t filters;     /* that its recorder has (handshake.h) */
	bool children;        /* meet the recorder without a runtime, too */
	uint64_t job;         /* job.h; 0 = of no known launcher */
	bool at_once;         /* and do so as soon as the process starts */
	bool injected;        /* into a running process: injected.c */
	pid_t injected_into;  /* which its children inherit */
	char nvtx_taken[256]; /* injection.h: another tool's library; "" = none */
	_Atomic bool nvtx_reported;
};

/* generation: 0 = nothing yet, or a fork has wiped the page. */
#define AIF_GENERATION_DORMANT (UINT32_MAX - 1) /* on standby, nobody records */
#define AIF_GENERATION_LOST    UINT32_MAX       /* a child that the recorder did not take */

struct aif_armed {
	_Atomic uint32_t
		generation;         /* counts attachments: what an older one knew is defined anew */
	_Atomic uint32_t on;        /* collect */
	_Atomic uint32_t attaching; /* one thread is at it */
	_Atomic uint32_t recorder_alive;
	/* Threads inside dlclose(); the helper looks at modules of stacks that are not its own. */
	_Atomic uint32_t closing, looking;
};

/* A recorder's memory, constant from the moment in which it is published. Sizes are our own copies. */
struct aif_attachment {
	struct aif_shm *shm; /* NULL: the place is free */
	uint64_t size, ring_size;
	uint32_t slots, generation;
	uint64_t retired_ns; /* when its session ended; 0 = it has not */
	/* Mapped so far; one that is not is written by the thread that has the slot. */
	uint8_t *ring[AIF_SHM_SLOTS];
};
#define AIF_ATTACHMENTS 4

/* Callbacks of a session to its user (agent.c). */
struct aif_session_hooks {
	int (*start_helper)(void); /* 0 or -errno */
	/* In a child: nobody holds the locks that look taken, and what was made for threads is the parent's. */
	void (*after_fork)(void);
};

struct aif_session {
	_Atomic(struct aif_armed *) armed; /* NULL until the first runtime starts */
	atomic_bool starting, started;
	bool is_child_of_start; /* forked while a thread of the parent was starting the session */
	const struct aif_session_hooks *hooks; /* constant once the session has started */
	uint32_t generation;                   /* outlives forks */
	uint32_t runtimes;                     /* bit i: enum aif_runtime_id i has started */
	struct aif_standby standby;
	struct aif_call_slot met; /* the last recorder that was met */
	unsigned answers;     /* tries that are left to meet a recorder that has rung, or is late */
	_Atomic bool is_late; /* the recorder did not answer in time when the session began */
	uint32_t late_joins;  /* flags that the process joins a late recorder with (handshake.h) */
	uint64_t called_ns;   /* when the helper last did what needs system calls */
	uint64_t alive_ns;    /* when its heart was last seen to beat */
	uint64_t born_ns;     /* when the first runtime started, here or after the fork */
	/* The program has installed a seccomp filter (shm.h); its children have it, too. */
	atomic_bool filtered;
	/* Threads that are about to; the time until which one is expected to (sandbox.h). */
	_Atomic uint32_t installing;
	_Atomic uint64_t quiet_until_ns;
	_Atomic uint32_t
		harmless; /* filters that forbid nothing of ours, this process's and its parents' */
	atomic_bool calling;
	atomic_bool helped, leaving; /* the helper was started; the process exits */
	/* The process whose helper has ended, and begins again with a runtime; a forked child has another. */
	_Atomic int32_t helper_rests;
	struct aif_attachment place[AIF_ATTACHMENTS];
	_Atomic(struct aif_attachment *) attached; /* NULL: nobody records */
	/* Fields of `attached`, for the helper and for threads inside an entry. */
	struct aif_shm *shm;
	_Atomic uint32_t options;
	uint32_t device_rate, stall_rate, cpu_rate;
	struct aif_schedule schedule;
	uint64_t steps_base;             /* steps that had begun when the schedule began */
	char counters[AIF_SHM_COUNTERS]; /* asked for; "": none */
	uint64_t counters_period_ns;     /* between two of their values */
	int python_reason;               /* that was reported */
	/* Launches of threads that found no free slot, or got no memory, yet unreported. */
	_Atomic uint64_t no_slot, no_memory;
	_Atomic uint64_t no_calls; /* or would have needed system calls that they may not make */
	/* Fields of struct aif_shm by the same names, of this session. */
	_Atomic uint64_t spent_ns, records_ns, samples_ns, block_records_ns, device_bytes;
	_Atomic uint64_t cpu_samples_ns;
	struct aif_unwinder *unwinder;
	_Atomic uint64_t refreshed_ns;  /* when a launch last refreshed the unwinder */
	_Atomic uint64_t before_attach; /* launches while there was no memory */
};

/* For aif_agent_start(): a runtime has initialised. */
int aif_session_start(enum aif_runtime_id runtime, const struct aif_session_hooks *hooks);
/* The same without one, also in a forked child: for CPU samples. 0 or -errno. */
int aif_session_start_without_device(const struct aif_session_hooks *hooks);

/* In a child, from its fork handler: forgets a start that a thread of the parent had begun and not ended, so that the
 * child can start by itself. */
void aif_session_forget_start(void);

/* Registers what fork() calls in the child. */
void aif_session_at_fork(void (*child)(void));

/* Returns the recorder's memory. NULL: nobody records, or a child of a fork has not met the recorder, and has no memory. */
struct aif_shm *aif_session_memory(void);
/* Tells the recorder that the program is about to install a filter, unless a session does. */
void aif_session_report_filter(void);

/* Hands the recorder what was counted here. */
void aif_session_publish(struct aif_shm *shm);

/* Called where an entry finds the agent not armed: after a fork, meets the recorder again. True when
 * armed afterwards. `joins`: 0 or AIF_JOINS_WITHOUT_DEVICE. */
bool aif_session_rearm(uint32_t joins);

/* True if new objects should be made so that they can be measured. False when the recorder is gone, unless we are
 * on standby. After a fork it meets the recorder again, as an entry would. */
bool aif_session_wanted(void);

/* ---- modules (session_modules.c) ---- */

/* Around dlclose(): before, a module may be about to go, so CPU samples with its addresses are named first. Waits while the
 * helper looks at modules: for some microseconds, mostly. What it returns goes to aif_session_unload_end() afterwards. */
bool aif_session_unload_begin(void);
void aif_session_unload_end(bool was_counted);

/* The same, wanted by a launch that met unknown code: does nothing if done in the last 100 ms. True if
 * it was done. */
bool aif_session_refresh(uint64_t now);

/* A thread whose own stack does not hold the modules that it looks at keeps them from going meanwhile. False: one
 * is just about to, try again later. Until unpin it waits for nothing. */
bool aif_session_modules_pin(void);
void aif_session_modules_unpin(void);

/* ---- for the helper thread (helper.h) ---- */

/* Meets the recorder that has rung, or was late, and collects if it says so. False: not yet, threads are inside entries of an old
 * session, or it is still late. */
bool aif_session_join(void);
/* Unmaps what nobody uses any more. True if nothing is left. */
bool aif_session_reclaim(uint64_t now);
/* Reports since when we collect, or do not, unless the recorder knows. */
void aif_session_report_state(struct aif_shm *shm, bool collect, uint64_t now);
/* True while --steps or --schedule has more to come. */
bool aif_session_awaits_steps(void);
/* True if the recorder's command is to collect, and the program is in one of the steps that are asked for. */
bool aif_session_is_to_run(const struct aif_attachment *a);

/* The process calls exit(): publishes what was counted, and leaves standby. */
void aif_session_at_exit(void);
