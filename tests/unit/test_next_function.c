/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "agent/next_function.h"

#include "rounds.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* A library that no other one here needs. */
#define LIBRARY "libthread_db.so.1"

static void library_function(void **state)
{
	(void)state;
	assert_ptr_equal(aif_next_function("pthread_create"), dlsym(RTLD_NEXT, "pthread_create"));
	assert_null(aif_next_function("aif_no_such_function"));
}

static void opened_later(void **state)
{
	void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);

	(void)state;
	if (!library)
		skip();
	assert_ptr_equal(aif_next_function("td_ta_new"), dlsym(library, "td_ta_new"));
	dlclose(library);
	assert_null(aif_next_function("td_ta_new"));
}

static atomic_bool is_over;

static void *open_and_close(void *arg)
{
	(void)arg;
	while (!atomic_load(&is_over)) {
		void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);

		if (library)
			dlclose(library);
	}
	return NULL;
}

/* Freed modules are overwritten at once, so that reading one is seen. */
static void closed_meanwhile(void **state)
{
	pthread_t thread;

	(void)state;
	mallopt(M_PERTURB, 0x5a);
	assert_int_equal(pthread_create(&thread, NULL, open_and_close, NULL), 0);
	for (unsigned i = 0; i < rounds(20000); i++)
		assert_null(aif_next_function("aif_no_such_function"));
	atomic_store(&is_over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	mallopt(M_PERTURB, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(library_function),
		cmocka_unit_test(opened_later),
		cmocka_unit_test(closed_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
