/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/launches.h"
#include "record/ingest/program_ranges.h"
#include "record/ingest/modfiles.h"
#include "record/sources/sources.h"
#include "record/ingest/target.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Valid records of two processes, in any order and with anything in them, as hostile agents tell them: what becomes rows
 * points to what is there, and who may read which device is decided.
 *
 * The input, for each record: its type; bits: which process and slot, and whether it is drained first; how many words
 * follow its fixed part; two bytes of its id; then both parts.
 */
enum { TARGETS = 2, SLOTS = 2, TAIL_MAX = 255 * 8, NOBODY = 1 << 30 };
#define RING_SIZE (UINT64_C(1) << 16)

static const size_t fixed[] = {
#define X(NAME, name, size, variable) size,
	AIF_WIRE_RECORDS(X)
#undef X
};

struct world {
	struct aif_store store;
	struct aif_modfiles files;
	struct aif_record_opts opts;
	struct aif_drainer d;
	struct aif_ring rings[TARGETS][SLOTS];
};

static void must(bool is_so)
{
	if (!is_so)
		abort();
}

static struct aif_target *target_new(struct world *w, unsigned i)
{
	const struct aif_process p = {.pid = NOBODY + i};
	struct aif_target *t;
	struct aif_shm *shm;
	int fd;

	must(aif_shm_create(SLOTS, RING_SIZE, &shm, &fd) == 0);
	close(fd);
	for (uint32_t k = 0; k < SLOTS; k++)
		aif_ring_init(&w->rings[i][k], aif_shm_slot(shm, k),
			      aif_shm_ring(shm, SLOTS, RING_SIZE, k), RING_SIZE);
	t = aif_target_new(&w->d, (int)(NOBODY + i), aif_store_process(&w->store, &p), shm, SLOTS,
			   RING_SIZE);
	must(t);
	return t;
}

static void start(struct world *w)
{
	must(aif_store_init(&w->store, 0) == 0 && aif_modfiles_init(&w->files) == 0);
	w->opts.counters = "default";
	/* The far gpu_users_ns keeps the drainer from searching /proc for processes that hold a
	 * GPU. */
	w->d = (struct aif_drainer){.store = &w->store,
				    .files = &w->files,
				    .opts = &w->opts,
				    .gpu_users_ns = UINT64_MAX / 2};
	must(aif_sources_init(&w->d, aif_sources, AIF_SOURCE_COUNT, NULL) == 0);
	w->d.scratch = malloc(AIF_DRAIN_SCRATCH);
	w->d.targets = target_new(w, 0);
	w->d.targets->next = target_new(w, 1);
	must(w->d.scratch);
}

static void in_table(uint32_t id, size_t len)
{
	must(id == AIF_NONE || id < len);
}

static void check_row(const struct aif_profile *p, const struct aif_batch *b, size_t i)
{
	switch (b->kind) {
	case AIF_BATCH_LAUNCH:
		in_table(b->launches[i].thread, p->threads_len);
		in_table(b->launches[i].kernel, p->kernels_len);
		in_table(b->launches[i].device, p->devices_len);
		in_table(b->launches[i].stream, p->streams_len);
		in_table(b->launches[i].stack, p->stacks_len);
		in_table(b->launches[i].shape, p->shapes_len);
		break;
	case AIF_BATCH_EXEC:
		in_table(b->execs[i].process, p->processes_len);
		in_table(b->execs[i].kernel, p->kernels_len);
		in_table(b->execs[i].device, p->devices_len);
		in_table(b->execs[i].stream, p->streams_len);
		break;
	case AIF_BATCH_SAMPLE:
		in_table(b->samples[i].thread, p->threads_len);
		in_table(b->samples[i].device, p->devices_len);
		in_table(b->samples[i].frame, p->frames_len);
		in_table(b->samples[i].reason, p->strings.len);
		break;
	case AIF_BATCH_WINDOW:
		in_table(b->windows[i].device, p->devices_len);
		in_table(b->windows[i].thread, p->threads_len);
		break;
	case AIF_BATCH_CPU:
		in_table(b->cpu[i].thread, p->threads_len);
		in_table(b->cpu[i].stack, p->stacks_len);
		break;
	case AIF_BATCH_OP:
		in_table(b->ops[i].thread, p->threads_len);
		in_table(b->ops[i].name, p->strings.len);
		in_table(b->ops[i].stack, p->stacks_len);
		break;
	case AIF_BATCH_COUNTER:
		in_table(b->counters[i].device, p->devices_len);
		in_table(b->counters[i].name, p->strings.len);
		in_table(b->counters[i].unit, p->strings.len);
		break;
	case AIF_BATCH_MEMORY:
		in_table(b->memory[i].thread, p->threads_len);
		in_table(b->memory[i].stack, p->stacks_len);
		in_table(b->memory[i].device, p->devices_len);
		break;
	case AIF_BATCH_KINDS:
		must(false);
	}
}

static void check_rows(struct world *w)
{
	struct aif_batch *b;

	aif_batches_flush(&w->store.batches);
	while ((b = aif_batches_take(&w->store.batches)) != NULL) {
		for (size_t i = 0; i < b->len; i++)
			check_row(&w->store.p, b, i);
		aif_batches_give(&w->store.batches, b);
	}
}

static void step(struct world *w)
{
	for (struct aif_target *t = w->d.targets; t; t = t->next)
		aif_target_drain(&w->d, t);
	/* While records are taken the xe driver is not asked for a stream. */
	w->opts.device_rate = 999;
	AIF_SOURCES_CALL(&w->d, step, &w->d, &(struct aif_turn){.now = aif_now_ns()});
	w->opts.device_rate = 0;
	check_rows(w);
}

static void stop(struct world *w)
{
	for (struct aif_target *t = w->d.targets; t; t = t->next) {
		aif_launches_deferred(&w->d, t, t->deferred_len);
		aif_ingest_last_blocks(&w->d, t, aif_now_ns());
		aif_program_ranges_last(&w->d, t, aif_now_ns());
		aif_target_losses(&w->d, t);
		AIF_SOURCES_CALL(&w->d, target_end, &w->d, t, aif_now_ns());
	}
	AIF_SOURCES_CALL(&w->d, last, &w->d);
	check_rows(w);
	for (struct aif_target *t = w->d.targets, *next; t; t = next) {
		next = t->next;
		aif_target_free(&w->d, t);
	}
	must(w->store.paid <= AIF_QUOTAS_MAX);
	aif_sources_finish(&w->d);
	aif_modfiles_finish(&w->files);
	aif_pycodes_finish(&w->d.pycodes);
	aif_store_finish(&w->store);
	free(w->d.scratch);
}

/* The length with which it is valid, or 0. */
static size_t length_of(struct aif_wire_head *head, size_t least)
{
	for (size_t n = least; n <= least + TAIL_MAX; n += 8) {
		head->words = (uint16_t)(n / 8);
		if (aif_wire_valid(head, n))
			return n;
	}
	return 0;
}

static void put(struct world *w, struct aif_ring *ring, const struct aif_wire_head *head, size_t n)
{
	void *to = aif_ring_reserve(ring, head->type, n);

	if (!to) {
		step(w);
		to = aif_ring_reserve(ring, head->type, n);
	}
	must(to);
	memcpy(to, head, n);
	aif_ring_commit(ring);
}

/* Any words in a slot, of a call that has not returned and of those that were counted. */
static void open_call(struct aif_target *t, unsigned i, const uint8_t *words)
{
	struct aif_slot *slot = aif_shm_slot(t->shm, i);
	uint64_t since;

	memcpy(&since, words, sizeof(since));
	slot->call_since = since;
	slot->call_id = words[8];
	slot->call_stack = words[9];
	slot->short_calls = since * words[10];
	slot->short_calls_ns = since + words[11];
	slot->left_calls = since >> (words[12] & 63);
	slot->lost_ranges = slot->deep_ranges = since >> (words[11] & 63);
	slot->unnamed_ranges = slot->unbegun_ranges = since * words[10];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {.opts = {0}};

	start(&w);
	while (size >= 5) {
		static union {
			struct aif_wire_head head;
			uint8_t bytes[AIF_WIRE_MAX_RECORD];
		} r;
		uint16_t type = data[0] % AIF_WIRE_COUNT;
		uint8_t bits = data[1];
		size_t n = fixed[type] - sizeof(r.head), tail = 8 * data[2];

		memset(&r, 0, fixed[type] + TAIL_MAX);
		r.head = (struct aif_wire_head){.type = type,
						.aux = data[3] | (uint32_t)data[4] << 8};
		data += 5;
		size -= 5;
		n = AIF_MIN(n + tail, size);
		memcpy(r.bytes + sizeof(r.head), data, n);
		data += n;
		size -= n;
		if (bits & 4)
			step(&w);
		if (bits & 8)
			open_call(w.d.targets, bits >> 1 & 1, r.bytes + sizeof(r.head));
		n = length_of(&r.head, fixed[type]);
		if (n)
			put(&w, &w.rings[bits & 1][bits >> 1 & 1], &r.head, n);
	}
	step(&w);
	stop(&w);
	return 0;
}
