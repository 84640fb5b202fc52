/* SPDX-License-Identifier: Apache-2.0 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/emit_kinds.h"
#include "agent/opencl/cl_abi.h"
#include "profile/model.h"

/* Our own declarations of OpenCL against Khronos' headers. */

static void table_has_the_same_order(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct aif_cl_dispatch), sizeof(cl_icd_dispatch));
#define X(name, result, arguments) \
	assert_int_equal(offsetof(struct aif_cl_dispatch, name), offsetof(cl_icd_dispatch, name));
#define U(name) X(name, , )
	AIF_CL_FUNCTIONS(X, U)
#undef X
#undef U
}

static void constants_are_the_same(void **state)
{
	(void)state;
#define X(name, value) assert_int_equal(AIF_CL_##name, CL_##name);
	AIF_CL_CONSTANTS(X)
#undef X
}

/* Arguments are passed by size; agent.sh calls them all. */
#define SAME(type, ours) static_assert(sizeof(type) == sizeof(ours), #type)
SAME(cl_int, int32_t);
SAME(cl_uint, uint32_t);
SAME(cl_bool, uint32_t);
SAME(cl_ulong, uint64_t);
SAME(cl_bitfield, uint64_t);
SAME(cl_device_type, uint64_t);
SAME(cl_command_queue_properties, uint64_t);
SAME(cl_queue_properties, uint64_t);
SAME(cl_map_flags, uint64_t);
SAME(cl_mem_migration_flags, uint64_t);
SAME(cl_svm_mem_flags, uint64_t);
SAME(cl_context_properties, intptr_t);
SAME(cl_event_info, uint32_t);
SAME(cl_profiling_info, uint32_t);
SAME(cl_layer_info, uint32_t);

static void kinds_are_those_of_the_profile(void **state)
{
	(void)state;
	assert_int_equal(AIF_EMIT_KERNEL, AIF_LAUNCH_KERNEL);
	assert_int_equal(AIF_EMIT_READ, AIF_LAUNCH_READ);
	assert_int_equal(AIF_EMIT_WRITE, AIF_LAUNCH_WRITE);
	assert_int_equal(AIF_EMIT_COPY, AIF_LAUNCH_COPY);
	assert_int_equal(AIF_EMIT_FILL, AIF_LAUNCH_FILL);
	assert_int_equal(AIF_EMIT_MAP, AIF_LAUNCH_MAP);
	assert_int_equal(AIF_EMIT_UNMAP, AIF_LAUNCH_UNMAP);
	assert_int_equal(AIF_EMIT_MIGRATE, AIF_LAUNCH_MIGRATE);
	assert_int_equal(AIF_EMIT_MIGRATE + 1,
			 AIF_LAUNCH_ALLOCATE); /* that and its release: of imports only */
	assert_int_equal(AIF_EMIT_PEER, AIF_LAUNCH_PEER);
	assert_int_equal(AIF_EMIT_DEVICE_OTHER, AIF_DEVICE_OTHER);
	assert_int_equal(AIF_EMIT_DEVICE_CPU, AIF_DEVICE_CPU);
	assert_int_equal(AIF_EMIT_DEVICE_GPU, AIF_DEVICE_GPU);
	assert_int_equal(AIF_EMIT_MEMORY_ALLOCATE, AIF_MEMORY_ALLOCATE);
	assert_int_equal(AIF_EMIT_MEMORY_RELEASE, AIF_MEMORY_RELEASE);
	assert_int_equal(AIF_EMIT_MEMORY_UNKNOWN, AIF_MEMORY_UNKNOWN);
	assert_int_equal(AIF_EMIT_DEVICE_ACCELERATOR, AIF_DEVICE_ACCELERATOR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_has_the_same_order),
		cmocka_unit_test(constants_are_the_same),
		cmocka_unit_test(kinds_are_those_of_the_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
