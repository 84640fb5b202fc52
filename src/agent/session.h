/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/unwind.h"
#include "wire/handshake.h"

#include <stdatomic.h>

/*
 * The connection to the recorder: none until the first accelerator runtime starts, then shared memory
 * and a helper thread; no descriptor.
 *
 * "Armed" is the word that every entry of the agent tests first (aif_thread_enter). It lies alone on a
 * page that a fork wipes (MADV_WIPEONFORK; before Linux 4.14 a fork handler does it), because the
 * rings are not there in a child (MADV_DONTFORK). It is also what the helper clears when the recorder
 * has been silent for 2 s or says stop, and sets when it is back.
 *
 * Fork. A child that never uses the runtime does nothing. One that does finds the page wiped at its
 * first call of any hooked function and then asks the recorder for a memory of its own, at once and in
 * that call. That is one wait of about a millisecond, bounded by 100 ms, once in a child's life; in
 * return not a single launch of the child is lost. A helper thread could do it in the background, but
 * then what the child launches first, often all that it launches, would be lost, and the thread has
 * to be made in that call anyway.
 */

struct aif_runtime;

/* From the environment, read once by the constructor. */
struct aif_environment {
	bool carrier; /* the variables are there and we are the copy that acts on them */
	char socket[108];
	char token[AIF_TOKEN_LEN];
	char runtime[16]; /* the only one to listen to; "" = all */
};

/* generation: 0 = nothing yet, or a fork has wiped the page. */
#define AIF_GENERATION_LOST UINT32_MAX /* a child that the recorder did not take */

struct aif_armed {
	_Atomic uint32_t
		generation;  /* counts attachments: what was told to an older one is untold */
	_Atomic uint32_t on; /* collect */
	_Atomic uint32_t attaching; /* one thread is at it */
	_Atomic uint32_t recorder_alive;
};

struct aif_session {
	struct aif_armed *armed; /* NULL until the first runtime starts */
	atomic_bool starting;
	uint32_t generation; /* outlives forks */
	uint32_t runtimes;   /* bit i: aif_runtimes[i] has started */
	/* Constant within a generation. Sizes are our own copies. */
	struct aif_shm *shm;
	uint32_t slots;
	uint64_t ring_size;
	uint32_t options, device_rate;
	int python_reason; /* that was told */
	struct aif_unwinder *unwinder;
	_Atomic uint64_t refreshed_ns;  /* when a launch last refreshed the unwinder */
	_Atomic uint64_t before_attach; /* launches while there was no memory */
};

/* A runtime has initialised: meets the recorder if that has not happened. Waits up to 1 s. 0, -ENOENT
 * (no recorder wanted) or -errno. */
int aif_session_start(const struct aif_runtime *runtime);

/* Called where an entry finds the agent not armed: after a fork, meets the recorder again. True when
 * armed afterwards. */
bool aif_session_rearm(void);

/* Should new objects be made so that they can be measured? False when the recorder is gone. After a
 * fork it meets the recorder again, as an entry would. */
bool aif_session_wanted(void);

/* Modules came or went. */
void aif_session_modules_changed(void);

/* The same, wanted by a launch that met unknown code: does nothing if done in the last 100 ms. True if
 * it was done. */
bool aif_session_refresh(uint64_t now);
