/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

#include <pthread.h>

/*
 * Bulk rows on their way from the drain thread to the writer thread. Rows are collected in batches
 * of one kind; a full batch, or after a second any batch with rows, is queued. The number of batches
 * is bounded: when all are in use the drain thread leaves records in the rings until the writer
 * catches up, so that a slow disk costs ring space first and counted losses after that, never
 * memory.
 */

enum aif_batch_kind {
	AIF_BATCH_LAUNCH,
	AIF_BATCH_EXEC,
	AIF_BATCH_SAMPLE,
	AIF_BATCH_WINDOW,
	AIF_BATCH_CPU,
	AIF_BATCH_OP,
	AIF_BATCH_COUNTER,
	AIF_BATCH_MEMORY,
	AIF_BATCH_KINDS
};

/* 65,536 rows of at most 64 bytes are 4 MiB; 20 batches bound the rows under way to 80 MiB. */
#define AIF_BATCH_ROWS 65536
#define AIF_BATCH_MAX  20

struct aif_batch {
	struct aif_batch *next;
	enum aif_batch_kind kind;
	size_t len;
	union {
		struct aif_launch_row *launches;
		struct aif_exec_row *execs;
		struct aif_sample_row *samples;
		struct aif_window_row *windows;
		struct aif_cpu_row *cpu;
		struct aif_op_row *ops;
		struct aif_counter_row *counters;
		struct aif_memory_row *memory;
		void *rows;
	};
	size_t cap; /* bytes of memory held */
};

struct aif_batches {
	pthread_mutex_t lock;
	struct aif_batch *first, **last; /* queued, in order */
	struct aif_batch *spare;
	unsigned made, spares, flushes;
	struct aif_batch *open[AIF_BATCH_KINDS]; /* the drain thread's, outside of the lock */
};

int aif_batches_init(struct aif_batches *b);
void aif_batches_finish(struct aif_batches *b);

extern const size_t aif_batch_row_size[AIF_BATCH_KINDS];
/* Slow path of aif_batches_row(): the open batch has no room, or there is none. */
void *aif_batches_row_more(struct aif_batches *b, enum aif_batch_kind kind);
/* Drain thread. Room for one row of the kind, or NULL when no batch can be had now. */
static inline void *aif_batches_row(struct aif_batches *b, enum aif_batch_kind kind)
{
	struct aif_batch *batch = b->open[kind];
	size_t size = aif_batch_row_size[kind];

	if (aif_unlikely(!batch || batch->len == AIF_BATCH_ROWS ||
			 (batch->len + 1) * size > batch->cap))
		return aif_batches_row_more(b, kind);
	return (char *)batch->rows + batch->len++ * size;
}
/* True if a ring may be drained: a batch of each kind can be had. */
bool aif_batches_room(struct aif_batches *b);
/* Queues all open batches that have rows. */
void aif_batches_flush(struct aif_batches *b);
/* Returns the number of flushes, for the writer thread, which commits what a flush has queued. */
unsigned aif_batches_flushes(struct aif_batches *b);

/* Writer thread. The oldest queued batch, or NULL; given back when written. */
struct aif_batch *aif_batches_take(struct aif_batches *b);
void aif_batches_give(struct aif_batches *b, struct aif_batch *batch);
