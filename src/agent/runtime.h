/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * The seam for accelerator runtimes. An adapter is a folder: X.c talks to the vendor, X_translate.c is
 * pure. To add one:
 *
 *   1. copy fake/ (the smallest complete one), give it a struct here and a line in runtime.c;
 *   2. call aif_session_start(&aif_runtime_X) where the vendor's library initialises;
 *   3. at each of the vendor's callbacks: t = aif_thread_enter(), leave if NULL, speak through emit.h,
 *      aif_thread_leave(t). The rules are in thread.h;
 *   4. define ids (devices, streams, kernels) lazily, at the launch that needs them, whenever
 *      `told` differs from t->generation: so a definition that found the ring full is made again,
 *      and a forked child defines everything anew for its own recording.
 */
struct aif_runtime {
	const char *name; /* at most 15 bytes */
	/* What capturing one launch costs at most, the vendor's tracing included: until the budget has
	 * measured it (budget.h). */
	uint64_t bound_ns;
	/* All optional. */
	void (*collect)(bool on);   /* helper thread; also when nothing has changed */
	void (*tick)(uint64_t now); /* helper thread, each 250 ms while collecting */
	/* Helper thread, after collect(false): the recorder has gone for good. Nothing of the vendor's tracing should
	 * cost any more. Another recorder may come: then collect(true) follows. Also when it was said before. */
	void (*over)(void);
	/* Helper thread: does what is due, and says when there is more to do; UINT64_MAX: never. */
	uint64_t (*turn)(uint64_t now);
	/* The process calls exit(), whether we collect or not, before leave(): the helper asks nothing of the vendor any
	 * more, whose library may be gone in a moment. Waits for 0.1 s at most. */
	void (*exits)(void);
	void (*leave)(void);  /* the process calls exit(): what is cheap; the vendor may be gone */
	void (*forked)(void); /* in a child, before its new session: locks may be held by nobody */
};

extern const struct aif_runtime aif_runtime_opencl;
extern const struct aif_runtime aif_runtime_cuda;
extern const struct aif_runtime aif_runtime_level_zero;
extern const struct aif_runtime aif_runtime_fake;
extern const struct aif_runtime *const aif_runtimes[]; /* NULL-terminated, at most 32 */
