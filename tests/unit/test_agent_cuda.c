/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/translate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void kernel_records_are_translated(void **state)
{
	struct aif_cupti_kernel k = {.kind = AIF_CUPTI_KIND_CONCURRENT_KERNEL,
				     .start = 1000,
				     .end = 3000,
				     .device = 1,
				     .context = 2,
				     .stream = 7,
				     .correlation = 99,
				     .name = "k"};
	struct aif_cuda_record r;

	(void)state;
	assert_true(aif_cuda_translate(&k, &r));
	assert_int_equal(r.kind, AIF_EMIT_KERNEL);
	assert_int_equal(r.correlation, 99);
	assert_int_equal(r.device, 1);
	assert_int_equal(r.context, 2);
	assert_int_equal(r.stream, 7);
	assert_int_equal(r.start, 1000);
	assert_int_equal(r.end, 3000);
	assert_string_equal(r.name, "k");
	k.name = NULL;
	assert_true(aif_cuda_translate(&k, &r));
	assert_string_equal(r.name, "");
}

/* Execution records have attributes that launches lack: what a kernel needs of its processor, and which node of a graph
 * it was. */
static void records_give_registers_shared_bytes_and_graph_node(void **state)
{
	const uint64_t node = UINT64_C(7) << 32 | 21; /* as CUPTI packs it */
	struct aif_cupti_kernel k = {.kind = AIF_CUPTI_KIND_CONCURRENT_KERNEL,
				     .start = 1,
				     .end = 2,
				     .registers = 255,
				     .static_shared = 1024,
				     .dynamic_shared = 49152,
				     .graph = 7,
				     .graph_node = node};
	struct aif_cupti_memcpy c = {.kind = AIF_CUPTI_KIND_MEMCPY,
				     .start = 1,
				     .end = 2,
				     .graph = 7,
				     .graph_node = node};
	struct aif_cupti_memcpy_peer p = {.kind = AIF_CUPTI_KIND_MEMCPY_PEER,
					  .start = 1,
					  .end = 2,
					  .graph = 7,
					  .graph_node = node};
	struct aif_cupti_memset s = {.kind = AIF_CUPTI_KIND_MEMSET,
				     .start = 1,
				     .end = 2,
				     .graph = 7,
				     .graph_node = node};
	const void *const records[] = {&k, &c, &p, &s};
	struct aif_cuda_record r;

	(void)state;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(records); i++) {
		assert_true(aif_cuda_translate(records[i], &r));
		assert_int_equal(r.graph, 7);
		assert_int_equal(r.node, 21);
		assert_int_equal(r.registers, i ? 0 : 255);
		assert_int_equal(r.shared, i ? 0 : 50176);
	}
	k.graph = 0;
	k.graph_node = 0;
	k.dynamic_shared = UINT32_MAX;
	assert_true(aif_cuda_translate(&k, &r));
	assert_int_equal(r.graph, 0);
	assert_int_equal(r.node, 0);
	assert_int_equal(r.shared, UINT32_MAX); /* nonsense, but no wrapped sum */
}

/* CUPTI gives 0 where it has no time, and records that were flushed by force have no end. */
static void records_without_times_are_refused(void **state)
{
	struct aif_cupti_kernel k = {.kind = AIF_CUPTI_KIND_CONCURRENT_KERNEL, .end = 3000};
	struct aif_cuda_record r = {.start = 5};

	(void)state;
	assert_false(aif_cuda_translate(&k, &r));
	k.start = 4000;
	assert_false(aif_cuda_translate(&k, &r));
	assert_int_equal(r.start, 5); /* untouched */
	k.end = 4000;
	assert_true(aif_cuda_translate(&k, &r));
	k.kind = 4711;
	assert_false(aif_cuda_translate(&k, &r));
}

static void copies_and_fills_are_translated(void **state)
{
	static const struct {
		uint8_t copy;
		enum aif_emit_kind kind;
	} cases[] = {{1, AIF_EMIT_WRITE}, {2, AIF_EMIT_READ},  {3, AIF_EMIT_WRITE},
		     {4, AIF_EMIT_READ},  {10, AIF_EMIT_PEER}, {8, AIF_EMIT_COPY},
		     {9, AIF_EMIT_COPY},  {255, AIF_EMIT_COPY}};
	struct aif_cupti_memcpy_peer p = {.kind = AIF_CUPTI_KIND_MEMCPY_PEER,
					  .bytes = 7,
					  .start = 1,
					  .end = 2,
					  .stream = 3,
					  .correlation = 5};
	struct aif_cupti_memset s = {.kind = AIF_CUPTI_KIND_MEMSET,
				     .bytes = 8,
				     .start = 1,
				     .end = 2,
				     .device = 6,
				     .correlation = 4};
	struct aif_cuda_record r;

	(void)state;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_cupti_memcpy c = {.kind = AIF_CUPTI_KIND_MEMCPY,
					     .copy = cases[i].copy,
					     .bytes = 4096,
					     .start = 1,
					     .end = 9,
					     .correlation = 3};

		assert_true(aif_cuda_translate(&c, &r));
		assert_int_equal(r.kind, cases[i].kind);
		assert_int_equal(r.bytes, 4096);
		assert_int_equal(r.correlation, 3);
		assert_null(r.name);
	}
	assert_true(aif_cuda_translate(&p, &r));
	assert_int_equal(r.kind, AIF_EMIT_PEER);
	assert_int_equal(r.correlation, 5);
	assert_int_equal(r.stream, 3);
	assert_true(aif_cuda_translate(&s, &r));
	assert_int_equal(r.kind, AIF_EMIT_FILL);
	assert_int_equal(r.device, 6);
	assert_int_equal(r.bytes, 8);
}

/* Every call is found by its number, and none by another. */
static void calls_are_found_by_their_number(void **state)
{
	const struct aif_cuda_call *c;
	unsigned n = 0, found = 0;

	(void)state;
	for (; (c = aif_cuda_call_at(n)); n++)
		assert_ptr_equal(aif_cuda_call(c->id), c);
	assert_true(n > 60);
	for (uint32_t id = 0; id < 100000; id++)
		found += aif_cuda_call(id) != NULL;
	assert_int_equal(found, n);
	c = aif_cuda_call(307);
	assert_string_equal(c->name, "cuLaunchKernel");
	assert_int_equal(c->kind, AIF_EMIT_KERNEL);
	assert_int_equal(aif_cuda_call(216)->kind, AIF_EMIT_FILL);
	assert_null(aif_cuda_call(UINT32_MAX));
}

static void launch_calls_give_grid_and_block(void **state)
{
	struct aif_cuda_launch l = {.geometry = {.grid = {3, 2, 1}, .block = {128, 4, 1}}};
	struct aif_cuda_launch_ex ex = {.config = &l.geometry};
	struct aif_emit_shape s;

	(void)state;
	assert_true(aif_cuda_shape(aif_cuda_call(307), &l, &s));
	assert_int_equal(s.grid[0], 384);
	assert_int_equal(s.grid[1], 8);
	assert_int_equal(s.block[0], 128);
	memset(&s, 0, sizeof(s));
	assert_true(aif_cuda_shape(aif_cuda_call(652), &ex, &s));
	assert_int_equal(s.grid[0], 384);
	l.geometry.grid[0] = UINT32_MAX;
	assert_true(aif_cuda_shape(aif_cuda_call(307), &l, &s));
	assert_int_equal(s.grid[0], UINT32_MAX);
	ex.config = NULL;
	assert_false(aif_cuda_shape(aif_cuda_call(652), &ex, &s));
	assert_false(aif_cuda_shape(aif_cuda_call(514), &l, &s));
	assert_false(aif_cuda_shape(aif_cuda_call(307), NULL, &s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_records_are_translated),
		cmocka_unit_test(records_without_times_are_refused),
		cmocka_unit_test(copies_and_fills_are_translated),
		cmocka_unit_test(calls_are_found_by_their_number),
		cmocka_unit_test(launch_calls_give_grid_and_block),
		cmocka_unit_test(records_give_registers_shared_bytes_and_graph_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
