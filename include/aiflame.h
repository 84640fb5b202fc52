/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tells aiflame from inside a program which part of its work it is in (ranges), where its loop begins anew (steps), and
 * when it wants to be recorded. C and C++, this header alone: nothing is linked. In a process that does not carry
 * aiflame's agent (`aiflame record`, `aiflame env`) each call is one comparison; where nobody records, some
 * nanoseconds; else a record of 32 bytes and the name, in the calling thread.
 *
 *     aiflame_range_begin("prefill");
 *     ...
 *     aiflame_range_end();
 *
 *     for (;;) {
 *         aiflame_step();
 *         ...
 *     }
 *
 * Ranges of a thread nest. They and the steps are rows of `ops` in `aiflame query`. Every function may be called at any time, by any thread,
 * and fails in silence: a program is never stopped by being watched.
 *
 * The program must be linked dynamically, by a linker that lets weak functions be undefined: all for Linux do.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	AIFLAME_RANGE_BEGIN = 1,
	AIFLAME_RANGE_END = 2,
	AIFLAME_STEP = 3,
	AIFLAME_STEPS_END = 4,
	AIFLAME_START = 5,
	AIFLAME_PAUSE = 6,
	AIFLAME_RECORDING = 7,
	AIFLAME_JOIN = 8,
};

/* Entry point of the agent that the functions below call. `name` is UTF-8, terminated, or NULL; its first 1,000 bytes
 * are kept. Returns -38 (-ENOSYS) for a `what` that the agent does not know. */
__attribute__((weak)) int aiflame_call(uint32_t what, const char *name);

static inline int aiflame_tell(uint32_t what, const char *name)
{
	return aiflame_call ? aiflame_call(what, name) : -38;
}

/* The calling thread is in a part of its work with this name, until the matching end. */
static inline void aiflame_range_begin(const char *name)
{
	aiflame_tell(AIFLAME_RANGE_BEGIN, name);
}
static inline void aiflame_range_end(void)
{
	aiflame_tell(AIFLAME_RANGE_END, 0);
}

/* A step begins here, and the one before is over. Steps are counted from 0 in each process: `aiflame record --steps A:B`
 * records those from A up to B - 1. By one thread of a process. */
static inline void aiflame_step(void)
{
	aiflame_tell(AIFLAME_STEP, 0);
}
/* The last step is over, and no other begins. */
static inline void aiflame_steps_end(void)
{
	aiflame_tell(AIFLAME_STEPS_END, 0);
}

/* Starts and pauses collecting like `aiflame ctl start` and `ctl pause`, for whoever records this process now, with all
 * its processes; takes effect within milliseconds. Waits for the recorder's answer, a second at most. Returns 0, or
 * -errno: -3 (-ESRCH) when nobody records. */
static inline int aiflame_start(void)
{
	return aiflame_tell(AIFLAME_START, 0);
}
static inline int aiflame_pause(void)
{
	return aiflame_tell(AIFLAME_PAUSE, 0);
}

/* 1 while what this process does is collected, 0 while it is not; -11 (-EAGAIN): no accelerator runtime has started in it, before
 * which nothing is; -38 without the agent. */
static inline int aiflame_recording(void)
{
	return aiflame_tell(AIFLAME_RECORDING, 0);
}

/* Makes a process recordable that has used no accelerator yet, and may never use one: from here on it is on standby, as others are
 * once a runtime has started. Waits up to a second. Returns 0, or -errno. */
static inline int aiflame_join(void)
{
	return aiflame_tell(AIFLAME_JOIN, 0);
}

#ifdef __cplusplus
}
#endif
