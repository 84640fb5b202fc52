/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/borrow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void says(struct aif_borrow b, const char *text)
{
	if (!strstr(aif_borrow_why_none(&b), text))
		fail_msg("\"%s\" instead of \"%s\"", aif_borrow_why_none(&b), text);
}

static void each_reason_why_no_thread_can_be_borrowed_is_said(void **state)
{
	(void)state;
	says((struct aif_borrow){0}, "computes all the time");
	says((struct aif_borrow){.library = 2}, "allocator or the loader");
	says((struct aif_borrow){.handler = 2}, "handler of a signal");
	says((struct aif_borrow){.unknown = 2}, "cannot be told to the end");
	says((struct aif_borrow){.late = 2}, "too busy");
	says((struct aif_borrow){.busy = 1}, "too busy");
	says((struct aif_borrow){.tables = 2}, "unwind tables had not been read");
}

/* Each look begins with no tables, so that each frame of a thread that computes lacks them once. */
static void missing_tables_hide_no_other_reason(void **state)
{
	(void)state;
	says((struct aif_borrow){.unknown = 1, .tables = 9}, "cannot be told to the end");
	says((struct aif_borrow){.unsafe = 1, .tables = 9}, "allocator or the loader");
	says((struct aif_borrow){.handler = 1, .tables = 9}, "handler of a signal");
	says((struct aif_borrow){.late = 1, .tables = 9}, "too busy");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reason_why_no_thread_can_be_borrowed_is_said),
		cmocka_unit_test(missing_tables_hide_no_other_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
