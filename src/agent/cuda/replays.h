/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/agent.h"
#include "agent/cuda/translate.h"

/*
 * Executions that name their graph, but no call: those in the bodies of conditional nodes. They are held until the records
 * of the same replay have been read, and given to the replay of their graph in which they ran.
 */

struct aif_cuda;
struct aif_cuda_kernel;
struct aif_cuda_replays;

/* Called when an execution's launch is found: AIF_CUDA_NOT_CAPTURED and AIF_CUDA_CONFUSED, too. */
typedef void aif_cuda_body_fn(struct aif_cuda *cuda, struct aif_thread *t,
			      const struct aif_cuda_record *r, struct aif_cuda_kernel *k,
			      uint64_t launch);

/* NULL: no memory. Lives as long as the process. */
struct aif_cuda_replays *aif_cuda_replays_new(void);
/* A launching thread replays graph number `graph`: at `called`, ns of CUPTI's clock, as launch `launch`. */
void aif_cuda_replay_called(struct aif_cuda_replays *p, uint32_t graph, uint32_t correlation,
			    uint64_t launch, uint64_t called);
/* An execution of a graph with a call: tells when the replay began on its device. */
void aif_cuda_replay_ran(struct aif_cuda_replays *p, const struct aif_cuda_record *r);
/* Keeps an execution without a call. k: its kernel, NULL = none. False: there are too many. */
bool aif_cuda_replay_hold(struct aif_cuda_replays *p, const struct aif_cuda_record *r,
			  struct aif_cuda_kernel *k);
/* All buffers that were complete have been read. Finds the launches of what was held before the last such time; of everything
 * with `last`. Returns the number of executions for which there is none. */
uint64_t aif_cuda_replays_settle(struct aif_cuda *cuda, struct aif_thread *t, bool last,
				 aif_cuda_body_fn *found);
