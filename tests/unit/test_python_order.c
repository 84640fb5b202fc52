/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/interleave.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* after those */
#include <cmocka.h>

/*
 * Native and Python frames in one order. A native frame is a letter: `E` runs Python (its code lies in the
 * evaluation function), others do not; innermost first, each 100 bytes of stack from 1000 on. Python
 * frames are digits; a segment is closed by `|` and its place, if any, is given beside.
 */

enum { EVAL_LO = 5000, EVAL_HI = 6000, MAX = 40 };

static struct {
	struct aif_interleave in;
	uint64_t pcs[MAX], sps[MAX];
	struct aif_python_frame frames[MAX];
	char names[MAX];
} s;

static void stack(const char *native, const char *python, const uint64_t *places)
{
	memset(&s, 0, sizeof(s));
	s.in = (struct aif_interleave){
		.pcs = s.pcs,
		.sps = s.sps,
		.frames = s.frames,
		.eval_lo = EVAL_LO,
		.eval_hi = EVAL_HI,
	};
	for (; *native; native++) {
		unsigned i = s.in.native_len++;

		s.names[i] = *native;
		s.pcs[i] = *native == 'E' ? EVAL_LO + 1 + i : 100 + i;
		s.sps[i] = 1000 + 100 * i;
	}
	for (; *python; python++) {
		if (*python != '|') {
			s.frames[s.in.python_len++].id = (uint32_t)*python;
			continue;
		}
		s.frames[s.in.python_len - 1].ends_segment = true;
		if (places)
			s.frames[s.in.python_len - 1].on_stack = *places++;
	}
}

static void becomes(const char *wanted, enum aif_interleave_how how)
{
	char got[2 * MAX + 1] = "";
	uint32_t order[2 * MAX];
	unsigned n = s.in.native_len + s.in.python_len;

	memset(order, 0xee, sizeof(order));
	assert_int_equal(aif_interleave(&s.in, order), how);
	for (unsigned i = 0; i < n; i++) {
		uint32_t k = order[i] & ~AIF_INTERLEAVE_PYTHON;

		assert_true(k <
			    (order[i] & AIF_INTERLEAVE_PYTHON ? s.in.python_len : s.in.native_len));
		got[i] = order[i] & AIF_INTERLEAVE_PYTHON ? (char)s.frames[k].id : s.names[k];
	}
	assert_string_equal(got, wanted);
	assert_int_equal(order[n], 0xeeeeeeee);
}

#define PLACES(...) ((const uint64_t[]){__VA_ARGS__})

static void python_frames_are_placed_by_address(void **state)
{
	(void)state;
	stack("laEsEm", "12|345|", PLACES(1250, 1450));
	becomes("la12Es345Em", AIF_INTERLEAVE_BY_ADDRESS);
	/* its first and last byte */
	stack("laEsEm", "12|345|", PLACES(1200, 1499));
	becomes("la12Es345Em", AIF_INTERLEAVE_BY_ADDRESS);
	/* where the evaluation function is does not matter: code of it may lie elsewhere */
	stack("laxsxm", "12|345|", PLACES(1250, 1450));
	becomes("la12xs345xm", AIF_INTERLEAVE_BY_ADDRESS);
	s.in.eval_lo = s.in.eval_hi = 0;
	becomes("la12xs345xm", AIF_INTERLEAVE_BY_ADDRESS);
	/* evaluation loops of which the walker knows nothing (another interpreter's) */
	stack("EaEsEm", "12|345|", PLACES(1250, 1450));
	becomes("Ea12Es345Em", AIF_INTERLEAVE_BY_ADDRESS);
	/* no Python, no native */
	stack("laE", "", NULL);
	becomes("laE", AIF_INTERLEAVE_BY_ADDRESS);
	stack("", "12|", PLACES(7));
	becomes("12", AIF_INTERLEAVE_BY_ADDRESS);
}

static void test_by_address_native_cut(void **state)
{
	(void)state;
	/* the outermost native frame that is known is the loop, or its callee */
	stack("laE", "12|345|", PLACES(1250, 1450));
	s.in.native_cut = true;
	becomes("la12E345", AIF_INTERLEAVE_BY_ADDRESS);
	stack("la", "12|345|", PLACES(1250, 1450));
	s.in.native_cut = true;
	becomes("la12345", AIF_INTERLEAVE_BY_ADDRESS);
}

static void test_addresses_that_cannot_be(void **state)
{
	(void)state;
	/* two in one C frame; falling; below the stack; one missing */
	stack("laEsEm", "12|345|", PLACES(1250, 1260));
	becomes("la12Es345Em", AIF_INTERLEAVE_BY_SYMBOL);
	stack("laEsEm", "12|345|", PLACES(1450, 1250));
	becomes("la12Es345Em", AIF_INTERLEAVE_BY_SYMBOL);
	stack("laEsEm", "12|345|", PLACES(999, 1450));
	becomes("la12Es345Em", AIF_INTERLEAVE_BY_SYMBOL);
	stack("laEsEm", "12|345|", PLACES(1250, 0));
	becomes("la12Es345Em", AIF_INTERLEAVE_BY_SYMBOL);
	/* places of native frames unknown */
	stack("laEsEm", "12|345|", PLACES(1250, 1450));
	s.in.sps = NULL;
	becomes("la12Es345Em", AIF_INTERLEAVE_BY_SYMBOL);
}

static void python_frames_are_placed_by_symbol(void **state)
{
	(void)state;
	stack("laEsEm", "1|2|", NULL);
	becomes("la1Es2Em", AIF_INTERLEAVE_BY_SYMBOL);
	/* an address at either end of the function */
	s.pcs[2] = EVAL_LO; /* the end of the function before */
	becomes("laEs12Em", AIF_INTERLEAVE_BLOCK);
	s.pcs[2] = EVAL_HI; /* after its last call */
	becomes("la1Es2Em", AIF_INTERLEAVE_BY_SYMBOL);
	s.pcs[2] = EVAL_HI + 1;
	becomes("laEs12Em", AIF_INTERLEAVE_BLOCK);
	/* cut at the outer end, and marked so */
	stack("laEs", "1|2|", NULL);
	becomes("la12Es", AIF_INTERLEAVE_BLOCK);
	s.in.native_cut = true;
	becomes("la1Es2", AIF_INTERLEAVE_BY_SYMBOL);
	stack("laEsEm", "1|", NULL);
	becomes("la1EsEm", AIF_INTERLEAVE_BLOCK);
	s.in.python_cut = true;
	becomes("la1EsEm", AIF_INTERLEAVE_BY_SYMBOL);
}

static void frames_outside_of_any_loop_stay_outside(void **state)
{
	(void)state;
	stack("laEsEm", "1|2|3|", NULL);
	becomes("la123EsEm", AIF_INTERLEAVE_BLOCK);
	/* no loop is known: outside of all */
	s.in.eval_lo = s.in.eval_hi = 0;
	becomes("laEsEm123", AIF_INTERLEAVE_BLOCK);
	/* a last frame without end */
	stack("laEm", "12", NULL);
	becomes("la12Em", AIF_INTERLEAVE_BY_SYMBOL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(python_frames_are_placed_by_address),
		cmocka_unit_test(test_by_address_native_cut),
		cmocka_unit_test(test_addresses_that_cannot_be),
		cmocka_unit_test(python_frames_are_placed_by_symbol),
		cmocka_unit_test(frames_outside_of_any_loop_stay_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
