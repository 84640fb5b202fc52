/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_ingest.h"

/* Device counters that agents read, from their rings to the rows; and who may read. */

static void values(struct world *w, uint32_t first, uint64_t time, const double *v, uint32_t n)
{
	struct aif_wire_values *r = aif_ring_reserve(&w->ring[0], AIF_WIRE_VALUES,
						     sizeof(*r) + n * sizeof(r->values[0]));

	assert_non_null(r);
	r->head.aux = first;
	r->time = time;
	r->count = n;
	memcpy(r->values, v, n * sizeof(*v));
	aif_ring_commit(&w->ring[0]);
}

static void step(struct world *w)
{
	aif_source_counters.step(&w->d, &(struct aif_turn){.now = 1});
}

static void ended(struct world *w)
{
	aif_source_counters.target_end(&w->d, w->t, 1);
}

static void put_gpu(struct world *w, uint32_t id, const char *name, uint32_t pci)
{
	char tail[32];

	snprintf(tail, sizeof(tail), "%slevel zero", name);
	PUT(w, 0, DEVICE, device, tail, .head.aux = id, .kind = AIF_DEVICE_GPU, .pci = pci,
	    .name_len = (uint16_t)strlen(name), .runtime_len = 10);
}

static void define_counters(struct world *w)
{
	put_gpu(w, 5, "one", 0x300);
	PUT(w, 0, COUNTER, counter, "GpuBusy%", .head.aux = 10, .device = 5, .name_len = 7,
	    .unit_len = 1);
	PUT(w, 0, COUNTER, counter, "threads", .head.aux = 11, .device = 5, .name_len = 7);
}

static void values_become_rows(void **state)
{
	struct world *w = *state;
	const struct aif_profile *p = &w->store.p;
	struct aif_batch *b;

	define_counters(w);
	values(w, 10, 1000, (double[]){12.5, 7}, 2);
	values(w, 11, 2000, (double[]){8}, 1);
	aif_target_drain(&w->d, w->t);
	b = take(w, AIF_BATCH_COUNTER);
	assert_non_null(b);
	assert_int_equal(b->len, 3);
	assert_int_equal(b->counters[0].time, 1000);
	assert_true(b->counters[0].value == 12.5);
	assert_string_equal(aif_profile_str(p, b->counters[0].name), "GpuBusy");
	assert_string_equal(aif_profile_str(p, b->counters[0].unit), "%");
	assert_int_equal(b->counters[0].device, 0);
	assert_int_equal(b->counters[0].process, AIF_NONE);
	assert_int_equal(b->counters[1].unit, AIF_NONE);
	assert_true(b->counters[2].value == 8);
	assert_string_equal(aif_profile_str(p, b->counters[2].name), "threads");
	assert_int_equal(w->t->slots[0].drain.bad, 0);
}

static void what_is_no_value_is_no_row(void **state)
{
	struct world *w = *state;
	struct aif_batch *b;

	/* A counter of a device that nobody told of; its values are nobody's. */
	PUT(w, 0, COUNTER, counter, "lost", .head.aux = 1, .device = 9, .name_len = 4);
	values(w, 1, 1000, (double[]){1}, 1);
	define_counters(w);
	values(w, 10, 1000, (double[]){__builtin_nan(""), __builtin_inf(), 3}, 3);
	values(w, UINT32_MAX, 1000, (double[]){1, 2, 3}, 3);
	/* The first name stays. */
	PUT(w, 0, COUNTER, counter, "other", .head.aux = 10, .device = 5, .name_len = 5);
	values(w, 10, 3000, (double[]){4}, 1);
	aif_target_drain(&w->d, w->t);
	assert_int_equal(w->t->slots[0].drain.bad, 1);
	b = take(w, AIF_BATCH_COUNTER);
	assert_non_null(b);
	assert_int_equal(b->len, 1);
	assert_string_equal(aif_profile_str(&w->store.p, b->counters[0].name), "GpuBusy");
}

static struct aif_target *other_new(struct world *w)
{
	struct aif_target *t;
	struct aif_shm *shm;
	int fd;

	assert_int_equal(aif_shm_create(1, RING_SIZE, &shm, &fd), 0);
	close(fd);
	t = aif_target_new(&w->d, 2, 0, shm, 1, RING_SIZE);
	assert_non_null(t);
	return t;
}

/* A GPU of Level Zero's that another process than w->t defines. */
static void define_other(struct world *w, struct aif_target *t, uint32_t id, uint32_t pci)
{
	struct aif_ingest in = {.drainer = &w->d, .target = t, .slot = &t->slots[0]};
	struct {
		struct aif_wire_device device;
		char tail[16];
	} r = {.device = {.head = {.type = AIF_WIRE_DEVICE, .aux = id},
			  .kind = AIF_DEVICE_GPU,
			  .pci = pci,
			  .runtime_len = 10},
	       .tail = "level zero"};

	aif_ingest_record(&in, &r);
}

static void one_process_reads_a_device(void **state)
{
	struct world *w = *state;
	struct aif_target *other = other_new(w);

	define_counters(w);
	put_gpu(w, 6, "two", 0);
	PUT(w, 0, DEVICE, device, "cpulevel zero", .head.aux = 7, .kind = AIF_DEVICE_CPU,
	    .name_len = 3, .runtime_len = 10);
	/* A device of another runtime. */
	PUT(w, 0, DEVICE, device, "cuda", .head.aux = 8, .kind = AIF_DEVICE_GPU, .runtime_len = 4);
	put_gpu(w, 63, "last", 0);
	put_gpu(w, 64, "far", 0);
	aif_target_drain(&w->d, w->t);
	w->d.targets = w->t;
	w->t->next = other;
	/* The same card; one whose place nobody knows; and one that nobody else has. */
	define_other(w, other, 1, 0x300);
	define_other(w, other, 2, 0);
	define_other(w, other, 3, 0x400);
	step(w);
	assert_int_equal(w->shm->counting, 0); /* nobody asked */
	w->opts.counters = "default";
	step(w);
	assert_true(w->shm->counting == (UINT64_C(1) << 63 | 1 << 5 | 1 << 6));
	assert_int_equal(other->shm->counting, 1 << 2 | 1 << 3);
	w->t->ended = true;
	step(w);
	assert_int_equal(other->shm->counting, 1 << 1 | 1 << 2 | 1 << 3);
	w->t->next = w->d.targets = NULL;
	aif_target_free(&w->d, other);
}

/* Returns the number of losses with this reason; checks their detail. */
static uint64_t losses(struct world *w, enum aif_reason reason, const char *detail)
{
	const struct aif_profile *p = &w->store.p;
	uint64_t n = 0;

	for (size_t i = 0; i < p->losses_len; i++) {
		if (p->losses[i].reason != (uint32_t)reason)
			continue;
		n += p->losses[i].count;
		if (detail)
			assert_string_equal(aif_profile_str(p, p->losses[i].detail), detail);
	}
	return n;
}

static void who_is_over_too_soon_is_counted(void **state)
{
	struct world *w = *state;

	put_gpu(w, 5, "one", 0x300);
	aif_target_drain(&w->d, w->t);
	w->shm->began_ns = 1;
	ended(w);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_SHORT, NULL), 0); /* nobody asked */
	w->opts.counters = "default";
	ended(w);
	ended(w);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_SHORT, "one"), 2);
	/* A process that collected nothing is not counted. */
	w->shm->began_ns = 0;
	ended(w);
	w->shm->began_ns = 1;
	/* A part of the device is read with it. */
	put_gpu(w, 4, "one, tile 0", 0x300);
	define_counters(w);
	aif_target_drain(&w->d, w->t);
	ended(w);
	/* The first device was read, the second one is not. */
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_SHORT, "one"), 2);
	put_gpu(w, 6, "one", 0x400);
	aif_target_drain(&w->d, w->t);
	ended(w);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_SHORT, "one"), 3);
	/* The agent's note has said why. */
	PUT(w, 0, NOTE, note, NULL, .head.aux = AIF_REASON_ZE_COUNTERS_FAILED, .count = 1);
	aif_target_drain(&w->d, w->t);
	ended(w);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_SHORT, "one"), 3);
	aif_source_counters.last(&w->d);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_NO_GPU, NULL), 0);
}

static void another_process_has_read_them(void **state)
{
	struct world *w = *state;
	struct aif_target *other = other_new(w);

	w->opts.counters = "default";
	w->shm->began_ns = 1;
	put_gpu(w, 5, "one", 0x300);
	aif_target_drain(&w->d, w->t);
	define_other(w, other, 1, 0x300);
	w->d.targets = other;
	step(w);
	assert_int_equal(other->shm->counting, 1 << 1);
	w->t->next = other;
	w->d.targets = w->t;
	ended(w);
	step(w);
	assert_int_equal(w->shm->counting, 0);
	other->ended = true;
	ended(w);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_SHORT, NULL), 0);
	w->t->next = w->d.targets = NULL;
	aif_target_free(&w->d, other);
}

static void without_a_gpu_there_are_none(void **state)
{
	struct world *w = *state;

	PUT(w, 0, DEVICE, device, "cuda", .head.aux = 8, .kind = AIF_DEVICE_GPU, .runtime_len = 4);
	aif_target_drain(&w->d, w->t);
	aif_source_counters.last(&w->d);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_NO_GPU, NULL), 0); /* nobody asked */
	w->opts.counters = "default";
	aif_source_counters.last(&w->d);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_NO_GPU, NULL), 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(values_become_rows),
		TEST(what_is_no_value_is_no_row),
		TEST(one_process_reads_a_device),
		TEST(who_is_over_too_soon_is_counted),
		TEST(another_process_has_read_them),
		TEST(without_a_gpu_there_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
