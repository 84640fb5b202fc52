/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/level_zero/samples.h"
#include "agent/level_zero/values.h"
#include "base/reasons.h"

#include <pthread.h>

struct aif_level_zero;
struct aif_thread;

/*
 * Level Zero's metrics streamer as a source of samples: instructions' addresses with what threads waited for there.
 * Only of devices for which the recorder says so (struct aif_shm, streamers): it reads the xe driver's own stream
 * where it can, which serves all processes at once. And as a source of counters (counting), where they are asked for.
 *
 *     metrics.c  which metric group; the streamer, from open to close
 *     read.c     what it says: read, calculated
 *     stalls.c   samples: summed up, reported each second
 *     counters.c  the GPU's performance counters (--counters): which, and their values
 *
 * All of it happens on the helper thread, and at exit on the thread that exits; no thread of the application's waits
 * for it. A streamer is of a whole device; the samples are of all processes on it, and the recorder finds out
 * whose (record/sources/streamed.h).
 */
#define AIF_ZE_STREAMERS 16

/* A streamer of a metric group, and what came of reading it. */
struct aif_ze_reading {
	void *group, *streamer; /* streamer NULL: not open */
	bool refused, reported; /* in this session: for good; and that was reported */
	uint64_t retry_at;
	uint64_t period_ns, read_ns, read_at;
	unsigned errors; /* in a row, */
	uint32_t error;  /* and the latest of them */
	/* Yet unreported: times that the hardware's buffer was full, that values could not be had; samples that found no
	 * room in the ring. */
	uint64_t dropped, unread, lost;
};

/* Streamers of one device: samples and counters share a context, and are active together. */
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
	/* Devices that the recorder lets us read, when last looked at; until when it is looked often, and in which
	 * session. */
	uint64_t may_stall, may_count, eager_until;
	uint32_t eager;
	/* Thread that last defined the reasons, and in which session: another thread's ring may be read before its. */
	const struct aif_thread *defined_by;
	uint32_t defined_gen;
	uint32_t windows;          /* written so far */
	_Atomic uint32_t counters; /* the same, also those of queries, without the lock */
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
uint64_t aif_ze_metrics_poll(struct aif_level_zero *l0, uint64_t now);
/* Reads the last, and closes. */
void aif_ze_metrics_stop(struct aif_level_zero *l0);
/* The same, if nobody is in the middle of something. */
void aif_ze_metrics_at_exit(struct aif_level_zero *l0);

/* ---- under the lock -------------------------------------------------------------------------- */

/* Place of a set of rows: a device with tiles has several. */
struct aif_ze_set {
	uint32_t index, of;
};
typedef void aif_ze_take(struct aif_level_zero *l0, struct aif_ze_streamer *s,
			 struct aif_ze_set set, const struct aif_ze_value *values, size_t n);
/* Reads all that is there, whole rows or not. False: the streamer is of no use any more. */
bool aif_ze_read(struct aif_level_zero *l0, struct aif_ze_streamer *s, struct aif_ze_reading *r,
		 aif_ze_take *take);
/* Defines the device, whose record comes first. False: it could not be written. */
bool aif_ze_metrics_device_define(struct aif_level_zero *l0, struct aif_thread *t,
				  struct aif_ze_device *d);
/* Reports *n, unless it is 0, and sets it to 0. */
void aif_ze_metrics_note(struct aif_thread *t, const struct aif_ze_streamer *s,
			 enum aif_reason reason, uint64_t *n);

#define AIF_ZE_GROUPS_MAX 4096
/* Lists the device's metric groups; NULL: there are none, or they cannot be had. */
void **aif_ze_groups_get(struct aif_level_zero *l0, void *device, uint32_t *ret_n);
void aif_ze_groups_free(void **groups); /* accepts NULL */

/* Reads all EU stalls that are there. False: the streamer is of no use any more. */
bool aif_ze_stalls_read(struct aif_level_zero *l0, struct aif_ze_streamer *s);
/* Ends the window. */
void aif_ze_stalls_report(struct aif_level_zero *l0, struct aif_ze_streamer *s);

/* The group that has most of what is asked for becomes .counting.group. False: none has any of it; what there is
 * instead is in the text, if anything could be found out. */
bool aif_ze_counters_find(struct aif_level_zero *l0, struct aif_ze_streamer *s, char *ret_others,
			  size_t size);
bool aif_ze_counters_read(struct aif_level_zero *l0, struct aif_ze_streamer *s);
/* Finds out what all counters of a group are; *c, if it is not NULL, is used again. False: there are none. */
bool aif_ze_counters_describe(struct aif_level_zero *l0, void *group, struct aif_ze_counters **c);
/* Writes the first row of n values as measured around a launch. Under l0->lock. False: the ring has no room, or the row
 * is not whole. */
bool aif_ze_counters_emit(struct aif_level_zero *l0, struct aif_thread *t,
			  struct aif_ze_counters *c, struct aif_ze_device *device, uint64_t launch,
			  const struct aif_ze_value *values, size_t n);
/* Reports how many reports of counters were lost. */
void aif_ze_counters_define(struct aif_ze_streamer *s);
