/* SPDX-License-Identifier: Apache-2.0 */
#include "base/job_rank.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define FIND(block) aif_job_rank_find(block, sizeof(block))

static void launchers_are_known(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		uint32_t rank, local, world;
	} cases[] = {
#define CASE(text, ...) {text, sizeof(text), __VA_ARGS__}
		CASE("HOME=/root\0RANK=3\0LOCAL_RANK=1\0WORLD_SIZE=8", 3, 1, 8),
		CASE("OMPI_COMM_WORLD_RANK=5\0OMPI_COMM_WORLD_LOCAL_RANK=2\0OMPI_COMM_WORLD_SIZE=6",
		     5, 2, 6),
		CASE("PMI_RANK=1\0PMI_SIZE=2", 1, UINT32_MAX, 2),
		CASE("PMIX_RANK=4", 4, UINT32_MAX, 0),
		CASE("SLURM_PROCID=7\0SLURM_LOCALID=3\0SLURM_STEP_NUM_TASKS=8", 7, 3, 8),
		/* torchrun, which Slurm started once on each of two hosts */
		CASE("SLURM_PROCID=1\0SLURM_LOCALID=0\0SLURM_STEP_NUM_TASKS=2\0RANK=9\0LOCAL_RANK=1\0"
		     "WORLD_SIZE=16",
		     9, 1, 16),
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_job_rank r = aif_job_rank_find(cases[i].text, cases[i].size);

		assert_true(r.is_known);
		assert_int_equal(r.rank, cases[i].rank);
		assert_int_equal(r.local_rank, cases[i].local);
		assert_int_equal(r.world, cases[i].world);
	}
}

static void ranks_of_a_host_are_counted_where_the_launcher_says(void **state)
{
	(void)state;
	assert_int_equal(FIND("RANK=3\0WORLD_SIZE=8\0LOCAL_WORLD_SIZE=4").local_world, 4);
	assert_int_equal(FIND("OMPI_COMM_WORLD_RANK=0\0OMPI_COMM_WORLD_SIZE=6\0"
			      "OMPI_COMM_WORLD_LOCAL_SIZE=2")
				 .local_world,
			 2);
	assert_int_equal(FIND("RANK=3\0WORLD_SIZE=8").local_world, 0);
}

static void others_have_no_rank(void **state)
{
	(void)state;
	assert_false(aif_job_rank_find(NULL, 0).is_known);
	assert_false(FIND("HOME=/root").is_known);
	assert_false(FIND("RANK=3").is_known); /* anybody's word */
	assert_false(FIND("RANK=first\0WORLD_SIZE=2").is_known);
	assert_false(FIND("RANK=2\0WORLD_SIZE=2").is_known); /* none of two */
	assert_false(FIND("RANK=-1\0WORLD_SIZE=2").is_known);
	assert_false(FIND("RANK=99999999999\0WORLD_SIZE=2").is_known);
	assert_false(FIND("MYRANK=1\0WORLD_SIZE=2").is_known);
	assert_false(FIND("SLURM_PROCID=0").is_known); /* a batch script */
	assert_false(FIND("SLURM_PROCID=0\0SLURM_STEP_NUM_TASKS=1").is_known);
	/* Cut off: who knows how the number goes on. */
	assert_false(aif_job_rank_find("PMIX_RANK=4", 11).is_known);
}

#define NUMBER(text) aif_job_number(text, sizeof(text))

static void ranks_of_a_job_have_its_number(void **state)
{
	uint64_t first = NUMBER("RANK=0\0WORLD_SIZE=2\0MASTER_ADDR=a\0MASTER_PORT=29500");

	(void)state;
	assert_int_not_equal(first, 0);
	assert_int_equal(NUMBER("MASTER_PORT=29500\0RANK=1\0WORLD_SIZE=2\0MASTER_ADDR=a"), first);
	assert_int_not_equal(NUMBER("RANK=1\0WORLD_SIZE=2\0MASTER_ADDR=a\0MASTER_PORT=29501"),
			     first);
	assert_int_not_equal(NUMBER("RANK=1\0WORLD_SIZE=2\0MASTER_ADDR=a2\0MASTER_PORT=9500"),
			     first);
	/* No job of several. */
	assert_int_equal(NUMBER("HOME=/root\0MASTER_ADDR=a"), 0);
	assert_int_equal(NUMBER("OMPI_COMM_WORLD_RANK=0\0OMPI_COMM_WORLD_SIZE=1"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launchers_are_known),
		cmocka_unit_test(ranks_of_a_host_are_counted_where_the_launcher_says),
		cmocka_unit_test(others_have_no_rank),
		cmocka_unit_test(ranks_of_a_job_have_its_number),
	};

	return cmocka_run_group_tests_name("ranks by the environment", tests, NULL, NULL);
}
