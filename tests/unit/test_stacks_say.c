/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences about a job's ranks: who is missing, by their stacks and by what they have begun. */
#include "stacks/ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4 };

struct fixture {
	struct aif_stacks_job job;
	struct aif_stacks_rank ranks[RANKS];
	struct aif_collective_counts *counts;
	struct aif_stacks_frame train, finish;
	char said[4096];
};

static void put_in(struct fixture *f, unsigned rank, const char *operation,
		   const struct aif_stacks_frame *caller)
{
	struct aif_stacks_where *w = &f->ranks[rank].where;

	*w = (struct aif_stacks_where){.place = operation ? AIF_STACKS_COLLECTIVE
							  : AIF_STACKS_ELSEWHERE,
				       .caller = caller};
	snprintf(w->operation, sizeof(w->operation), "%s", operation ? operation : "");
}

static void begin(struct fixture *f)
{
	static char train[] = "train", finish[] = "finish", file[] = "/a/train.py";

	memset(f, 0, sizeof(*f));
	f->counts = calloc(RANKS, sizeof(*f->counts));
	assert_non_null(f->counts);
	f->train = (struct aif_stacks_frame){
		.function = train, .file = file, .line = 28, .is_python = true};
	f->finish = (struct aif_stacks_frame){
		.function = finish, .file = file, .line = 33, .is_python = true};
	f->job = (struct aif_stacks_job){
		.ranks = f->ranks, .len = RANKS, .number = 1, .world = RANKS, .here = RANKS};
	for (unsigned i = 0; i < RANKS; i++) {
		f->ranks[i].job = (struct aif_job_rank){.rank = i, .is_known = true};
		put_in(f, i, "all_reduce", &f->train);
	}
}

static void end(struct fixture *f)
{
	free(f->counts);
}

/* Has a rank begun so many operations of communicator 7, all of one kind but for the one of number `other`. */
static void count(struct fixture *f, unsigned rank, uint64_t begun, uint64_t other)
{
	struct aif_collective_counts *c = &f->counts[rank];
	struct aif_communicator *m = &c->communicators[0];

	strcpy(c->kinds[0], "ncclAllReduce");
	strcpy(c->kinds[1], "ncclBroadcast");
	m->is_used = 1;
	m->id = 7;
	m->size = RANKS;
	m->begun = begun;
	for (uint64_t i = 1; i <= begun; i++) {
		struct aif_collective_call *call = &m->latest[i % AIF_COLLECTIVES_LATEST];

		call->number = i;
		call->bytes = 512;
		call->kind = i == other;
	}
	f->ranks[rank].counts = c;
}

static const char *say(struct fixture *f)
{
	struct aif_buf out = {0};

	aif_stacks_job_say(&f->job, &out);
	snprintf(f->said, sizeof(f->said), "%s", aif_buf_str(&out));
	aif_buf_finish(&out);
	return f->said;
}

#define assert_says(f, text)                                          \
	do {                                                          \
		if (!strstr(say(f), text))                            \
			fail_msg("nowhere: %s\n%s", text, (f)->said); \
	} while (0)

static void a_rank_in_another_operation_is_missing(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	assert_says(&f, "nobody is missing of 4 ranks: all wait in all_reduce, called by train "
			"(train.py:28)\n");
	put_in(&f, 2, "barrier", &f.finish);
	assert_says(&f, "missing: rank 2, while ranks 0, 1, 3 wait in all_reduce, called by train "
			"(train.py:28); rank 2 waits in barrier, called by finish (train.py:33)\n");
	put_in(&f, 1, NULL, &f.train);
	put_in(&f, 2, NULL, &f.train);
	assert_says(&f, "missing: ranks 1, 2, while ranks 0, 3 wait in all_reduce, called by train "
			"(train.py:28); ranks 1, 2 are in train (train.py:28)\n");
	end(&f);
}

static void a_job_that_is_not_whole_is_not_said_to_be(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	f.job.len = 3;
	assert_says(&f, "job of 4 ranks: ranks 0 to 2 on this host, where 1 more has ended\n");
	assert_says(&f, "all 3 ranks that were seen wait in all_reduce");
	f.job.here = 3;
	assert_says(&f, "all 3 ranks that were seen wait in all_reduce");
	f.job.len = 1;
	assert_says(&f, "one rank only was seen, and it waits in all_reduce");
	aif_err_set(&f.ranks[0].why, -1, "process 7 may not be read");
	assert_says(&f, "no rank waits in a collective operation\n");
	end(&f);
}

static void counts_say_who_is_behind_and_where_ranks_differ(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	for (unsigned i = 0; i < RANKS; i++)
		count(&f, i, 40, 0);
	assert_says(&f,
		    "communicator 0x7 of 4 ranks: ranks 0 to 3 have begun 40 operations each\n");
	count(&f, 3, 39, 20);
	assert_says(&f,
		    "communicator 0x7 of 4 ranks: rank 3 has begun 39 operations, ranks 0 to 2 up "
		    "to 40; number 40, ncclAllReduce of 512 B, is what it is missing in\n");
	assert_says(
		&f,
		"communicator 0x7 of 4 ranks: number 20 is ncclAllReduce of 512 B on ranks 0 to "
		"2, and ncclBroadcast of 512 B on rank 3: one has left");
	/* Does not compare numbers that are too long ago. */
	for (unsigned i = 0; i < RANKS; i++)
		count(&f, i, 80, i == 3 ? 20 : 0);
	assert_null(strstr(say(&f), "number 20"));
	end(&f);
}

/* Numbers are another process's: the largest one ends no loop by coming after itself. */
static void any_number_is_said(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	for (unsigned i = 0; i < RANKS; i++) {
		count(&f, i, 1, 0);
		f.counts[i].communicators[0].begun = UINT64_MAX;
	}
	f.counts[1].left_out = 3;
	assert_says(&f, "a rank has begun 3 operations of communicators that are not counted: "
			"there is room for 32 communicators\n");
	end(&f);
}

/* Ranks that were seen once say nothing of who goes on. */
static void who_was_not_seen_twice_is_not_said_to_stand(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	f.job.apart_ns = 500000000;
	for (unsigned i = 0; i < RANKS; i++)
		f.ranks[i].was_seen = f.ranks[i].has_moved = i < 2;
	assert_says(&f, "ranks 0, 1 have moved; 2 ranks were not seen twice\n");
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rank_in_another_operation_is_missing),
		cmocka_unit_test(a_job_that_is_not_whole_is_not_said_to_be),
		cmocka_unit_test(counts_say_who_is_behind_and_where_ranks_differ),
		cmocka_unit_test(any_number_is_said),
		cmocka_unit_test(who_was_not_seen_twice_is_not_said_to_stand),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
