/* SPDX-License-Identifier: Apache-2.0 */
/* Tests blocks of memory that lie in files: they hold what was written, however they grow and move. */
#include "base/base.h"
#include "base/sort.h"
#include "base/spill.h"
#include "emulated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

/* Lays each big block into a file. */
static int begin(void **state)
{
	(void)state;
	aif_spill_begin(0);
	return 0;
}

/* Ends a test where there is no disk for a file without a name. */
static void need_disk(void)
{
	void *volatile p = malloc(2 * AIF_SPILL_BIG);
	size_t bytes = aif_spill_bytes();

	free(p);
	if (!bytes)
		skip();
}

static void fill(uint32_t *at, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		at[i] = (uint32_t)i * 2654435761u;
}

/* Returns the first number of n that is not as it was filled in; n: all are. */
static size_t wrong_of(const uint32_t *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (at[i] != (uint32_t)i * 2654435761u)
			return i;
	return n;
}

static void test_the_whole(void **state)
{
	size_t small = (size_t)32 << 20;

	(void)state;
	assert_true(AIF_SPILL_ROOM + 2 * AIF_SPILL_MAPPED + small <= (size_t)512 << 20);
}

static void test_small(void **state)
{
	void *volatile p;

	(void)state;
	need_disk();
	p = malloc(AIF_SPILL_BIG - 1);
	assert_non_null(p);
	assert_int_equal(aif_spill_bytes(), 0);
	free(p);
}

static size_t most; /* bytes that lay in files while an array was sorted */

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	/* Comparisons are many, and each look takes a lock. */
	if (!(x & 1023))
		most = AIF_MAX(most, aif_spill_bytes());
	return x < y ? -1 : x > y;
}

static void test_copies_of_arrays_that_are_sorted(void **state)
{
	enum { N = 2 * AIF_SPILL_BIG / sizeof(uint32_t) };
	uint32_t *p;

	(void)state;
	need_disk();
	p = malloc(N * sizeof(*p));
	assert_non_null(p);
	fill(p, 0, N);
	most = 0;
	aif_sort(p, N, sizeof(*p), by_value);
	for (size_t i = 1; i < N; i++)
		assert_true(p[i - 1] <= p[i]);
	assert_true(most > N * sizeof(*p));
	free(p);
}

static void test_zeros(void **state)
{
	enum { N = 2 * AIF_SPILL_BIG / sizeof(uint64_t) };
	uint64_t *p, any = 0;

	(void)state;
	need_disk();
	p = calloc(N, sizeof(*p));
	assert_non_null(p);
	assert_int_equal(aif_spill_bytes(), N * sizeof(*p));
	for (size_t i = 0; i < N; i++)
		any |= p[i];
	assert_int_equal(any, 0);
	memset(p, 1, N * sizeof(*p));
	free(p);
	assert_int_equal(aif_spill_bytes(), 0);
}

/* From memory into a file, and on from there, beside blocks that stand in its way. */
static void test_growth(void **state)
{
	uint32_t *p = NULL, *other;
	size_t n = 0, big = 2 * AIF_SPILL_BIG;

	(void)state;
	need_disk();
	for (size_t next = 1000; next * sizeof(*p) < 4 * big; next += next / 2) {
		p = realloc(p, next * sizeof(*p));
		assert_non_null(p);
		assert_int_equal(wrong_of(p, n), n);
		fill(p, n, next);
		n = next;
		if (n * sizeof(*p) >= big)
			assert_in_range(aif_spill_bytes(), n * sizeof(*p), 6 * big);
		other = malloc(big);
		assert_non_null(other);
		fill(other, 0, big / sizeof(*other));
		assert_int_equal(wrong_of(other, big / sizeof(*other)), big / sizeof(*other));
		free(other);
	}
	p = realloc(p, 1000 * sizeof(*p));
	assert_non_null(p);
	assert_int_equal(wrong_of(p, 1000), 1000);
	free(p);
	assert_int_equal(aif_spill_bytes(), 0);
}

/* Sums what is mapped while other memory is read: the thread that unmaps pages changes no byte. */
static void test_unmapped(void **state)
{
	size_t bytes = 2 * AIF_SPILL_MAPPED, n = bytes / sizeof(uint32_t);
	uint32_t *p;

	(void)state;
	need_disk();
	p = malloc(bytes);
	assert_non_null(p);
	fill(p, 0, n);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(wrong_of(p, n), n);
	free(p);
}

/* Ends a test where malloc() is a sanitizer's: it maps no block by itself, so that none counts, and needs more memory than any
 * bound. */
static void need_malloc(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();
#endif
}

static void test_room(void **state)
{
	void *volatile first, *volatile second;

	(void)state;
	need_malloc();
	need_disk();
	aif_spill_begin(4 * AIF_SPILL_BIG);
	first = malloc(3 * AIF_SPILL_BIG);
	assert_int_equal(aif_spill_bytes(), 0);
	second = malloc(2 * AIF_SPILL_BIG);
	assert_int_equal(aif_spill_bytes(), 2 * AIF_SPILL_BIG);
	free(second);
	free(first);
	second = malloc(3 * AIF_SPILL_BIG);
	assert_int_equal(aif_spill_bytes(), 0);
	free(second);
	aif_spill_begin(0);
}

static void test_bound(void **state)
{
	struct rlimit old, less;
	void *volatile p;

	(void)state;
	if (is_emulated())
		skip();
	need_malloc();
	need_disk();
	assert_int_equal(getrlimit(RLIMIT_DATA, &old), 0);
	less = (struct rlimit){.rlim_cur = AIF_SPILL_BIG, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_DATA, &less), 0);
	p = malloc(2 * AIF_SPILL_BIG);
	assert_int_equal(aif_spill_bytes(), 0);
	assert_int_equal(setrlimit(RLIMIT_DATA, &old), 0);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{"spill: the room and what is mapped of files fit into 512 MB", test_the_whole,
		 NULL, NULL, NULL},
		{"spill: a block below AIF_SPILL_BIG is in memory", test_small, NULL, NULL, NULL},
		{"spill: the copy that sorting takes of a big block is in a file",
		 test_copies_of_arrays_that_are_sorted, NULL, NULL, NULL},
		{"spill: calloc() of a big block gives zeros in a file", test_zeros, NULL, NULL,
		 NULL},
		{"spill: realloc() keeps what a block has while it moves into a file and grows there",
		 test_growth, NULL, NULL, NULL},
		{"spill: a block of which pages are unmapped keeps what was written", test_unmapped,
		 NULL, NULL, NULL},
		{"spill: a big block is in memory as long as there is room, which what is freed gives back",
		 test_room, NULL, NULL, NULL},
		{"spill: files take no more than the bound on memory", test_bound, NULL, NULL,
		 NULL},
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
