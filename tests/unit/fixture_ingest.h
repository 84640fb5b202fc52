/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/ingest.h"
#include "record/ingest/modfiles.h"
#include "record/ingest/target.h"
#include "record/sources/sources.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

/* A target that lives in this process: rings are written as the agent would, and drained. */
#define SLOTS     3u
#define RING_SIZE (UINT64_C(1) << 20)

struct world {
	struct aif_store store;
	struct aif_modfiles files;
	struct aif_record_opts opts;
	struct aif_drainer d;
	struct aif_target *t;
	struct aif_shm *shm;
	struct aif_ring ring[SLOTS];
	struct aif_batch *held[4]; /* that a test has taken */
	int held_len;
};

static inline int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int fd;

	assert_int_equal(aif_store_init(&w->store, 0), 0);
	assert_int_equal(aif_modfiles_init(&w->files), 0);
	w->d = (struct aif_drainer){.store = &w->store, .files = &w->files, .opts = &w->opts};
	w->d.scratch = malloc(AIF_DRAIN_SCRATCH);
	assert_int_equal(aif_sources_init(&w->d, aif_sources, AIF_SOURCE_COUNT, NULL), 0);
	assert_int_equal(aif_shm_create(SLOTS, RING_SIZE, &w->shm, &fd), 0);
	close(fd);
	for (uint32_t i = 0; i < SLOTS; i++)
		aif_ring_init(&w->ring[i], aif_shm_slot(w->shm, i),
			      aif_shm_ring(w->shm, SLOTS, RING_SIZE, i), RING_SIZE);
	w->t = aif_target_new(&w->d, (int)getpid(),
			      aif_store_process(&w->store, &(struct aif_process){.pid = 1}), w->shm,
			      SLOTS, RING_SIZE);
	*state = w;
	return 0;
}

static inline int tear_down(void **state)
{
	struct world *w = *state;

	while (w->held_len)
		aif_batches_give(&w->store.batches, w->held[--w->held_len]);
	aif_target_free(&w->d, w->t);
	aif_sources_finish(&w->d);
	assert_true(w->store.paid <= AIF_QUOTAS_MAX);
	aif_modfiles_finish(&w->files);
	aif_pycodes_finish(&w->d.pycodes);
	aif_store_finish(&w->store);
	free(w->d.scratch);
	free(w);
	return 0;
}

__attribute__((noinline)) static void *put(struct world *w, int slot, enum aif_wire_type type,
					   size_t fixed, const char *tail)
{
	size_t len = tail ? strlen(tail) : 0;
	uint8_t *r = aif_ring_reserve(&w->ring[slot], type, AIF_ALIGN_UP(fixed + len, 8));

	assert_non_null(r);
	memset(r + sizeof(struct aif_wire_head), 0, AIF_ALIGN_UP(fixed + len, 8) - 8);
	if (len)
		memcpy(r + fixed, tail, len);
	return r;
}

#define PUT(w, slot, TYPE, type, tail, ...)                                                  \
	do {                                                                                 \
		struct aif_wire_##type *r_ =                                                 \
			put(w, slot, AIF_WIRE_##TYPE, sizeof(struct aif_wire_##type), tail); \
		struct aif_wire_head head_ = r_->head;                                       \
		*r_ = (struct aif_wire_##type){__VA_ARGS__};                                 \
		head_.aux = r_->head.aux;                                                    \
		r_->head = head_;                                                            \
		aif_ring_commit(&w->ring[slot]);                                             \
	} while (0)

static inline void define(struct world *w, int slot)
{
	PUT(w, slot, DEVICE, device, "dev", .head.aux = 5, .kind = AIF_DEVICE_GPU, .name_len = 3,
	    .clock = AIF_CLOCK_MONOTONIC_RAW);
	PUT(w, slot, STREAM, stream, NULL, .head.aux = 6, .device = 5);
	PUT(w, slot, PROGRAM, program, "-O", .head.aux = 7, .source_len = 6, .options_len = 2);
	PUT(w, slot, TEXT, text, "ker", .head.aux = 7, .offset = 0, .len = 3);
	PUT(w, slot, TEXT, text, "nel", .head.aux = 7, .offset = 3, .len = 3);
	PUT(w, slot, KERNEL, kernel, "multiply", .head.aux = 8, .program = 7, .name_len = 8);
}

static inline void launch(struct world *w, int slot, uint64_t n)
{
	PUT(w, slot, LAUNCH, launch, NULL, .time = 100 * n, .launch = n, .stack = 1, .stream = 6,
	    .kernel = 8, .shape = 2);
}

static inline struct aif_batch *take(struct world *w, enum aif_batch_kind kind)
{
	struct aif_batch *b;

	aif_batches_flush(&w->store.batches);
	while ((b = aif_batches_take(&w->store.batches)) != NULL && b->kind != kind)
		aif_batches_give(&w->store.batches, b);
	if (b)
		w->held[w->held_len++] = b;
	return b;
}
