/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_rows.h"

#include "export/timeline.h"

static void profile_write(const struct aif_launch_row *l, size_t l_len, const struct aif_op_row *o,
			  size_t o_len, struct aif_profile *ret)
{
	struct aif_profile p;
	struct aif_writer *w;
	struct aif_err err = {0};

	fixture_profile(&p);
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_launches(w, l, l_len, &err), &err);
	assert_ok(aif_writer_ops(w, o, o_len, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	aif_profile_finish(&p);
	assert_ok(aif_profile_open("p", ret, &err), &err);
}

/* A sink that writes down what it is handed. */
struct log {
	struct aif_timeline_walk t;
	struct aif_buf text;
};

static int log_launch(struct aif_timeline_walk *t, uint32_t launch, int64_t end)
{
	aif_buf_printf(&((struct log *)t)->text, "launch %lld-%lld\n",
		       (long long)t->events.launches[launch].time / 1000, (long long)end / 1000);
	return 0;
}

static int log_op(struct aif_timeline_walk *t, const struct aif_event_op *o, int64_t end)
{
	aif_buf_printf(&((struct log *)t)->text, "%s%s %lld-%lld\n", aif_op_kind_name(o->kind),
		       o->launch == AIF_NONE ? "" : " that launched", (long long)o->start / 1000,
		       (long long)end / 1000);
	return 0;
}

static int log_op_end(struct aif_timeline_walk *t, uint32_t thread, int64_t at)
{
	assert_int_equal(thread, 0);
	aif_buf_printf(&((struct log *)t)->text, "end %lld\n", (long long)at / 1000);
	return 0;
}

static void walk_is(const struct aif_export *e, const struct aif_timeline_sink *sink,
		    const char *expected)
{
	struct log log = {0};
	struct aif_err err = {0};
	struct aif_out out;

	assert_ok(aif_out_open(&out, "walk", &err), &err);
	assert_ok(aif_timeline_write(&log.t, sink, e, &out, &err), &err);
	aif_timeline_finish(&log.t);
	aif_out_abort(&out);
	assert_string_equal(aif_buf_str(&log.text), expected);
	aif_buf_finish(&log.text);
}

/* Calls of a thread: the outer one first, also of two with one beginning; where they lie in each other, none ends behind
 * the one around it. Where the end of a call is not known, the next event is. */
static void calls_of_a_thread_nest_in_order(void **state)
{
	static const struct {
		uint64_t start, end;
		uint32_t kind;
	} spans[] = {
		{0, 100, AIF_OP_OPERATOR}, {10, 60, AIF_OP_RUNTIME},  {10, 30, AIF_OP_PYTHON},
		{80, 120, AIF_OP_RANGE},   {90, 95, AIF_OP_OPERATOR},
	};
	static const struct aif_timeline_sink flat = {
		.passes = {AIF_TIMELINE_LAUNCHES | AIF_TIMELINE_OPS},
		.launch = log_launch,
		.op = log_op,
		.op_end = log_op_end,
	};
	struct aif_timeline_sink nested = flat, apart = flat, endless = flat;
	struct aif_launch_row l[3];
	struct aif_op_row o[AIF_ARRAY_LEN(spans)];
	struct aif_profile p;
	struct aif_names names;
	struct aif_export e = {.names = &names, .profile = &p, .detail = AIF_NAME_NORMAL};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(l); i++) {
		static const uint64_t times[] = {10, 40, 99};

		l[i] = launches[0];
		l[i].launch = i + 1;
		l[i].thread = 0;
		l[i].time = FIXTURE_START + times[i] * 1000 + (i == 2) * 500;
	}
	for (size_t i = 0; i < AIF_ARRAY_LEN(spans); i++)
		o[i] = (struct aif_op_row){.start = FIXTURE_START + spans[i].start * 1000,
					   .end = FIXTURE_START + spans[i].end * 1000,
					   .clock = AIF_CLOCK_MONOTONIC,
					   .kind = spans[i].kind,
					   .name = AIF_NONE,
					   .shapes = AIF_NONE,
					   .stack = AIF_NONE,
					   .sequence = -1};
	profile_write(l, AIF_ARRAY_LEN(l), o, AIF_ARRAY_LEN(spans), &p);
	assert_int_equal(aif_names_make(&names, &p), 0);
	walk_is(&e, &flat,
		"operator 0-100\nruntime that launched 10-60\npython 10-30\nlaunch 40-41\n"
		"range 80-120\noperator 90-95\nlaunch 99-100\n");
	nested.is_nested = true;
	walk_is(&e, &nested,
		"operator 0-100\nruntime that launched 10-60\npython 10-30\nend 30\nlaunch 40-41\n"
		"end 60\nrange 80-100\noperator 90-95\nend 95\nlaunch 99-100\nend 100\nend 100\n");
	apart.passes[0] = AIF_TIMELINE_OPS;
	apart.passes[1] = AIF_TIMELINE_LAUNCHES;
	walk_is(&e, &apart,
		"operator 0-100\nruntime that launched 10-60\npython 10-30\nrange 80-120\n"
		"operator 90-95\nlaunch 40-41\nlaunch 99-100\n");
	/* A slot that a sink has not is as if it did nothing. */
	endless.is_nested = true;
	endless.op_end = NULL;
	endless.launch = NULL;
	walk_is(&e, &endless,
		"operator 0-100\nruntime that launched 10-60\npython 10-30\nrange 80-100\n"
		"operator 90-95\n");
	aif_names_finish(&names);
	aif_profile_finish(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_of_a_thread_nest_in_order, enter_directory,
						leave_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
