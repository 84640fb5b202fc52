/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "record/ingest/ingest.h"

/*
 * A source of samples, launches or counters beside the launches that agents record: struct aif_source, a state of its
 * own in the drain thread (struct aif_drainer) and one in each target. The table is record/sources/sources.def; ingest
 * and the drain thread call sources through it only.
 *
 * Every function may be NULL. All but init run on the drain thread, under the store's lock. Where a function's order
 * among the sources matters, it is the table's.
 */

/* A turn of the drain thread. */
struct aif_turn {
	uint64_t now;
	bool collects; /* targets are to collect: neither --delay nor `ctl` holds the recording */
	bool new_threads; /* every 100 ms: time to look for new threads */
	bool each_second;
};

struct aif_source {
	const char *name;
	/* Bytes of the source's state, zeroed at first: in the drain thread, in each target. */
	size_t state_size, target_state_size;
	/* Starts the source, before the drain thread and the command. 0 or -errno with *err. */
	int (*init)(struct aif_drainer *d, struct aif_err *err);

	/* AIF_SOURCE_RECORD() of each type of record that on_record gets, after ingest has had it. */
	uint32_t records;
	void (*on_record)(struct aif_ingest *in, const void *record);
	/* A launch is about to become a row. True: the source has taken the row and adds it later, but before last() returns. */
	bool (*take_launch)(struct aif_drainer *d, const struct aif_launch_row *row);
	/* An execution of the target's has become a row. */
	void (*on_exec)(struct aif_drainer *d, struct aif_target *t,
			const struct aif_exec_row *row);

	/* Reads buffers of the target's own, whenever its rings have been read. The target pays. */
	void (*target_drain)(struct aif_drainer *d, struct aif_target *t);
	void (*target_step)(struct aif_drainer *d, struct aif_target *t,
			    const struct aif_turn *turn);
	/* A stretch of time ends in which the target did or did not collect: after a second, or when that changes. */
	void (*target_window)(struct aif_drainer *d, struct aif_target *t, uint64_t now,
			      bool collected);
	/* The target has ended, or the recording has; its rings have been read for the last time. */
	void (*target_end)(struct aif_drainer *d, struct aif_target *t, uint64_t now);
	/* Releases what the target's state holds. */
	void (*target_free)(struct aif_target *t);

	/* After the turns of all targets. */
	void (*step)(struct aif_drainer *d, const struct aif_turn *turn);
	/* The recording ends: stops sampling and reads the rest, before the targets that still live are ended. Returns when
	 * sampling has stopped. */
	uint64_t (*stop)(struct aif_drainer *d, bool collects);
	/* All targets have ended: makes rows of what is left. */
	void (*last)(struct aif_drainer *d);
	/* Releases what the state holds. */
	void (*finish)(struct aif_drainer *d);
};

#define AIF_SOURCE_RECORD(TYPE) (UINT32_C(1) << AIF_WIRE_##TYPE)
static_assert(AIF_WIRE_COUNT <= 32, "AIF_SOURCE_RECORD");

/* Calls SLOT of each source that has one, with the arguments behind it. */
#define AIF_SOURCES_CALL(drainer, SLOT, ...)                               \
	do {                                                               \
		for (unsigned i_ = 0; i_ < (drainer)->sources_len; i_++)   \
			if ((drainer)->sources[i_]->SLOT)                  \
				(drainer)->sources[i_]->SLOT(__VA_ARGS__); \
	} while (0)

/* Starts the `len` sources of the table. 0 or -errno with *err; then aif_sources_finish() is due, too. */
int aif_sources_init(struct aif_drainer *d, const struct aif_source *const *table, unsigned len,
		     struct aif_err *err);
void aif_sources_finish(struct aif_drainer *d);

/* Gives a new target the sources' states. False: no memory. */
bool aif_sources_target_new(const struct aif_drainer *d, struct aif_target *t);
void aif_sources_target_free(const struct aif_drainer *d, struct aif_target *t);

/* Offers a launch's row to the sources. True: one has taken it. */
bool aif_sources_take_launch(struct aif_drainer *d, const struct aif_launch_row *row);

/* Hands a record to the sources that asked for its type. */
void aif_sources_record(struct aif_ingest *in, const struct aif_wire_head *record);
