/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS    1000000
#define RANKS 4

/* A job whose ranks are processes with one thread each, of the same numbers. */
struct job {
	struct aif_profile p;
	struct aif_host_calls calls;
	struct aif_ranks r;
};

static void begin(struct job *j)
{
	*j = (struct job){.p = {.processes_len = RANKS, .threads_len = RANKS}};
	j->r.ranks = calloc(RANKS, sizeof(*j->r.ranks));
	j->r.ranks_len = RANKS;
	assert_non_null(j->r.ranks);
	for (uint32_t i = 0; i < RANKS; i++)
		j->r.ranks[i] = (struct aif_rank){
			.number = i, .process = i, .thread = i, .lane = AIF_RANK_NO_LANE};
}

/* Adds a call of a message, in ms. */
static void call(struct job *j, uint32_t rank, uint32_t channel, enum aif_joint_part part,
		 bool is_receive, int from, int to)
{
	struct aif_joint_calls *c = &j->r.calls;
	struct aif_message_call m = {.start = (int64_t)from * MS,
				     .end = (int64_t)to * MS,
				     .process = rank,
				     .thread = rank,
				     .channel = channel,
				     .number = 1,
				     .part = part,
				     .is_receive = is_receive};

	assert_int_equal(aif_grow(&c->messages, &c->messages_cap, c->messages_len + 1, sizeof(m)),
			 0);
	c->messages[c->messages_len++] = m;
	assert_int_equal(
		aif_grow(&j->calls.at, &j->calls.cap, j->calls.len + 1, sizeof(*j->calls.at)), 0);
	j->calls.at[j->calls.len++] = (struct aif_host_call){
		.thread = rank, .start = m.start, .end = m.end, .kind = AIF_HOST_CALL_COMMUNICATE};
}

static int by_channel(const void *a, const void *b)
{
	const struct aif_message_call *x = a, *y = b;

	return x->channel != y->channel         ? (x->channel < y->channel ? -1 : 1)
	       : x->is_receive != y->is_receive ? x->is_receive - y->is_receive
						: (x->start > y->start) - (x->start < y->start);
}

static int by_thread(const void *a, const void *b)
{
	const struct aif_host_call *x = a, *y = b;

	return x->thread != y->thread ? (x->thread < y->thread ? -1 : 1)
				      : (x->start > y->start) - (x->start < y->start);
}

static void find(struct job *j)
{
	struct aif_joint_calls *c = &j->r.calls;

	qsort(c->messages, c->messages_len, sizeof(*c->messages), by_channel);
	qsort(j->calls.at, j->calls.len, sizeof(*j->calls.at), by_thread);
	assert_int_equal(aif_rank_messages_find(&j->p, &j->calls, &j->r), 0);
	assert_int_equal(aif_rank_waits_add_operations(&j->r), 0);
}

static void end(struct job *j)
{
	aif_ranks_finish(&j->r);
	aif_host_calls_finish(&j->calls);
}

static void check_wait(const struct job *j, size_t i, uint32_t rank, uint32_t late, int from,
		       int to)
{
	assert_true(i < j->r.waits_len);
	assert_int_equal(j->r.waits[i].rank, rank);
	assert_int_equal(j->r.waits[i].late, late);
	assert_int_equal(j->r.waits[i].from, (int64_t)from * MS);
	assert_int_equal(j->r.waits[i].to, (int64_t)to * MS);
}

static void add_root(void *arg, uint32_t rank, int64_t from, int64_t to)
{
	((int64_t *)arg)[rank] += (to - from) / MS;
}

/* 0 computes until 30 ms; 1 then until 33, which 2 waits for; 3 has sent to 2 long before. */
static void waits_are_passed_on(void **state)
{
	struct job j;
	int64_t roots[RANKS] = {0};

	(void)state;
	begin(&j);
	call(&j, 0, 0, AIF_JOINT_WHOLE, false, 30, 31);
	call(&j, 1, 0, AIF_JOINT_WHOLE, true, 3, 31);
	call(&j, 1, 1, AIF_JOINT_WHOLE, false, 34, 35);
	call(&j, 3, 2, AIF_JOINT_WHOLE, false, 0, 1);
	call(&j, 2, 2, AIF_JOINT_WHOLE, true, 2, 3);
	call(&j, 2, 1, AIF_JOINT_WHOLE, true, 4, 35);
	find(&j);
	assert_int_equal(j.r.messages, 3);
	assert_int_equal(j.r.waits_len, 2);
	check_wait(&j, 0, 1, 0, 3, 30);
	check_wait(&j, 1, 2, 1, 4, 34);
	aif_rank_roots(&j.r, 1, 4 * MS, 34 * MS, add_root, roots);
	assert_int_equal(roots[0], 26);
	assert_int_equal(roots[1], 4);
	assert_int_equal(roots[2] + roots[3], 0);
	end(&j);
}

/* Receives of several ranks are for the last one, and it is late by what comes behind the one before it. */
static void receives_of_several_are_one_wait(void **state)
{
	struct job j;

	(void)state;
	begin(&j);
	for (uint32_t i = 1; i < RANKS; i++) {
		call(&j, i, i, AIF_JOINT_WHOLE, false, 10 * (int)i, 10 * (int)i + 1);
		call(&j, 0, i, AIF_JOINT_BEGIN, true, 0, 1);
		call(&j, 0, i, AIF_JOINT_WAIT, true, 2, 32);
	}
	find(&j);
	assert_int_equal(j.r.waits_len, 1);
	check_wait(&j, 0, 0, 3, 2, 30);
	assert_int_equal(j.r.waits[0].lead_from, 20 * MS);
	end(&j);
}

/* A send waits for its receiver where it lasts until then, and not where it has ended. */
static void sends_wait_for_their_receiver(void **state)
{
	struct job j;

	(void)state;
	begin(&j);
	call(&j, 0, 0, AIF_JOINT_WHOLE, false, 0, 21);
	call(&j, 1, 0, AIF_JOINT_WHOLE, true, 20, 21);
	call(&j, 2, 1, AIF_JOINT_WHOLE, false, 0, 1);
	call(&j, 3, 1, AIF_JOINT_WHOLE, true, 20, 21);
	find(&j);
	assert_int_equal(j.r.waits_len, 1);
	check_wait(&j, 0, 0, 1, 0, 20);
	end(&j);
}

/* A message that was only begun arrives when its rank calls MPI again, if the wait for it goes on until then. */
static void begun_messages_arrive_with_progress(void **state)
{
	struct job j;

	(void)state;
	begin(&j);
	call(&j, 0, 0, AIF_JOINT_BEGIN, false, 1, 2);
	call(&j, 0, 0, AIF_JOINT_WAIT, false, 40, 41);
	call(&j, 1, 0, AIF_JOINT_WHOLE, true, 3, 41);
	/* The rank that sends this one is in MPI_Wait() all the time: its next call is another matter. */
	call(&j, 2, 1, AIF_JOINT_BEGIN, false, 1, 2);
	call(&j, 2, 1, AIF_JOINT_WAIT, false, 2, 30);
	call(&j, 2, 2, AIF_JOINT_BEGIN, false, 35, 36);
	call(&j, 3, 1, AIF_JOINT_WHOLE, true, 2, 41);
	find(&j);
	assert_int_equal(j.r.waits_len, 1);
	check_wait(&j, 0, 1, 0, 3, 40);
	end(&j);
}

/* Matches no message that was received before it was sent, nor one that two ranks have sent. */
static void other_messages_are_not_matched(void **state)
{
	struct job j;

	(void)state;
	begin(&j);
	call(&j, 0, 0, AIF_JOINT_WHOLE, false, 30, 31);
	call(&j, 1, 0, AIF_JOINT_WHOLE, true, 3, 5);
	call(&j, 0, 1, AIF_JOINT_WHOLE, false, 40, 41);
	call(&j, 3, 1, AIF_JOINT_WHOLE, false, 40, 41);
	call(&j, 2, 1, AIF_JOINT_WHOLE, true, 35, 45);
	call(&j, 3, 2, AIF_JOINT_WHOLE, false, 50, 51);
	find(&j);
	assert_int_equal(j.r.messages, 0);
	assert_int_equal(j.r.messages_unmatched, 3);
	assert_int_equal(j.r.waits_len, 0);
	end(&j);
}

/* Clocks that differ may make ranks wait for each other in a circle: it is followed for as long as there are ranks. */
static void circles_end(void **state)
{
	struct aif_rank_wait waits[] = {{0, 1, 0, 10 * MS, 0, true}, {1, 0, 0, 10 * MS, 0, true}};
	struct aif_ranks r = {.waits = waits, .waits_len = 2, .ranks_len = 2};
	int64_t roots[2] = {0};

	(void)state;
	aif_rank_roots(&r, 0, 0, 12 * MS, add_root, roots);
	assert_int_equal(roots[0] + roots[1], 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_are_passed_on),
		cmocka_unit_test(receives_of_several_are_one_wait),
		cmocka_unit_test(sends_wait_for_their_receiver),
		cmocka_unit_test(begun_messages_arrive_with_progress),
		cmocka_unit_test(other_messages_are_not_matched),
		cmocka_unit_test(circles_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
