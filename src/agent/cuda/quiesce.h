/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdatomic.h>

struct aif_cuda;

#define AIF_CUDA_SHARDS_BITS 6
#define AIF_CUDA_SHARDS      (1u << AIF_CUDA_SHARDS_BITS)

/* Under `switching`, but for the atomics. */
struct aif_cuda_quiesce {
	_Atomic uint64_t owner; /* pthread_self() of the thread that switches; 0 = none */
	_Atomic uint32_t held;  /* threads that wait at the gate */
	_Atomic uint32_t epoch; /* changes when all counts start anew */
	bool counts_self;       /* the thread that switches is itself inside a counted call */
	bool is_settled;        /* all that are inside such a call are counted */
	/* After a try in vain: when the next one may be, and how long that was; 0 = it was not. */
	uint64_t again_at, again_ns;
	uint64_t seen, quiet_since; /* so many had been begun by then, and still have */
	struct {
		/* Calls that load code [1], and all others [0]: the lower half are under way, the
		 * upper were begun, ever. */
		_Alignas(64) _Atomic uint64_t n[2];
	} calls[AIF_CUDA_SHARDS];
};

/* Around a call that must not meet a switch of records or sampling. The first may wait for one; if it loads code, for a
 * second at most: it may be CUPTI's own. */
void aif_cuda_quiesce_enter(struct aif_cuda *cuda, bool loads);
void aif_cuda_quiesce_leave(struct aif_cuda *cuda);
/* Returns how many such calls have begun since callbacks were switched on; the next, whether one is under way, and one that loads
 * code. */
uint64_t aif_cuda_quiesce_calls(struct aif_cuda *cuda);
bool aif_cuda_quiesce_is_called(struct aif_cuda *cuda);
bool aif_cuda_quiesce_is_loading(struct aif_cuda *cuda);
/* Before callbacks are switched on: nobody is counted. */
void aif_cuda_quiesce_begin(struct aif_cuda *cuda);
/* Says that no thread is inside a call that began before callbacks were on. */
void aif_cuda_quiesce_settle(struct aif_cuda *cuda);
/* Under `switching`, as the next three: nobody is inside such a call, nor will be until it is opened; and with `idle` no
 * context has anything to do. Takes a quarter of a second at most. False: it is not so, and the gate is open. */
bool aif_cuda_quiesce_shut(struct aif_cuda *cuda, bool idle);
/* The same for some microseconds' work, which a running device does not mind: waits until no call
 * is under way, for 5 ms at most, and for 0.2 ms once a thread waits at the gate. */
bool aif_cuda_quiesce_shut_briefly(struct aif_cuda *cuda);
/* Shut: waits so long at most until no context has anything to do. False: not known. */
bool aif_cuda_quiesce_is_idle(struct aif_cuda *cuda, uint64_t within_ns);
void aif_cuda_quiesce_open(struct aif_cuda *cuda);
/* Some time since it was tried in vain? */
bool aif_cuda_quiesce_may_try(const struct aif_cuda *cuda, uint64_t now);
/* The helper, four times a second while anything may be sampled: does anybody call? */
void aif_cuda_quiesce_tick(struct aif_cuda *cuda, uint64_t now);

/* Sleeps less than a second, and is no point at which a thread is cancelled. */
void aif_cuda_sleep(long ns);
