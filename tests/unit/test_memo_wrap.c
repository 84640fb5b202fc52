/* SPDX-License-Identifier: Apache-2.0 */
/* Positions in the memo's ring count 64-byte lines in 32 bits: after 250 GB of records they begin anew.
 * Nobody waits for that, so this test is compiled with the memo, and sets it there. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "unwind/memo.c"

#include "memo_audit.h"

#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct audit audit;

static AIF_NOINLINE void capture_at(unsigned depth, unsigned size)
{
	volatile char *p = alloca(32 + (size_t)size * 32);
	struct aif_regs regs;

	p[0] = 1;
	if (depth) {
		capture_at(depth - 1, 0);
	} else {
		AIF_REGS_HERE(&regs);
		audit_capture(&audit, &regs);
	}
	p[1] = 1;
}

static void assert_no_hint_ahead(void)
{
	for (unsigned i = 0; i < HINTS; i++)
		for (unsigned k = 0; k < 2; k++)
			assert_true(audit.memo->follows[i].to[k] <= audit.memo->head);
	for (unsigned i = 0; i < BUCKETS; i++)
		assert_true(audit.memo->buckets[i] <= audit.memo->head);
}

static void test_positions_begin_anew(void **state)
{
	struct aif_unwinder *u = audit_pages(aif_unwinder_size());
	struct aif_stack_bounds bounds;
	struct aif_memo *m;

	(void)state;
	assert_non_null(u);
	assert_int_equal(aif_unwinder_init(u), 0);
	assert_int_equal(aif_stack_bounds_here(&bounds), 0);
	assert_true(audit_begin(&audit, u, bounds, AIF_MEMO_MAX_DEPTH));
	m = audit.memo;
	audit.many_keys = true;
	for (unsigned i = 0; i < 500; i++)
		capture_at(40, i);
	assert_int_equal(m->counts.cleared, 0);
	for (unsigned turn = 1; turn <= 2; turn++) {
		m->head = UINT32_MAX - 4 * LINES - 100; /* a dozen records before the end */
		for (unsigned i = 0; i < 60; i++)
			capture_at(40, i % 30);
		assert_int_equal(m->counts.cleared, turn);
		assert_true(m->head < 4 * LINES);
		assert_no_hint_ahead();
		for (unsigned i = 0; i < 3000; i++)
			capture_at(40, i % 600);
		assert_int_equal(audit.wrong, 0);
	}
	/* and by clearing, which moves the head too */
	m->head = UINT32_MAX - 4 * LINES - 1;
	aif_memo_clear(m);
	assert_true(m->head > UINT32_MAX - 4 * LINES);
	aif_memo_clear(m);
	assert_true(m->head < 4 * LINES);
	assert_no_hint_ahead();
	for (unsigned i = 0; i < 100; i++)
		capture_at(40, i % 10);
	assert_int_equal(audit.wrong, 0);
	assert_true(audit.last.hit);
	audit_end(&audit);
	munmap(u, aif_unwinder_size());
}

/* The ring has gone round, and what is new takes the place of the record that was answered last, which has the
 * last note: that of which is told what came next. */
static void test_noted_and_overwritten(void **state)
{
	static const struct {
		unsigned depth;
		bool hit, goes_round; /* before it is captured */
	} steps[] = {{20, false, false},
		     {40, false, false},
		     {40, true, true},
		     {90, false, false},
		     {90, true, false}};
	struct aif_unwinder *u = audit_pages(aif_unwinder_size());
	struct aif_stack_bounds bounds;
	uint32_t first = 0;

	(void)state;
	assert_non_null(u);
	assert_int_equal(aif_unwinder_init(u), 0);
	assert_int_equal(aif_stack_bounds_here(&bounds), 0);
	assert_true(audit_begin(&audit, u, bounds, AIF_MEMO_MAX_DEPTH));
	audit.key = 1;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(steps); i++) {
		if (i == 0)
			first = audit.memo->head;
		if (steps[i].goes_round)
			audit.memo->head = first + LINES;
		capture_at(steps[i].depth, 0);
		assert_int_equal(audit.last.hit, steps[i].hit);
	}
	assert_int_equal(audit.wrong, 0);
	audit_end(&audit);
	munmap(u, aif_unwinder_size());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_positions_begin_anew),
		cmocka_unit_test(test_noted_and_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
