/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/capture.h"
#include "agent/emit.h"
#include "agent/handles.h"
#include "agent/level_zero/level_zero_metrics.h"
#include "agent/level_zero/level_zero_translate.h"
#include "agent/memory.h"
#include "agent/runtime.h"
#include "agent/wait.h"

/*
 * Intel's Level Zero, by way of its loader's tracing layer: callbacks before (prologue) and after (epilogue) each
 * call, on the calling thread. What a callback calls itself is not traced again.
 *
 *     level_zero_enter.c    how we come in: the application's zeInit(), linked or found by dlsym()
 *     level_zero.c          the life of it: the tracer, ticks, the end
 *     level_zero_calls.c    which calls are traced, and by whom
 *     level_zero_launch.c   what is appended to command lists: LAUNCH records
 *     level_zero_lists.c    command lists and queues: when what was appended is executed
 *     level_zero_pending.c  from there to its end: EXEC records
 *     level_zero_events.c   events that carry times: ours, and the application's
 *     level_zero_modules.c  modules and kernels: native code, names, addresses
 *     level_zero_objects.c  devices, contexts, streams; their clocks
 *     level_zero_metrics.c  the metrics streamer: samples that the device takes of itself (level_zero_metrics.h)
 *     level_zero_translate.c, level_zero_samples.c  pure
 *
 * A launch is told where it is appended. On an immediate list it then runs once. A regular list is executed as
 * often as the application likes: its launches are the same ones each time, with one execution more. What was
 * appended before anybody recorded is told when the list is executed, with the stack of that call.
 *
 * Times come from events, which the device fills. A command without one gets one of ours; where the
 * application gives one it stays, and its pool is made with times, which changes nothing else of it. Nobody
 * waits for an event: the helper asks after them (turn), and whoever is about to reset, destroy or reuse one.
 *
 * Threads. An append takes a command and an event from lock-free stacks and puts a command for the helper on
 * another. All else is under `lock`: what happens once per list, per module, or per execution of a list.
 */

struct aif_ze_device {
	struct aif_emit_device desc;
	void *handle, *driver;
	void *root; /* the whole device's handle, where this is a part of one; else its own */
	_Atomic uint32_t told;
	uint32_t kernel_bits, bits; /* of its times, of its clock; 64: they do not come around */
	uint64_t hertz;
	/* Of its clock, extended to 64 bits; and when that was read. */
	_Atomic uint64_t last, last_ns;
	uint32_t streams;
	struct aif_ze_device *next;
};

struct aif_ze_stream {
	uint32_t id, ordinal;
	struct aif_ze_device *device;
	bool out_of_order;
	_Atomic uint32_t told;
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

struct aif_ze_context {
	void *handle;
	struct aif_ze_stack free;
	bool refused; /* it makes no events for us */
	bool gone;
	void *pools[64];
	uint32_t pools_len;
	uint32_t first[64]; /* of a pool's events: index */
};
#define AIF_ZE_POOL_EVENTS 1024
#define AIF_ZE_POOLS_MAX   64
#define AIF_ZE_EVENTS_MAX \
	(AIF_ZE_POOLS_MAX * AIF_ZE_POOL_EVENTS) /* 24 bytes each, beside the driver's */

/* An event of the application's. */
struct aif_ze_app_event {
	bool timed;
	_Atomic(struct aif_ze_command *) command; /* whose end it will tell */
	struct aif_ze_app_event *next;            /* free */
};

/* Of a command with an event of the application's: the driver may signal it before its call returns, and another
 * thread wait for it, reset it, use it again or destroy it. */
enum aif_ze_calling {
	AIF_ZE_CALL_OVER,
	AIF_ZE_CALLING,
	/* Its event was about to be lost meanwhile: there were no times yet, or they are in `early`. */
	AIF_ZE_CALLING_LOST,
	AIF_ZE_CALLING_EARLY,
	AIF_ZE_CALL_OVER_LOST, /* the same, after the call */
	AIF_ZE_CALL_OVER_EARLY,
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
	struct aif_ze_stream *stream; /* that executes it */
	uint64_t last_start;          /* of its last execution, as the event told it */
	uint32_t
		more; /* executions that were begun while one was awaited, and have not been told */
	bool once;    /* on an immediate list */
	bool left_out;       /* by the budget */
	bool chained, over;  /* among those that are awaited; not any more, but for this */
	bool gone;           /* its list has forgotten it */
	bool executed, told; /* of a regular list: ever; and an execution of it told */
};
#define AIF_ZE_COMMANDS_MAX (1u << 17) /* 26 MiB of address space */

struct aif_ze_list {
	void *handle;
	struct aif_ze_context *context;
	struct aif_ze_device *device;
	struct aif_ze_stream *stream; /* of an immediate list */
	struct aif_ze_command *commands, *last;
	uint64_t untracked;       /* commands that could not be remembered */
	struct aif_ze_list *next; /* free */
};

struct aif_ze_kernel {
	uint32_t id;
	struct aif_ze_module *module;
	_Atomic uint32_t told;
	char *name;
	uint64_t address, size, since; /* where its code lies; address 0 = not known */
	uint32_t place_told;           /* session in which its place was told */
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
	_Atomic uint32_t told;
	struct aif_ze_kernel *kernels;
	struct aif_ze_module *next;
};

/* A kernel as the application has it. */
struct aif_ze_handle {
	struct aif_ze_kernel *kernel;
	_Atomic uint32_t group[3];
	struct aif_ze_handle *next; /* free */
};

/* A place that is no more, to be told. */
struct aif_ze_gone {
	uint32_t code, device, generation;
	uint64_t time, address;
};
#define AIF_ZE_GONE_MAX 256

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

	pthread_mutex_t lock;              /* of all below */
	bool pool_taken[AIF_ZE_POOLS_MAX]; /* its place in `events` */
	struct aif_arena arena;
	struct aif_ze_device *devices;
	uint32_t devices_len, streams_len, modules_len, kernels_len;
	struct aif_handles contexts, queues, lists, pools, app_events, modules, kernels;
	struct aif_ze_module *all_modules;
	struct aif_ze_list *free_lists;
	struct aif_ze_handle *free_handles;
	struct aif_ze_app_event *free_app_events;
	struct aif_ze_command *awaited;
	struct aif_ze_gone gone[AIF_ZE_GONE_MAX];
	uint32_t gone_len;
	struct {
		void *driver;
		uint32_t (*base_address)(void *kernel, uint64_t *ret);
	} drivers[AIF_ZE_DRIVERS];
	uint32_t drivers_len;
	/* Yet untold: launches without times; executions of lists without; uses of lists that are not known. */
	_Atomic uint64_t timeless, timeless_runs, unknown;
	uint64_t pair_ns; /* when clocks were last compared, */
	uint32_t pairs;   /* and how often */
	uint32_t refused; /* the session that was told that we have no tracer */
	struct aif_ze_metrics metrics;
};

#define L0 (atomic_load_explicit(&aif_agent.level_zero, memory_order_acquire))

/* ---- life ------------------------------------------------------------------------------------ */

/* The loader has been initialised; `function` is one of its functions. Errno may change. */
void aif_ze_begin(void *function);

/* ---- calls ----------------------------------------------------------------------------------- */

/* Tells the tracer of all that we listen to. 0 or Level Zero's error. */
uint32_t aif_ze_calls_register(struct aif_level_zero *l0);
/* Where the application's calls arrive (aif_emit_api). */
void aif_ze_calls_find(struct aif_level_zero *l0);

/* What a callback gets. `a`: pointers to the arguments. */
struct aif_ze_call {
	struct aif_level_zero *l0;
	void **a;
	uint32_t result; /* of an epilogue */
	void **instance; /* shared by the two callbacks of a call, NULL before */
	const struct aif_regs *regs;
	const struct aif_emit_api *api;
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
/* A barrier is no work of the device's: the call is told, with where it was made. Around it. */
void aif_ze_barrier_begins(const struct aif_ze_call *c);
void aif_ze_barrier_ends(const struct aif_ze_call *c, const char *name);

/* Of a launch that was left until now: with the stack of `regs`. */
void aif_ze_launch_late(struct aif_thread *t, struct aif_ze_command *c, const struct aif_regs *regs,
			const struct aif_emit_api *api, uint64_t now);

/* ---- lists: epilogues, if not said otherwise ------------------------------------------------- */

void aif_ze_list_created(const struct aif_ze_call *c, bool immediate);
void aif_ze_list_goes(const struct aif_ze_call *c); /* destroyed: a prologue */
void aif_ze_list_gone(const struct aif_ze_call *c);
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
/* It was launched, on an immediate list. The command is not the caller's any more. */
void aif_ze_command_launched(struct aif_level_zero *l0, struct aif_ze_command *c);
/* It was appended to a regular list. */
void aif_ze_command_appended(struct aif_ze_command *c);
/* Under `lock`, as all that follow. It is executed once more. */
void aif_ze_await(struct aif_level_zero *l0, struct aif_ze_command *c);
/* The list forgets it, and its event. */
void aif_ze_command_goes(struct aif_level_zero *l0, struct aif_ze_command *c);
/* The same before its call has returned. False: it has. */
bool aif_ze_early_look(struct aif_level_zero *l0, struct aif_ze_command *c, void *event,
		       bool keeps);
/* What its event tells now is lost afterwards. `keeps`: not the event. */
void aif_ze_last_look(struct aif_level_zero *l0, struct aif_ze_command *c, bool keeps);
/* Tells what has ended. How many are still awaited. */
uint32_t aif_ze_ask(struct aif_level_zero *l0);
/* The process exits: counts executions that no event has told of, where others of their list were begun meanwhile. */
void aif_ze_last_count(struct aif_level_zero *l0);
/* An immediate list goes. */
void aif_ze_stream_goes(struct aif_level_zero *l0, const struct aif_ze_stream *s);
/* A context goes, with our events: no command has one of them any more. */
void aif_ze_context_ask(struct aif_level_zero *l0, const struct aif_ze_context *context);

/* ---- events ---------------------------------------------------------------------------------- */

void aif_ze_push(struct aif_ze_stack *s, _Atomic uint32_t *next, uint32_t index);
/* index, or AIF_WIRE_NONE. `base`, `size`, `next`: how an index leads to a `next`. */
uint32_t aif_ze_pop(struct aif_ze_stack *s, void *base, size_t size, size_t next);

/* One of ours, not signalled. NULL: none. */
struct aif_ze_event *aif_ze_event_new(struct aif_level_zero *l0, struct aif_ze_context *context);
void aif_ze_event_free(struct aif_level_zero *l0, struct aif_ze_event *e);
/* NULL: not known, or one that carries no times. */
struct aif_ze_app_event *aif_ze_app_event_get(struct aif_level_zero *l0, void *event);
/* It is about to be reset; or, if it does not keep its command, to be used by another or destroyed. */
void aif_ze_app_event_goes(struct aif_level_zero *l0, void *event, bool keeps);
void aif_ze_pool_creates(const struct aif_ze_call *c); /* a prologue */
void aif_ze_pool_created(const struct aif_ze_call *c);
void aif_ze_app_event_created(const struct aif_ze_call *c);
void aif_ze_app_event_destroys(const struct aif_ze_call *c); /* a prologue */

/* ---- modules --------------------------------------------------------------------------------- */

void aif_ze_module_created(const struct aif_ze_call *c);
void aif_ze_module_destroys(const struct aif_ze_call *c); /* a prologue */
void aif_ze_kernel_created(const struct aif_ze_call *c);
void aif_ze_kernel_destroys(const struct aif_ze_call *c); /* a prologue */
void aif_ze_group_size(const struct aif_ze_call *c);
struct aif_ze_handle *aif_ze_kernel_get(struct aif_level_zero *l0, void *kernel);
/* One that stands for several. NULL: no memory. */
struct aif_ze_kernel *aif_ze_kernel_of_several(struct aif_level_zero *l0, void *const *kernels,
					       uint32_t n);
/* Its id, told. */
uint32_t aif_ze_kernel_tell(struct aif_level_zero *l0, struct aif_thread *t,
			    struct aif_ze_kernel *k);
/* Under `lock`. */
void aif_ze_gone_tell(struct aif_level_zero *l0, struct aif_thread *t);

/* ---- objects --------------------------------------------------------------------------------- */

/* Under `lock`, as all that make something. All drivers' devices. */
void aif_ze_devices_find(struct aif_level_zero *l0);
struct aif_ze_device *aif_ze_device_get(struct aif_level_zero *l0, void *device);
struct aif_ze_context *aif_ze_context_get(struct aif_level_zero *l0, void *context);
void aif_ze_context_goes(const struct aif_ze_call *c); /* destroyed: a prologue */
struct aif_ze_stream *aif_ze_stream_new(struct aif_level_zero *l0, struct aif_ze_device *d,
					bool out_of_order);
/* The recorder knows it afterwards, if the ring had room. */
void aif_ze_device_tell_locked(struct aif_level_zero *l0, struct aif_thread *t,
			       struct aif_ze_device *d);
void aif_ze_stream_tell(struct aif_level_zero *l0, struct aif_thread *t, struct aif_ze_stream *s);
/* About what its clock shows now, ticks. */
uint64_t aif_ze_device_now(struct aif_ze_device *d);
/* Pairs of clocks, when they are due; or now. */
void aif_ze_clock_tick(struct aif_level_zero *l0, struct aif_thread *t, uint64_t now, bool due);
