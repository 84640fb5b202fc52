/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/level_zero/level_zero_samples.h"
#include "agent/level_zero/level_zero_values.h"
#include "base/reasons.h"

#include <pthread.h>

struct aif_level_zero;
struct aif_thread;

/*
 * Level Zero's metrics streamer as a source of samples: instructions' addresses with what threads waited for there.
 * Only of devices for which the recorder says so (struct aif_shm, streamers): it reads the xe driver's own stream
 * where it can, which serves all processes at once. And as a source of counters (counting), where they are asked for.
 *
 *     level_zero_metrics.c  which metric group; the streamer, from open to close
 *     level_zero_read.c     what it says: read, calculated
 *     level_zero_stalls.c   samples: summed up, told each second
 *     level_zero_counters.c  the GPU's performance counters (--counters): which, and their values
 *
 * All of it happens on the helper thread, and at exit on the thread that exits; no thread of the application's waits
 * for it. A streamer is of a whole device; the samples are of all processes on it, and the recorder finds out
 * whose (record/streamed.h).
 */
#define AIF_ZE_STREAMERS 16

/* A streamer of a metric group, and what came of reading it. */
struct aif_ze_reading {
	void *group, *streamer; /* streamer NULL: not open */
	bool refused, said;     /* in this session: for good; and that was told */
	uint64_t retry_at;
	uint64_t period_ns, read_ns, read_at;
	unsigned errors; /* in a row, */
	uint32_t error;  /* and the latest of them */
	/* Yet untold: times that the hardware's buffer was full, that values could not be had; samples that found no
	 * room in the ring. */
	uint64_t dropped, unread, lost;
};

/* Of a device: both kinds share a context, and are active together. */
struct aif_ze_streamer {
	void *root, *driver;          /* handles of the whole device, and its driver */
	struct aif_ze_device *device; /* one that the recorder knows: it, or a part of it */
	bool tiles;                   /* it knows several */
	bool may_stall, may_count;    /* the recorder lets us */
	void *context;
	struct aif_ze_reading stalls, counting;
	struct aif_ze_layout layout;
	uint64_t since; /* of the window under way */
	struct aif_ze_sums *sums;
	struct aif_ze_counters *counters;
};

struct aif_ze_metrics {
	pthread_mutex_t lock; /* of all of it */
	bool enabled;         /* ZET_ENABLE_METRICS was 1 when the driver looked */
	bool disabled;        /* it was something else, */
	char value[16];       /* which began so */
	uint32_t session;
	/* What the recorder lets us, as it was last looked at; until when that is looked at often, and in which session. */
	uint64_t may_stall, may_count, eager_until;
	uint32_t eager;
	/* Who last told the reasons, and in which session: another thread's ring may be read before its. */
	const struct aif_thread *told_by;
	uint32_t told;
	uint32_t windows, counters; /* told so far */
	struct aif_ze_streamer streamers[AIF_ZE_STREAMERS];
	uint32_t len;
	char reasons[AIF_ZE_REASONS_MAX][64];
	uint32_t reasons_len;
	uint8_t *raw; /* of whichever is read */
	struct aif_ze_value *values;
};

void aif_ze_metrics_init(struct aif_ze_metrics *m);
/* Opens what may be opened. */
void aif_ze_metrics_tick(struct aif_level_zero *l0, uint64_t now);
/* Reads what is due, and says when there is more to do. */
uint64_t aif_ze_metrics_turn(struct aif_level_zero *l0, uint64_t now);
/* Reads the last, and closes. */
void aif_ze_metrics_stop(struct aif_level_zero *l0);
/* The same, if nobody is in the middle of something. */
void aif_ze_metrics_leave(struct aif_level_zero *l0);

/* ---- under the lock -------------------------------------------------------------------------- */

/* Of a device with tiles there are several sets of rows. */
struct aif_ze_set {
	uint32_t index, of;
};
typedef void aif_ze_take(struct aif_level_zero *l0, struct aif_ze_streamer *s,
			 struct aif_ze_set set, const struct aif_ze_value *values, size_t n);
/* All that is there, whole rows or not. False: the streamer is of no use any more. */
bool aif_ze_read(struct aif_level_zero *l0, struct aif_ze_streamer *s, struct aif_ze_reading *r,
		 aif_ze_take *take);
/* The device's record comes first. False: it could not be told. */
bool aif_ze_metrics_device_told(struct aif_level_zero *l0, struct aif_thread *t,
				struct aif_ze_device *d);
/* Tells *n, if it is not 0, which it then is. */
void aif_ze_metrics_note(struct aif_thread *t, const struct aif_ze_streamer *s,
			 enum aif_reason reason, uint64_t *n);

/* All that is there. False: the streamer is of no use any more. */
bool aif_ze_stalls_read(struct aif_level_zero *l0, struct aif_ze_streamer *s);
/* Ends the window. */
void aif_ze_stalls_tell(struct aif_level_zero *l0, struct aif_ze_streamer *s);

/* The group that has most of what is asked for becomes .counting.group. False: none has any of it; what there is
 * instead is in the text, if anything could be found out. */
bool aif_ze_counters_find(struct aif_level_zero *l0, struct aif_ze_streamer *s, char *ret_others,
			  size_t size);
bool aif_ze_counters_read(struct aif_level_zero *l0, struct aif_ze_streamer *s);
/* What was lost. */
void aif_ze_counters_tell(struct aif_ze_streamer *s);
