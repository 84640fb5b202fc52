/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the limits of ingesting: quotas, floods, a writer that is behind, and the counts of what was lost. */
#include "fixture_ingest.h"

static uint64_t loss_of(const struct aif_profile *p, uint32_t reason)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->losses_len; i++)
		if (p->losses[i].reason == reason)
			n += p->losses[i].count;
	return n;
}

static void losses_are_counted_once(void **state)
{
	struct world *w = *state;
	struct aif_slot *slot = aif_shm_slot(w->shm, 1);

	atomic_store(&slot->lost_launches, 3);
	aif_target_losses(&w->d, w->t);
	aif_target_losses(&w->d, w->t);
	assert_int_equal(loss_of(&w->store.p, AIF_REASON_RING_FULL), 3);
	atomic_store(&slot->lost_launches, 5);
	atomic_store(&w->shm->before_attach, 4);
	aif_target_losses(&w->d, w->t);
	assert_int_equal(loss_of(&w->store.p, AIF_REASON_RING_FULL), 5);
	assert_int_equal(loss_of(&w->store.p, AIF_REASON_BEFORE_ATTACH), 4);
	/* Losses of ranges, of which a program can make millions, are counters, too. */
	atomic_store(&slot->lost_ranges, 2);
	atomic_store(&slot->unnamed_ranges, 1000000);
	atomic_store(&slot->deep_ranges, 7);
	atomic_store(&slot->unbegun_ranges, 8);
	aif_target_losses(&w->d, w->t);
	aif_target_losses(&w->d, w->t);
	assert_int_equal(loss_of(&w->store.p, AIF_REASON_RANGE_NAMES), 1000000);
	assert_int_equal(loss_of(&w->store.p, AIF_REASON_RANGES_DEEP), 7);
	assert_int_equal(loss_of(&w->store.p, AIF_REASON_RANGES_UNBEGUN), 8);
	assert_int_equal(loss_of(&w->store.p, AIF_REASON_RING_FULL), 5 + 2);
	atomic_store(&slot->lost_ranges, 0);
	/* A hostile target counts backwards: no wrap into billions. */
	atomic_store(&slot->lost_launches, 0);
	aif_target_losses(&w->d, w->t);
	assert_int_equal(loss_of(&w->store.p, AIF_REASON_RING_FULL), 5 + 2);
}

/* One round of a writer that never says the same twice: names of 32 KB, stacks of places where nothing was. */
static void tell_nonsense(struct world *w, uint32_t *n)
{
	static char text[32000], path[4001];

	memset(text, 'x', sizeof(text) - 1);
	memset(path, 'x', sizeof(path) - 1);
	for (int i = 0; i < 2; i++) {
		uint16_t len = sizeof(text) - 1;
		struct aif_wire_stack *stack;

		snprintf(text, sizeof(text), "%08u", (unsigned)++*n);
		text[8] = 'x';
		memcpy(path, text, 8);
		PUT(w, 0, THREAD, thread, NULL, .head.aux = *n);
		PUT(w, 0, KERNEL, kernel, text, .head.aux = *n, .program = AIF_WIRE_NONE,
		    .name_len = len);
		PUT(w, 0, PYCODE, pycode, text, .head.aux = *n, .lines_len = len);
		PUT(w, 0, PROGRAM, program, text, .head.aux = *n, .source_len = 1u << 20,
		    .options_len = len);
		PUT(w, 0, TEXT, text, text, .head.aux = *n, .len = len);
		PUT(w, 0, NOTE, note, text, .head.aux = AIF_REASON_NO_CODE, .detail_len = len);
		PUT(w, 0, JIT, jit, text, .lo = *n * UINT64_C(16), .hi = *n * UINT64_C(16) + 16,
		    .name_len = len);
		PUT(w, 0, MODULE, module, path, .lo = *n * UINT64_C(4096),
		    .hi = *n * UINT64_C(4096) + 4096, .path_len = 4000);
		PUT(w, 0, DEVICE, device, text, .head.aux = *n, .name_len = len);
		PUT(w, 0, STREAM, stream, NULL, .head.aux = *n, .device = *n);
		PUT(w, 0, SHAPE, shape, NULL, .head.aux = *n, .grid = {*n});
		PUT(w, 0, CLOCK, clock, NULL, .head.aux = AIF_CLOCK_DEVICE, .value = *n);
		PUT(w, 0, CPU_SAMPLE, cpu_sample, NULL, .head.aux = *n, .stack = 1);
		stack = aif_ring_reserve(&w->ring[0], AIF_WIRE_STACK,
					 sizeof(*stack) + 2000 * sizeof(uint64_t));
		stack->head.aux = 1;
		stack->depth = 2000;
		stack->stop = 0;
		for (uint32_t k = 0; k < 2000; k++)
			stack->pcs[k] = UINT64_C(0x100000000000) + *n * UINT64_C(65536) + k;
		aif_ring_commit(&w->ring[0]);
	}
	aif_target_drain(&w->d, w->t);
}

static size_t strings_bytes(const struct world *w)
{
	return w->store.p.strings.bytes_len;
}

/* Definitions of a process are bounded by bytes, not by number alone; known ones are still found. */
static void a_hostile_process_fills_its_account(void **state)
{
	struct world *w = *state;
	const struct aif_profile *p = &w->store.p;
	struct aif_batch *b;
	size_t strings, frames, stacks, codes;
	uint32_t n = 100, rounds = 0; /* none of the numbers of define() */

	define(w, 1);
	aif_target_drain(&w->d, w->t);
	while (w->t->quota.bytes < AIF_QUOTA_MAX - (AIF_QUOTA_MAX >> 9) && ++rounds < 512)
		tell_nonsense(w, &n);
	/* All that can be had was had. */
	assert_true(rounds < 512);
	for (int i = 0; i < 32; i++)
		tell_nonsense(w, &n);
	strings = strings_bytes(w);
	frames = p->frames_len;
	stacks = p->stacks_len;
	codes = w->d.pycodes.len;
	for (int i = 0; i < 64; i++)
		tell_nonsense(w, &n);
	assert_int_equal(w->t->slots[0].drain.bad, 0);
	assert_true(w->t->quota.bytes <= AIF_QUOTA_MAX);
	assert_true(strings_bytes(w) - strings < 65536);
	assert_true(p->frames_len - frames + p->stacks_len - stacks < 4096);
	assert_int_equal(w->d.pycodes.len, codes);
	assert_true(strings_bytes(w) < AIF_QUOTA_MAX / 2);

	aif_target_losses(&w->d, w->t);
	assert_true(loss_of(p, AIF_REASON_DEFINITIONS_FULL) > 64 * 2 * 5);
	take(w, AIF_BATCH_LAUNCH);
	launch(w, 1, 1);
	aif_target_drain(&w->d, w->t);
	b = take(w, AIF_BATCH_LAUNCH);
	assert_non_null(b);
	assert_string_equal(aif_profile_str(p, p->kernels[b->launches[0].kernel].name), "multiply");
	assert_int_not_equal(b->launches[0].stream, AIF_NONE);
}

/* A known definition that is told once more is not refused, or counted so. */
static void what_is_known_costs_nothing(void **state)
{
	struct world *w = *state;

	define(w, 0);
	aif_target_drain(&w->d, w->t);
	w->t->quota.bytes = AIF_QUOTA_MAX;
	PUT(w, 0, DEVICE, device, "dev", .head.aux = 5, .kind = AIF_DEVICE_GPU, .name_len = 3,
	    .clock = AIF_CLOCK_MONOTONIC_RAW);
	PUT(w, 0, KERNEL, kernel, "multiply", .head.aux = 8, .program = 7, .name_len = 8);
	aif_target_drain(&w->d, w->t);
	assert_int_equal(w->t->quota.refused, 0);
	PUT(w, 0, KERNEL, kernel, "multiply", .head.aux = 9, .program = 7, .name_len = 8);
	aif_target_drain(&w->d, w->t);
	assert_int_equal(w->t->quota.refused, 1);
}

/* Threads come and go: what their tables took is had again. */
static void a_threads_tables_are_paid_back(void **state)
{
	struct world *w = *state;
	uint64_t after[2];

	for (int round = 0; round < 40; round++) {
		PUT(w, 0, THREAD, thread, NULL, .head.aux = 7);
		for (uint32_t i = 0; i < 8000; i++)
			PUT(w, 0, SHAPE, shape, NULL, .head.aux = i, .grid = {i});
		aif_target_drain(&w->d, w->t);
		after[round > 0] = w->t->quota.bytes;
	}
	assert_int_equal(after[0], after[1]);
	assert_true(w->t->quota.own > 8000);
}

/* Records wait in the ring when the writer is behind; nothing is dropped by us. */
static void a_slow_writer_leaves_records_in_the_ring(void **state)
{
	struct world *w = *state;
	struct aif_batch *b;
	uint64_t put_in = 0, got = 0, n;

	define(w, 0);
	for (int round = 0; round < 400; round++) {
		for (n = 0; n < 10000; n++) {
			struct aif_wire_launch *l =
				aif_ring_reserve(&w->ring[0], AIF_WIRE_LAUNCH, sizeof(*l));

			if (!l)
				break;
			*l = (struct aif_wire_launch){.head = l->head, .stream = 6, .kernel = 8};
			l->head.aux = 0;
			aif_ring_commit(&w->ring[0]);
			put_in++;
		}
		aif_target_drain(&w->d, w->t);
	}
	assert_true(w->store.batches.made <= AIF_BATCH_MAX);
	do {
		aif_batches_flush(&w->store.batches);
		while ((b = aif_batches_take(&w->store.batches)) != NULL) {
			got += b->len;
			aif_batches_give(&w->store.batches, b);
		}
	} while (aif_target_drain(&w->d, w->t));
	assert_int_equal(got, put_in);
	assert_true(put_in < 400u * 10000u); /* the ring did fill up */
	assert_int_equal(loss_of(&w->store.p, AIF_REASON_WRITER_BEHIND), 0);
}

/* Shapes until the ring is full; how many. */
static uint32_t fill_ring(struct world *w, unsigned slot)
{
	struct aif_wire_shape *s;
	uint32_t n = 0;

	while ((s = aif_ring_reserve(&w->ring[slot], AIF_WIRE_SHAPE, sizeof(*s))) != NULL) {
		*s = (struct aif_wire_shape){.head = s->head, .grid = {n}};
		s->head.aux = n++;
		aif_ring_commit(&w->ring[slot]);
	}
	return n;
}

/* A process that fills all its rings all the time gets its turn and no more, and each of its threads gets its own. */
static void a_target_that_floods_has_a_turn(void **state)
{
	struct world *w = *state;
	size_t bytes;

	PUT(w, 2, THREAD, thread, NULL, .head.aux = 77, .name = "worker");
	for (int round = 0; round < 4; round++) {
		for (unsigned slot = 0; slot < SLOTS; slot++)
			assert_true(fill_ring(w, slot) || round);
		bytes = aif_target_drain(&w->d, w->t);
		assert_true(bytes >= RING_SIZE);
		assert_true(bytes < RING_SIZE + 2 * AIF_DRAIN_SCRATCH);
		assert_true(w->t->is_cut);
		assert_int_equal(w->t->slots[2].thread != AIF_NONE, round >= 1);
	}
	while (aif_target_drain(&w->d, w->t))
		;
	assert_false(w->t->is_cut);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		assert_int_equal(aif_target_unread(w->t, slot), 0);
}

/* While the rings that have a launch's kernel and stream are not read, the launch waits for them. */
static void what_waits_in_a_ring_is_waited_for(void **state)
{
	struct world *w = *state;
	struct aif_batch *b;

	launch(w, 0, 9);
	fill_ring(w, 0);
	fill_ring(w, 1);
	define(w, 2);
	while (aif_target_drain(&w->d, w->t))
		;
	b = take(w, AIF_BATCH_LAUNCH);
	assert_non_null(b);
	assert_int_equal(b->len, 1);
	assert_true(b->launches->kernel != AIF_NONE);
	assert_true(b->launches->stream != AIF_NONE);
}

static uint64_t loss_with(const struct aif_profile *p, uint32_t reason, const char *detail)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->losses_len; i++)
		if (p->losses[i].reason == reason && p->losses[i].detail != AIF_NONE &&
		    !strcmp(aif_profile_str(p, p->losses[i].detail), detail))
			n += p->losses[i].count;
	return n;
}

/* Rows for which there is no room, should it come to that: each loss says of what. */
static void rows_without_room_are_told_apart(void **state)
{
	struct world *w = *state;
	struct aif_ingest in = {.drainer = &w->d, .target = w->t, .slot = &w->t->slots[0]};

	define(w, 0);
	aif_target_drain(&w->d, w->t);
	assert_null(w->store.batches.spare);
	w->store.batches.made = AIF_BATCH_MAX;
	launch(w, 0, 1);
	for (int i = 0; i < 2; i++)
		PUT(w, 0, EXEC, exec, NULL, .launch = 1, .start = 1, .end = 2, .stream = 6,
		    .kernel = 8);
	PUT(w, 0, BLOCK, block, NULL, .start = 1, .end = 2, .launches = 1);
	PUT(w, 0, CPU_SAMPLE, cpu_sample, NULL, .time = 1, .weight = 1);
	aif_ring_drain(&in.slot->drain, aif_shm_slot(w->shm, 0),
		       aif_shm_ring(w->shm, SLOTS, RING_SIZE, 0), RING_SIZE, w->d.scratch,
		       AIF_DRAIN_SCRATCH, UINT64_MAX, aif_ingest_record, &in);
	assert_int_equal(loss_with(&w->store.p, AIF_REASON_WRITER_BEHIND, "launches"), 1);
	assert_int_equal(loss_with(&w->store.p, AIF_REASON_WRITER_BEHIND, "executions"), 2);
	assert_int_equal(loss_with(&w->store.p, AIF_REASON_WRITER_BEHIND, "windows"), 1);
	assert_int_equal(loss_with(&w->store.p, AIF_REASON_WRITER_BEHIND, "CPU samples"), 1);
	w->store.batches.made = 0;
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(losses_are_counted_once),
		TEST(a_hostile_process_fills_its_account),
		TEST(what_is_known_costs_nothing),
		TEST(a_threads_tables_are_paid_back),
		TEST(a_slow_writer_leaves_records_in_the_ring),
		TEST(rows_without_room_are_told_apart),
		TEST(a_target_that_floods_has_a_turn),
		TEST(what_waits_in_a_ring_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
