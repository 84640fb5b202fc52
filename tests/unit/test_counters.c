/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_ingest.h"

#include "record/counters.h"

/* What agents read of devices' counters, from their rings to the rows; and who may read. */

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

	/* Of a device that nobody told of; its values are nobody's. */
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

static void one_process_reads_a_device(void **state)
{
	struct world *w = *state;
	struct aif_target other = {.shm = aligned_alloc(64, sizeof(struct aif_shm))};

	assert_non_null(other.shm);
	memset(other.shm, 0, sizeof(*other.shm));
	define_counters(w);
	put_gpu(w, 6, "two", 0);
	PUT(w, 0, DEVICE, device, "cpulevel zero", .head.aux = 7, .kind = AIF_DEVICE_CPU,
	    .name_len = 3, .runtime_len = 10);
	/* Of another runtime. */
	PUT(w, 0, DEVICE, device, "cuda", .head.aux = 8, .kind = AIF_DEVICE_GPU, .runtime_len = 4);
	put_gpu(w, 63, "last", 0);
	put_gpu(w, 64, "far", 0);
	aif_target_drain(&w->d, w->t);
	w->d.targets = w->t;
	w->t->next = &other;
	/* The same card; one whose place nobody knows; and one that nobody else has. */
	aif_counters_device(&w->d, &other, 1, AIF_DEVICE_GPU);
	aif_counters_device(&w->d, &other, 2, AIF_DEVICE_GPU);
	aif_counters_device(&w->d, &other, 3, AIF_DEVICE_GPU);
	assert_int_equal(aif_map_put(&other.device_pci, 1, 0x300), 0);
	assert_int_equal(aif_map_put(&other.device_pci, 3, 0x400), 0);
	aif_counters_follow(&w->d);
	assert_int_equal(w->shm->counting, 0); /* nobody asked */
	w->opts.counters = "default";
	aif_counters_follow(&w->d);
	assert_true(w->shm->counting == (UINT64_C(1) << 63 | 1 << 5 | 1 << 6));
	assert_int_equal(other.shm->counting, 1 << 2 | 1 << 3);
	w->t->ended = true;
	aif_counters_follow(&w->d);
	assert_int_equal(other.shm->counting, 1 << 1 | 1 << 2 | 1 << 3);
	w->t->next = w->d.targets = NULL;
	aif_map_finish(&other.device_pci);
	free(other.shm);
}

/* How many of that reason have been counted, and with what name. */
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
	aif_counters_end(&w->d, w->t);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_SHORT, NULL), 0); /* nobody asked */
	w->opts.counters = "default";
	aif_counters_end(&w->d, w->t);
	aif_counters_end(&w->d, w->t);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_SHORT, "one"), 2);
	/* Who collected nothing had not to tell any. */
	w->shm->began_ns = 0;
	aif_counters_end(&w->d, w->t);
	w->shm->began_ns = 1;
	/* A part of the device is read with it. */
	put_gpu(w, 4, "one, tile 0", 0x300);
	define_counters(w);
	aif_target_drain(&w->d, w->t);
	aif_counters_end(&w->d, w->t);
	/* One was read, the other was not. */
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_SHORT, "one"), 2);
	put_gpu(w, 6, "one", 0x400);
	aif_target_drain(&w->d, w->t);
	aif_counters_end(&w->d, w->t);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_SHORT, "one"), 3);
	/* Its agent has said why. */
	PUT(w, 0, NOTE, note, NULL, .head.aux = AIF_REASON_ZE_COUNTERS_FAILED, .count = 1);
	aif_target_drain(&w->d, w->t);
	aif_counters_end(&w->d, w->t);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_SHORT, "one"), 3);
	aif_counters_last(&w->d);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_NO_GPU, NULL), 0);
}

static void another_process_has_read_them(void **state)
{
	struct world *w = *state;
	struct aif_target other = {.counting = 1 << 1};

	w->opts.counters = "default";
	w->shm->began_ns = 1;
	put_gpu(w, 5, "one", 0x300);
	aif_target_drain(&w->d, w->t);
	assert_int_equal(aif_map_put(&other.device_pci, 1, 0x300), 0);
	w->t->next = &other;
	w->d.targets = w->t;
	aif_counters_end(&w->d, w->t);
	aif_counters_follow(&w->d);
	other.ended = true;
	aif_counters_end(&w->d, w->t);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_SHORT, NULL), 0);
	w->t->next = w->d.targets = NULL;
	aif_map_finish(&other.device_pci);
}

static void without_a_gpu_there_are_none(void **state)
{
	struct world *w = *state;

	PUT(w, 0, DEVICE, device, "cuda", .head.aux = 8, .kind = AIF_DEVICE_GPU, .runtime_len = 4);
	aif_target_drain(&w->d, w->t);
	aif_counters_last(&w->d);
	assert_int_equal(losses(w, AIF_REASON_COUNTERS_NO_GPU, NULL), 0); /* nobody asked */
	w->opts.counters = "default";
	aif_counters_last(&w->d);
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
