/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/records.h"

#include "agent/cuda/activity.h"
#include "agent/cuda/cuda.h"
#include "agent/cuda/errors.h"
#include "agent/cuda/quiesce.h"
#include "agent/cuda/sampling.h"
#include "base/clock.h"

/*
 * Kernel, copy and fill records: on, or off, and when they may be switched.
 *
 * cuptiActivityEnable() may be called at any time. cuptiActivityDisable() ends the program if a
 * thread is inside a copy's call meanwhile (quiesce.c), so it is called only with the gate shut.
 * Where calls last, a synchronous copy for instance, that is not possible at once: records then
 * stay on, though nothing is captured any more, and the helper tries again. A launch whose record
 * comes although nobody wants it is dropped (exec() in activity.c).
 *
 * Nor is it called while a context is sampled, or where sampling could not be ended (claim.c).
 *
 * CUPTI reads the times of a graph's last replay late: at the graph's next replay, or when it is flushed. Where records
 * have been switched off meanwhile, replays without records have overwritten the ends of its nodes
 * (bench/results/h100-graph-cost.md). So where graphs are replayed records are flushed before they are switched off,
 * with the device idle; where it does not become idle, they are switched off in the end, and executions with such times
 * are dropped.
 *
 * Nothing is flushed while code is loaded or graphs are made (activity.c), so that records of replays stay on, too.
 *
 * When the process exits records stay on: libcupti may have ended already.
 */

/* After a try in vain, doubled each time. */
#define AGAIN_NS     UINT64_C(2000000)
#define AGAIN_MAX_NS UINT64_C(64000000)
/* Before another user of CUPTI takes over, or we leave: how often it is tried. */
#define STEP_NS UINT64_C(2000000)
/* Time for which launches are held until the device has done its graphs, and how often that is tried. */
#define IDLE_NS   UINT64_C(10000000)
#define BUSY_MOST 4
/* Shorter executions have no gap inside. */
#define GAP_LEAST_NS UINT64_C(1000000)

/* 0: not known. */
static uint64_t cupti_now(const struct aif_cuda *cuda)
{
	uint64_t now = 0;

	return !cuda->has_replays || cuda->api.cuptiGetTimestamp(&now) ? 0 : now;
}

bool aif_cuda_records_span_gap(const struct aif_cuda *cuda, uint64_t start, uint64_t end)
{
	if (end - start < GAP_LEAST_NS)
		return false;
	for (unsigned i = 0; i < AIF_CUDA_GAPS; i++) {
		uint64_t from = atomic_load_explicit(&cuda->records.gaps[i].from,
						     memory_order_relaxed),
			 until = atomic_load_explicit(&cuda->records.gaps[i].until,
						      memory_order_relaxed);

		if (until && start <= from && until <= end)
			return true;
	}
	return false;
}

static void gap_begins(struct aif_cuda *cuda)
{
	uint32_t i = cuda->records.gaps_len++ % AIF_CUDA_GAPS;

	atomic_store(&cuda->records.gaps[i].until, 0);
	atomic_store(&cuda->records.gaps[i].from, cupti_now(cuda));
}

static void gap_ends(struct aif_cuda *cuda)
{
	uint32_t i = (cuda->records.gaps_len - 1) % AIF_CUDA_GAPS;

	if (cuda->records.gaps_len && cuda->records.gaps[i].from)
		atomic_store(&cuda->records.gaps[i].until, cupti_now(cuda));
}

static void enable(struct aif_cuda *cuda)
{
	int r = aif_cuda_activity_switch(cuda, true);

	gap_ends(cuda);
	cuda->records.on = cuda->records.were_on = true;
	if (r)
		aif_cuda_report_error(AIF_REASON_CUDA_REFUSED, "records", r);
}

static void disable(struct aif_cuda *cuda)
{
	int r;

	gap_begins(cuda);
	r = aif_cuda_activity_switch(cuda, false);
	cuda->records.busy = 0;
	cuda->records.on = false;
	if (r)
		aif_cuda_report_error(AIF_REASON_CUDA_REFUSED, "records' end", r);
}

/* True if there is nothing to do, or never will be. */
static bool is_settled(const struct aif_cuda *cuda)
{
	return cuda->records.on == cuda->records.wanted || cuda->sampling.is_stranded ||
	       cuda->exiting;
}

/* Has the last replay of each graph been read? With the gate shut. True also where that cannot be reached. */
static bool replays_are_read(struct aif_cuda *cuda)
{
	if (aif_cuda_quiesce_is_idle(cuda, IDLE_NS)) {
		aif_cuda_activity_flush(cuda, false);
		return true;
	}
	return ++cuda->records.busy > BUSY_MOST;
}

/* Calls cuptiActivityDisable() if no call is under way. is_last: also where replays cannot be flushed now, whose last ones then
 * have no end. */
static bool try_to_disable(struct aif_cuda *cuda, bool is_last)
{
	bool may_flush = cuda->has_replays && aif_cuda_activity_may_flush(cuda, aif_now_ns());

	if (aif_cuda_is_sampling(cuda) || (cuda->has_replays && !may_flush && !is_last))
		return false;
	/* Most of what there is to be read is, before anybody is held. */
	if (may_flush)
		aif_cuda_activity_flush(cuda, false);
	if (!aif_cuda_quiesce_shut_briefly(cuda))
		return false;
	if (may_flush && !replays_are_read(cuda)) {
		aif_cuda_quiesce_open(cuda);
		return false;
	}
	disable(cuda);
	aif_cuda_quiesce_open(cuda);
	return true;
}

void aif_cuda_records_want(struct aif_cuda *cuda, bool on)
{
	struct aif_cuda_records *r = &cuda->records;

	r->wanted = on;
	r->again_at = r->again_ns = 0;
	if (on && !r->on)
		enable(cuda);
	else
		(void)aif_cuda_records_settle(cuda, aif_now_ns());
}

bool aif_cuda_records_settle(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_cuda_records *r = &cuda->records;

	if (is_settled(cuda))
		return true;
	if (now < r->again_at)
		return false;
	if (try_to_disable(cuda, false))
		return true;
	r->again_ns = AIF_CLAMP(2 * r->again_ns, AGAIN_NS, AGAIN_MAX_NS);
	r->again_at = aif_now_ns() + r->again_ns;
	return false;
}

bool aif_cuda_records_end(struct aif_cuda *cuda, uint64_t within_ns)
{
	const uint64_t until = aif_now_ns() + within_ns;
	uint64_t step = STEP_NS;

	cuda->records.wanted = false;
	/* Each try may hold launching threads for a moment. */
	for (; !is_settled(cuda) && !try_to_disable(cuda, aif_now_ns() + within_ns / 2 >= until);
	     step = AIF_MIN(2 * step, AGAIN_MAX_NS)) {
		if (aif_now_ns() >= until)
			break;
		aif_cuda_sleep((long)step);
	}
	return is_settled(cuda);
}
