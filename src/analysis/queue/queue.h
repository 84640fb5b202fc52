/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/time.h"
#include "analysis/utilization.h"

/*
 * Queue of a device: work that is launched and not finished, at the moment of each launch call of a process. For each
 * launch with work on the device (copies and fills, too; a graph's replay is one launch):
 *
 *   delay     from the begin of its call to the start of its first work
 *   ahead     earlier launches whose last work ends behind the begin of its call; 0: it found the device idle
 *   ahead_ns  how long the device works behind the begin of its call on what was launched before. Executions are taken
 *             in the order of their starts, each with the time that it adds to the union of those before, so that
 *             the sum over all is the device's busy time and streams that run beside each other count once.
 *
 * Work without a launch counts from its start: nothing tells since when it was queued. Where launches were left out, or
 * after a pause, depth is not known until a launch that was made since has started, as what was not seen may be
 * queued before it (streams beside it may have more). Such launches have a delay, but .is_known is false.
 *
 * A wait is a call of the process that waits for the device (calls/host_calls.h), and where these are not recorded the
 * recorder's estimate of one, if the device had something to do during it. It emptied the queue if the device had nothing
 * left when it returned: then host and device go in lock step.
 */
struct aif_queue_launch {
	uint64_t ahead_ns;
	uint32_t exec;              /* first execution, an index of the time line */
	uint32_t ahead : 30;        /* launches */
	uint32_t is_known : 1;      /* .ahead and .ahead_ns are */
	uint32_t is_after_wait : 1; /* a wait that emptied the queue came since the launch before */
};
struct aif_queue_wait {
	int64_t start, end;
	bool has_emptied;
};
struct aif_queue_device {
	uint32_t process, device;
	size_t first, end;             /* range of .launches */
	size_t waits_first, waits_end; /* range of .waits */
};
struct aif_queue {
	const struct aif_exec_timeline *t; /* held as long as there are launches */
	struct aif_queue_device *devices;  /* same order as in struct aif_utilization */
	size_t devices_len, devices_cap;
	struct aif_queue_launch *launches; /* sorted by device, then time */
	size_t len, cap;
	uint64_t start_ns; /* the recording's, CLOCK_MONOTONIC */
	/* indices of .launches by device and start; NULL: they are in that order */
	uint32_t *by_start;
	struct aif_queue_wait *waits; /* sorted by device, then end */
	size_t waits_len, waits_cap;
	bool has_calls;    /* waits are recorded calls, on each device */
	uint64_t unjoined; /* executions without a launch */
	uint64_t damaged;  /* chunks that could not be read */
};

/* Measures the devices of `u`, made from `t`, which both have the whole run. *ret holds `t` and is finished by the caller, also
 * after a failure. 0 or -errno. */
int aif_queue_make(const struct aif_profile *p, const struct aif_exec_timeline *t,
		   const struct aif_utilization *u, struct aif_queue *ret);
void aif_queue_finish(struct aif_queue *q);
/* Frees the launches, which take most of the memory; devices and waits stay. */
void aif_queue_drop_launches(struct aif_queue *q);

static inline const struct aif_timeline_launch *
aif_queue_launch_of(const struct aif_queue *q, const struct aif_queue_launch *l)
{
	return &q->t->launches[q->t->execs[l->exec].launch];
}

/* Returns the thread that launched it. */
static inline uint32_t aif_queue_thread_of(const struct aif_queue *q,
					   const struct aif_queue_launch *l)
{
	return aif_timeline_thread_of(q->t, q->t->execs[l->exec].launch);
}

/* Returns when its call began, ns since the recording's start. */
static inline int64_t aif_queue_at(const struct aif_queue *q, const struct aif_queue_launch *l)
{
	return aif_time_clamp(aif_queue_launch_of(q, l)->at);
}

/* Returns how long behind that its first work started. */
static inline uint64_t aif_queue_delay(const struct aif_queue *q, const struct aif_queue_launch *l)
{
	int64_t at = aif_queue_at(q, l), start = aif_time_clamp(q->t->execs[l->exec].start);

	return start > at ? (uint64_t)(start - at) : 0;
}

/* Returns in AIF_WEIGHT_ONE how many launches a launch stands for. */
static inline uint64_t aif_queue_weight_of(const struct aif_queue *q,
					   const struct aif_queue_launch *l)
{
	return aif_timeline_weight_of(q->t, &q->t->execs[l->exec]);
}

/* Launches of a span, each as often as it stands for launches that were left out. Quantiles are the least value that so
 * many do not exceed. */
struct aif_queue_sum {
	uint64_t launches, known; /* captured launches in the span; those of known depth */
	/* quantiles over all launches, also those of unknown depth */
	uint64_t delay_median_ns, delay_p95_ns;
	/* Values below are of known launches, 0 where none is; shares in 1/1,000,000. */
	uint64_t idle_ppm, idle_error_ppm; /* found the device idle; standard error */
	/* share of launches that found the device idle after a wait */
	uint64_t after_wait_ppm;
	uint64_t step_ahead_ppm; /* had more than `step_ns` of work before them */
	uint64_t ahead_median, ahead_p95, ahead_most;
	uint64_t ahead_median_ns, ahead_p95_ns;
	uint64_t waits, emptied; /* captured waits; those that emptied the queue */
};

#define AIF_QUEUE_ALL SIZE_MAX
struct aif_queue_span {
	size_t device;    /* index, or AIF_QUEUE_ALL */
	int64_t from, to; /* ns since the recording's start */
	bool by_start;    /* launches belong to it by the start of their work, not by their call */
	uint64_t step_ns; /* 0: not known */
};
/* Sums up the launches of a span, and the waits that end in it. `weights` are those of the
 * recording or of a part of it. 0 or -ENOMEM. */
int aif_queue_sum(const struct aif_queue *q, const struct aif_weights *weights,
		  const struct aif_queue_span *span, struct aif_queue_sum *ret);
