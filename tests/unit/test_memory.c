/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations as blocks: who holds a device's memory at its peak. */
#include "fixture_ops.h"

#include "analysis/memory.h"
#include "flame/build.h"

#define UNKNOWN AIF_MEMORY_UNKNOWN
#define HOST    AIF_NONE

static void add(struct ops_fixture *f, uint64_t at, uint32_t thread, uint32_t device, int64_t bytes,
		uint64_t block, uint64_t allocated)
{
	struct aif_memory_row row = {.time = OPS_START + at,
				     .block = block,
				     .bytes = (uint64_t)(bytes < 0 ? -bytes : bytes),
				     .allocated = allocated,
				     .reserved = UNKNOWN,
				     .thread = thread,
				     .stack = AIF_NONE,
				     .device = device,
				     .kind = bytes < 0 ? AIF_MEMORY_RELEASE : AIF_MEMORY_ALLOCATE};
	struct aif_err err = {0};

	assert_ok(aif_writer_memory(f->w, &row, 1, &err), &err);
}

/* Reads; each device's peak must be the sum of what is said to be there. */
static struct aif_memory read_of(struct ops_fixture *f, const struct aif_selection *sel)
{
	struct aif_memory m;

	assert_int_equal(aif_memory_read(&f->p, sel, &m), 0);
	for (size_t i = 0; i < m.devices_len; i++) {
		uint64_t sum = m.devices[i].before;

		for (size_t k = 0; k < m.blocks_len; k++)
			if (m.blocks[k].device == m.devices[i].device &&
			    aif_memory_is_at_peak(&m, &m.blocks[k]))
				sum += m.blocks[k].bytes;
		assert_int_equal(sum, m.devices[i].peak);
	}
	return m;
}

static uint64_t peak(struct ops_fixture *f, const struct aif_selection *sel, uint64_t *ret_before,
		     int64_t *ret_at)
{
	struct aif_memory m = read_of(f, sel);
	uint64_t most = 0;

	for (size_t i = 0; i < m.devices_len; i++)
		if (m.devices[i].device == 0) {
			most = m.devices[i].peak;
			*ret_before = m.devices[i].before;
			*ret_at = m.devices[i].peak_at;
		}
	aif_memory_finish(&m);
	return most;
}

/* The peak is what the allocator says that it has; a release in another thread counts. */
static void the_peak_is_the_allocators(void **state)
{
	struct aif_selection part = {.from_ns = 25, .to_ns = 29};
	struct ops_fixture f;
	uint64_t before = 0;
	int64_t at = 0;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	add(&f, 10, 0, 0, 100, 1, 1100);
	add(&f, 20, 0, 0, 50, 2, 1150);
	add(&f, 21, 0, HOST, 1 << 30, 1, UNKNOWN); /* the host's is no device's */
	add(&f, 30, 1, 0, -100, 1, 1050);
	add(&f, 40, 1, 0, 60, 1, 1110);
	add(&f, 50, 1, 0, -900, 77, 210); /* from before */
	add(&f, 60, 0, 0, 70, 3, 280);
	ops_read(&f);
	assert_int_equal(peak(&f, NULL, &before, &at), 1150);
	assert_int_equal(before, 1000);
	assert_int_equal(at, 20);
	/* Without an event in that time, the same is there. */
	assert_int_equal(peak(&f, &part, &before, &at), 1150);
	part = (struct aif_selection){.from_ns = 55};
	assert_int_equal(peak(&f, &part, &before, &at), 280);
	assert_int_equal(before, 100);
	part = (struct aif_selection){.from_ns = 35, .to_ns = 45};
	assert_int_equal(peak(&f, &part, &before, &at), 1110);
	ops_end(&f);
}

/* Blocks of one thread have a beginning; what it had before is not known. */
static void threads_hold_what_they_allocated(void **state)
{
	bool threads[] = {true, false, false};
	struct aif_selection sel = {.threads = threads};
	struct ops_fixture f;
	uint64_t before = 7;
	int64_t at;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	add(&f, 10, 0, 0, 100, 1, 1100);
	add(&f, 20, 1, 0, 500, 2, 1600);
	add(&f, 30, 1, 0, -100, 1, 1500);
	add(&f, 40, 0, 0, 60, 3, 1560);
	ops_read(&f);
	assert_int_equal(peak(&f, &sel, &before, &at), 100);
	assert_int_equal(before, 0);
	ops_end(&f);
}

/* Without sums, what is released and never was allocated was there; without addresses, the newest of its size goes. */
static void old_traces_have_neither_sums_nor_addresses(void **state)
{
	struct ops_fixture f;
	struct aif_memory m;
	uint64_t before = 0;
	int64_t at = 0;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	add(&f, 10, 0, 0, 100, 0, UNKNOWN);
	add(&f, 20, 0, 0, 100, 0, UNKNOWN);
	add(&f, 30, 0, 0, -100, 0, UNKNOWN);
	add(&f, 40, 0, 0, -30, 0, UNKNOWN);
	add(&f, 50, 0, 0, -100, 0, UNKNOWN);
	ops_read(&f);
	assert_int_equal(peak(&f, NULL, &before, &at), 230);
	assert_int_equal(before, 30);
	m = read_of(&f, NULL);
	assert_int_equal(m.blocks_len, 2);
	assert_int_equal(m.blocks[0].end, 50);
	assert_int_equal(m.blocks[1].end, 30);
	assert_int_equal(m.devices[0].by_size, 2);
	aif_memory_finish(&m);
	ops_end(&f);
}

/* An address that is given out again was released in between. */
static void a_lost_release_is_none_at_its_next_allocation(void **state)
{
	struct ops_fixture f;
	uint64_t before = 0;
	int64_t at;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (uint64_t i = 0; i < 10; i++)
		add(&f, 10 + i, 0, 0, 100, 1, UNKNOWN);
	add(&f, 30, 2, 0, 40, 1, UNKNOWN); /* the other process's address */
	ops_read(&f);
	assert_int_equal(peak(&f, NULL, &before, &at), 140);
	assert_int_equal(before, 0);
	ops_end(&f);
}

/* A recording has the runtime's blocks, too: those that the allocator hands out in smaller ones count once. */
static void memory_of_an_allocator_counts_once(void **state)
{
	struct ops_fixture f;
	struct aif_memory m;
	struct aif_tree tree = {0};
	struct aif_err err = {0};
	uint64_t beside = 0;
	size_t len;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	add(&f, 5, 0, 0, 3000, 0x90000, UNKNOWN); /* nobody's but the program's */
	add(&f, 10, 0, 0, 4096, 0x10000, UNKNOWN);
	add(&f, 11, 0, 0, 512, 0x10000, 512);
	add(&f, 12, 0, 0, 512, 0x10200, 1024);
	add(&f, 13, 0, 0, -512, 0x10000, 512);
	/* Two pieces below one block, the second of which it only ends in. */
	add(&f, 20, 0, 0, 4096, 0x20000, UNKNOWN);
	add(&f, 21, 0, 0, 4096, 0x21000, UNKNOWN);
	add(&f, 22, 0, 0, 4608, 0x20000, 5120);
	add(&f, 23, 0, 0, -4608, 0x20000, 512);
	add(&f, 24, 0, 0, -1, 0x20000, UNKNOWN);
	add(&f, 25, 0, 0, -1, 0x21000, UNKNOWN);
	/* The program's own, at the address of what was a segment; released by a thread that uses another device. */
	add(&f, 30, 0, 0, 100, 0x20000, UNKNOWN);
	add(&f, 31, 0, HOST, -1, 0x20000, UNKNOWN);
	ops_read(&f);
	m = read_of(&f, NULL);
	assert_int_equal(m.devices_len, 1);
	assert_int_equal(m.devices[0].peak, 3000 + 5120);
	assert_int_equal(m.devices[0].beside, 3000);
	assert_int_equal(m.devices[0].before, 0);
	assert_int_equal(m.devices[0].allocations, 5);
	assert_int_equal(m.devices[0].releases, 3);
	assert_ok(aif_flame_build_memory(AIF_NAMES_OF(&f.p), &m, &(struct aif_flame_opts){0}, &tree,
					 &err),
		  &err);
	assert_int_equal(tree.nodes[0].total, 3000 + 5120);
	for (size_t i = 0; i < tree.len; i++)
		if (!strcmp(aif_tree_text(&tree, tree.nodes[i].name, &len),
			    "[not by the allocator]"))
			beside += tree.nodes[i].total;
	assert_int_equal(beside, 3000);
	aif_tree_finish(&tree);
	aif_memory_finish(&m);
	ops_end(&f);
}

static void two_operators(struct ops_fixture *f)
{
	ops_begin(f, NULL, "cuda");
	ops_add(f, 0, 0, 100, AIF_OP_OPERATOR, "aten::linear");
	ops_add(f, 0, 10, 60, AIF_OP_OPERATOR, "aten::mm");
	ops_exec(f, 0, 20, 0, 1000, 1040, "gemm");
	add(f, 30, 0, 0, 3 << 20, 1, UNKNOWN);
	add(f, 70, 0, 0, -(3 << 20), 1, UNKNOWN);
	add(f, 80, 0, HOST, 100, 1, UNKNOWN);
	add(f, 200, 0, 0, 2048, 2, UNKNOWN); /* in none */
	ops_read(f);
}

/* Columns of memory, as torch's table has them, are there where the profile has allocations. */
static void operators_have_what_they_allocated(void **state)
{
	struct ops_fixture f;
	char *text;

	(void)state;
	two_operators(&f);
	assert_report(
		&f,
		(struct aif_report_opts){.table = &aif_report_table_ops,
					 .format = AIF_TABLE_CSV,
					 .sort = "cuda_memory_usage"},
		"name,process,type,self_cpu_share,self_cpu,cpu_total_share,cpu_total,cpu_average,self_device,"
		"self_device_share,device_total,device_average,error,cpu_memory,self_cpu_memory,device_memory,"
		"self_device_memory,calls\n"
		"aten::mm,100,operator,0.500000,50,0.500000,50,50,40,1.000000,40,40,0,0,0,3145728,3145728,1\n"
		"[memory],0,memory,0.000000,0,0.000000,0,0,0,0.000000,0,0,0,0,0,2048,2048,1\n"
		"gemm,100,kernel,0.000000,0,0.000000,0,0,40,1.000000,40,40,0,0,0,0,0,1\n"
		"aten::linear,100,operator,0.500000,50,1.000000,100,100,0,0.000000,40,40,0,100,100,0,-3145728,1\n");
	text = ops_report(&f, (struct aif_report_opts){.table = &aif_report_table_ops});
	assert_non_null(strstr(text, "CPU Mem  Self CPU Mem  CUDA Mem  Self CUDA Mem"));
	assert_non_null(strstr(text, "100 b         100 b       0 b       -3.00 Mb"));
	free(text);
	ops_end(&f);
}

static void who_allocated_is_a_table(void **state)
{
	struct ops_fixture f;

	(void)state;
	two_operators(&f);
	assert_report(
		&f,
		(struct aif_report_opts){.table = &aif_report_table_memory,
					 .format = AIF_TABLE_CSV},
		"at_peak,at_peak_share,peak,allocated,released,allocations,process,device,operator,caller\n"
		"3145728,1.000000,3145728,3147776,3145728,2,100,device,,\n"
		"100,1.000000,100,100,0,1,100,host,,\n");
	ops_end(&f);
}

/* A picture is as wide as the device's peak has bytes; the host's memory is drawn where there is no other. */
static void pictures_are_as_wide_as_the_peak(void **state)
{
	for (int of_host = 0; of_host < 2; of_host++) {
		struct ops_fixture f;
		struct aif_tree tree = {0};
		struct aif_memory m;
		struct aif_err err = {0};

		ops_begin(&f, NULL, "cuda");
		add(&f, 10, 0, HOST, 5000, 1, UNKNOWN);
		if (!of_host)
			add(&f, 20, 0, 0, 100, 1, 300);
		ops_read(&f);
		m = read_of(&f, NULL);
		assert_ok(aif_flame_build_memory(AIF_NAMES_OF(&f.p), &m,
						 &(struct aif_flame_opts){0}, &tree, &err),
			  &err);
		assert_int_equal(tree.nodes[0].total, of_host ? 5000 : 300);
		aif_tree_finish(&tree);
		aif_memory_finish(&m);
		ops_end(&f);
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_peak_is_the_allocators),
		cmocka_unit_test(threads_hold_what_they_allocated),
		cmocka_unit_test(old_traces_have_neither_sums_nor_addresses),
		cmocka_unit_test(a_lost_release_is_none_at_its_next_allocation),
		cmocka_unit_test(memory_of_an_allocator_counts_once),
		cmocka_unit_test(operators_have_what_they_allocated),
		cmocka_unit_test(who_allocated_is_a_table),
		cmocka_unit_test(pictures_are_as_wide_as_the_peak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
