/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/calls/host_call.h"
#include "agent/emit.h"
#include "agent/memory/handles.h"
#include "agent/memory/pages.h"
#include "agent/opencl/translate.h"
#include "agent/runtime.h"
#include "agent/wait.h"

/*
 * OpenCL, as a layer that the ICD loader (ocl-icd 2.3, Khronos') puts between application and driver:
 * it hands us its dispatch table, we hand back one in which some functions are ours. No symbol is
 * interposed, so applications that dlopen libOpenCL are seen, too. A loader without layers never calls
 * clInitLayer: then nothing here runs, and it is the recorder that notices (a process that carries the
 * agent and maps libOpenCL, without a session).
 *
 * Where the agent comes into a running process, it changes the drivers' own tables instead (late.c).
 *
 *     opencl.c    the layer's two entries, the seam
 *     late.c      joining a program that uses OpenCL already
 *     queues.c    queues: profiling forced on, and hidden from an application that did not ask
 *     programs.c  programs and kernels: names, source, options
 *     memory.c    calls that allocate and free, and what they allocate
 *     commands.c  every clEnqueue...: the launch
 *     pending.c   from a launch to its end: events, callbacks, the execution
 *     clock.c     which clock the device's times are of
 *     objects.c   what we know about devices, queues, programs, kernels; telling the recorder
 *
 * Objects live in an arena until the process ends; `defined_gen` is the session generation in which the
 * recorder was told about one.
 */

struct aif_cl_device {
	struct aif_emit_device desc;
	void *handle;
	_Atomic uint32_t defined_gen;
	bool own_clock; /* its times need pairs */
	bool is_assumed; /* nothing tells which clock stamps its commands: it has the host's, for queues `by_host` */
	bool has_timer;           /* clGetDeviceAndHostTimer */
	_Atomic uint64_t pair_ns; /* when the last pair was taken */
	_Atomic uint32_t queues;
	struct aif_cl_device *next;
};

struct aif_cl_queue {
	uint32_t id, ordinal;
	struct aif_cl_device *device;
	_Atomic uint32_t defined_gen;
	bool out_of_order;
	bool profiled; /* gives times */
	/* Gives none that could be read: its commands begin and end when the driver tells the host of that, in the device's
	 * clock, which is one of the host's. `last_end`: of the one before. */
	bool by_host;
	_Atomic uint64_t last_end;
	/* Captured commands; of these, those which the application has waited for. Only at_exit() asks, and what
	 * is not captured has no end to be told. */
	_Atomic uint64_t launched, awaited;
	/* The last captured command that the application has an event of, and its number. Two stores: where
	 * threads launch at once, or a later event has the same handle, they may be of two commands. An
	 * exit then waits for one too many, for LEAVE_STEPS at most, or for one too few. */
	_Atomic(void *) last_event;
	_Atomic uint64_t last;
	_Atomic bool app_profiles; /* the application asked for them */
	bool has_list;             /* made from a list of properties, which is: */
	unsigned list_len;
	uint64_t *list;
};

struct aif_cl_program {
	uint32_t id;
	void *handle;
	_Atomic uint32_t defined_gen;
	char *app_options; /* where the driver was given others: what the application gave */
	struct aif_cl_kernel *kernels;
};

struct aif_cl_kernel {
	uint32_t id;
	struct aif_cl_program *program;
	_Atomic uint32_t defined_gen;
	char *name;
	struct aif_cl_kernel *next;
};

/* A launch whose end is awaited. */
struct aif_cl_pending {
	_Atomic uint32_t next; /* in a list: index + 1, 0 = end */
	enum aif_emit_kind kind;
	struct aif_cl_queue *queue; /* NULL: not under way */
	_Atomic uint64_t number;    /* index in its queue; UINT64_MAX: its end was reported */
	uint64_t launch, bytes;
	uint32_t kernel, generation;
	int32_t status;         /* of the command: negative = it failed */
	uint64_t before, after; /* MONOTONIC, around the vendor's call; after 0 = not taken */
	uint64_t queued, start, end;
	_Atomic uint64_t
		running; /* by_host: when the driver said that it runs, in the device's clock; 0: it has not */
	_Atomic uint32_t callbacks; /* that the driver is still to call */
};

/* 262,144 commands under way: 24 MiB of address space, of which what was ever under way together is
 * touched. Beyond that commands give no times, which is counted. */
#define AIF_CL_PENDING_MAX (1u << 18)

struct aif_cl_pool {
	struct aif_cl_pending *all;
	_Atomic uint32_t made;
	_Atomic uint64_t free;     /* change count << 32 | index + 1 */
	_Atomic uint64_t deferred; /* the same: ended, to be told by the helper */
};

struct aif_opencl {
	struct aif_cl_dispatch target; /* what the application would have called */
	struct aif_cl_dispatch layer;
	struct aif_emit_api api[AIF_CL_ENTRIES];
	struct aif_cl_pool pool;
	bool is_late;         /* by the drivers' tables (late.c) */
	pthread_mutex_t lock; /* of all below */
	struct aif_arena arena;
	struct aif_cl_device *devices;
	uint32_t device_ids, queue_ids, program_ids, kernel_ids;
	struct aif_handles queues, programs, kernels;
};

#define CL        AIF_RUNTIME_STATE(opencl, aif_opencl)
#define TARGET    (&CL->target)
#define API(name) (&CL->api[offsetof(struct aif_cl_dispatch, name) / sizeof(void *)])

/* Around a call that can hold the thread up; *regs are of the entry. */
#define CALL_BEGIN(name, regs)                                                               \
	aif_host_call_begin(AIF_CALL_##name, AIF_OPTION_CALLS, AIF_HOST_CALL_SHORT_NS, regs, \
			    API(name))
#define CALL_END(name, token, regs) aif_host_call_end(token, regs, API(name))
/* Calls the driver's function in the same way, for its value of that type. */
#define CALL_TIMED(type, name, ...)                        \
	({                                                 \
		struct aif_regs call_regs;                 \
		uint32_t call_token;                       \
		type call_value;                           \
		AIF_REGS_HERE(&call_regs);                 \
		call_token = CALL_BEGIN(name, &call_regs); \
		call_value = TARGET->name(__VA_ARGS__);    \
		CALL_END(name, call_token, &call_regs);    \
		call_value;                                \
	})

/* Becomes the layer in front of `target`, of `n` functions. `pc_of_loader`: a place in the loader's code. Once. 0 or -errno. */
int aif_cl_layer_init(uint32_t n, const struct aif_cl_dispatch *target, uint64_t pc_of_loader);
/* start_late() of runtime.h. */
void aif_cl_start_late(void);
/* Helper thread, where that has started it: joins drivers that were loaded since. */
void aif_cl_tick_late(void);

/* ---- objects --------------------------------------------------------------------------------- */

/* A queue was made in `context`: replaces what its address meant. */
struct aif_cl_queue *aif_cl_queue_new(void *queue, void *context, void *device, bool profiled,
				      uint64_t asked, const uint64_t *list, bool has_list);
/* NULL for what is no queue. Asks the driver about queues that were made behind our back; of these the times of a device that
 * was not known are the host's. */
struct aif_cl_queue *aif_cl_queue_get(void *queue);
/* Notes that the application has waited for the queue's commands up to `number`, which have
 * ended. */
void aif_cl_queue_awaited(struct aif_cl_queue *q, uint64_t number);
struct aif_cl_program *aif_cl_program_new(void *program);
struct aif_cl_program *aif_cl_program_get(void *program);
void aif_cl_kernel_new(void *kernel, void *program, const char *name);
void aif_cl_kernel_forget(void *kernel); /* its address has a new meaning, found out when needed */
struct aif_cl_kernel *aif_cl_kernel_get(void *kernel);

/* Returns the first device of a context, which the recorder knows then; NULL if that cannot be found out. Asks the driver. */
struct aif_cl_device *aif_cl_context_device(void *context);
/* The recorder knows it afterwards, if the ring had room. */
void aif_cl_device_define(struct aif_thread *t, struct aif_cl_device *d);
void aif_cl_queue_define(struct aif_thread *t, struct aif_cl_queue *q);
void aif_cl_kernel_define(struct aif_thread *t, struct aif_cl_kernel *k);

/* ---- clock ----------------------------------------------------------------------------------- */

/* Finds out which clock the device's events carry, with three commands in a queue of our own. */
uint32_t aif_cl_clock_probe(void *context, void *device);
/* Clock pairs of the devices that have a timer, each second. */
void aif_cl_clock_tick(struct aif_thread *t, uint64_t now);
/* Writes the clock pair that a launch brings, for devices without a timer, when one is due. */
void aif_cl_clock_pair(struct aif_thread *t, const struct aif_cl_pending *p);
/* The time now by the clock of a device that has one of the host's. */
uint64_t aif_cl_clock_now(const struct aif_cl_device *d);
bool aif_cl_clock_pair_wanted(const struct aif_cl_device *d, uint64_t now);

/* ---- pending --------------------------------------------------------------------------------- */

int aif_cl_pool_init(struct aif_cl_pool *pool);
struct aif_cl_pending *aif_cl_pending_new(void); /* NULL: none left */
void aif_cl_pending_free(struct aif_cl_pending *p);
/* Counts one of its callbacks as done, or as never to come: frees it after the last. */
void aif_cl_pending_put(struct aif_cl_pending *p);
/* The event callback: `data` is the pending command. Gives up our reference of the event. */
void aif_cl_pending_ended(void *event, int32_t status, void *data);
/* The same for RUNNING, of a queue `by_host`. */
void aif_cl_pending_runs(void *event, int32_t status, void *data);
void aif_cl_pending_tick(struct aif_thread *t);
/* Returns the number of commands that the application has waited for and whose end is not reported yet; exact when
 * nothing else happens. */
uint32_t aif_cl_pending_awaited(void);

/* ---- replaced functions ---------------------------------------------------------------------- */

void aif_cl_queues_install(struct aif_cl_dispatch *layer);
void aif_cl_programs_install(struct aif_cl_dispatch *layer);
void aif_cl_memory_install(struct aif_cl_dispatch *layer);
void aif_cl_commands_install(struct aif_cl_dispatch *layer);
