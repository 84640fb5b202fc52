/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/capture.h"
#include "agent/cuda/cuda_translate.h"
#include "agent/handles.h"
#include "agent/memory.h"
#include "agent/runtime.h"

/*
 * NVIDIA's runtime, by way of CUPTI. The driver opens us when it initialises (CUDA_INJECTION64_PATH) and
 * calls InitializeInjection().
 *
 *     cuda.c            the life of it: injection, on and off, ticks, the end
 *     cuda_library.c    which libcupti, and its functions
 *     cuda_launch.c     the driver's calls, seen as CUPTI's callbacks: LAUNCH records
 *     cuda_activity.c   what CUPTI tells when it is over: EXEC records
 *     cuda_records.c    kernel records are switched on, and off when that is safe
 *     cuda_use.c        how much this libcupti may be asked
 *     cuda_blocks.c     the overhead budget's blocks: what is switched when
 *     cuda_claim.c      one process samples a GPU
 *     cuda_nameless.c   samples in code that CUPTI has no name for
 *     cuda_gate.c       who switches records or sampling is alone with the driver
 *     cuda_sampling.c   instruction samples: which contexts, begin and end, when CUPTI is asked
 *     cuda_sampling_setup.c  buffers and configuration, and whether it is allowed
 *     cuda_samples.c    what it answers, in our words: WINDOW, CODE, REASON, PC records
 *     cuda_seat.c       other users of CUPTI in the process go first
 *     cuda_names.c      kernels, devices and streams: ids, told where they are needed
 *     cuda_translate.c  pure
 *
 * A launch and its executions meet by CUPTI's correlation id. The launch callback leaves the launch's
 * number in a table, from which the execution takes it; an entry lives as long as it takes for
 * AIF_CUDA_CORRELATIONS more launches: 4 s at the 68,000 launches/s of a fast decode, against some
 * 0.3 s that a record is under way. A graph's executions all have the correlation id of its launch.
 */

#define AIF_CUDA_CORRELATIONS (1u << 18)
struct aif_cuda_correlation {
	_Atomic uint64_t id; /* correlation id + 1; 0 = free */
	_Atomic uint64_t launch;
};

#define AIF_CUDA_NOT_CAPTURED (UINT64_MAX - 1) /* the budget left it out */
#define AIF_CUDA_CONFUSED     (UINT64_MAX - 2) /* CUPTI gave several launches this number */

struct aif_cuda_kernel {
	uint32_t id;
	_Atomic uint32_t told;  /* session generation */
	_Atomic uint64_t known; /* name_key() that was compared last */
	uint64_t hash;
	struct aif_cuda_kernel *next; /* in its bucket */
	char name[];
};

#define AIF_CUDA_DEVICES 64
struct aif_cuda_device {
	_Atomic uint32_t told;
};
/* Not one of a device's number: another runtime in the process may have that. */
#define AIF_CUDA_CLOCK (AIF_CLOCK_DEVICE + AIF_CUDA_DEVICES)

struct aif_cuda_stream {
	uint32_t device, context, stream; /* CUDA's ordinal, CUPTI's numbers */
	uint32_t id;
	uint32_t told;
	struct aif_cuda_stream *next;
};

#define AIF_CUDA_BUCKETS 4096 /* of kernel names; a power of two */
/* 2 MiB hold 9,700 kernel records: 0.14 s of a fast decode. */
#define AIF_CUDA_BUFFER  (2u << 20)
#define AIF_CUDA_BUFFERS 32

/*
 * What is on at a time (cuda_blocks.c has the reasons). Kernel records and sampling can be on together only
 * if records were first, and then stay on; before CUPTI 12.8 not at all.
 */
enum aif_cuda_mode {
	AIF_CUDA_TOGETHER, /* records and samples, both throughout; stacks by blocks */
	AIF_CUDA_RECORDS,  /* records and stacks by blocks */
	AIF_CUDA_SAMPLES,  /* samples only */
};

/* Under `switching`. */
struct aif_cuda_records {
	bool on, wanted; /* CUPTI makes them; somebody needs them */
	uint64_t again_at,
		again_ns; /* the next try to switch them off, and how long after the last */
};

/* Under `switching`, but for the atomics. */
struct aif_cuda_blocks {
	enum aif_cuda_mode mode;
	bool on;               /* the block is, as far as it was told */
	_Atomic bool capture;  /* what launching threads do */
	uint64_t began, since; /* the block; and the part of it that is yet untold */
	uint32_t block, duty_ppm;
	/* Launches, ever; and before the block, or before what is yet untold of them. */
	_Atomic uint64_t captured, left_out;
	uint64_t captured_before, left_out_before, began_with;
	uint64_t spent_for; /* launches, of which it is told what they cost anyway */
	bool interrupted;   /* something else took time in the block */
	bool not_compared;  /* its launch rate: records could not be switched off where it began */
	double rate;        /* launches a second, lately */
	/* Synchronizing calls: all so far; at the last accounting of their cost; at the block's beginning. */
	_Atomic uint64_t waits;
	uint64_t spent_for_waits, began_with_waits;
	double wait_rate; /* a second, lately */
	uint64_t mode_since, samples_next, samples_until;
};

/* CUPTI's own thread looks after the device's buffer so often. What it had not seen yet comes with the next window, so a
 * window is that much older (measured on an H100: 50 to 70 ms). */
#define AIF_CUDA_WORKER_MS 50

struct aif_cuda_code { /* a sampled function */
	uint32_t id, function;
	uint32_t told;
	uint64_t hash;
	char *name;
};

/* One context of each GPU can be sampled. */
#define AIF_CUDA_CONTEXTS   16
#define AIF_CUDA_REASONS    128
#define AIF_CUDA_PERIOD_MAX 24
struct aif_cuda_sampled {
	_Atomic(void *) context; /* NULL: the place is free */
	_Atomic bool gone;       /* it was destroyed while somebody switched: not to be used */
	void *event;             /* CUDA's, to see when the context is idle; NULL: not made yet */
	uint32_t device;
	bool on, refused; /* refused: never again */
	bool again;       /* disable it, and unless refused, begin anew */
	int claim;        /* on the GPU's sampling unit: the semaphore + 1; 0 = none */
	uint32_t told;    /* the reasons' names */
	/* By CUPTI's number, which is the device's: the place in reasons of struct aif_cuda_sampling, + 1; 0 = none. */
	uint8_t reasons[AIF_CUDA_REASONS];
	uint32_t period; /* log2 of cycles */
	double hertz;
	uint64_t period_ps, since;
	unsigned errors;       /* in a row */
	int error;             /* what CUPTI answered when it was last asked for data */
	int failed;            /* CUPTI's error that ends it; 0 = none */
	uint64_t device_bytes; /* that CUPTI takes of the device, where it is known */
	struct aif_cupti_samples *config, *out;
};

/* What CUPTI calls a reason, and what to do with it. */
struct aif_cuda_reason {
	char name[AIF_CUPTI_REASON_NAME]; /* without what all begin with */
	uint16_t other;                   /* of X_not_issued: X; else itself */
};

struct aif_cuda_sampling {
	struct aif_cuda_sampled contexts[AIF_CUDA_CONTEXTS];
	struct aif_cuda_reason reasons[AIF_CUDA_REASONS];
	unsigned reasons_len;
	size_t pc_size; /* of struct aif_cupti_pc, as CUPTI has it */
	bool apart;     /* not beside kernel records */
	struct aif_handles codes;
	uint32_t codes_len, windows;
	uint32_t session;  /* the generation that contexts were last tried in */
	bool leaves_first; /* our handler for the exit was registered after sampling had been on */
	/* Another process has the unit, though this one was let in: CUPTI switches nothing off any
	 * more without harm. */
	bool is_stranded;
};

#define AIF_CUDA_SHARDS_BITS 6
#define AIF_CUDA_SHARDS      (1u << AIF_CUDA_SHARDS_BITS)

/* Under `switching`, but for the atomics. */
struct aif_cuda_gate {
	_Atomic uint64_t who;     /* pthread_self() of who switches; 0 = nobody */
	_Atomic bool holds_loads; /* calls that load code wait, too: records are switched */
	_Atomic uint32_t held;    /* threads that wait at the gate */
	_Atomic uint32_t epoch;   /* changes when all counts start anew */
	bool counts_self;         /* the thread that switches is itself inside a counted call */
	bool is_settled;          /* all that are inside such a call are counted */
	/* After a try in vain: when the next one may be, and how long that was; 0 = it was not. */
	uint64_t again_at, again_ns;
	uint64_t seen, quiet_since; /* so many had been begun by then, and still have */
	struct {
		/* Calls that load code [1], and all others [0]: the lower half are under way, the
		 * upper were begun, ever. */
		_Alignas(64) _Atomic uint64_t n[2];
	} calls[AIF_CUDA_SHARDS];
};

struct aif_cuda {
	struct aif_cupti api;
	void *library;        /* libcupti */
	uintptr_t lo, hi;     /* where it lies; 0 = not known */
	uint32_t version;     /* of CUPTI */
	uint32_t use;         /* enum aif_cupti_use, never AUTO */
	uint32_t use_session; /* the generation for which it was chosen */
	uint8_t id[AIF_SHM_CUPTI_ID];
	void *subscriber; /* NULL: the seat is not ours; under `switching` */

	_Atomic int captures; /* streams that are being captured into graphs */

	pthread_mutex_t lock; /* of names */
	struct aif_arena arena;
	struct aif_cuda_kernel *kernels[AIF_CUDA_BUCKETS];
	uint32_t kernels_len;
	struct aif_handles by_pointer; /* of a name, as CUPTI has it -> kernel */
	_Atomic uint32_t names_epoch;  /* while it is the same, so is what a pointer means */
	struct aif_cuda_stream *streams;
	uint32_t streams_len;
	struct aif_cuda_device devices[AIF_CUDA_DEVICES];

	struct aif_cuda_correlation *correlations; /* AIF_CUDA_CORRELATIONS */
	_Atomic bool any_confused;                 /* some of them are AIF_CUDA_CONFUSED */

	pthread_mutex_t switching;
	_Atomic bool on, taken, left; /* we record; the seat is another's; the process exits */
	_Atomic bool listens;         /* launches call back */
	bool has_flushed;             /* the helper, since the program began to use CUDA */
	/* May there be graphs? Unless the seat has been ours from the beginning, nobody knows. */
	_Atomic bool has_graphs;
	uint32_t refused; /* the session in which CUPTI would not have us; 0 = none */
	struct aif_cuda_gate gate;
	struct aif_cuda_records records;
	uint32_t claim_salt;
	struct aif_cuda_blocks blocks;
	struct aif_cuda_sampling sampling;
	uint64_t pair_ns; /* when the clocks were last compared */
	_Atomic uint32_t clock_told;
	pthread_mutex_t flushing;
	_Atomic int completing; /* threads that read a buffer */
	/* Yet untold: executions without times; launches that share a number; executions of launches that
	 * are not known; samples that no ring had room for. */
	_Atomic uint64_t timeless, confused, unjoined, unsampled, nameless;
	pthread_mutex_t buffers_lock;
	uint8_t *free[AIF_CUDA_BUFFERS];
	unsigned free_len, made;
};

#define CUDA (atomic_load_explicit(&aif_agent.cuda, memory_order_acquire))

/* Finds libcupti: the copy that the process has, else the one that it would get. 0, or -ENOENT. */
int aif_cuda_library(struct aif_cupti *api, void **ret_library, uint32_t *ret_version);

/* Where the module with this address lies. */
void aif_cuda_library_bounds(uintptr_t inside, uintptr_t *ret_lo, uintptr_t *ret_hi);

/* Somebody else wants CUPTI's seat; does not need it any more. */
void aif_cuda_yield(struct aif_cuda *cuda);
void aif_cuda_yielded_back(struct aif_cuda *cuda);
/* Makes the strdup() that CUPTI calls ours. False: it cannot be, and CUPTI may end the program while it is asked for samples
 * (cuda_nameless.c). */
bool aif_cuda_names_are_safe(void);

/* CUPTI's callback. */
void aif_cuda_callback(void *user, uint32_t domain, uint32_t id, const void *data);
/* Something of CUPTI's did not work: the application goes on, the profile says why. `error` 0: none. */
void aif_cuda_refused(enum aif_reason reason, const char *what, int error);
void aif_cuda_refused_in(struct aif_thread *t, enum aif_reason reason, const char *what, int error);
/* All calls' callbacks on or off. 0 or CUPTI's error. */
int aif_cuda_launches(struct aif_cuda *cuda, bool on);

/* Which calls launch nothing, contexts and modules are watched for as long as the seat is ours. */
void aif_cuda_watch(struct aif_cuda *cuda);

/* Switches all kinds of records, now. Off only with the gate shut: aif_cuda_records_want(). 0 or
 * CUPTI's error. */
int aif_cuda_activity(struct aif_cuda *cuda, bool on);
int aif_cuda_activity_init(struct aif_cuda *cuda);
/* What is complete is told now. `last`: waits, not for long, until all of it is told. */
void aif_cuda_flush(struct aif_cuda *cuda, bool last);

/* Under `switching`, as the next two. Switches records on at once, or off as soon as no call is
 * under way. */
void aif_cuda_records_want(struct aif_cuda *cuda, bool on);
/* Tries again what was not possible then. True if records are as they were wanted. */
bool aif_cuda_records_settle(struct aif_cuda *cuda, uint64_t now);
/* Switches records off, and waits so long at most until that is possible. False: they are on. */
bool aif_cuda_records_end(struct aif_cuda *cuda, uint64_t within_ns);

/* Finds the build id of libcupti. */
void aif_cuda_use_init(struct aif_cuda *cuda);
/* Under `switching`, as the next: chooses how much CUPTI is asked in this session, once. */
void aif_cuda_use_choose(struct aif_cuda *cuda);
/* Lets the recorder know which CUPTI is in use from now on, or that it is not any more. */
void aif_cuda_use_publish(const struct aif_cuda *cuda, bool is_used);

/* Under `switching`. We begin to record; we stop. Launches call back before and after. */
void aif_cuda_blocks_begin(struct aif_cuda *cuda, uint64_t now);
void aif_cuda_blocks_end(struct aif_cuda *cuda, uint64_t now);
/* Tells what was spent for launches whether they were captured or not. */
void aif_cuda_blocks_spent(struct aif_cuda *cuda);
/* The process calls exit(): what the block had, and the last samples. Waits for nobody. */
void aif_cuda_leave(struct aif_cuda *cuda);
/* What is due. When next: CLOCK_MONOTONIC ns. */
uint64_t aif_cuda_turn(struct aif_cuda *cuda, uint64_t now);
/* Under `switching`: nothing is sampled from here on. False: not now (cuda_gate.c). */
bool aif_cuda_blocks_calm(struct aif_cuda *cuda, uint64_t now);
/* Takes `switching`, unless that takes longer than 0.1 s. */
bool aif_cuda_lock_soon(struct aif_cuda *cuda);
/* Under `switching`, whenever we begin to record. The first time better before any context. */
void aif_cuda_sampling_init(struct aif_cuda *cuda);
/* Is it wanted at all, and is there a context that is not refused? */
bool aif_cuda_sampling_wanted(const struct aif_cuda *cuda);
/* Is any context sampled? */
bool aif_cuda_is_sampling(const struct aif_cuda *cuda);
/* Under `switching`: samples each known context, or stops, telling what was sampled. False: not now (cuda_gate.c). */
bool aif_cuda_sampling(struct aif_cuda *cuda, bool on);
/* Under `switching`, with a new seat, before anything calls back: nothing is sampled, and which contexts are there launches
 * will say. */
void aif_cuda_sampling_forget(struct aif_cuda *cuda);
/* Under `switching`: tells what was sampled since the last time. */
void aif_cuda_sampling_tick(struct aif_cuda *cuda);

/* Sleeps less than a second, and is no point at which a thread is cancelled. */
void aif_cuda_sleep(long ns);
/* Around a call that must not meet a switch of records or sampling. The first may wait for one. */
void aif_cuda_gate_enter(struct aif_cuda *cuda, bool loads);
void aif_cuda_gate_leave(struct aif_cuda *cuda);
/* Before callbacks are switched on: nobody is counted. */
void aif_cuda_gate_begin(struct aif_cuda *cuda);
/* Nobody can be inside a call that was begun before. */
void aif_cuda_gate_settle(struct aif_cuda *cuda);
/* Under `switching`, as the next three: nobody is inside such a call, nor will be until it is opened; and with `idle` no
 * context has anything to do. Takes a quarter of a second at most. False: it is not so, and the gate is open. */
bool aif_cuda_gate_shut(struct aif_cuda *cuda, bool idle);
/* The same for some microseconds' work, which a running device does not mind: waits until no call
 * is under way, for 5 ms at most, and for 0.2 ms once a thread waits at the gate. */
bool aif_cuda_gate_shut_briefly(struct aif_cuda *cuda);
void aif_cuda_gate_open(struct aif_cuda *cuda);
/* Some time since it was tried in vain? */
bool aif_cuda_gate_may_try(const struct aif_cuda *cuda, uint64_t now);
/* The helper, four times a second while anything may be sampled: does anybody call? */
void aif_cuda_gate_tick(struct aif_cuda *cuda, uint64_t now);

/* Once, before threads. */
void aif_cuda_claim_init(struct aif_cuda *cuda);
/* Claims the sampling unit of a context's GPU for this process. False: another process has it. */
bool aif_cuda_claim(struct aif_cuda *cuda, struct aif_cuda_sampled *c);
void aif_cuda_unclaim(struct aif_cuda_sampled *c);
/* Where a GPU is: domain << 16 | bus << 8 | device << 3; 0 = not known. */
uint32_t aif_cuda_bus_address(struct aif_cuda *cuda, uint32_t ordinal);

/* What a launch came through; any thread. */
void aif_cuda_context(struct aif_cuda *cuda, void *context);
void aif_cuda_resource(struct aif_cuda *cuda, uint32_t event, const struct aif_cupti_resource *r);
/* May this process, as far as files say? */
bool aif_cuda_sampling_allowed(void);
/* Before and after a context's sampling is enabled. 0 or CUPTI's error. */
int aif_cuda_sampling_prepare(struct aif_cuda *cuda, struct aif_cuda_sampled *c);
int aif_cuda_sampling_configure(struct aif_cuda *cuda, struct aif_cuda_sampled *c);
/* The names of the reasons of a context. 0 or CUPTI's error. */
int aif_cuda_learn_reasons(struct aif_cuda *cuda, struct aif_cuda_sampled *c);
/* A window: from c->since to `until`. */
void aif_cuda_tell_samples(struct aif_thread *t, struct aif_cuda *cuda, struct aif_cuda_sampled *c,
			   const struct aif_cupti_samples *b, uint64_t until);

/* Something is unloaded: what a pointer to a name meant it may not mean any more. */
void aif_cuda_names_go(struct aif_cuda *cuda);
/* The kernel of this name; made if new. NULL: no memory. The second where it was launched: no call that unloads has
 * returned since CUPTI gave the name. */
struct aif_cuda_kernel *aif_cuda_kernel(struct aif_cuda *cuda, const char *name);
struct aif_cuda_kernel *aif_cuda_kernel_called(struct aif_cuda *cuda, const char *name);
/* Its id, told to t's ring if nobody was told it yet in this session. */
uint32_t aif_cuda_kernel_tell(struct aif_thread *t, struct aif_cuda_kernel *k);
/* The same for a device: false if it could not be told. */
bool aif_cuda_device_tell(struct aif_thread *t, struct aif_cuda *cuda, uint32_t ordinal);
/* The same for a stream, and its device. AIF_WIRE_NONE: no memory. */
uint32_t aif_cuda_stream_tell(struct aif_thread *t, struct aif_cuda *cuda, uint32_t device,
			      uint32_t context, uint32_t stream);
/* A pair of the clocks, once a device is told. */
void aif_cuda_clock_tick(struct aif_thread *t, struct aif_cuda *cuda, uint64_t now);

/* Has it a context that can be used? */
static inline bool aif_cuda_is_there(const struct aif_cuda_sampled *c)
{
	return atomic_load(&c->context) && !atomic_load(&c->gone);
}

static inline void aif_cuda_correlate(struct aif_cuda *cuda, uint32_t correlation, uint64_t launch)
{
	struct aif_cuda_correlation *c = &cuda->correlations[correlation % AIF_CUDA_CORRELATIONS];

	/* No reader may take the new number for the old id's. */
	atomic_store_explicit(&c->id, 0, memory_order_relaxed);
	atomic_store_explicit(&c->launch, launch, memory_order_release);
	atomic_store_explicit(&c->id, (uint64_t)correlation + 1, memory_order_release);
}

/* It will be written. */
static inline void aif_cuda_correlation_soon(struct aif_cuda *cuda, uint32_t correlation)
{
	__builtin_prefetch(&cuda->correlations[correlation % AIF_CUDA_CORRELATIONS], 1);
}

/* No number means a launch any more. */
static inline void aif_cuda_forget(struct aif_cuda *cuda)
{
	atomic_store_explicit(&cuda->any_confused, false, memory_order_relaxed);
	for (unsigned i = 0; i < AIF_CUDA_CORRELATIONS; i++)
		if (atomic_load_explicit(&cuda->correlations[i].id, memory_order_relaxed))
			atomic_store_explicit(&cuda->correlations[i].id, 0, memory_order_relaxed);
}

/* False: unknown, or overwritten. */
static inline bool aif_cuda_correlated(struct aif_cuda *cuda, uint32_t correlation,
				       uint64_t *ret_launch)
{
	struct aif_cuda_correlation *c = &cuda->correlations[correlation % AIF_CUDA_CORRELATIONS];
	uint64_t id = (uint64_t)correlation + 1;

	if (atomic_load_explicit(&c->id, memory_order_acquire) != id)
		return false;
	*ret_launch = atomic_load_explicit(&c->launch, memory_order_acquire);
	return atomic_load_explicit(&c->id, memory_order_acquire) == id;
}
