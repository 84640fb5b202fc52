/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/rows.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>

#include <cmocka.h>

static struct aif_rows *new_rows(void)
{
	void *p = mmap(NULL, sizeof(struct aif_rows), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static void free_rows(struct aif_rows *r)
{
	munmap(r, sizeof(*r));
}

static uint64_t row_of(uint64_t address, uint32_t generation)
{
	return aif_row_make(AIF_ROW_RSP, 0, (int16_t)generation, (int32_t)(address * 31));
}

/* Different addresses in no order. */
static uint64_t scattered(uint64_t i)
{
	uint64_t x = i * UINT64_C(0xd1342543de82ef95) + 1;

	x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
	/* below 1 << 45, above 1 << 14; the low bits keep them apart */
	return (((x >> 20) & ~UINT64_C(0x3fff)) + (1 << 14)) | (i & 0x3fff);
}

static void test_finds_what_was_inserted(void **state)
{
	struct aif_rows *r = new_rows();
	uint64_t row = 42;

	(void)state;
	for (unsigned i = 0; i < 8000; i++) {
		uint64_t a = scattered(i);

		assert_false(aif_rows_find(r, aif_rows_key(a, 3), &row));
		assert_int_equal(row, 42);
		aif_rows_insert(r, aif_rows_key(a, 3), row_of(a, 3));
	}
	for (unsigned i = 0; i < 8000; i++) { /* some shared their first place */
		uint64_t a = scattered(i), got = 0;

		assert_true(aif_rows_find(r, aif_rows_key(a, 3), &got));
		assert_int_equal(got, row_of(a, 3));
	}
	free_rows(r);
}

static void test_generations_are_apart(void **state)
{
	struct aif_rows *r = new_rows();
	uint64_t row;

	(void)state;
	/* Many times over what the map holds: stale nodes must be taken again. */
	for (uint32_t g = 0; g < 200; g++) {
		for (uint64_t a = 1 << 20; a < (1 << 20) + 2000; a++) {
			assert_false(aif_rows_find(r, aif_rows_key(a, g), &row));
			aif_rows_insert(r, aif_rows_key(a, g), row_of(a, g));
			assert_true(aif_rows_find(r, aif_rows_key(a, g), &row));
			assert_int_equal(row, row_of(a, g));
		}
	}
	free_rows(r);
}

static void test_full_map_keeps_what_it_has(void **state)
{
	struct aif_rows *r = new_rows();
	unsigned kept = 0;
	uint64_t row;

	(void)state;
	for (uint64_t i = 0; i < 3 * AIF_ROWS_LEN; i++)
		aif_rows_insert(r, aif_rows_key(4096 + i * 977, 0), row_of(4096 + i * 977, 0));
	for (uint64_t i = 0; i < 3 * AIF_ROWS_LEN; i++) {
		if (aif_rows_find(r, aif_rows_key(4096 + i * 977, 0), &row)) {
			assert_int_equal(row, row_of(4096 + i * 977, 0));
			kept++;
		}
	}
	assert_in_range(kept, AIF_ROWS_LEN * 9 / 10, AIF_ROWS_LEN);
	free_rows(r);
}

static void cleared_rows_are_not_found_again(void **state)
{
	struct aif_rows *r = new_rows();
	uint64_t row;

	(void)state;
	for (uint64_t a = 5000; a < 9000; a++)
		aif_rows_insert(r, aif_rows_key(a, 7), row_of(a, 7));
	aif_rows_clear(r);
	for (uint64_t a = 5000; a < 9000; a++)
		assert_false(aif_rows_find(r, aif_rows_key(a, 7), &row));
	/* The key's generation wraps around after 17 bits: that is what clear is for. */
	assert_int_equal(aif_rows_key(5000, 7), aif_rows_key(5000, 8 + AIF_ROWS_GENERATION_MASK));
	free_rows(r);
}

/* n addresses that share their first place with 5000. */
static void find_sharing(uint64_t *addresses, unsigned n)
{
	uint64_t a = 5000;

	for (unsigned i = 0; i < n; i++, a++) {
		while (aif_rows_first(a) != aif_rows_first(5000))
			a++;
		addresses[i] = a;
	}
}

/* A thread that lags behind must not take a node from a later generation: see rows.h. */
static void test_later_generations_stay(void **state)
{
	static const uint32_t generations[] = {10, 0}; /* 0 comes after the wrap */
	uint64_t addresses[200], row;

	(void)state;
	find_sharing(addresses, AIF_ARRAY_LEN(addresses));
	for (size_t i = 0; i < AIF_ARRAY_LEN(generations); i++) {
		struct aif_rows *r = new_rows();
		uint32_t now = generations[i], kept = 0;

		for (size_t k = 0; k < AIF_ARRAY_LEN(addresses); k++)
			aif_rows_insert(r, aif_rows_key(addresses[k], now),
					row_of(addresses[k], now));
		for (size_t k = 0; k < AIF_ARRAY_LEN(addresses); k++)
			aif_rows_insert(r, aif_rows_key(addresses[k], now - 1),
					row_of(addresses[k], now - 1));
		for (size_t k = 0; k < AIF_ARRAY_LEN(addresses); k++) {
			assert_false(aif_rows_find(r, aif_rows_key(addresses[k], now - 1), &row));
			kept += aif_rows_find(r, aif_rows_key(addresses[k], now), &row);
		}
		assert_in_range(kept, 4, AIF_ARRAY_LEN(addresses) - 1);
		/* the next generation takes them all */
		for (size_t k = 0; k < kept; k++) {
			aif_rows_insert(r, aif_rows_key(addresses[k], now + 1),
					row_of(addresses[k], now + 1));
			assert_true(aif_rows_find(r, aif_rows_key(addresses[k], now + 1), &row));
		}
		free_rows(r);
	}
}

/* A node that another thread (or the code that a signal interrupted) is writing is left alone. */
static void test_busy_nodes_are_left_alone(void **state)
{
	struct aif_rows *r = new_rows();
	uint64_t row = 42;

	(void)state;
	for (unsigned i = 0; i < AIF_ROWS_LEN; i++)
		atomic_store(&r->nodes[i].key, 1);
	aif_rows_insert(r, aif_rows_key(5000, 3), row_of(5000, 3));
	assert_false(aif_rows_find(r, aif_rows_key(5000, 3), &row));
	assert_int_equal(row, 42);
	aif_rows_clear(r);
	for (unsigned i = 0; i < AIF_ROWS_LEN; i++) {
		assert_int_equal(atomic_load(&r->nodes[i].key), 1);
		assert_int_equal(atomic_load(&r->nodes[i].row), 0);
	}
	free_rows(r);
}

/* Threads insert and look up a few addresses that share one place, while the generation moves on, so
 * that the same node is claimed again under readers and writers all the time. Who finds a row must
 * find the right one. */
#define THREADS 8
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1 /* as gcc says it */
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define ROUNDS 50000 /* it sees races without meeting them */
#else
#define ROUNDS 4000000
#endif
#define SHARING 3

struct shared {
	struct aif_rows *rows;
	uint64_t addresses[SHARING];
	pthread_barrier_t start;
	_Atomic uint32_t generation;
	_Atomic unsigned wrong, hits, next_id;
};

static void *hammer(void *arg)
{
	struct shared *s = arg;
	unsigned hits = 0, id = atomic_fetch_add(&s->next_id, 1);
	/* Half of the threads claim nodes all the time, half look at the same one again and again. */
	unsigned looks = id % 2 ? 32 : 1;

	pthread_barrier_wait(&s->start);
	for (unsigned i = id; i < ROUNDS + id; i += looks) {
		uint32_t g = atomic_load(&s->generation);
		uint64_t a = s->addresses[i % SHARING], row;

		for (unsigned k = 0; k < looks; k++) {
			if (!aif_rows_find(s->rows, aif_rows_key(a, g), &row)) {
				aif_rows_insert(s->rows, aif_rows_key(a, g), row_of(a, g));
				continue;
			}
			hits++;
			if (row != row_of(a, g))
				atomic_fetch_add(&s->wrong, 1);
		}
		atomic_fetch_add(&s->generation, 1);
	}
	atomic_fetch_add(&s->hits, hits);
	return NULL;
}

static void rows_are_whole_beside_other_threads(void **state)
{
	struct shared s = {.rows = new_rows()};
	pthread_t threads[THREADS];

	(void)state;
	find_sharing(s.addresses, SHARING);
	pthread_barrier_init(&s.start, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, &s), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&s.start);
	assert_int_equal(atomic_load(&s.wrong), 0);
	assert_true(atomic_load(&s.hits) > 100);
	free_rows(s.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_what_was_inserted),
		cmocka_unit_test(test_generations_are_apart),
		cmocka_unit_test(test_full_map_keeps_what_it_has),
		cmocka_unit_test(cleared_rows_are_not_found_again),
		cmocka_unit_test(test_later_generations_stay),
		cmocka_unit_test(test_busy_nodes_are_left_alone),
		cmocka_unit_test(rows_are_whole_beside_other_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
