/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/occupancy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Limits as the CUDA C++ Programming Guide lists them, "Technical Specifications per Compute Capability". */
static const struct aif_device volta = {.arch = 70,
					.unit_threads = 2048,
					.unit_blocks = 32,
					.unit_registers = 65536,
					.unit_shared = 98304};
static const struct aif_device turing = {.arch = 75,
					 .unit_threads = 1024,
					 .unit_blocks = 16,
					 .unit_registers = 65536,
					 .unit_shared = 65536};
static const struct aif_device hopper = {.arch = 90,
					 .unit_threads = 2048,
					 .unit_blocks = 32,
					 .unit_registers = 65536,
					 .unit_shared = 233472,
					 .block_shared = 1024};

static void check(const struct aif_device *d, uint64_t threads, uint32_t registers, uint32_t shared,
		  unsigned warps)
{
	double got = aif_occupancy(d, threads, registers, shared) * d->unit_threads / 32;

	if (got < warps - 1e-6 || got > warps + 1e-6)
		fail_msg("%u threads, %u registers, %u bytes: %g warps instead of %u",
			 (unsigned)threads, registers, shared, got, warps);
}

static void blocks_are_limited_by_warps_slots_registers_and_shared_memory(void **state)
{
	(void)state;
	check(&hopper, 1024, 32, 0, 64);
	check(&hopper, 768, 32, 0, 48); /* a third block does not fit */
	check(&hopper, 32, 16, 0, 32);  /* 32 blocks */
	check(&hopper, 33, 16, 0, 64);  /* of two warps each */
	check(&turing, 32, 16, 0, 16);
	check(&hopper, 256, 40, 0, 48);
	check(&hopper, 256, 64, 0, 32);
	check(&hopper, 256, 65, 0, 24); /* 72 in units of 8 a thread: 28 warps, 3 blocks */
	check(&hopper, 128, 168, 0, 12);
	check(&hopper, 128, 255, 0, 8);
	check(&hopper, 128, 32, 101376, 8); /* 100 KB with the driver's: two */
	check(&hopper, 128, 32, 116736, 4); /* and 115 KB: one */
	check(&volta, 128, 32, 49152, 8);   /* which takes none before compute capability 8 */
	check(&volta, 128, 32, 49153, 4);
	check(&hopper, 128, 32, 232448, 4); /* all that a block can have */
	check(&hopper, 1024, 65, 0, 0);     /* such a block cannot be launched: no warp fits */
}

static void what_is_not_known_has_none(void **state)
{
	struct aif_device d = hopper;

	(void)state;
	assert_true(aif_occupancy(&d, 128, 0, 0) == 0);
	assert_true(aif_occupancy(&d, 0, 32, 0) == 0);
	d.arch = 61;
	assert_true(aif_occupancy(&d, 128, 32, 0) == 0);
	d = (struct aif_device){0};
	assert_true(aif_occupancy(&d, 128, 32, 0) == 0);
	d = hopper;
	assert_true(aif_occupancy(&d, UINT64_MAX - 40, UINT32_MAX, UINT32_MAX) == 0);
}

static void of_an_execution(void **state)
{
	struct aif_shape shape = {.grid = {640, 1, 1}, .block = {64, 2, 1}};
	struct aif_device device = hopper;
	struct aif_profile p = {
		.devices = &device, .devices_len = 1, .shapes = &shape, .shapes_len = 1};
	struct aif_exec_row e = {.registers = 255};
	struct aif_launch_row l = {0};

	(void)state;
	assert_true(aif_exec_occupancy(&p, &e, &l) == 8 / 64.0);
	assert_true(aif_exec_occupancy(&p, &e, NULL) == 0);
	e.graph = 1;
	assert_true(aif_exec_occupancy(&p, &e, &l) == 0);
	e.graph = 0;
	e.device = AIF_NONE;
	assert_true(aif_exec_occupancy(&p, &e, &l) == 0);
	e.device = 0;
	l.shape = AIF_NONE;
	assert_true(aif_exec_occupancy(&p, &e, &l) == 0);
	l.shape = 0;
	shape.block[1] = 0;
	assert_true(aif_exec_occupancy(&p, &e, &l) == 0);
	shape.block[1] = UINT32_MAX;
	assert_true(aif_exec_occupancy(&p, &e, &l) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_limited_by_warps_slots_registers_and_shared_memory),
		cmocka_unit_test(what_is_not_known_has_none),
		cmocka_unit_test(of_an_execution),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
