/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_python.h"
#include "symbolize/pylines.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
/* after those */
#include <cmocka.h>

/* The parts of the Python walker: layouts, the map of code objects, line tables. */

/* ---- layouts ---- */

static void layouts_of_known_versions_are_given(void **state)
{
	struct aif_python_layout l, before;

	(void)state;
	memset(&l, 0x77, sizeof(l));
	before = l;
	assert_false(aif_python_layout_known(7, &l));
	assert_false(aif_python_layout_known(13, &l));
	assert_memory_equal(&l, &before, sizeof(l));
	for (unsigned minor = 8; minor <= 12; minor++) {
		assert_true(aif_python_layout_known(minor, &l));
		assert_int_equal(l.minor, minor);
		assert_int_equal(l.kind, minor < 11    ? AIF_PYTHON_OBJECTS
					 : minor == 11 ? AIF_PYTHON_IS_ENTRY
						       : AIF_PYTHON_ENTRY_FRAME);
		assert_true(l.f_code + 8 <= AIF_PYTHON_FRAME_BYTES);
		assert_true(l.f_instr + 8 <= AIF_PYTHON_FRAME_BYTES);
	}
}

static void layouts_that_python_describes_are_read(void **state)
{
	uint64_t word[FAKE_WORDS];
	struct aif_python_layout l;

	(void)state;
	for (unsigned minor = 13; minor <= 14; minor++) {
		fake_describe(minor, word);
		assert_int_equal(aif_python_layout_described(minor, word, sizeof(word), &l), 0);
		assert_int_equal(l.minor, minor);
		assert_int_equal(l.ts_frame, 72);
		assert_int_equal(l.ts_interp, 16);
		assert_int_equal(l.f_code, 0);
		assert_int_equal(l.f_previous, 8);
		assert_int_equal(l.f_instr, 56);
		assert_int_equal(l.f_mark, minor == 13 ? 70 : 74);
		assert_int_equal(l.co_code, minor == 13 ? 200 : 208);
		assert_int_equal(l.co_firsttraceable, minor == 13 ? 184 : 192);
		assert_int_equal(l.co_linetable, 136);
		assert_int_equal(l.co_firstline, 68);
		assert_true(l.code_mask == (minor == 13 ? UINT64_MAX : UINT64_MAX - 3));

		/* the other one's, too short, another version's number */
		assert_int_equal(aif_python_layout_described(27 - minor, word, sizeof(word), &l),
				 -EINVAL);
		assert_int_equal(aif_python_layout_described(minor, word, 60 * 8, &l), -EINVAL);
		assert_int_equal(aif_python_layout_described(15, word, sizeof(word), &l), -ENOSYS);
		word[2] = 1;
		assert_int_equal(aif_python_layout_described(minor, word, sizeof(word), &l),
				 -ENOTSUP);
		word[2] = 2;
		assert_int_equal(aif_python_layout_described(minor, word, sizeof(word), &l),
				 -EINVAL);
	}
}

/* No description of other bytes gives an offset that the walker could not use. */
static void test_described_offsets_are_bounded(void **state)
{
	static const uint64_t odd[] = {0,         1, 3, 65, 121, 4096, 65535, UINT64_C(1) << 32,
				       UINT64_MAX};
	unsigned refused = 0;

	(void)state;
	for (unsigned minor = 13; minor <= 14; minor++) {
		for (unsigned at = 0; at < FAKE_WORDS; at++) {
			for (unsigned i = 0; i < AIF_ARRAY_LEN(odd); i++) {
				uint64_t word[FAKE_WORDS];
				struct aif_python_layout l;

				fake_describe(minor, word);
				word[at] = odd[i];
				if (aif_python_layout_described(minor, word, sizeof(word), &l)) {
					refused++;
					continue;
				}
				assert_true(l.ts_frame <= AIF_PYTHON_FRAME_BYTES - 8 &&
					    l.ts_frame % 8 == 0);
				assert_true(l.ts_interp <= AIF_PYTHON_FRAME_BYTES - 8);
				assert_true(l.f_previous <= AIF_PYTHON_FRAME_BYTES - 8);
				assert_true(l.f_code <= AIF_PYTHON_FRAME_BYTES - 8);
				assert_true(l.f_instr <= AIF_PYTHON_FRAME_BYTES - 8);
				assert_true(l.f_mark < AIF_PYTHON_FRAME_BYTES);
				assert_true(l.co_code >= 64 && l.co_code < 1024);
				assert_true(l.co_qualname < 1024 && l.co_linetable < 1024);
				assert_true(l.co_filename < 1024 && l.co_firstline < 1024);
				assert_int_equal(l.ob_type, 8);
			}
		}
	}
	assert_true(refused > 200);
}

/* ---- the map of code objects ---- */

static struct aif_python_codes *new_codes(void)
{
	struct aif_python_codes *c = aligned_alloc(64, sizeof(*c));

	assert_non_null(c);
	memset(c, 0, sizeof(*c));
	return c;
}

static void codes_are_found_after_removals(void **state)
{
	struct aif_python_codes *c = new_codes();
	const uint64_t base = 0x7f0000001000;

	(void)state;
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(aif_python_codes_insert(c, base + i * 208, i + 2), 0);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(aif_python_codes_find(c, base + i * 208), i + 2);
	assert_int_equal(aif_python_codes_find(c, base + 8), 0);
	for (uint32_t i = 0; i < 10000; i += 2)
		aif_python_codes_remove(c, base + i * 208);
	aif_python_codes_remove(c, base + 8);
	/* what lies behind a grave is still found */
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(aif_python_codes_find(c, base + i * 208), i & 1 ? i + 2 : 0);
	/* an address that another has taken */
	assert_int_equal(aif_python_codes_insert(c, base, 77777), 0);
	assert_int_equal(aif_python_codes_find(c, base), 77777);
	aif_python_codes_clear(c);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(aif_python_codes_find(c, base + i * 208), 0);
	free(c);
}

/* Addresses that all begin at one place: as many as there are probes, then no room, then room again. */
static void a_full_run_of_codes_has_no_room(void **state)
{
	struct aif_python_codes *c = new_codes();
	uint64_t same[AIF_PYTHON_CODES_PROBES + 1];
	unsigned n = 0;

	(void)state;
	for (uint64_t at = 0x10000; n < AIF_ARRAY_LEN(same); at += 16)
		if (aif_python_codes_first(at) == 5)
			same[n++] = at;
	for (unsigned i = 0; i < AIF_PYTHON_CODES_PROBES; i++)
		assert_int_equal(aif_python_codes_insert(c, same[i], i + 2), 0);
	assert_int_equal(aif_python_codes_insert(c, same[n - 1], 99), -ENOSPC);
	assert_int_equal(aif_python_codes_find(c, same[n - 1]), 0);
	assert_int_equal(aif_python_codes_find(c, same[n - 2]), AIF_PYTHON_CODES_PROBES + 1);
	aif_python_codes_remove(c, same[7]);
	assert_int_equal(aif_python_codes_insert(c, same[n - 1], 99), 0);
	assert_int_equal(aif_python_codes_find(c, same[n - 1]), 99);
	/* two threads entered the same one: a death removes both */
	aif_python_codes_remove(c, same[3]);
	aif_python_codes_remove(c, same[4]);
	assert_int_equal(aif_python_codes_find(c, same[4]), 0);
	assert_int_equal(aif_python_codes_insert(c, same[5], 100), 0);
	assert_int_equal(aif_python_codes_find(c, same[5]), 100);
	aif_python_codes_remove(c, same[5]);
	assert_int_equal(aif_python_codes_find(c, same[5]), 0);
	free(c);
}

/* Threads that enter, look up and remove their own addresses, which share places. */
enum { THREADS = 4, OWN = 500, ROUNDS = 200 };

struct worker {
	struct aif_python_codes *codes;
	uint64_t base;
	unsigned wrong;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < OWN; i++) {
			uint64_t code = w->base + i * THREADS * 16;

			w->wrong += aif_python_codes_find(w->codes, code) != 0;
			w->wrong +=
				aif_python_codes_insert(w->codes, code, round * OWN + i + 2) != 0;
		}
		for (uint32_t i = 0; i < OWN; i++) {
			uint64_t code = w->base + i * THREADS * 16;

			w->wrong += aif_python_codes_find(w->codes, code) != round * OWN + i + 2;
			aif_python_codes_remove(w->codes, code);
		}
	}
	return NULL;
}

static void codes_are_found_beside_other_threads(void **state)
{
	struct aif_python_codes *c = new_codes();
	struct worker w[THREADS];

	(void)state;
	for (unsigned i = 0; i < THREADS; i++) {
		w[i] = (struct worker){.codes = c, .base = 0x7f0000000000 + i * 16};
		assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		assert_int_equal(w[i].wrong, 0);
	}
	free(c);
}

/* ---- line tables ---- */

static void lines_are(unsigned minor, const char *table, size_t len, int32_t first,
		      const int32_t *wanted, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(
			aif_pylines_find(minor, (const uint8_t *)table, len, first, (int32_t)i * 2),
			wanted[i]);
	assert_int_equal(aif_pylines_find(minor, (const uint8_t *)table, len, first, -1), first);
	assert_int_equal(aif_pylines_find(minor, (const uint8_t *)table, len, first, -2), first);
}

#define LINES_ARE(minor, table, first, ...)                                               \
	lines_are(minor, table, sizeof(table) - 1, first, (const int32_t[]){__VA_ARGS__}, \
		  AIF_ARRAY_LEN(((const int32_t[]){__VA_ARGS__})))

/* After so many bytes, so many lines on; the last line has no end. */
static void test_lines_3_8(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 9; minor++) {
		LINES_ARE(minor, "\x00\x01\x04\x01\x02\xff", 10, 11, 11, 12, 11, 11, 11);
		/* far jumps are made of several steps */
		LINES_ARE(minor, "\x02\x7f\x00\x7f\x00\x03", 1, 1, 258, 258);
		LINES_ARE(minor, "\x02\x80\x00\x80", 500, 500, 244);
		LINES_ARE(minor, "\x04", 7, 7, 7, 7);
		LINES_ARE(minor, "", 7, 7, 7);
	}
}

/* Each pair of bytes is a number of bytes of code and the difference of their line. */
static void test_lines_3_10(void **state)
{
	(void)state;
	LINES_ARE(10, "\x04\x01\x02\x80\x02\xff", 10, 11, 11, -1, 10, -1);
	LINES_ARE(10, "\x00\x7f\x02\x7f", 1, 255, -1);
	LINES_ARE(10, "", 5, -1);
}

static void test_lines_3_11(void **state)
{
	(void)state;
	for (unsigned minor = 11; minor <= 14; minor++) {
		/* short (0), one line (11, 12), no line (15), no columns (13), long (14) */
		LINES_ARE(minor,
			  "\x81\x23"             /* 2 units, + 0 */
			  "\xd8\x01\x02"         /* 1 unit, + 1 */
			  "\xe0\x01\x02"         /* 1 unit, + 2 */
			  "\xf8"                 /* 1 unit, none */
			  "\xe8\x07"             /* 1 unit, - 3 */
			  "\xf1\x04\x00\x01\x02" /* 2 units, + 2 */
			  "\xe8\x40\x04",        /* 1 unit, + 128 */
			  20, 20, 20, 21, 23, -1, 20, 22, 22, 150, -1);
		/* a number's bytes that do not end */
		LINES_ARE(minor, "\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x7f", 3, -1);
		LINES_ARE(minor, "\xe8", 3, 3, -1);
		LINES_ARE(minor, "", 3, -1);
	}
}

static void test_lines_of_other_versions(void **state)
{
	(void)state;
	assert_int_equal(aif_pylines_find(7, (const uint8_t *)"\x04\x01", 2, 9, 0), -1);
	assert_int_equal(aif_pylines_find(15, (const uint8_t *)"\x81\x23", 2, 9, 0), -1);
	assert_int_equal(aif_pylines_find(11, NULL, 0, 9, 0), -1);
	/* sums that leave the numbers */
	assert_int_equal(aif_pylines_find(9, (const uint8_t *)"\x00\x7f", 2, INT32_MAX, 0), -1);
	assert_int_equal(aif_pylines_find(9, (const uint8_t *)"\x00\x80", 2, 5, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_of_known_versions_are_given),
		cmocka_unit_test(layouts_that_python_describes_are_read),
		cmocka_unit_test(test_described_offsets_are_bounded),
		cmocka_unit_test(codes_are_found_after_removals),
		cmocka_unit_test(a_full_run_of_codes_has_no_room),
		cmocka_unit_test(codes_are_found_beside_other_threads),
		cmocka_unit_test(test_lines_3_8),
		cmocka_unit_test(test_lines_3_10),
		cmocka_unit_test(test_lines_3_11),
		cmocka_unit_test(test_lines_of_other_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
