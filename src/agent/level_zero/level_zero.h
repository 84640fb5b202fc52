/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/calls/host_call.h"
#include "agent/capture.h"
#include "agent/emit.h"
#include "agent/memory/handles.h"
#include "agent/level_zero/metrics.h"
#include "agent/level_zero/queries.h"
#include "agent/level_zero/translate.h"
#include "agent/memory/pages.h"
#include "agent/runtime.h"
#include "agent/wait.h"

/*
 * Intel's Level Zero, by way of its loader's tracing layer: callbacks before (prologue) and after (epilogue) each
 * call, on the calling thread. What a callback calls itself is not traced again.
 *
 *     enter.c    how we come in: the application's zeInit(), linked or found by dlsym()
 *     level_zero.c          the life of it: the tracer, ticks, the end
 *     calls.c    which calls are traced, and by whom
 *     launch.c   what is appended to command lists: LAUNCH records
 *     lists.c    command lists and queues: when what was appended is executed
 *     pending.c  from there to its end: EXEC records
 *     events.c   events that carry times: the application's; event_pools.c: ours
 *     stack.c    lock-free stacks of indices
 *     modules.c  modules and kernels: native code, names, addresses
 *     objects.c  devices, contexts, streams; their clocks
 *     memory.c   allocations: MEMORY records
 *     metrics.c  the metrics streamer: samples that the device takes of itself (metrics.h)
 *     translate.c, samples.c  pure
 *
 * A launch is written where it is appended. On an immediate list it then runs once. A regular list is executed as
 * often as the application likes: its launches are the same ones each time, with one execution more. What was
 * appended before anybody recorded is written when the list is executed, with the stack of that call.
 *
 * Times come from events, which the device fills. A command without one gets one of ours; where the
 * application gives one it stays, and its pool is made with times, which changes nothing else of it. Nobody
 * waits for an event: the helper asks after them (poll), and whoever is about to reset, destroy or reuse one.
 *
 * Threads. An append takes a command and an event from lock-free stacks and puts a command for the helper on
 * another. All else is under `lock`: what happens once per list, per module, or per execution of a list.
 */

struct aif_ze_device {
	struct aif_emit_device desc;
	void *handle, *driver;
	void *root; /* the whole device's handle, where this is a part of one; else its own */
	_Atomic uint32_t defined_gen;
	uint32_t kernel_bits, bits; /* of its times, of its clock; 64: they do not come around */
	uint64_t hertz;
	/* Last reading of the device's clock, extended to 64 bits, and when it was read. */
	_Atomic uint64_t last, last_ns;
	uint32_t streams;
	struct aif_ze_device *next;
};

struct aif_ze_stream {
	uint32_t id, ordinal;
	struct aif_ze_device *device;
	bool out_of_order;
	_Atomic uint32_t defined_gen;
};

/* An event that the device fills with times. */
struct aif_ze_event {
	_Atomic uint32_t next; /* in a stack: index + 1, 0 = end */
	void *handle;
	struct aif_ze_context *context;
};

struct aif_ze_stack {
	_Atomic uint64_t head; /* change count << 32 | index + 1 */
};

#define AIF_ZE_POOL_EVENTS 1024
#define AIF_ZE_POOLS_MAX   64
struct aif_ze_context {
	void *handle;
	struct aif_ze_stack free;
	bool refused; /* its driver makes no events for the agent */
	bool destroyed;
	void *pools[AIF_ZE_POOLS_MAX];
	uint32_t pools_len;
	uint32_t first[AIF_ZE_POOLS_MAX]; /* of a pool's events: index */
};
#define AIF_ZE_EVENTS_MAX \
	(AIF_ZE_POOLS_MAX * AIF_ZE_POOL_EVENTS) /* 24 bytes each, beside the driver's */

/* An event of the application's. */
struct aif_ze_app_event {
	_Atomic(struct aif_ze_command *) command; /* whose end it will tell */
	struct aif_ze_app_event *next;            /* free */
};

/* State of a command that signals an event of the application's: the driver may signal the event before the call
 * returns, and another thread wait for it, reset it, use it again or destroy it. */
enum aif_ze_calling {
	AIF_ZE_CALL_RETURNED,
	AIF_ZE_CALLING,
	/* The event was taken away during the call: it had no times yet, or they are in `early`. */
	AIF_ZE_CALLING_LOST,
	AIF_ZE_CALLING_EARLY,
	AIF_ZE_CALL_RETURNED_LOST, /* the same, after the call */
	AIF_ZE_CALL_RETURNED_EARLY,
};

/* Something appended to a list. */
struct aif_ze_command {
	_Atomic uint32_t next;        /* in a stack: index + 1, 0 = end */
	uint32_t generation;          /* in which `launch` is a launch; 0 = in none */
	struct aif_ze_command *down;  /* in its list */
	struct aif_ze_command *later; /* among those that are awaited */
	uint64_t launch, bytes;
	enum aif_emit_kind kind;
	struct aif_ze_kernel *kernel; /* or NULL */
	struct aif_emit_shape shape;
	struct aif_ze_event *event;   /* ours, or NULL */
	struct aif_ze_app_event *app; /* the application's, or NULL */
	void *handle;                 /* of either; NULL: it gives no times */
	_Atomic uint32_t calling;     /* enum aif_ze_calling */
	struct aif_ze_kernel_times early;
	struct aif_ze_query *query;   /* around it, or NULL */
	struct aif_ze_stream *stream; /* that executes it */
	uint64_t last_start;          /* of its last execution, by the event */
	uint64_t
		since; /* ticks; an earlier start is of an execution that nobody awaited; 0 = none was */
	uint32_t more; /* executions that were begun while one was awaited, and are not reported */
	bool once;     /* on an immediate list */
	bool left_out; /* by the budget */
	bool chained, ended;     /* among those that are awaited; not any more, but for this */
	bool forgotten;          /* by its list */
	bool executed, reported; /* of a regular list: ever; and an execution of it reported */
};
#define AIF_ZE_COMMANDS_MAX (1u << 17) /* 26 MiB of address space */

struct aif_ze_list {
	void *handle;
	struct aif_ze_context *context;
	struct aif_ze_device *device;
	struct aif_ze_stream *stream; /* an immediate list's; NULL: the list is a regular one */
	struct aif_ze_query_pool
		*queries; /* its kernels' queries come from it; NULL: not yet known */
	struct aif_ze_command *commands, *last;
	struct aif_ze_list *next; /* free */
};

struct aif_ze_kernel {
	uint32_t id;
	struct aif_ze_module *module;
	_Atomic uint32_t defined_gen;
	char *name;
	uint64_t address, size, since; /* where its code lies; address 0 = not known */
	uint32_t place_defined_gen;    /* session in which its place was written */
	struct aif_ze_kernel *next;
};

/* All modules of the same content are one. */
struct aif_ze_module {
	uint32_t id;
	uint64_t hash; /* of its native code; 0 = not known */
	uint64_t size;
	struct aif_ze_device *device;
	char *flags;
	void *handle;  /* one of those that live; NULL = none */
	uint32_t live; /* modules of the application's */
	uint32_t kept; /* session that has its code */
	_Atomic uint32_t defined_gen;
	struct aif_ze_kernel *kernels;
	struct aif_ze_module *next;
};

/* A kernel as the application has it. */
struct aif_ze_handle {
	struct aif_ze_kernel *kernel;
	_Atomic uint32_t group[3];
	struct aif_ze_handle *next; /* free */
};

/* A place that is no more, to be reported. */
struct aif_ze_unloaded {
	uint32_t code, device, generation;
	uint64_t time, address;
};
#define AIF_ZE_UNLOADED_MAX 256

/* A pool of events that the application is making, with times. */
struct aif_ze_pool_call {
	atomic_bool used;
	struct aif_ze_pool_desc desc;
};

#define AIF_ZE_DRIVERS 8

struct aif_level_zero {
	struct aif_ze_functions api;
	void *library, *tracer;
	bool tracing; /* the tracer is on */
	struct aif_emit_api calls[64];

	struct aif_ze_command *commands; /* AIF_ZE_COMMANDS_MAX */
	_Atomic uint32_t commands_made;
	struct aif_ze_stack free,
		inbox; /* commands; launched and yet unseen by who asks after events */
	struct aif_ze_event *events; /* AIF_ZE_EVENTS_MAX */
	struct aif_ze_pool_call pool_calls[16];

	_Atomic uint64_t pools_taken; /* bits: a pool's place in `events`; changed under `lock` */

	pthread_mutex_t lock; /* of all below */
	struct aif_arena arena;
	struct aif_ze_device *devices;
	uint32_t devices_len, streams_len, modules_len, kernels_len;
	struct aif_handles contexts, queues, lists, pools, app_events, modules, kernels;
	struct aif_ze_module *all_modules;
	struct aif_ze_list *free_lists;
	struct aif_ze_handle *free_handles;
	struct aif_ze_app_event *free_app_events;
	struct aif_ze_command *awaited;
	struct aif_ze_unloaded unloaded[AIF_ZE_UNLOADED_MAX];
	uint32_t unloaded_len;
	struct {
		void *driver;
		uint32_t (*base_address)(void *kernel, uint64_t *ret);
	} drivers[AIF_ZE_DRIVERS];
	uint32_t drivers_len;
	/* Yet unreported: launches without times; executions of lists without; uses of lists that are not known. */
	_Atomic uint64_t timeless, timeless_runs, unknown;
	uint64_t pair_ns; /* when clocks were last compared, */
	uint32_t pairs;   /* and how often */
	uint32_t refused; /* the session that knows that we have no tracer */
	struct aif_ze_metrics metrics;
	struct aif_ze_queries *queries; /* NULL: none yet */
	_Atomic uint64_t queries_lost;  /* yet unreported */
};

#define L0      AIF_RUNTIME_STATE(level_zero, aif_level_zero)
#define L0_SLOT (&aif_agent.runtime[AIF_RUNTIME_ID(level_zero)])

/* ---- life ------------------------------------------------------------------------------------ */

/* The loader has been initialised; `function` is one of its functions. Errno may change. */
void aif_ze_begin(void *function);
/* True if the program exits: the loader's own end may have begun, and only at_exit() calls it. */
static inline bool aif_ze_has_left(void)
{
	return atomic_load(&aif_agent.left);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Tells the tracer of all that we listen to. 0 or Level Zero's error. */
uint32_t aif_ze_calls_register(struct aif_level_zero *l0);
/* Finds the functions that the application's calls arrive at (aif_emit_api). */
void aif_ze_calls_find(struct aif_level_zero *l0);

/* A callback's arguments. `a`: pointers to those of the call. */
struct aif_ze_call {
	struct aif_level_zero *l0;
	void **a;
	uint32_t result; /* of an epilogue */
	void **instance; /* shared by the two callbacks of a call, NULL before */
	const struct aif_regs *regs;
	const struct aif_emit_api *api;
	enum aif_host_call_id id; /* of calls that can hold a thread up */
};
#define AIF_ZE_ARG(call, i, type) (*(type *)(call)->a[i])

/* ---- launch ---------------------------------------------------------------------------------- */

/* A prologue; `shape` of a kernel only. `event` is the argument that names the event. */
struct aif_ze_append {
	void *list;
	void **event;
	enum aif_emit_kind kind;
	struct aif_ze_kernel *kernel;
	struct aif_emit_shape shape;
	uint64_t bytes;
};
void aif_ze_append_begin(const struct aif_ze_call *c, const struct aif_ze_append *a);
void aif_ze_append_end(const struct aif_ze_call *c);
/* Around a barrier, which is no work of the device's: the call is written, with its stack. */
void aif_ze_barrier_begin(const struct aif_ze_call *c);
void aif_ze_barrier_end(const struct aif_ze_call *c, const char *name);

/* Writes a launch that was not written when it was appended, with the stack of `regs`. */
void aif_ze_launch_late(struct aif_thread *t, struct aif_ze_command *c, const struct aif_regs *regs,
			const struct aif_emit_api *api, uint64_t now);

/* ---- lists: epilogues, but for *_begin(): prologues ------------------------------------------------- */

void aif_ze_list_created(const struct aif_ze_call *c, bool immediate);
void aif_ze_list_destroy_begin(const struct aif_ze_call *c);
void aif_ze_list_destroy_end(const struct aif_ze_call *c);
void aif_ze_list_reset(const struct aif_ze_call *c); /* a prologue */
void aif_ze_queue_created(const struct aif_ze_call *c);
void aif_ze_execute_begin(const struct aif_ze_call *c); /* a prologue */
void aif_ze_execute_end(const struct aif_ze_call *c);
/* Regular lists, executed by an immediate one: a prologue. */
void aif_ze_lists_append(const struct aif_ze_call *c);
/* NULL: not known. */
struct aif_ze_list *aif_ze_list_get(struct aif_level_zero *l0, void *list);

/* ---- pending --------------------------------------------------------------------------------- */

struct aif_ze_command *aif_ze_command_new(struct aif_level_zero *l0); /* NULL: none left */
void aif_ze_command_free(struct aif_level_zero *l0, struct aif_ze_command *c);
/* Awaits a command that was launched on an immediate list. The command is not the caller's any
 * more. */
void aif_ze_command_launched(struct aif_level_zero *l0, struct aif_ze_command *c);
/* Ends the call that has appended a command to a regular list. */
void aif_ze_command_appended(struct aif_ze_command *c);
/* Awaits one execution more. `since`: ticks, or 0, before which what the event says is of an execution that nobody
 * awaited. Under `lock`, as all that follow. */
void aif_ze_command_executed(struct aif_level_zero *l0, struct aif_ze_command *c, uint64_t since);
/* Reads its times once more: the list forgets it, and its event. */
void aif_ze_command_forget(struct aif_level_zero *l0, struct aif_ze_command *c);
/* The same before its call has returned. False: it has. */
bool aif_ze_command_read_early(struct aif_level_zero *l0, struct aif_ze_command *c, void *event,
			       bool keeps);
/* Reads its event, whose times are lost afterwards. `keeps`: not the event. */
void aif_ze_command_read_last(struct aif_level_zero *l0, struct aif_ze_command *c, bool keeps);
/* Reports what has ended. */
void aif_ze_pending_poll(struct aif_level_zero *l0);
/* The process exits: counts executions that no event has shown, where others of their list were begun meanwhile. */
void aif_ze_pending_count_lost(struct aif_level_zero *l0);
/* Reads the times of what an immediate list has executed: it is destroyed. */
void aif_ze_stream_settle(struct aif_level_zero *l0, const struct aif_ze_stream *s);
/* Reads the times of commands with our events of a context: it is destroyed, and no command has one any more. */
void aif_ze_context_settle(struct aif_level_zero *l0, const struct aif_ze_context *context);

/* ---- events ---------------------------------------------------------------------------------- */

void aif_ze_push(struct aif_ze_stack *s, _Atomic uint32_t *next, uint32_t index);
/* index, or AIF_WIRE_NONE. `base`, `size`, `next`: how an index leads to a `next`. */
uint32_t aif_ze_pop(struct aif_ze_stack *s, void *base, size_t size, size_t next);

/* Returns an event of the agent's, not signalled, or NULL if none can be had. */
struct aif_ze_event *aif_ze_event_new(struct aif_level_zero *l0, struct aif_ze_context *context);
/* The device is done with it, or never had it. */
void aif_ze_event_free(struct aif_level_zero *l0, struct aif_ze_event *e);
/* Under `lock`: destroys those of a context, which no command has any more. */
void aif_ze_event_pools_destroy(struct aif_level_zero *l0, struct aif_ze_context *c);
/* NULL: not known, or one that carries no times. */
struct aif_ze_app_event *aif_ze_app_event_get(struct aif_level_zero *l0, void *event);
/* Reads its times, before it is reset; or, if it does not keep its command, used by another or destroyed. */
void aif_ze_app_event_reuse(struct aif_level_zero *l0, void *event, bool keeps);
void aif_ze_pool_create_begin(const struct aif_ze_call *c); /* a prologue */
void aif_ze_pool_created(const struct aif_ze_call *c);
void aif_ze_app_event_created(const struct aif_ze_call *c);
void aif_ze_app_event_destroy_begin(const struct aif_ze_call *c); /* a prologue */

/* ---- modules --------------------------------------------------------------------------------- */

void aif_ze_module_created(const struct aif_ze_call *c);
void aif_ze_module_destroy_begin(const struct aif_ze_call *c); /* a prologue */
void aif_ze_kernel_created(const struct aif_ze_call *c);
void aif_ze_kernel_destroy_begin(const struct aif_ze_call *c); /* a prologue */
void aif_ze_group_size(const struct aif_ze_call *c);
struct aif_ze_handle *aif_ze_kernel_get(struct aif_level_zero *l0, void *kernel);
/* Returns a kernel that stands for several. NULL: no memory. */
struct aif_ze_kernel *aif_ze_kernel_of_several(struct aif_level_zero *l0, void *const *kernels,
					       uint32_t n);
/* Returns its id, which is defined in t's ring. */
uint32_t aif_ze_kernel_define(struct aif_level_zero *l0, struct aif_thread *t,
			      struct aif_ze_kernel *k);
/* Under `lock`. */
void aif_ze_unloaded_report(struct aif_level_zero *l0, struct aif_thread *t);

/* ---- memory ---------------------------------------------------------------------------------- */

/* device NULL: the host's memory. at: where the call has left the address. */
void aif_ze_memory_allocated(const struct aif_ze_call *c, void *device, uint64_t bytes,
			     void *const *at);
void aif_ze_memory_free_begin(const struct aif_ze_call *c, const void *at);

/* ---- objects --------------------------------------------------------------------------------- */

/* Under `lock`, as all that make something. All drivers' devices. */
void aif_ze_devices_find(struct aif_level_zero *l0);
struct aif_ze_device *aif_ze_device_get(struct aif_level_zero *l0, void *device);
struct aif_ze_context *aif_ze_context_get(struct aif_level_zero *l0, void *context);
void aif_ze_context_destroy_begin(const struct aif_ze_call *c);
struct aif_ze_stream *aif_ze_stream_new(struct aif_level_zero *l0, struct aif_ze_device *d,
					bool out_of_order);
/* The recorder knows it afterwards, if the ring had room. */
void aif_ze_device_define_locked(struct aif_level_zero *l0, struct aif_thread *t,
				 struct aif_ze_device *d);
void aif_ze_stream_define(struct aif_level_zero *l0, struct aif_thread *t, struct aif_ze_stream *s);
/* Reads a device's clock, ticks. False: it cannot be read. */
bool aif_ze_device_clock(struct aif_level_zero *l0, struct aif_ze_device *d, uint64_t *ret);
/* About what its clock shows now, ticks. */
uint64_t aif_ze_device_now(struct aif_ze_device *d);
/* Pairs of clocks, when they are due; or now. */
void aif_ze_clock_tick(struct aif_level_zero *l0, struct aif_thread *t, uint64_t now, bool due);
