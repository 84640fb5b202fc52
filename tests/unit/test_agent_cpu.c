/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu_buffer.h"
#include "agent/wait.h"
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* The queue between a signal handler and the helper. */

#define WORDS  1024
#define HEADER (sizeof(struct aif_cpu_sample) / 8)

struct queue {
	struct aif_cpu_thread t;
	uint64_t words[WORDS];
	uint64_t written, read; /* samples */
	size_t far;             /* the last word of it that was used */
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
	q->far = AIF_MAX(q->far, (size_t)((uint64_t *)s - q->words) + (uint32_t)s->head);
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
		const struct aif_cpu_sample *s = (const void *)aif_cpu_word(&q->t, tail);

		assert_true((const uint64_t *)s - q->words + (uint32_t)s->head <= WORDS);
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
	assert_true(q->written > 100000 && lost > 0);
	free(q);
}

/* An empty queue has all of its room, whatever was in it before, and begins with its first pages again. */
static void an_empty_queue_is_as_new(void **state)
{
	struct queue *q = calloc(1, sizeof(*q));

	(void)state;
	q->t.words = q->words;
	q->t.words_len = WORDS;
	for (unsigned i = 0; i < 20000; i++) {
		assert_true(write_one(q, next(q) % (WORDS / 8 - HEADER)));
		assert_true(write_one(q, next(q) % (WORDS / 8 - HEADER)));
		read_all(q);
	}
	assert_true(q->far <= WORDS / 4);
	for (unsigned i = 0; i < 20000; i++) {
		assert_true(write_one(q, next(q) % (WORDS / 2 - HEADER)));
		assert_true(write_one(q, WORDS / 2 - HEADER));
		read_all(q);
	}
	free(q);
}

/* Short waits add up to rows, but for less than a period; a long wait is a row as it is. */
static void waits_add_up(void **state)
{
	const uint64_t lengths[] = {1, 1000, 300000, 9999999}, period = 10000000;
	uint64_t random = 1;

	(void)state;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(lengths); i++) {
		uint64_t defined_gen = 0, waited = 0, rows = 0;
		struct aif_wait_sum s = {0};

		for (unsigned k = 0; k < 4000000; k++) {
			uint64_t w;

			random = aif_mix64(random + 1);
			w = aif_wait_add(&s, lengths[i], period, random);
			waited += lengths[i];
			defined_gen += w;
			rows += w != 0;
		}
		assert_in_range(defined_gen + period, waited > period ? waited - period : 0,
				waited + 2 * period);
		assert_true(rows < 2 + waited / (period / 2));
		assert_int_equal(aif_wait_add(&s, period, period, random), period);
		assert_int_equal(aif_wait_add(&s, 3600 * AIF_NS_PER_S, period, random),
				 3600 * AIF_NS_PER_S);
		assert_int_equal(aif_wait_add(&s, 0, period, random), 0);
	}
}

/* A loop whose waits come to a period in so many rounds: each is told its part all the same. */
static void no_loop_runs_in_step(void **state)
{
	const uint64_t lengths[] = {1000, 9000, 90000}, period = 10000000;
	double defined_gen[3] = {0}, waited = 0;
	struct aif_wait_sum s = {0};
	uint64_t random = 3;

	(void)state;
	for (unsigned k = 0; k < 3000000; k++) {
		random = aif_mix64(random + 1);
		defined_gen[k % 3] += (double)aif_wait_add(&s, lengths[k % 3], period, random);
		waited += (double)lengths[k % 3];
	}
	/* Five standard errors of 10,000 rows. */
	for (unsigned i = 0; i < 3; i++) {
		double part = (double)lengths[i] / 100000;

		assert_true(__builtin_fabs(defined_gen[i] / waited - part) <
			    5 * __builtin_sqrt(part * (1 - part) / 10000));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_come_out_whole_and_in_order),
		cmocka_unit_test(an_empty_queue_is_as_new),
		cmocka_unit_test(waits_add_up),
		cmocka_unit_test(no_loop_runs_in_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
