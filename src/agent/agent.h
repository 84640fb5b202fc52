/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/announce.h"
#include "agent/births.h"
#include "agent/budget.h"
#include "agent/cpu.h"
#include "agent/forward.h"
#include "agent/loader.h"
#include "agent/own_threads.h"
#include "agent/runtime.h"
#include "agent/sampling.h"
#include "agent/session.h"
#include "agent/thread.h"
#include "wire/injected.h"

/*
 * The agent: a library inside somebody else's process. LD_PRELOAD brings it into every child of
 * `aiflame record`; where no accelerator runtime starts it says one hello and is never heard of again, but for --children (children.h).
 * OPENCL_LAYERS names the same file: then it is also a layer between application and OpenCL driver
 * (opencl/opencl.c).
 *
 * A guest's manners: it may fail, but never exits, throws, waits on a launch path, takes memory from
 * the target's malloc, or changes a result. What cannot be kept is counted.
 *
 * How to add a runtime: runtime.h.
 */

struct aif_mpi;
struct aif_nvtx;

/* The one mutable global. */
struct aif_agent {
	void *real_dlsym;           /* the C library's; first, for level_zero/dlsym.S */
	struct aif_environment env; /* constant after the constructor */
	_Atomic(int (*)(void *)) real_dlclose;
	struct aif_loader loader; /* constant after the constructor */
	struct aif_own_threads own;
	struct aif_births births;
	struct aif_session session;
	struct aif_budget budget;
	struct aif_python *python; /* with the session's unwinder */
	struct aif_threads threads;
	struct aif_sampler sampler;
	atomic_bool leaves_early, left;
	struct aif_cpu cpu;
	struct aif_forward forward;
	_Atomic uint64_t steps_begun;    /* by the program (program.c) */
	_Atomic(struct aif_nvtx *) nvtx; /* nvtx/ranges.h; NULL: no library has called NVTX */
	_Atomic(struct aif_mpi *) mpi;   /* mpi/mpi.h; NULL: MPI has not been called */
	_Atomic uint64_t objects_bytes;  /* objects.h: left for this recorder so far */
	struct aif_runtime_slot runtime[AIF_RUNTIMES];
};

extern struct aif_agent aif_agent;

/* The state of a runtime, of type `struct type *`, or NULL. */
#define AIF_RUNTIME_STATE(id, type)                                                        \
	((struct type *)atomic_load_explicit(&aif_agent.runtime[AIF_RUNTIME_ID(id)].state, \
					     memory_order_acquire))

/* A runtime has initialised: meets the recorder if that has not happened. Waits up to 1 s. 0 (also on
 * standby), -ENOENT (no recorder wanted) or -errno. */
int aif_agent_start(enum aif_runtime_id runtime);

/* The same without a runtime, for CPU samples (children.h). Waits up to 1 s. */
int aif_agent_start_without_device(void);

/* Reads clocks by system calls from now on if another library's function stands before the C library's. */
void aif_agent_choose_clock(void);

/* Puts a process that ran already on standby: injected.c. */
AIF_PUBLIC aif_injected_fn aif_agent_injected;

/* Helper thread: starts the runtimes that the program uses, in a process that the agent was put into while it ran. */
void aif_injected_start_runtimes(void);

/* A runtime's driver is loaded: what the agent does at exit is to be done before the driver's own exit. Not
 * on a launch path. */
void aif_agent_leave_before_driver(void);
/* The same, each time it is called: a library may register more handlers, and destructors of objects that it makes when
 * they are first needed, after the driver was loaded. The work is done once. Not more than a few times. */
void aif_agent_leave_first(void);
