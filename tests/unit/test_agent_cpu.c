/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu_buffer.h"
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* The queue between a signal handler and the helper. */

#define WORDS 1024

struct queue {
	struct aif_cpu_thread t;
	uint64_t words[WORDS];
	uint64_t written, read; /* samples */
	uint64_t random;
};

static uint64_t next(struct queue *q)
{
	q->random = aif_mix64(q->random + 1);
	return q->random;
}

/* Sample number n says so in each of its words. */
static bool write_one(struct queue *q, size_t entries)
{
	struct aif_cpu_sample *s = aif_cpu_reserve(&q->t, AIF_CPU_SAMPLE,
						   sizeof(*s) + entries * sizeof(s->entries[0]));

	if (!s)
		return false;
	s->time = q->written;
	s->len = (uint32_t)entries;
	for (size_t i = 0; i < entries; i++)
		s->entries[i] = q->written;
	aif_cpu_commit(&q->t, s);
	q->written++;
	return true;
}

static void read_all(struct queue *q)
{
	uint64_t tail = q->t.tail;

	while (tail != q->t.head) {
		const struct aif_cpu_sample *s = (const void *)&q->words[tail & (WORDS - 1)];

		assert_true((tail & (WORDS - 1)) + (uint32_t)s->head <= WORDS);
		if (s->head >> 32 == AIF_CPU_SAMPLE) {
			assert_int_equal(s->time, q->read);
			for (size_t i = 0; i < s->len; i++)
				assert_int_equal(s->entries[i], q->read);
			q->read++;
		} else {
			assert_int_equal(s->head >> 32, AIF_CPU_PAD);
		}
		tail += (uint32_t)s->head;
	}
	q->t.tail = tail;
}

static void items_come_out_whole_and_in_order(void **state)
{
	struct queue *q = calloc(1, sizeof(*q));
	uint64_t lost = 0;

	(void)state;
	q->t.words = q->words;
	q->t.words_len = WORDS;
	for (unsigned i = 0; i < 200000; i++) {
		lost += !write_one(q, next(q) % 120);
		if (next(q) % 6 == 0)
			read_all(q);
	}
	read_all(q);
	assert_int_equal(q->read, q->written);
	assert_int_equal(q->t.lost, lost);
	assert_true(q->written > 100000 && lost > 0);
	free(q);
}

/* Whatever was in it before, an empty queue has room for a quarter of itself. */
static void an_empty_queue_has_room(void **state)
{
	struct queue *q = calloc(1, sizeof(*q));

	(void)state;
	q->t.words = q->words;
	q->t.words_len = WORDS;
	for (unsigned i = 0; i < 20000; i++) {
		assert_true(write_one(q, next(q) % (WORDS / 4 - 4)));
		read_all(q);
	}
	free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_come_out_whole_and_in_order),
		cmocka_unit_test(an_empty_queue_has_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
