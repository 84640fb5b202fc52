/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a profile are computed once, shared, and dropped when memory is short; views decode each chunk once. */
#include "analysis/attribution.h"
#include "analysis/exec_timeline.h"
#include "analysis/facts.h"
#include "analysis/op_tree.h"
#include "analysis/roof/opportunity.h"
#include "analysis/time.h"
#include "analysis/utilization.h"
#include "compare/run.h"
#include "fixture_ops.h"
#include "page/page.h"
#include "report/report_table.h"
#include "report/summary/summary.h"
#include "report/why/why.h"

#include <errno.h>
#include <time.h>

enum { LAUNCHES = 400, US = 1000 };

/* Launches of a loop on two threads, with operators, steps, ranges, memory, counters and CPU samples. */
static void make(struct ops_fixture *f)
{
	struct aif_err err = {0};

	ops_begin(f, "NVIDIA", "cuda");
	FIXTURE_ADD(&f->made, modules, .kind = AIF_MODULE_ELF, .path = ops_string(f, "/bin/x"),
		    .build_id = AIF_NONE, .kernel = AIF_NONE, .program = AIF_NONE);
	for (uint32_t i = 0; i < 4; i++) {
		FIXTURE_ADD(&f->made, frames, .kind = AIF_FRAME_NATIVE, .module = 0,
			    .address = 16 * (i + 1));
		FIXTURE_ADD(&f->made, stacks, .parent = i ? i - 1 : AIF_NONE, .frame = i,
			    .depth = i + 1);
	}
	for (uint64_t i = 0; i < LAUNCHES; i++) {
		uint64_t at = i * 100 * US;
		struct aif_cpu_row cpu = {.time = OPS_START + at,
					  .weight = 10 * US,
					  .waiting = i % 4 == 3 ? 20 * US : 0,
					  .stack = (uint32_t)(i % 4),
					  .is_whole = 1};
		struct aif_memory_row memory = {.time = OPS_START + at,
						.block = i + 1,
						.bytes = 4096,
						.allocated = AIF_MEMORY_UNKNOWN,
						.reserved = AIF_MEMORY_UNKNOWN,
						.stack = 1,
						.kind = AIF_MEMORY_ALLOCATE};
		struct aif_counter_row counter = {.time = OPS_START + at + 1,
						  .value = 200,
						  .name = ops_string(f, "power"),
						  .unit = ops_string(f, "W"),
						  .process = AIF_NONE};

		f->stack = (uint32_t)(i % 4);
		if (i % 4 == 0)
			ops_add(f, 0, at, at + 399 * US, AIF_OP_STEP, "ProfilerStep#1");
		ops_add(f, 0, at, at + 30 * US, AIF_OP_OPERATOR, "aten::mm");
		ops_exec(f, 0, at + 5 * US, 0, at + 20 * US, at + 60 * US, i % 4 ? "mm" : NULL);
		assert_ok(aif_writer_cpu(f->w, &cpu, 1, &err), &err);
		assert_ok(aif_writer_memory(f->w, &memory, 1, &err), &err);
		assert_ok(aif_writer_counters(f->w, &counter, 1, &err), &err);
	}
	ops_read(f);
}

/* ---- the store ------------------------------------------------------------------------------- */

static void test_a_part_is_computed_once(void **state)
{
	struct ops_fixture f;
	bool processes[2] = {true, false}, same[2] = {true, false};
	struct aif_selection part = {.processes = processes}, again = {.processes = same};
	const struct aif_exec_timeline *all, *shared, *of_part, *of_again;
	uint64_t computed;

	(void)state;
	make(&f);
	assert_int_equal(aif_exec_timeline_get(&f.p, NULL, &all), 0);
	assert_int_equal(all->execs_len, LAUNCHES);
	computed = aif_facts_computed(&f.p);
	assert_int_equal(aif_exec_timeline_get(&f.p, &(struct aif_selection){0}, &shared), 0);
	assert_ptr_equal(all, shared);
	assert_int_equal(aif_facts_computed(&f.p), computed);
	assert_int_equal(aif_exec_timeline_get(&f.p, &part, &of_part), 0);
	assert_ptr_not_equal(all, of_part);
	assert_int_equal(aif_facts_computed(&f.p), computed + 1);
	assert_int_equal(aif_exec_timeline_get(&f.p, &again, &of_again), 0);
	assert_ptr_equal(of_part, of_again);
	aif_facts_put(of_again);
	same[0] = false;
	assert_int_equal(aif_exec_timeline_get(&f.p, &again, &of_again), 0);
	assert_ptr_not_equal(of_part, of_again);
	assert_int_equal(of_again->execs_len, 0);
	aif_facts_put(all);
	aif_facts_put(shared);
	aif_facts_put(of_part);
	aif_facts_put(of_again);
	/* Given back by all, and kept. */
	assert_int_equal(aif_exec_timeline_get(&f.p, NULL, &shared), 0);
	assert_ptr_equal(all, shared);
	aif_facts_put(shared);
	ops_end(&f);
}

static void test_trees_of_all_owners_share_the_operators(void **state)
{
	const struct aif_exec_timeline *t;
	struct aif_op_tree all, operators;
	struct aif_opportunity o;
	struct ops_fixture f;
	uint64_t computed;

	(void)state;
	make(&f);
	assert_int_equal(aif_exec_timeline_get(&f.p, NULL, &t), 0);
	computed = aif_facts_computed(&f.p);
	/* Says nothing of operators, which have no shapes: it makes no tree of them. */
	assert_int_equal(aif_opportunity_make(&f.p, NULL, t, NULL, NULL, &o), 0);
	assert_int_equal(aif_facts_computed(&f.p), computed);
	assert_int_equal(aif_op_tree_make(&f.p, NULL, t, AIF_OWNERS_ALL, &all), 0);
	assert_int_equal(aif_op_tree_make(&f.p, NULL, t, AIF_OWNERS_OPERATORS, &operators), 0);
	assert_int_equal(aif_facts_computed(&f.p), computed + 1);
	assert_ptr_equal(all.rows, operators.rows);
	/* Amounts are each tree's own. */
	assert_int_equal(aif_op_tree_add_device(&all, t, NULL, NULL), 0);
	assert_true(all.device[0].all_ns > 0);
	assert_null(operators.device);
	aif_op_tree_finish(&all);
	aif_op_tree_finish(&operators);
	aif_opportunity_finish(&o);
	aif_facts_put(t);
	ops_end(&f);
}

/* A fact of numbers: a variant's value is the variant, and says that it takes 100 MiB. From DEAR on, making one takes time;
 * SMALL takes nothing beside itself. */
enum { DEAR = 1000, SMALL = 2000, DEAR_NS = 50000000 };
static unsigned numbers_made, numbers_freed;

static int make_number(const struct aif_profile *p, const struct aif_fact_of *of, void *ret,
		       struct aif_err *err)
{
	struct timespec t = {0}, from;

	(void)p;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (of->variant >= DEAR && of->variant < SMALL &&
	       (t.tv_sec - from.tv_sec) * 1000000000 + t.tv_nsec - from.tv_nsec < DEAR_NS);
	numbers_made++;
	*(unsigned *)ret = of->variant;
	return of->variant == 99 ? aif_err_set(err, -EIO, "no 99") : 0;
}

static void finish_number(void *value)
{
	(void)value;
	numbers_freed++;
}

static size_t bytes_of_number(const void *value)
{
	return *(const unsigned *)value == SMALL ? 0 : (size_t)100 << 20;
}

static const struct aif_fact_kind number_kind = {.name = "number",
						 .size = sizeof(unsigned),
						 .make = make_number,
						 .finish = finish_number,
						 .bytes = bytes_of_number};

static const unsigned *get_number(const struct ops_fixture *f, unsigned n)
{
	const void *fact;

	assert_int_equal(
		aif_facts_get(&f->p, &number_kind, (struct aif_fact_of){.variant = n}, &fact, NULL),
		0);
	assert_int_equal(*(const unsigned *)fact, n);
	return fact;
}

static void test_what_was_given_back_longest_ago_is_dropped_first(void **state)
{
	struct ops_fixture f;
	const unsigned *one, *two, *three;

	(void)state;
	numbers_made = numbers_freed = 0;
	make(&f);
	one = get_number(&f, 1);
	two = get_number(&f, 2);
	three = get_number(&f, 3);
	aif_facts_put(two);
	aif_facts_put(one);
	assert_int_equal(numbers_freed, 0);
	/* More than AIF_FACTS_MEMORY, and nobody needs any of it. */
	aif_facts_put(three);
	assert_int_equal(numbers_freed, 1);
	aif_facts_put(get_number(&f, 3));
	aif_facts_put(get_number(&f, 1));
	assert_int_equal(numbers_made, 3);
	aif_facts_put(get_number(&f, 2));
	assert_int_equal(numbers_made, 4);
	/* For it went 3, not 1, which was given back after that. */
	assert_int_equal(numbers_freed, 2);
	aif_facts_put(get_number(&f, 1));
	assert_int_equal(numbers_made, 4);
	ops_end(&f);
	assert_int_equal(numbers_freed, numbers_made);
}

static void test_facts_in_use_drop_no_others(void **state)
{
	struct ops_fixture f;
	const void *held[4];

	(void)state;
	numbers_made = numbers_freed = 0;
	make(&f);
	for (unsigned i = 0; i < 4; i++)
		held[i] = get_number(&f, i);
	/* 400 MiB are in use; 200 MiB more may stay. */
	for (unsigned i = 0; i < 8; i++)
		aif_facts_put(get_number(&f, 4 + i % 2));
	assert_int_equal(numbers_made, 6);
	assert_int_equal(numbers_freed, 0);
	for (unsigned i = 0; i < 4; i++)
		aif_facts_put(held[i]);
	assert_int_equal(numbers_freed, 4);
	ops_end(&f);
}

static void test_facts_that_are_small_or_take_long_to_make_are_dropped_last(void **state)
{
	struct ops_fixture f;

	(void)state;
	numbers_made = numbers_freed = 0;
	make(&f);
	aif_facts_put(get_number(&f, SMALL));
	aif_facts_put(get_number(&f, DEAR));
	for (unsigned i = 0; i < 4; i++)
		aif_facts_put(get_number(&f, i));
	assert_int_equal(numbers_made, 6);
	assert_int_equal(numbers_freed, 3);
	aif_facts_put(get_number(&f, SMALL));
	aif_facts_put(get_number(&f, DEAR));
	assert_int_equal(numbers_made, 6);
	ops_end(&f);
}

/* A number that holds others, as many as it says, which it gets while it is made, and one that it needs only then. */
static int make_sum(const struct aif_profile *p, const struct aif_fact_of *of, void *ret,
		    struct aif_err *err)
{
	const void **parts = ret, *other;
	int e = 0;

	for (unsigned i = 0; i < of->variant && !e; i++)
		e = aif_facts_get(p, &number_kind, (struct aif_fact_of){.variant = i}, &parts[i],
				  err);
	if (!e)
		e = aif_facts_get(p, &number_kind, (struct aif_fact_of){.variant = SMALL}, &other,
				  err);
	aif_facts_put(other);
	return e;
}

static void finish_sum(void *value)
{
	const void **parts = value;

	for (unsigned i = 0; i < 3; i++)
		aif_facts_put(parts[i]);
}

static size_t bytes_of_sum(const void *value)
{
	(void)value;
	return 0;
}

static void test_what_only_facts_hold_that_nobody_needs_counts_as_not_needed(void **state)
{
	static const struct aif_fact_kind sum = {.name = "sum",
						 .size = 3 * sizeof(void *),
						 .make = make_sum,
						 .finish = finish_sum,
						 .bytes = bytes_of_sum};
	struct aif_fact_of two = {.variant = 2}, three = {.variant = 3};
	struct ops_fixture f;
	const void *fact, *again;

	(void)state;
	numbers_made = numbers_freed = 0;
	make(&f);
	assert_int_equal(aif_facts_get(&f.p, &sum, two, &fact, NULL), 0);
	aif_facts_put(fact);
	/* 200 MiB that the sum holds. */
	assert_int_equal(numbers_freed, 0);
	assert_int_equal(aif_facts_get(&f.p, &sum, two, &again, NULL), 0);
	assert_ptr_equal(fact, again);
	aif_facts_put(get_number(&f, 5));
	aif_facts_put(get_number(&f, 6));
	assert_int_equal(numbers_freed, 0);
	/* 400 MiB, of which a sum that nobody needs holds the half. */
	aif_facts_put(again);
	assert_true(numbers_freed >= 2);
	assert_int_equal(aif_facts_get(&f.p, &sum, three, &fact, NULL), 0);
	numbers_freed = 0;
	aif_facts_put(get_number(&f, 7));
	assert_int_equal(numbers_freed, 0);
	aif_facts_put(fact);
	assert_true(numbers_freed >= 2);
	ops_end(&f);
}

static void test_a_failure_gives_zeros(void **state)
{
	struct aif_err err = {0};
	struct ops_fixture f;
	const void *fact;

	(void)state;
	numbers_made = numbers_freed = 0;
	make(&f);
	assert_int_equal(
		aif_facts_get(&f.p, &number_kind, (struct aif_fact_of){.variant = 99}, &fact, &err),
		-EIO);
	assert_string_equal(err.text, "no 99");
	assert_int_equal(*(const unsigned *)fact, 0);
	assert_int_equal(numbers_freed, 1);
	aif_facts_put(fact);
	aif_facts_put(NULL);
	aif_facts_put(aif_facts_none());
	ops_end(&f);
}

static void test_nothing_is_kept_of_a_profile_in_memory(void **state)
{
	struct aif_profile p = {.start_ns = 1};
	const void *a, *b;

	(void)state;
	numbers_made = numbers_freed = 0;
	assert_int_equal(aif_facts_get(&p, &number_kind, (struct aif_fact_of){0}, &a, NULL), 0);
	assert_int_equal(aif_facts_get(&p, &number_kind, (struct aif_fact_of){0}, &b, NULL), 0);
	assert_ptr_not_equal(a, b);
	assert_int_equal(numbers_made, 2);
	aif_facts_put(a);
	assert_int_equal(numbers_freed, 1);
	aif_facts_put(b);
	assert_int_equal(numbers_freed, 2);
	assert_int_equal(aif_facts_computed(&p), 0);
}

/* Numbers made from others: they stay as long as what is made from them does. */
static void test_a_fact_holds_what_it_is_made_from(void **state)
{
	struct ops_fixture f;
	const unsigned *base;
	const void *first, *second;

	(void)state;
	numbers_made = numbers_freed = 0;
	make(&f);
	base = get_number(&f, 1);
	assert_int_equal(
		aif_facts_get(&f.p, &number_kind, (struct aif_fact_of){.base = base}, &first, NULL),
		0);
	assert_int_equal(aif_facts_get(&f.p, &number_kind, (struct aif_fact_of){.base = base},
				       &second, NULL),
			 0);
	assert_ptr_equal(first, second);
	aif_facts_put(second);
	aif_facts_put(base);
	/* Memory is short, but what `first` is made from is in use. */
	aif_facts_put(get_number(&f, 2));
	aif_facts_put(get_number(&f, 3));
	assert_int_equal(numbers_freed, 0);
	/* Drops `first` because of the memory, and then what it is made from. */
	aif_facts_put(first);
	assert_int_equal(numbers_freed, 2);
	ops_end(&f);
	assert_int_equal(numbers_freed, numbers_made);
}

static void test_facts_that_were_not_given_back_go_with_the_profile(void **state)
{
	struct ops_fixture f;

	(void)state;
	numbers_made = numbers_freed = 0;
	make(&f);
	get_number(&f, 1);
	get_number(&f, 2);
	ops_end(&f);
	assert_int_equal(numbers_freed, 2);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Each chunk of the kinds that were asked for was decoded once; returns how many kinds. */
static unsigned assert_decoded_once(const struct aif_profile *p, const char *view)
{
	unsigned kinds = 0;

	for (enum aif_chunk_kind kind = AIF_CHUNK_LAUNCHES; kind < AIF_CHUNK_KIND_COUNT; kind++) {
		uint64_t chunks, decoded = aif_profile_decoded(p, kind, &chunks);

		if (decoded && decoded != chunks)
			fail_msg("%s: %llu decodes of the %llu chunks of kind %d", view,
				 (unsigned long long)decoded, (unsigned long long)chunks, kind);
		kinds += decoded && chunks;
	}
	return kinds;
}

static void test_a_page_decodes_each_chunk_once(void **state)
{
	struct aif_page_opts o = {.path = "p"};
	struct aif_err err = {0};
	struct ops_fixture f;
	struct aif_out out;

	(void)state;
	make(&f);
	assert_ok(aif_out_open(&out, "/dev/null", &err), &err);
	assert_ok(aif_page_write(AIF_NAMES_OF(&f.p), &o, &out, &err), &err);
	assert_ok(aif_out_commit(&out, &err), &err);
	assert_int_equal(assert_decoded_once(&f.p, "view"), 6);
	ops_end(&f);
}

static void test_all_tables_together_decode_each_chunk_once(void **state)
{
	struct aif_attribution a = {0};
	struct aif_err err = {0};
	struct ops_fixture f;

	(void)state;
	make(&f);
	assert_ok(aif_attribution_compute(&f.p, NULL, &a, &err), &err);
	for (const struct aif_report_table *const *t = aif_report_tables; *t; t++) {
		struct aif_report_opts o = {.table = *t};
		struct aif_buf out = {0};
		int r = aif_report_write(AIF_NAMES_OF(&f.p), &a, &o, &out, &err);

		if (r && r != -ENODATA)
			fail_msg("%s", err.text);
		aif_buf_finish(&out);
		assert_decoded_once(&f.p, (*t)->rows ? (*t)->rows : "a table");
	}
	aif_attribution_finish(&a);
	ops_end(&f);
}

/* Executions of two streams in turns: a table that sorts them by stream sorts a copy. */
static void test_tables_leave_facts_as_they_are(void **state)
{
	struct aif_attribution a = {0};
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u;
	struct aif_err err = {0};
	struct ops_fixture f;
	uint64_t order, execs;

	(void)state;
	ops_begin(&f, "NVIDIA", "cuda");
	for (uint32_t i = 0; i < 20; i++)
		ops_exec(&f, 0, i * 10 * US, i % 2, i * 10 * US, (i * 10 + 5) * US, "mm");
	ops_read(&f);
	assert_int_equal(aif_exec_timeline_get(&f.p, NULL, &t), 0);
	assert_int_equal(aif_utilization_get(&f.p, t, &u), 0);
	order = aif_hash_bytes(u->order, t->execs_len * sizeof(*u->order));
	execs = aif_hash_bytes(t->execs, t->execs_len * sizeof(*t->execs));
	assert_ok(aif_attribution_compute(&f.p, NULL, &a, &err), &err);
	for (const struct aif_report_table *const *table = aif_report_tables; *table; table++) {
		struct aif_report_opts o = {.table = *table};
		struct aif_buf out = {0};

		(void)aif_report_write(AIF_NAMES_OF(&f.p), &a, &o, &out, &err);
		aif_buf_finish(&out);
		assert_int_equal(order, aif_hash_bytes(u->order, t->execs_len * sizeof(*u->order)));
		assert_int_equal(execs, aif_hash_bytes(t->execs, t->execs_len * sizeof(*t->execs)));
	}
	aif_attribution_finish(&a);
	aif_facts_put(u);
	aif_facts_put(t);
	ops_end(&f);
}

static void test_why_and_the_reduction_of_a_run_decode_each_chunk_once(void **state)
{
	struct aif_err err = {0};
	struct ops_fixture f;
	struct aif_why why;
	struct aif_run run;

	(void)state;
	make(&f);
	assert_ok(aif_why_measure(AIF_NAMES_OF(&f.p), NULL, &why, &err), &err);
	aif_why_finish(&why);
	assert_true(assert_decoded_once(&f.p, "why") >= 4);
	assert_ok(aif_run_reduce(AIF_NAMES_OF(&f.p), NULL, "p", &run, &err), &err);
	aif_run_finish(&run);
	assert_true(assert_decoded_once(&f.p, "diff") >= 4);
	ops_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_part_is_computed_once),
		cmocka_unit_test(test_trees_of_all_owners_share_the_operators),
		cmocka_unit_test(test_what_was_given_back_longest_ago_is_dropped_first),
		cmocka_unit_test(test_facts_in_use_drop_no_others),
		cmocka_unit_test(test_facts_that_are_small_or_take_long_to_make_are_dropped_last),
		cmocka_unit_test(test_what_only_facts_hold_that_nobody_needs_counts_as_not_needed),
		cmocka_unit_test(test_a_failure_gives_zeros),
		cmocka_unit_test(test_nothing_is_kept_of_a_profile_in_memory),
		cmocka_unit_test(test_a_fact_holds_what_it_is_made_from),
		cmocka_unit_test(test_facts_that_were_not_given_back_go_with_the_profile),
		cmocka_unit_test(test_a_page_decodes_each_chunk_once),
		cmocka_unit_test(test_all_tables_together_decode_each_chunk_once),
		cmocka_unit_test(test_tables_leave_facts_as_they_are),
		cmocka_unit_test(test_why_and_the_reduction_of_a_run_decode_each_chunk_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
