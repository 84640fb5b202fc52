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

static void define_counters(struct world *w)
{
	PUT(w, 0, DEVICE, device, "one", .head.aux = 5, .kind = AIF_DEVICE_GPU, .name_len = 3,
	    .pci = 0x300);
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
	PUT(w, 0, DEVICE, device, "two", .head.aux = 6, .kind = AIF_DEVICE_GPU, .name_len = 3);
	PUT(w, 0, DEVICE, device, "cpu", .head.aux = 7, .kind = AIF_DEVICE_CPU, .name_len = 3);
	PUT(w, 0, DEVICE, device, "far", .head.aux = 64, .kind = AIF_DEVICE_GPU, .name_len = 3);
	aif_target_drain(&w->d, w->t);
	w->d.targets = w->t;
	w->t->next = &other;
	/* The same card; and one whose place nobody knows. */
	aif_counters_device(&other, 1, AIF_DEVICE_GPU);
	aif_counters_device(&other, 2, AIF_DEVICE_GPU);
	assert_int_equal(aif_map_put(&other.device_pci, 1, 0x300), 0);
	aif_counters_follow(&w->d);
	assert_int_equal(w->shm->counting, 0); /* nobody asked */
	w->opts.counters = "default";
	aif_counters_follow(&w->d);
	assert_int_equal(w->shm->counting, 1 << 5 | 1 << 6);
	assert_int_equal(other.shm->counting, 1 << 2);
	w->t->ended = true;
	aif_counters_follow(&w->d);
	assert_int_equal(other.shm->counting, 1 << 1 | 1 << 2);
	w->t->next = w->d.targets = NULL;
	aif_map_finish(&other.device_pci);
	free(other.shm);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(values_become_rows),
		TEST(what_is_no_value_is_no_row),
		TEST(one_process_reads_a_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
