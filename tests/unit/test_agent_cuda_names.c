/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which kernel a pointer to a name means. */
#include "agent/cuda/cuda.h"

#include "agent/cuda/names.h"
#include "agent/emit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct aif_cuda cuda;

/* ---- the rest of the agent: nothing of it is called here ---- */

bool aif_emit_kernel(struct aif_thread *t, uint32_t id, uint32_t module, const char *name)
{
	(void)t, (void)id, (void)module, (void)name;
	fail();
	return false;
}

bool aif_emit_device(struct aif_thread *t, const struct aif_emit_device *d)
{
	(void)t, (void)d;
	fail();
	return false;
}

bool aif_emit_clock(struct aif_thread *t, uint32_t clock, uint64_t before, uint64_t after,
		    uint64_t value)
{
	(void)t, (void)clock, (void)before, (void)after, (void)value;
	fail();
	return false;
}

bool aif_emit_stream(struct aif_thread *t, uint32_t id, uint32_t device, uint32_t ordinal,
		     bool profiled)
{
	(void)t, (void)id, (void)device, (void)ordinal, (void)profiled;
	fail();
	return false;
}

/* ---- */

static int setup(void **state)
{
	(void)state;
	memset(&cuda, 0, sizeof(cuda));
	pthread_mutex_init(&cuda.lock, NULL);
	return 0;
}

static void a_name_is_one_kernel(void **state)
{
	char a[] = "add", b[] = "add", c[] = "mul";
	struct aif_cuda_kernel *k;

	(void)state;
	k = aif_cuda_kernel_launched(&cuda, a);
	assert_string_equal(k->name, "add");
	for (unsigned i = 0; i < 2; i++) {
		assert_ptr_equal(aif_cuda_kernel_launched(&cuda, b), k);
		assert_ptr_equal(aif_cuda_kernel_launched(&cuda, a), k);
		assert_ptr_equal(aif_cuda_kernel(&cuda, b), k);
	}
	assert_ptr_not_equal(aif_cuda_kernel_launched(&cuda, c), k);
	assert_int_equal(cuda.kernels_len, 2);
}

static void another_may_come_to_its_place(void **state)
{
	char name[] = "add";
	struct aif_cuda_kernel *add, *mul;

	(void)state;
	add = aif_cuda_kernel_launched(&cuda, name);
	assert_ptr_equal(aif_cuda_kernel_launched(&cuda, name), add);
	aif_cuda_names_invalidate(&cuda);
	strcpy(name, "mul");
	mul = aif_cuda_kernel_launched(&cuda, name);
	assert_string_equal(mul->name, "mul");
	/* The first name again: the kernel of before. */
	aif_cuda_names_invalidate(&cuda);
	strcpy(name, "add");
	assert_ptr_equal(aif_cuda_kernel_launched(&cuda, name), add);
	/* A record tells its name whenever it likes. */
	strcpy(name, "mul");
	assert_ptr_equal(aif_cuda_kernel(&cuda, name), mul);
}

/* A name known 2^16 times of unloading ago is not trusted. */
static void also_after_a_long_time(void **state)
{
	char name[] = "add";

	(void)state;
	aif_cuda_kernel_launched(&cuda, name);
	for (unsigned i = 0; i < 1u << 16; i++)
		aif_cuda_names_invalidate(&cuda);
	strcpy(name, "mul");
	assert_string_equal(aif_cuda_kernel_launched(&cuda, name)->name, "mul");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_name_is_one_kernel, setup),
		cmocka_unit_test_setup(another_may_come_to_its_place, setup),
		cmocka_unit_test_setup(also_after_a_long_time, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
