/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/aiu.h"
#include "import/kineto/machine.h"
#include "import/import.h"
#include "analysis/attribution.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* Traces that are wrong in one way each: what is right in them is there, what is not is told, and sums are sums. */

#define KERNEL(id, ts, dur)                                                              \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":" ts \
	",\"dur\":" dur ","                                                              \
	"\"args\":{\"device\":0,\"stream\":7,\"correlation\":" id "}}"
#define CALL(id, ts, dur)                                                                                     \
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":2,\"ts\":" ts \
	",\"dur\":" dur ","                                                                                   \
	"\"args\":{\"correlation\":" id "}}"
#define PYTHON(id, parent, ts, dur)                                               \
	"{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"a.py(" id "): f" id \
	"\",\"pid\":1,\"tid\":2,\"ts\":" ts ",\"dur\":" dur ","                   \
	"\"args\":{\"Python id\":" id ",\"Python parent id\":" parent "}}"
#define OP(name, ts, dur)                                                                       \
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":2,\"ts\":" ts \
	",\"dur\":" dur "}"
#define MEMORY(ts)                                                           \
	"{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":2,\"ts\":" ts \
	",\"args\":{\"Device Type\":1,\"Device Id\":0,\"Bytes\":64,\"Addr\":4096}}"
#define GOOD CALL("5", "10", "5") "," KERNEL("5", "20", "1.5")

static char path[64], output[128];

static int import_text(const char *text, size_t len, uint64_t limit, struct aif_err *err)
{
	const struct aif_import_opts opts = {.limit = limit};
	int fd = memfd_create("trace", MFD_CLOEXEC), r;
	const char *const files[] = {path};

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = aif_import_files(files, 1, output, &opts, NULL, err);
	close(fd);
	return r;
}

struct seen {
	uint64_t execs, joined, busy, ops;
	unsigned depth; /* of the deepest stack */
	uint64_t losses[2000];
};

static int count_ops(void *arg, const struct aif_op_row *rows, size_t n)
{
	(void)rows;
	((struct seen *)arg)->ops += n;
	return 0;
}

static int count_execs(void *arg, const struct aif_exec_row *rows, size_t n)
{
	(void)rows;
	((struct seen *)arg)->execs += n;
	return 0;
}

static void see(struct seen *s)
{
	struct aif_profile p;
	struct aif_attribution a;
	struct aif_err err = {0};
	struct aif_buf broken = {0};

	*s = (struct seen){0};
	if (aif_profile_open(output, &p, &err) < 0 ||
	    aif_attribution_compute(&p, NULL, &a, &err) < 0)
		fail_msg("%s", err.text);
	if (!aif_conservation_check(&a.conservation, &broken))
		fail_msg("%s", aif_buf_str(&broken));
	assert_int_equal(aif_profile_ops(&p, count_ops, s, NULL), 0);
	assert_int_equal(aif_profile_execs(&p, count_execs, s, NULL), 0);
	s->joined = a.conservation.joined;
	s->busy = a.conservation.durations_ns;
	for (size_t i = 0; i < p.stacks_len; i++)
		s->depth = AIF_MAX(s->depth, p.stacks[i].depth);
	for (size_t i = 0; i < p.losses_len; i++)
		if (p.losses[i].reason < 2000)
			s->losses[p.losses[i].reason] += p.losses[i].count;
	aif_attribution_finish(&a);
	aif_profile_finish(&p);
}

static const struct {
	const char *what, *events;
	uint64_t execs, joined, busy;
	enum aif_reason reason; /* 0: none */
	uint64_t count;
} cases[] = {
	{"nothing wrong", GOOD, 1, 1, 1500, 0, 0},
	{"text for a time", GOOD "," KERNEL("6", "\"soon\"", "1"), 1, 1, 1500,
	 AIF_REASON_IMPORT_EVENT, 1},
	{"a time as text", CALL("5", "\"10\"", "5") "," KERNEL("5", "\"20\"", "\"1.5\""), 1, 1,
	 1500, 0, 0},
	{"an object for a time", GOOD "," KERNEL("6", "{\"a\":[1]}", "1"), 1, 1, 1500,
	 AIF_REASON_IMPORT_EVENT, 1},
	{"no time", GOOD ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\"}", 1, 1, 1500,
	 AIF_REASON_IMPORT_EVENT, 1},
	{"a negative duration", GOOD "," KERNEL("6", "30", "-1"), 1, 1, 1500,
	 AIF_REASON_IMPORT_EVENT, 1},
	{"NaN", GOOD "," KERNEL("6", "NaN", "1"), 1, 1, 1500, AIF_REASON_IMPORT_EVENT, 1},
	{"a time far away", GOOD "," KERNEL("6", "9e14", "1"), 1, 1, 1500, AIF_REASON_IMPORT_EVENT,
	 1},
	{"a first time far away",
	 KERNEL("6", "0", "1") "," CALL("5", "9e14", "5") "," KERNEL("5", "900000000000010", "1.5"),
	 1, 1, 1500, AIF_REASON_IMPORT_EVENT, 1},
	{"first times far away, and memory",
	 KERNEL("6", "0", "1") "," KERNEL("7", "1", "1") "," MEMORY("2") "," OP(
		 "a", "900000000000000",
		 "1") "," OP("b", "900000000000001",
			     "1") "," CALL("5", "900000000000005",
					   "5") "," KERNEL("5", "900000000000010", "1.5"),
	 1, 1, 1500, AIF_REASON_IMPORT_EVENT, 3},
	{"a time without room", GOOD "," KERNEL("6", "1e300", "1"), 1, 1, 1500,
	 AIF_REASON_IMPORT_EVENT, 1},
	{"no name", GOOD ",{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":5}", 1, 1, 1500,
	 AIF_REASON_IMPORT_EVENT, 1},
	{"numbers where events should be", "1,\"x\",[[]]," GOOD, 1, 1, 1500,
	 AIF_REASON_IMPORT_EVENT, 3},
	{"arguments that are a list",
	 GOOD ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"o\",\"ts\":5,\"args\":[{},1]}", 1, 1,
	 1500, 0, 0},
	{"ids of 64 bits as text",
	 CALL("\"18446744073709551615\"", "10", "5") "," KERNEL("18446744073709551615", "20",
								"1.5"),
	 1, 1, 1500, 0, 0},
	{"a number twice", CALL("5", "8", "1") "," GOOD, 1, 1, 1500, AIF_REASON_IMPORT_NUMBER, 1},
	{"executions on top of one another", GOOD "," KERNEL("5", "20.5", "1.5"), 2, 1, 3000, 0, 0},
	{"a clock that is behind", CALL("5", "10", "5") "," KERNEL("5", "9", "1.5"), 1, 1, 1500,
	 AIF_REASON_IMPORT_CLOCK, 1},
	{"a number that is another's", CALL("5", "5000000", "5") "," KERNEL("5", "9", "1.5"), 1, 0,
	 1500, AIF_REASON_IMPORT_EARLY, 1},
	{"times before 1970", CALL("5", "-10", "5") "," KERNEL("5", "-4", "1.5"), 1, 1, 1500, 0, 0},
	{"parents in a circle",
	 PYTHON("1", "2", "5", "20") "," PYTHON("2", "1", "5", "20") "," GOOD, 1, 1, 1500, 0, 0},
	{"a parent of itself", PYTHON("1", "1", "5", "20") "," GOOD, 1, 1, 1500, 0, 0},
	{"spans that overlap", OP("a", "1", "12") "," OP("b", "9", "20") "," GOOD, 1, 1, 1500,
	 AIF_REASON_IMPORT_OVERLAP, 1},
	{"begun, not ended", GOOD ",{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"b\",\"ts\":5}", 1,
	 1, 1500, AIF_REASON_IMPORT_UNENDED, 1},
	{"ended, not begun", GOOD ",{\"ph\":\"E\",\"name\":\"b\",\"ts\":5}", 1, 1, 1500,
	 AIF_REASON_IMPORT_EVENT, 1},
	{"a quote too many",
	 GOOD ",{\"ph\":\"X\",\"name\":\"a \"b\",\"ts\":5}," CALL("7", "35",
								  "1") "," KERNEL("7", "40", "2"),
	 2, 2, 3500, AIF_REASON_IMPORT_TEXT, 1},
	{"work without its call", GOOD "," KERNEL("7", "40", "2"), 2, 1, 3500,
	 AIF_REASON_IMPORT_NO_CALL, 1},
	{"work without a time", GOOD "," CALL("7", "35", "1") "," KERNEL("7", "40", "0"), 2, 2,
	 1500, AIF_REASON_IMPORT_NO_TIME, 1},
	{"a graph without its work",
	 GOOD ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaGraphLaunch\",\"pid\":1,"
	      "\"tid\":2,\"ts\":30,\"dur\":1,\"args\":{\"correlation\":9}}",
	 1, 1, 1500, AIF_REASON_IMPORT_GRAPH_UNKNOWN, 1},
	{"a comma too many", GOOD ",", 1, 1, 1500, 0, 0},
};

static void hostile_traces_lose_only_what_is_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_buf text = {0};
		struct aif_err err = {0};
		struct seen s;

		aif_buf_printf(&text, "{\"schemaVersion\":1,\"traceEvents\":[%s]}",
			       cases[i].events);
		if (import_text((const char *)text.data, text.len, 0, &err) < 0)
			fail_msg("%s: %s", cases[i].what, err.text);
		see(&s);
		if (s.execs != cases[i].execs || s.joined != cases[i].joined ||
		    s.busy != cases[i].busy ||
		    (cases[i].reason && s.losses[cases[i].reason] != cases[i].count))
			fail_msg("%s: %d executions, %d joined, %d ns, %d of %d", cases[i].what,
				 (int)s.execs, (int)s.joined, (int)s.busy,
				 (int)s.losses[cases[i].reason], (int)cases[i].reason);
		for (unsigned r = 1700; r < 1800; r++)
			if (s.losses[r] && r != cases[i].reason)
				fail_msg("%s: and %d of %u", cases[i].what, (int)s.losses[r], r);
		aif_buf_finish(&text);
	}
}

static int take_windows(void *arg, const struct aif_window_row *rows, size_t n)
{
	struct aif_window_row *first = arg;

	uint32_t seen = first->window;

	if (!seen && n)
		*first = rows[0];
	first->window = seen + (uint32_t)n; /* counts */
	return 0;
}

#define BLOCK(start, dur, more) \
	"{\"pid\":1,\"start_ns\":" start ",\"dur_ns\":" dur ",\"held\":0," more "}"
#define COUNTS "\"launches\":9,\"ppm\":500000"

/* Blocks in an export of ours say which launches were left out; a wrong one is counted, and costs itself. */
static void blocks_of_an_export_say_what_was_left_out(void **state)
{
	static const struct {
		const char *what, *blocks;
		uint32_t windows, bad;
	} blocks[] = {
		{"two", BLOCK("1000", "500", COUNTS) "," BLOCK("2000", "1", COUNTS ",\"tid\":2"), 2,
		 0},
		{"without counts", BLOCK("1000", "500", "\"launches\":9"), 0, 1},
		{"without a length", BLOCK("1000", "0", COUNTS), 0, 1},
		{"a negative time", BLOCK("-1", "5", COUNTS), 0, 1},
		{"a time far away", BLOCK("18446744073709551615", "5", COUNTS), 0, 1},
		{"a length without room", BLOCK("5", "18446744073709551616", COUNTS), 0, 1},
		{"more than all of the time", BLOCK("5", "5", "\"launches\":1,\"ppm\":1000001"), 0,
		 1},
		{"texts", BLOCK("\"5\"", "5", COUNTS), 0, 1},
		{"objects", BLOCK("{\"a\":[1]}", "5", COUNTS) "," BLOCK("7", "5", COUNTS), 1, 1},
		{"what is no block", "1,[[],{}],\"x\",null," BLOCK("7", "5", COUNTS), 1, 0},
		{"nothing", "", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(blocks); i++) {
		struct aif_window_row first = {0};
		struct aif_buf text = {0};
		struct aif_err err = {0};
		struct aif_profile p;
		struct seen s;

		aif_buf_printf(&text, "{\"aiflameBlocks\":[%s],\"traceEvents\":[%s]}",
			       blocks[i].blocks, GOOD);
		if (import_text((const char *)text.data, text.len, 0, &err) < 0)
			fail_msg("%s: %s", blocks[i].what, err.text);
		aif_buf_finish(&text);
		see(&s);
		assert_int_equal(s.execs, 1);
		assert_int_equal(aif_profile_open(output, &p, &err), 0);
		assert_int_equal(aif_profile_windows(&p, take_windows, &first, NULL), 0);
		if (first.window != blocks[i].windows ||
		    s.losses[AIF_REASON_IMPORT_EVENT] != blocks[i].bad)
			fail_msg("%s: %u windows, %u wrong", blocks[i].what, first.window,
				 (unsigned)s.losses[AIF_REASON_IMPORT_EVENT]);
		if (!i) {
			assert_int_equal(first.start, 1000);
			assert_int_equal(first.end, 1500);
			assert_int_equal(first.launches, 9);
			assert_int_equal(first.p_ppm, 500000);
			assert_int_equal(first.device, AIF_NONE);
			assert_int_equal(first.process, 0);
		}
		aif_profile_finish(&p);
	}
}

/* A file that ends anywhere is read up to its last whole part. */
static void torn_files_are_read_to_their_last_whole_part(void **state)
{
	static const char text[] = "{\"schemaVersion\":1,\"traceEvents\":[\n" GOOD
				   ",\n" KERNEL("9", "50", "2.5") "\n],\"x\":1}";
	size_t first = (size_t)(strstr(text, ",\n{") - text), second = strlen(text) - 9;

	(void)state;
	for (size_t n = first; n < sizeof(text) - 1; n += 3) {
		struct aif_err err = {0};
		struct seen s;

		if (import_text(text, n, 0, &err) < 0)
			fail_msg("%zu: %s", n, err.text);
		see(&s);
		assert_int_equal(s.execs, n >= second ? 2 : 1);
		assert_int_equal(s.losses[AIF_REASON_IMPORT_TORN], 1);
	}
}

static void deep_nesting_is_bounded(void **state)
{
	struct aif_buf text = {0};
	struct aif_err err = {0};
	struct seen s;

	(void)state;
	/* Deeper than any program: the first ones are there. */
	aif_buf_puts(&text, "{\"traceEvents\":[{\"ph\":\"i\"}");
	for (int i = 0; i < 20000; i++)
		aif_buf_printf(
			&text,
			",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"o%d\",\"pid\":1,\"tid\":2,"
			"\"ts\":%d.000,\"dur\":%d}",
			i % 7, 1000 + i, 100000 - 2 * i);
	aif_buf_puts(&text, "]}");
	assert_int_equal(import_text((const char *)text.data, text.len, 0, &err), 0);
	see(&s);
	assert_int_equal(s.ops, 20000);
	assert_true(s.depth > 1000 && s.depth < 2000);
	assert_int_equal(s.losses[AIF_REASON_IMPORT_DEPTH], 20000 - s.depth);
	/* Brackets of brackets, as an argument, which is passed, and as the whole. */
	aif_buf_clear(&text);
	aif_buf_puts(&text, "{\"traceEvents\":[" GOOD ",{\"ph\":\"X\",\"args\":{\"x\":");
	for (int i = 0; i < 10000000; i++)
		aif_buf_putc(&text, '[');
	for (int i = 0; i < 10000000; i++)
		aif_buf_putc(&text, ']');
	aif_buf_puts(&text, "}}," KERNEL("8", "60", "1") "]}");
	assert_int_equal(import_text((const char *)text.data, text.len, 0, &err), 0);
	see(&s);
	assert_int_equal(s.execs, 2);
	aif_buf_clear(&text);
	aif_buf_puts(&text, "[\"ph\",");
	for (int i = 0; i < 10000000; i++)
		aif_buf_putc(&text, '[');
	assert_int_equal(import_text((const char *)text.data, text.len, 0, &err), -ENODATA);
	aif_buf_finish(&text);
}

/* No file of these; and nothing is written for them. */
static void refused_files_leave_no_profile(void **state)
{
	static const char *const texts[] = {"",
					    "hello",
					    "{}",
					    "[]",
					    "{\"traceEvents\":[]}",
					    "{\"traceEvents\":7}",
					    "\x1f\x8b garbage",
					    "\x28\xb5\x2f\xfd garbage"};
	struct aif_err err;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(texts); i++) {
		unlink(output);
		err = (struct aif_err){0};
		assert_true(import_text(texts[i], strlen(texts[i]), 0, &err) < 0);
		assert_true(err.text[0] != '\0');
		assert_int_equal(access(output, F_OK), -1);
	}
	assert_int_equal(import_text("{\"traceEvents\":[" GOOD "]}", 40, 20, &err), -EFBIG);
}

static void names_of_aiu_calls_have_groups(void **state)
{
	(void)state;
	assert_int_equal(aif_aiu_group_of("aiuRDMABarrier2", 15), AIF_AIU_RDMA_WAIT);
	assert_int_equal(aif_aiu_group_of("aiuRdmaBarrier2", 15), AIF_AIU_RDMA_WAIT);
	assert_int_equal(aif_aiu_group_of("aiuLaunchControlBlocks", 22), AIF_AIU_LAUNCH);
	assert_int_equal(aif_aiu_group_of("aiuOfTomorrow", 13), AIF_AIU_OTHER);
	assert_int_equal(aif_aiu_group_of("aiur", 4), AIF_AIU_NONE);
	assert_int_equal(aif_aiu_group_of("cudaLaunchKernel", 16), AIF_AIU_NONE);
}

static void
numbers_of_streams_can_not_be_chosen_so_that_they_are_found_one_behind_the_other(void **state)
{
	/* Is the distance of the places of two devices if numbers are added to them. */
	const uint64_t apart = aif_mix64(0) - aif_mix64(1);

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t key = kineto_stream_key(0, (int64_t)i, 0);

		assert_true(kineto_stream_key(0, (int64_t)i + 1, 0) != key + 1);
		assert_true(kineto_stream_key(1, (int64_t)(apart + i), 0) != key);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_traces_lose_only_what_is_wrong),
		cmocka_unit_test(blocks_of_an_export_say_what_was_left_out),
		cmocka_unit_test(hostile_traces_lose_only_what_is_wrong),
		cmocka_unit_test(torn_files_are_read_to_their_last_whole_part),
		cmocka_unit_test(deep_nesting_is_bounded),
		cmocka_unit_test(refused_files_leave_no_profile),
		cmocka_unit_test(names_of_aiu_calls_have_groups),
		cmocka_unit_test(
			numbers_of_streams_can_not_be_chosen_so_that_they_are_found_one_behind_the_other),
	};
	char dir[] = "/tmp/test_import.XXXXXX", name[160];
	int r;

	if (!mkdtemp(dir))
		return 1;
	snprintf(output, sizeof(output), "%s/t.data", dir);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(output);
	snprintf(name, sizeof(name), "%s.old", output);
	unlink(name);
	rmdir(dir);
	return r;
}
