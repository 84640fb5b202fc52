/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_rows.h"

#include "export/exporter.h"
#include "text/iaprof_text.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* after those */
#include <cmocka.h>

/* Recording in iaprof's format: strings when they are first needed, zeros in the first columns, two launches'
 * stacks. */
static const char recording[] = "string\t1\tpython3\n"
				"string\t2\tmain;forward;zeCommandListAppendLaunchKernel\n"
				"string\t3\tmm.cl\n"
				"string\t4\tmm\n"
				"interval\t0\t1000.250000\n"
				"kernel\t0xfffd0000\t1\t4711\t2\t3\t4\n"
				"string\t5\tsend.ugm (32|M0)\tr21 r17\n"
				"eustall\t0x228\t5\t0\t0\t0\t7\t0\t5\t0\t0\t0\t0\n"
				"string\t6\tmad (32|M0)\n"
				"eustall\t0x278\t6\t10\t0\t7\t3\t0\t5\t0\t0\t1\t2\n"
				"string\t7\tmain;backward;0x7f0012\n"
				"kernel\t0xfffd0000\t1\t4711\t7\t3\t4\n"
				"eustall\t0x228\t5\t0\t1\t0\t0\t0\t0\t0\t0\t0\t4\n"
				"metric\tfrequency-MHz\t1550\n"
				"metric\tbusy-percent\t97\n"
				"interval\t1\t1001.250001\n"
				"kernel\t0x8000ffff0000\t1\t4711\t2\t3\t4\n"
				"eustall\t0x0\t6\t0\t0\t0\t0\t0\t0\t0\t0\t0\t1\n";

static int on_sample(void *arg, const struct aif_iaprof_sample *s)
{
	struct aif_buf *out = arg;

	aif_buf_printf(out,
		       "%" PRIu64 " %" PRIu64 " %s[%" PRIu64 "] %s|%s|%s|%s %#" PRIx64 "+%#" PRIx64,
		       s->interval, s->end_ns, s->comm, s->pid, s->stack, s->file, s->symbol,
		       s->instruction, s->address, s->offset);
	for (unsigned i = 0; i < AIF_IAPROF_COUNTS; i++)
		if (s->counts[i])
			aif_buf_printf(out, " %s=%" PRIu64, aif_iaprof_count_name(i), s->counts[i]);
	aif_buf_putc(out, '\n');
	return 0;
}

static int on_metric(void *arg, const struct aif_iaprof_metric *m)
{
	aif_buf_printf(arg, "%" PRIu64 " %s %" PRIu64 "\n", m->interval, m->name, m->value);
	return 0;
}

/* All of it, `step` bytes at a time; as text. */
static char *read_text(const char *text, size_t step, struct aif_iaprof_reader *ret)
{
	struct aif_buf out = {0};
	struct aif_iaprof_reader r = {.sink = {on_sample, on_metric, &out}};
	size_t len = strlen(text);
	char *copy;

	for (size_t at = 0; at < len; at += step)
		assert_int_equal(aif_iaprof_read(&r, text + at, AIF_MIN(step, len - at)), 0);
	assert_int_equal(aif_iaprof_read_end(&r), 0);
	*ret = r;
	copy = strdup(aif_buf_str(&out));
	aif_buf_finish(&out);
	return copy;
}

static const char expected[] =
	"0 1000250000000 python3[4711] main;forward;zeCommandListAppendLaunchKernel|mm.cl|mm|send.ugm "
	"(32|M0)\tr21 r17 0xfffd0000+0x228 send=7 sbid=5\n"
	"0 1000250000000 python3[4711] main;forward;zeCommandListAppendLaunchKernel|mm.cl|mm|mad "
	"(32|M0) 0xfffd0000+0x278 active=10 pipestall=7 send=3 sbid=5 other=1 tdr=2\n"
	"0 1000250000000 python3[4711] main;backward;0x7f0012|mm.cl|mm|send.ugm (32|M0)\tr21 r17 "
	"0xfffd0000+0x228 control=1 tdr=4\n"
	"0 frequency-MHz 1550\n"
	"0 busy-percent 97\n"
	"1 1001250001000 python3[4711] main;forward;zeCommandListAppendLaunchKernel|mm.cl|mm|mad "
	"(32|M0) 0x8000ffff0000+0 tdr=1\n";

static void every_count_is_read(void **state)
{
	struct aif_iaprof_reader r;

	(void)state;
	for (size_t step = 1; step < sizeof(recording); step += step < 20 ? 1 : 97) {
		char *got = read_text(recording, step, &r);

		assert_string_equal(got, expected);
		assert_int_equal(r.bad, 0);
		assert_int_equal(r.lines, 18);
		free(got);
	}
}

/* iaprof's format of 2025 has a line for each change, and a sample for each reason; unknown values are texts. */
static void samples_of_2025_are_read(void **state)
{
	static const char text[] =
		"string\t1\t[unknown file]\nstring\t2\t[failed decode]\nstring\t3\tactive\n"
		"string\t4\tunknown\nstring\t5\tapp\nstring\t6\tmain;run;\nstring\t7\tioctl_[k];\n"
		"string\t8\tmm\nstring\t9\tmad (16)\n"
		"interval_start\t3\t1000.25\nproc_name\t5\npid\t7\nustack\t6\nkstack\t7\n"
		"shader_type\t2\ngpu_file\t1\ngpu_symbol\t8\ninsn_text\t9\n"
		"e\t11\t3\t1f0\t5\ninsn_text\t2\nkstack\t0\ne\t11\t4\t200\t11\ninterval_end\n"
		"e\t11\t4\t0x200\t11\ne\t11\t4\t10000000000000000\t1\ne\t11\t4\t1\n"
		"pid\tx\ninterval_end\t1\n";
	struct aif_iaprof_reader r;

	(void)state;
	for (size_t step = 1; step < sizeof(text); step += 13) {
		char *got = read_text(text, step, &r);

		assert_string_equal(got,
				    "3 1000250000000 app[7] main;run;;ioctl_[k];||mm|mad (16) "
				    "0+0x1f0 active=5\n"
				    "3 1000250000000 app[7] main;run;;||mm| 0+0x200 other=11\n");
		assert_int_equal(r.bad, 5);
		assert_int_equal(r.first_bad, 24);
		free(got);
	}
}

static void what_is_torn_or_wrong_is_counted(void **state)
{
	static const struct {
		const char *text, *got;
		unsigned bad, first;
	} cases[] = {
		{"", "", 0, 0},
		{"eustall\t0x0\t6\t0\t0\t0\t0\t0\t0\t0\t0\t0\t1\n", "", 1, 1}, /* of no kernel */
		{"kernel\t1\t1\t1\t1\t1\t1\ninterval\t1\t2.0\neustall\t0\t6\t0\t0\t0\t0\t0\t0\t0\t0\t0\t1\n",
		 "", 1, 3},
		{"kernel\t1\t9\t2\t9\t9\t9\neustall\t8\t9\t1\t2\t3\t4\t5\t6\t7\t8\t9\t10\r\n",
		 "0 0 [2] ||| 0x1+0x8 active=1 control=2 pipestall=3 send=4 dist_acc=5 sbid=6 sync=7 "
		 "inst_fetch=8 other=9 tdr=10\n",
		 0, 0},
		{"kernel\t1\t9\t2\t9\t9\t9\neustall\t8\t9\t1\t2\t3\t4\t5\t6\t7\t8\t9", "", 1, 2},
		{"kernel\t1\t9\t2\t9\t9\t9\neustall\t8\t9\t1\t2\t3\t4\t5\t6\t7\t8\t9\t-1", "", 1,
		 2},
		{"kernel\t1\t9\t2\t9\t9\neustall", "", 2, 1},
		{"metric\tx\t18446744073709551615\nmetric\tx\t18446744073709551616\nmetric\tx\t0x\n",
		 "0 x 18446744073709551615\n", 2, 2},
		{"string\t1\nstring\tx\ty\nnonsense\n\n", "", 3, 1},
		{"interval\t1\t1.0000000001\ninterval\t1\t.5\ninterval\t1\t18446744073\n"
		 "interval\t2\t3\nmetric\ty\t1\n",
		 "2 y 1\n", 3, 1},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_iaprof_reader r;
		char *got = read_text(cases[i].text, 5, &r);

		assert_string_equal(got, cases[i].got);
		assert_int_equal(r.bad, cases[i].bad);
		assert_int_equal(r.first_bad, cases[i].first);
		free(got);
	}
}

static void a_line_without_end_is_left_out(void **state)
{
	struct aif_buf out = {0};
	struct aif_iaprof_reader r = {.sink = {on_sample, on_metric, &out}};
	static char block[65536];

	(void)state;
	memset(block, 'x', sizeof(block));
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(aif_iaprof_read(&r, block, sizeof(block)), 0);
	assert_true(r.line.cap <= 16u << 20);
	assert_int_equal(aif_iaprof_read(&r, "\nmetric\tz\t1\n", 12), 0);
	assert_int_equal(aif_iaprof_read_end(&r), 0);
	assert_int_equal(r.bad, 1);
	assert_string_equal(aif_buf_str(&out), "0 z 1\n");
	aif_buf_finish(&out);
}

static int rewrite_sample(void *arg, const struct aif_iaprof_sample *s)
{
	struct aif_iaprof_writer *w = arg;

	/* A new interval is told by the first that is in it. */
	if (w->out.len &&
	    !strstr(aif_buf_str(&w->out), s->interval ? "interval\t1" : "interval\t0"))
		aif_iaprof_write_interval(w, s->interval, s->end_ns);
	aif_iaprof_write_sample(w, s);
	return 0;
}

static int rewrite_metric(void *arg, const struct aif_iaprof_metric *m)
{
	aif_iaprof_write_metric(arg, m->name, m->value);
	return 0;
}

static void it_goes_round(void **state)
{
	struct aif_iaprof_writer w = {0};
	struct aif_iaprof_reader r = {.sink = {rewrite_sample, rewrite_metric, &w}}, again;
	char plain[sizeof(expected)], *got, *tab;

	(void)state;
	aif_iaprof_write_interval(&w, 0, UINT64_C(1000250000000));
	assert_int_equal(aif_iaprof_read(&r, recording, strlen(recording)), 0);
	assert_int_equal(aif_iaprof_read_end(&r), 0);
	got = read_text(aif_buf_str(&w.out), 1000, &again);
	/* A tab in a string is the one thing that cannot be written. */
	memcpy(plain, expected, sizeof(expected));
	while ((tab = strchr(plain, '\t')) != NULL)
		*tab = ' ';
	assert_string_equal(got, plain);
	assert_int_equal(again.bad, 0);
	free(got);
	aif_iaprof_writer_finish(&w);
}

/* The samples of iaprof's text: ten counts at the end of each line. */
static uint64_t samples_of_text(const char *text)
{
	uint64_t sum = 0;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		unsigned fields = 0;

		line += *line == '\n';
		if (strncmp(line, "eustall\t", 8))
			continue;
		for (; *line && *line != '\n'; line++)
			if (*line == '\t' && ++fields > 2)
				sum += strtoull(line + 1, NULL, 10);
	}
	return sum;
}

/* A sample of a kernel at an address that nothing is known of. */
static void samples_without_a_place_are_written(void **state)
{
	static char text[1 << 16];
	struct aif_profile p;
	struct aif_names names = {0};
	struct aif_export e = {.profile = &p, .names = &names};
	struct aif_err err = {0};
	struct aif_writer *w;
	FILE *f;

	(void)state;
	fixture_profile(&p);
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	samples[1].frame = AIF_NONE;
	assert_ok(aif_writer_launches(w, launches, 4, &err), &err);
	assert_ok(aif_writer_execs(w, execs, 4, &err), &err);
	assert_ok(aif_writer_samples(w, samples, 4, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	aif_profile_finish(&p);
	assert_ok(aif_profile_open("p", &p, &err), &err);
	assert_int_equal(aif_names_make(&names, &p), 0);
	assert_ok(aif_export_write(aif_exporter_of("q.iaprof"), &e, "q", &err), &err);
	f = fopen("q", "r");
	assert_non_null(f);
	assert_in_range(fread(text, 1, sizeof(text) - 1, f), 1, sizeof(text) - 2);
	fclose(f);
	assert_int_equal(samples_of_text(text), 4);
	aif_names_finish(&names);
	aif_profile_finish(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_count_is_read),
		cmocka_unit_test(samples_of_2025_are_read),
		cmocka_unit_test(what_is_torn_or_wrong_is_counted),
		cmocka_unit_test(a_line_without_end_is_left_out),
		cmocka_unit_test(it_goes_round),
		cmocka_unit_test_setup_teardown(samples_without_a_place_are_written,
						enter_directory, leave_directory),
	};

	return cmocka_run_group_tests_name("iaprof_text", tests, NULL, NULL);
}
