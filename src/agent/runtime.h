/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdatomic.h>

/*
 * The seam for accelerator runtimes. An adapter is a folder X/: X.c talks to the vendor, translate.c is
 * pure. To add one:
 *
 *   1. copy fake/ (the smallest complete one), with its meson.build, and give it a line in runtimes.def;
 *   2. define `const struct aif_runtime aif_runtime_X`, and keep the adapter's state in its slot (agent.h);
 *   3. call aif_agent_start(AIF_RUNTIME_ID(X)) where the vendor's library initialises;
 *   4. at each of the vendor's callbacks: t = aif_thread_enter(), leave if NULL, speak through emit.h,
 *      aif_thread_leave(t). The rules are in thread.h;
 *   5. define ids (devices, streams, kernels) lazily, at the launch that needs them, whenever
 *      `defined_gen` differs from t->generation: so a definition that found the ring full is made again,
 *      and a forked child defines everything anew for its own recording.
 */
struct aif_runtime {
	/* Most that capturing one launch costs, the vendor's tracing included: until the budget has measured it
	 * (budget.h). */
	uint64_t bound_ns;
	/* All optional. */
	/* Helper thread of an agent that was put into a running process, while the runtime has not started here: starts it if
	 * the program uses it already. May be called repeatedly. */
	void (*start_late)(void);
	void (*enable)(bool on);    /* helper thread; also when nothing has changed */
	void (*tick)(uint64_t now); /* helper thread, each 250 ms while collecting */
	/* Helper thread, after enable(false): the recorder has gone for good. Nothing of the vendor's tracing should
	 * cost any more. Another recorder may come: then enable(true) follows. May be called repeatedly. */
	void (*detach)(void);
	/* Helper thread: does what is due. Returns when there is more to do; UINT64_MAX: never. */
	uint64_t (*poll)(uint64_t now);
	/* The process calls exit(), whether we collect or not, before at_exit(): the helper asks nothing of the vendor
	 * any more, whose library may be gone in a moment. Waits for 0.1 s at most. */
	void (*before_exit)(void);
	/* The process calls exit(): does what is cheap; the vendor may be gone. */
	void (*at_exit)(void);
	/* In a child, before its new session: nobody may hold the locks that look taken. */
	void (*after_fork)(void);
};

#define AIF_RUNTIME_ID(id)            AIF_RUNTIME_ID_##id
#define AIF_RUNTIME(id, option, name) AIF_RUNTIME_ID(id),
enum aif_runtime_id {
#include "agent/runtimes.def"
	AIF_RUNTIMES
};
#undef AIF_RUNTIME

#define AIF_RUNTIME(id, option, name) extern const struct aif_runtime aif_runtime_##id;
#include "agent/runtimes.def"
#undef AIF_RUNTIME

/* A runtime's slot in the agent's one struct. */
struct aif_runtime_slot {
	_Atomic(void *) state; /* the runtime's own; NULL until it has started */
	/* Before that: a thread is about to start it; the vendor's functions that the agent stands in front of. */
	atomic_bool begun;
	_Atomic(void *) vendor[2];
	/* The session (its generation) in which start_late() failed last: it is not tried again in that one. */
	uint32_t refused_late;
};

const char *aif_runtime_name(enum aif_runtime_id id);

/* The name of the first runtime that has started; "": none has. */
const char *aif_runtimes_first(void);
/* The greatest bound_ns of those that have started; 0: none has. */
uint64_t aif_runtimes_bound_ns(void);

/* Starts the runtimes that the program uses and that have not started here. */
void aif_runtimes_start_late(void);

/* Each calls the function of that name of all runtimes that have started. */
void aif_runtimes_enable(bool on);
void aif_runtimes_tick(uint64_t now);
void aif_runtimes_detach(void);
uint64_t aif_runtimes_poll(uint64_t now); /* the earliest time that one of them returns */
void aif_runtimes_before_exit(void);
void aif_runtimes_at_exit(void);
void aif_runtimes_after_fork(void);
