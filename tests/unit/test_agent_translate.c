/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/opencl/translate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000u

/* A probe on a machine whose clocks read as given, stamped by clock `by` (or a foreign one). */
static struct aif_cl_probe probe(const uint64_t clocks[4], unsigned by, uint64_t offset)
{
	struct aif_cl_probe p;

	for (unsigned i = 0; i < 4; i++) {
		p.before[i] = clocks[i];
		p.after[i] = clocks[i] + 5000;
	}
	p.queued = by < 4 ? clocks[by] + 2000 + offset : offset;
	return p;
}

static const uint64_t apart[4] = {1000 * MS, 700 * MS, 9000000 * (uint64_t)MS, 1000 * MS};
static const uint64_t slept[4] = {1000 * MS, 700 * MS, 9000000 * (uint64_t)MS, 5000 * MS};
/* RAW within a microsecond of MONOTONIC, as just after boot. */
static const uint64_t young[4] = {1000 * MS, 1000 * MS + 500, 9000000 * (uint64_t)MS, 1000 * MS};

static void each_host_clock_is_found(void **state)
{
	(void)state;
	for (uint32_t by = 0; by < 4; by++) {
		struct aif_cl_probe p[3] = {probe(slept, by, 0), probe(slept, by, 1000),
					    probe(slept, by, 2000)};

		assert_int_equal(aif_cl_clock_of(p, 3), by);
	}
}

static void boottime_is_monotonic_where_nobody_slept(void **state)
{
	struct aif_cl_probe p = probe(apart, AIF_CLOCK_BOOTTIME, 0);

	(void)state;
	assert_int_equal(aif_cl_clock_of(&p, 1), AIF_CLOCK_MONOTONIC);
}

static void what_fits_two_clocks_is_unknown(void **state)
{
	struct aif_cl_probe p = probe(young, AIF_CLOCK_MONOTONIC, 0);

	(void)state;
	assert_int_equal(aif_cl_clock_of(&p, 1), AIF_WIRE_NONE);
}

static void a_device_counter_is_unknown(void **state)
{
	struct aif_cl_probe p = probe(slept, 9, 123456789);

	(void)state;
	assert_int_equal(aif_cl_clock_of(&p, 1), AIF_WIRE_NONE);
	assert_int_equal(aif_cl_clock_of(&p, 0), AIF_WIRE_NONE);
}

static void all_probes_must_fit(void **state)
{
	struct aif_cl_probe p[2] = {probe(slept, 1, 0), probe(slept, 1, 50 * MS)};

	(void)state;
	assert_int_equal(aif_cl_clock_of(p, 1), AIF_CLOCK_MONOTONIC_RAW);
	assert_int_equal(aif_cl_clock_of(p, 2), AIF_WIRE_NONE);
}

static void a_stamp_rounded_down_still_fits(void **state)
{
	struct aif_cl_probe p = probe(slept, 1, 0);

	(void)state;
	p.queued = p.before[1] - 999;
	assert_int_equal(aif_cl_clock_of(&p, 1), AIF_CLOCK_MONOTONIC_RAW);
	p.queued = p.before[1] - 1001;
	assert_int_equal(aif_cl_clock_of(&p, 1), AIF_WIRE_NONE);
}

static void times_that_cannot_be_are_refused(void **state)
{
	(void)state;
	assert_true(aif_cl_times_good(5, 5));
	assert_true(aif_cl_times_good(5, 9));
	assert_false(aif_cl_times_good(0, 9));
	assert_false(aif_cl_times_good(9, 5));
	assert_false(aif_cl_times_good(UINT64_MAX, UINT64_MAX));
	assert_false(aif_cl_times_good(5, UINT64_MAX));
}

static void opencl_sizes_become_grid_and_block(void **state)
{
	const size_t global[3] = {(size_t)1 << 40, 2, 3}, local[3] = {64, 1, 9};
	struct aif_emit_shape s;

	(void)state;
	aif_cl_shape(2, global, local, &s);
	assert_int_equal(s.grid[0], UINT32_MAX);
	assert_int_equal(s.grid[1], 2);
	assert_int_equal(s.grid[2], 1);
	assert_int_equal(s.block[0], 64);
	assert_int_equal(s.block[2], 1);
	aif_cl_shape(1, NULL, NULL, &s);
	assert_int_equal(s.grid[0], 1);
	assert_int_equal(s.block[0], 0);
}

static void bytes_of_a_region_are_its_product(void **state)
{
	const size_t region[3] = {1 << 20, 1 << 10, 4};

	(void)state;
	assert_int_equal(aif_cl_region_bytes(region, 16), (uint64_t)1 << 36);
	assert_int_equal(aif_cl_region_bytes(NULL, 16), 0);
}

static void opencl_device_types_become_kinds(void **state)
{
	(void)state;
	assert_int_equal(aif_cl_device_kind(1 << 1), AIF_EMIT_DEVICE_CPU);
	assert_int_equal(aif_cl_device_kind(1 << 2 | 1), AIF_EMIT_DEVICE_GPU);
	assert_int_equal(aif_cl_device_kind(1 << 3), AIF_EMIT_DEVICE_ACCELERATOR);
	assert_int_equal(aif_cl_device_kind(1 << 4), AIF_EMIT_DEVICE_OTHER);
}

static void profiling_is_added_to_a_list(void **state)
{
	const uint64_t other[] = {0x1094, 4096, 0}, ordered[] = {AIF_CL_QUEUE_PROPERTIES, 1, 0},
		       asks[] = {AIF_CL_QUEUE_PROPERTIES, 2, 0},
		       on_device[] = {AIF_CL_QUEUE_PROPERTIES, AIF_CL_QUEUE_ON_DEVICE | 1, 0};
	uint64_t out[AIF_CL_PROPERTIES_MAX], asked = 77, many[AIF_CL_PROPERTIES_MAX + 2];

	(void)state;
	assert_int_equal(aif_cl_properties_profiled(NULL, out, &asked), 3);
	assert_int_equal(out[0], AIF_CL_QUEUE_PROPERTIES);
	assert_int_equal(out[1], AIF_CL_QUEUE_PROFILING_ENABLE);
	assert_int_equal(out[2], 0);
	assert_int_equal(asked, 0);
	assert_int_equal(aif_cl_properties_profiled(other, out, &asked), 5);
	assert_int_equal(out[1], 4096);
	assert_int_equal(out[3], AIF_CL_QUEUE_PROFILING_ENABLE);
	assert_int_equal(aif_cl_properties_profiled(ordered, out, &asked), 3);
	assert_int_equal(out[1], 3);
	assert_int_equal(asked, 1);
	assert_int_equal(aif_cl_properties_profiled(asks, out, &asked), 3);
	assert_int_equal(asked, AIF_CL_QUEUE_PROFILING_ENABLE);
	assert_int_equal(aif_cl_properties_profiled(on_device, out, &asked), 0);
	for (unsigned i = 0; i < AIF_ARRAY_LEN(many); i++)
		many[i] = 0x9000;
	many[AIF_ARRAY_LEN(many) - 1] = many[AIF_ARRAY_LEN(many) - 2] = 0;
	assert_int_equal(aif_cl_properties_profiled(many, out, &asked), 0);
}

static void opencl_versions_are_compared(void **state)
{
	(void)state;
	assert_true(aif_cl_version_at_least("OpenCL 2.1 ", 2, 1));
	assert_true(aif_cl_version_at_least("OpenCL 3.0 PoCL", 2, 1));
	assert_false(aif_cl_version_at_least("OpenCL 2.0 AMD", 2, 1));
	assert_false(aif_cl_version_at_least("OpenCL 1.2 CUDA", 2, 1));
	assert_false(aif_cl_version_at_least("OpenCL", 2, 1));
	assert_false(aif_cl_version_at_least("", 2, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_host_clock_is_found),
		cmocka_unit_test(boottime_is_monotonic_where_nobody_slept),
		cmocka_unit_test(what_fits_two_clocks_is_unknown),
		cmocka_unit_test(a_device_counter_is_unknown),
		cmocka_unit_test(all_probes_must_fit),
		cmocka_unit_test(a_stamp_rounded_down_still_fits),
		cmocka_unit_test(times_that_cannot_be_are_refused),
		cmocka_unit_test(opencl_sizes_become_grid_and_block),
		cmocka_unit_test(bytes_of_a_region_are_its_product),
		cmocka_unit_test(opencl_device_types_become_kinds),
		cmocka_unit_test(profiling_is_added_to_a_list),
		cmocka_unit_test(opencl_versions_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
