/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/batch.h"

const size_t aif_batch_row_size[AIF_BATCH_KINDS] = {
	[AIF_BATCH_LAUNCH] = sizeof(struct aif_launch_row),
	[AIF_BATCH_EXEC] = sizeof(struct aif_exec_row),
	[AIF_BATCH_SAMPLE] = sizeof(struct aif_sample_row),
	[AIF_BATCH_WINDOW] = sizeof(struct aif_window_row),
	[AIF_BATCH_CPU] = sizeof(struct aif_cpu_row),
	[AIF_BATCH_OP] = sizeof(struct aif_op_row),
	[AIF_BATCH_COUNTER] = sizeof(struct aif_counter_row),
	[AIF_BATCH_MEMORY] = sizeof(struct aif_memory_row),
};

int aif_batches_init(struct aif_batches *b)
{
	*b = (struct aif_batches){.last = &b->first};
	return -pthread_mutex_init(&b->lock, NULL);
}

static void batch_free(struct aif_batch *batch)
{
	if (batch)
		free(batch->rows);
	free(batch);
}

static void list_free(struct aif_batch *batch)
{
	for (struct aif_batch *next; batch; batch = next) {
		next = batch->next;
		batch_free(batch);
	}
}

void aif_batches_finish(struct aif_batches *b)
{
	list_free(b->first);
	list_free(b->spare);
	for (int i = 0; i < AIF_BATCH_KINDS; i++)
		batch_free(b->open[i]);
	pthread_mutex_destroy(&b->lock);
}

/* A batch holds bytes for the widest row from the start, so that any batch serves any kind. */
static struct aif_batch *batch_get(struct aif_batches *b)
{
	struct aif_batch *batch;

	pthread_mutex_lock(&b->lock);
	batch = b->spare;
	if (batch) {
		b->spare = batch->next;
		b->spares--;
	} else if (b->made < AIF_BATCH_MAX && (batch = calloc(1, sizeof(*batch))) != NULL) {
		b->made++;
	}
	pthread_mutex_unlock(&b->lock);
	return batch;
}

static void enqueue(struct aif_batches *b, struct aif_batch *batch)
{
	batch->next = NULL;
	pthread_mutex_lock(&b->lock);
	*b->last = batch;
	b->last = &batch->next;
	pthread_mutex_unlock(&b->lock);
}

void *aif_batches_row_more(struct aif_batches *b, enum aif_batch_kind kind)
{
	struct aif_batch *batch = b->open[kind];
	size_t bytes;

	if (batch && batch->len == AIF_BATCH_ROWS) {
		enqueue(b, batch);
		batch = b->open[kind] = NULL;
	}
	if (!batch) {
		batch = batch_get(b);
		if (!batch)
			return NULL;
		batch->kind = kind;
		batch->len = 0;
		b->open[kind] = batch;
	}
	bytes = batch->cap;
	if (aif_grow(&batch->rows, &bytes, (batch->len + 1) * aif_batch_row_size[kind], 1) < 0)
		return NULL;
	batch->cap = bytes;
	return (char *)batch->rows + batch->len++ * aif_batch_row_size[kind];
}

bool aif_batches_room(struct aif_batches *b)
{
	bool room;

	/* A drain step brings fewer rows than a batch holds: one free batch for each kind is enough. */
	pthread_mutex_lock(&b->lock);
	room = b->made - b->spares + AIF_BATCH_KINDS <= AIF_BATCH_MAX;
	pthread_mutex_unlock(&b->lock);
	return room;
}

void aif_batches_flush(struct aif_batches *b)
{
	for (int i = 0; i < AIF_BATCH_KINDS; i++) {
		if (!b->open[i] || !b->open[i]->len)
			continue;
		enqueue(b, b->open[i]);
		b->open[i] = NULL;
	}
	pthread_mutex_lock(&b->lock);
	b->flushes++;
	pthread_mutex_unlock(&b->lock);
}

unsigned aif_batches_flushes(struct aif_batches *b)
{
	unsigned n;

	pthread_mutex_lock(&b->lock);
	n = b->flushes;
	pthread_mutex_unlock(&b->lock);
	return n;
}

struct aif_batch *aif_batches_take(struct aif_batches *b)
{
	struct aif_batch *batch;

	pthread_mutex_lock(&b->lock);
	batch = b->first;
	if (batch) {
		b->first = batch->next;
		if (!b->first)
			b->last = &b->first;
	}
	pthread_mutex_unlock(&b->lock);
	return batch;
}

void aif_batches_give(struct aif_batches *b, struct aif_batch *batch)
{
	pthread_mutex_lock(&b->lock);
	batch->next = b->spare;
	b->spare = batch;
	b->spares++;
	pthread_mutex_unlock(&b->lock);
}
