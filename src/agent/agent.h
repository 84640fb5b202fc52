/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/announce.h"
#include "agent/budget.h"
#include "agent/cpu.h"
#include "agent/sampling.h"
#include "agent/session.h"
#include "agent/thread.h"

/*
 * The agent: a library inside somebody else's process. LD_PRELOAD brings it into every child of
 * `aiflame record`; where no accelerator runtime starts it says one hello and is never heard of again.
 * OPENCL_LAYERS names the same file: then it is also a layer between application and OpenCL driver
 * (opencl/opencl.c).
 *
 * A guest's manners: it may fail, but never exits, throws, waits on a launch path, takes memory from
 * the target's malloc, or changes a result. What cannot be kept is counted.
 *
 * How to add a runtime: runtime.h.
 */

/* The one mutable global. */
struct aif_agent {
	void *real_dlsym;           /* the C library's; first, for level_zero/level_zero_dlsym.S */
	struct aif_environment env; /* constant after the constructor */
	_Atomic(int (*)(void *)) real_dlclose;
	struct aif_session session;
	struct aif_budget budget;
	struct aif_python *python; /* with the session's unwinder */
	struct aif_threads threads;
	struct aif_sampler sampler;
	atomic_bool leaves_early, left;
	struct aif_cpu cpu;
	_Atomic uint64_t steps_begun;        /* by the program (program.c) */
	_Atomic uint64_t objects_bytes;      /* objects.h: left for this recorder so far */
	_Atomic(struct aif_opencl *) opencl; /* opencl/opencl.h; NULL until the loader calls */
	_Atomic(struct aif_cuda *) cuda;     /* cuda/cuda.h; NULL until the driver starts */
	_Atomic(struct aif_level_zero *)
		level_zero;   /* level_zero/level_zero.h; NULL until it starts */
	atomic_bool ze_begun; /* level_zero/level_zero.c */
	/* The loader's zeInit(), zeInitDrivers(), as we have met them. */
	_Atomic(void *) ze_init[2];
	_Atomic(struct aif_fake *) fake; /* fake/fake.c; NULL until the fake runtime starts */
};

extern struct aif_agent aif_agent;

/* A runtime's driver is loaded: what the agent does at exit is to be done before the driver's own exit. Not
 * on a launch path. */
void aif_agent_leave_before_driver(void);
/* The same, each time it is called: a library may register more handlers, and destructors of objects that it makes when
 * they are first needed, after the driver was loaded. The work is done once. Not more than a few times. */
void aif_agent_leave_first(void);
