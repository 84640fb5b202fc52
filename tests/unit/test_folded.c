/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/flame.h"
#include "flame/folded.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static int memory_file(const char *text, size_t len)
{
	int fd = memfd_create("folded", MFD_CLOEXEC);

	assert_true(fd >= 0);
	while (len) {
		ssize_t n = write(fd, text, len);

		assert_true(n > 0);
		text += n;
		len -= (size_t)n;
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int read_bytes(const char *text, size_t len, struct aif_tree *t,
		      struct aif_folded_stats *stats, struct aif_err *err)
{
	int fd = memory_file(text, len), r;

	assert_int_equal(aif_tree_init(t, false), 0);
	r = aif_folded_read(fd, "x.folded", t, stats, err);
	close(fd);
	if (r == 0)
		assert_int_equal(aif_tree_seal(t), 0);
	return r;
}

/* The tree as folded text; freed by the caller. */
static char *written(const struct aif_tree *t)
{
	char name[] = "/tmp/test_folded.XXXXXX", *text;
	int fd = mkstemp(name);
	struct aif_out out;
	struct aif_err err;
	off_t size;

	assert_true(fd >= 0);
	assert_int_equal(aif_out_open(&out, name, &err), 0);
	aif_folded_write(t, &out);
	assert_int_equal(aif_out_commit(&out, &err), 0);
	close(fd);
	fd = open(name, O_RDONLY);
	size = lseek(fd, 0, SEEK_END);
	text = calloc(1, (size_t)size + 1);
	assert_int_equal(pread(fd, text, (size_t)size, 0), size);
	close(fd);
	unlink(name);
	return text;
}

static void check(const char *in, const char *out)
{
	struct aif_tree t;
	struct aif_folded_stats stats;
	struct aif_err err;
	char *text;

	assert_int_equal(read_bytes(in, strlen(in), &t, &stats, &err), 0);
	text = written(&t);
	assert_string_equal(text, out);
	free(text);
	aif_tree_finish(&t);
}

static void folded_text_comes_back_sorted_and_summed(void **state)
{
	(void)state;
	check("a;b;c 3\na;b 2\na;d 1\n", "a;b 2\na;b;c 3\na;d 1\n");
	check("a;b 1\na;b 1\na;b 1\n", "a;b 3\n");
	check("main_[p];f_[k];g_[g];ld +0x10_[g];wait_[g];h_[i] 7\n",
	      "main_[p];f_[k];g_[g];ld +0x10_[g];wait_[g];h_[i] 7\n");
	check("f (a.py)_[p];[read]_[g] 7\n", "f (a.py)_[p];[read]_[g] 7\n");
}

/* Names that extend another by a byte that sorts before `;`. */
static void test_frames_are_not_split(void **state)
{
	struct aif_tree t;
	struct aif_folded_stats stats;
	struct aif_err err;
	static const char in[] = "foo 5\nfoo();x 2\nfoo;bar 3\n";
	size_t len, found = 0;

	(void)state;
	assert_int_equal(read_bytes(in, strlen(in), &t, &stats, &err), 0);
	for (uint32_t n = t.nodes[0].first; n; n = t.nodes[n].next) {
		const char *text = aif_tree_text(&t, t.nodes[n].name, &len);

		if (len == 3 && !memcmp(text, "foo", 3)) {
			assert_int_equal(t.nodes[n].total, 8);
			found++;
		}
	}
	assert_int_equal(found, 1);
	assert_int_equal(t.nodes[0].total, 10);
	aif_tree_finish(&t);
	check(in, "foo 5\nfoo;bar 3\nfoo();x 2\n");
}

static void test_names_with_blanks(void **state)
{
	(void)state;
	check("operator new(unsigned long);f(int, char) 12\n",
	      "operator new(unsigned long);f(int, char) 12\n");
	check("a b c;d e 12 13\n", "a b c;d e 12 13\n"); /* the last blank counts */
	check("a  12\n", "a 12\n");
}

static void line_ends_and_empty_frames_are_read(void **state)
{
	(void)state;
	check("a;b 1\r\na;c 2\r\n", "a;b 1\na;c 2\n");
	check("\n\na 1\n\n  \nb 2", "a 1\nb 2\n"); /* no newline at the end */
	check("\xef\xbb\xbf"
	      "a 1\n",
	      "a 1\n");
	check(";a;;b; 1\na;b 2\n;;a;c 1\n", "a;b 3\na;c 1\n"); /* empty frames */
}

static void test_counts_with_decimals(void **state)
{
	(void)state;
	check("a 0.5\nb 2\nb 0.25\n", "a 0.5\nb 2.25\n");
	check("a 1.50\n", "a 1.5\n");
	check("a 1e3\nb 1.5e-3\n", "a 1000\nb 0.0015\n");
	check("a .5\nb 5.\n", "a 0.5\nb 5\n");
	check("a 18446744073709551615\n", "a 18446744073709551615\n");
	check("a 0\nb 1\n", "b 1\n");
	/* No room for decimals. */
	check("a 18446744073709551000\nb 0.5\nc 7\n", "a 18446744073709551000\nc 7\n");
	/* A line that is left out takes no room. */
	check(";; 18446744073709551615\na 0.5\n", "a 0.5\n");
}

static void test_rounding_is_said(void **state)
{
	static const struct {
		const char *in;
		bool is_rounded;
	} cases[] = {
		{"a 0.123456789\n", false},  {"a 0.1234567891\n", true},
		{"a 0.1234567890\n", false}, {"a 1e-9\n", false},
		{"a 1\nb 15e-10\n", true},   {"a 18446744073709551000\nb 0.5\n", true},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_tree t;
		struct aif_folded_stats stats;
		struct aif_err err;
		struct aif_buf text = {0};

		assert_int_equal(read_bytes(cases[i].in, strlen(cases[i].in), &t, &stats, &err), 0);
		assert_int_equal(aif_folded_warning(&stats, "x", &text), cases[i].is_rounded);
		assert_true(!cases[i].is_rounded || strstr(aif_buf_str(&text), "rounded"));
		aif_buf_finish(&text);
		aif_tree_finish(&t);
	}
}

static void test_what_is_not_folded_text(void **state)
{
	static const char *const lines[] = {"no count",
					    "5",
					    " 5",
					    ";;; 5",
					    "a -3",
					    "a nan",
					    "a 5x",
					    "a x5",
					    "a +5",
					    "a 1e",
					    "a .",
					    "a 1.2.3",
					    "a 99999999999999999999"};
	struct aif_tree t;
	struct aif_folded_stats stats;
	struct aif_err err;
	struct aif_buf text = {0};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(lines); i++) {
		char in[64];

		snprintf(in, sizeof(in), "good 1\n%s\nalso good 2\n", lines[i]);
		assert_int_equal(read_bytes(in, strlen(in), &t, &stats, &err), 0);
		assert_int_equal(stats.bad, 1);
		assert_int_equal(stats.first_bad, 2);
		assert_int_equal(stats.lines, 3);
		assert_int_equal(t.nodes[0].total, 3);
		aif_buf_clear(&text);
		assert_true(aif_folded_warning(&stats, "x.folded", &text));
		assert_non_null(strstr(aif_buf_str(&text), "1 of 3 lines left out"));
		assert_non_null(strstr(aif_buf_str(&text), "line 2"));
		aif_tree_finish(&t);
	}
	aif_buf_finish(&text);
}

/* Import passes comments: nothing is left out, not even what looks like a stack. */
static void test_comments_are_passed(void **state)
{
	static const char in[] = "# interval: 100\na;b 1\r\n# how it was run\n#c;d 2\n# \n";
	struct aif_tree t;
	struct aif_folded_stats stats;
	struct aif_err err;
	struct aif_buf text = {0};

	(void)state;
	assert_int_equal(read_bytes(in, sizeof(in) - 1, &t, &stats, &err), 0);
	assert_int_equal(stats.bad, 0);
	assert_int_equal(stats.stacks, 2);
	assert_int_equal(t.nodes[0].total, 3);
	assert_false(aif_folded_warning(&stats, "x.folded", &text));
	aif_buf_finish(&text);
	aif_tree_finish(&t);
	/* Output has no comments, whatever a name is. */
	check("#\t 5\n#\001x;b 2\na;# c 1\n#d 1\n", "#_ 5\n#_x;b 2\n#d 1\na;#_c 1\n");
}

static void test_nothing_at_all(void **state)
{
	struct aif_tree t;
	struct aif_folded_stats stats;
	struct aif_err err;

	(void)state;
	assert_int_equal(read_bytes("", 0, &t, &stats, &err), -ENODATA);
	assert_non_null(strstr(err.text, "x.folded: no stack in it: the file is empty"));
	aif_tree_finish(&t);
	assert_int_equal(read_bytes("\n\ngarbage\n", 10, &t, &stats, &err), -ENODATA);
	assert_non_null(strstr(err.text, "line 3"));
	aif_tree_finish(&t);
	assert_int_equal(aif_tree_init(&t, false), 0);
	assert_int_equal(aif_folded_read(-1, "x.folded", &t, &stats, &err), -EBADF);
	aif_tree_finish(&t);
}

static void sums_that_overflow_are_refused(void **state)
{
	static const char in[] = "a 18446744073709551615\nb 1\n";
	struct aif_tree t;
	struct aif_folded_stats stats;
	struct aif_err err;

	(void)state;
	assert_int_equal(read_bytes(in, strlen(in), &t, &stats, &err), -EOVERFLOW);
	assert_non_null(strstr(err.text, "line 2"));
	aif_tree_finish(&t);
}

/* Names are UTF-8, as in other exports, without what would break the format. */
static void bytes_that_break_the_format_are_replaced(void **state)
{
	struct aif_tree t;
	struct aif_folded_stats stats;
	struct aif_err err;
	static const char in[] = "a\0b;\xff\xfe;<&>\"'\t 1\n";
	char *text;
	uint32_t name;

	(void)state;
	assert_int_equal(read_bytes(in, sizeof(in) - 1, &t, &stats, &err), 0);
	text = written(&t);
	assert_string_equal(text, "a␀b;\xef\xbf\xbd\xef\xbf\xbd;<&>\"' 1\n");
	free(text);
	aif_tree_finish(&t);

	assert_int_equal(aif_tree_init(&t, false), 0);
	name = aif_tree_name(&t, AIF_TREE_CXX, "a;b\nc ", 6);
	t.nodes[aif_tree_child(&t, 0, name)].self = 1;
	name = aif_tree_name(&t, AIF_TREE_C, "", 0);
	t.nodes[aif_tree_child(&t, 0, name)].self = 1;
	assert_int_equal(aif_tree_seal(&t), 0);
	text = written(&t);
	assert_string_equal(text, "? 1\na:b c 1\n");
	free(text);
	aif_tree_finish(&t);
}

static void marks_and_names_give_the_kind_of_a_frame(void **state)
{
	static const struct {
		const char *line;
		unsigned type;
	} cases[] = {
		{"x;f (a.py) 1\n", AIF_TREE_PYTHON},
		{"x;torch/nn/module.py(55): f 1\n", AIF_TREE_PYTHON},
		{"x;f_[p] 1\n", AIF_TREE_PYTHON},
		{"x;memcpy 1\n", AIF_TREE_C},
		{"x;[libc.so.6+0x1f] 1\n", AIF_TREE_C},
		{"x;std::sort 1\n", AIF_TREE_CXX},
		{"x;f(int) 1\n", AIF_TREE_CXX},
		{"x;f(int)_[i] 1\n", AIF_TREE_CXX | AIF_TREE_INLINED},
		{"x_[g];f_[g]_[i] 1\n", AIF_TREE_KERNEL | AIF_TREE_INLINED},
		{"x;do_syscall_64_[k] 1\n", AIF_TREE_OS},
		{"x;clEnqueueNDRangeKernel 1\n", AIF_TREE_API},
		{"x;cudaLaunchKernel 1\n", AIF_TREE_API},
		{"x;close 1\n", AIF_TREE_C},
		{"x;current 1\n", AIF_TREE_C},
		{"x;gemm_[g] 1\n", AIF_TREE_KERNEL},
		{"x;[read]_[g] 1\n", AIF_TREE_COPY},
		{"x;Memcpy HtoD (Pageable -> Device)_[g] 1\n", AIF_TREE_COPY},
		{"x;Memset (Device)_[g] 1\n", AIF_TREE_COPY},
		{"x_[g];k.cl:12_[g] 1\n", AIF_TREE_LINE},
		{"x_[g];ld.e +0x10_[g] 1\n", AIF_TREE_INSTRUCTION},
		{"x_[g];ld.e +0x10_[g];barrier_[g] 1\n", AIF_TREE_STALL},
		{"x_[G];HMMA_[g] 1\n", AIF_TREE_STALL},
		{"x;- 1\n", AIF_TREE_SYNTHETIC},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_tree t;
		struct aif_folded_stats stats;
		struct aif_err err;

		assert_int_equal(read_bytes(cases[i].line, strlen(cases[i].line), &t, &stats, &err),
				 0);
		assert_int_equal(aif_tree_type_of(&t, t.nodes[t.len - 1].name), cases[i].type);
		aif_tree_finish(&t);
	}
}

/* ---- against the obvious way, on text that is larger than a block -------------------------------- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All stacks of a text as sorted lines, equal ones added up. */
static void expect(const char *text, char ***ret, size_t *ret_len)
{
	char **lines = NULL, *copy = strdup(text), *save = NULL;
	size_t n = 0, cap = 0, kept = 0;

	for (char *l = strtok_r(copy, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		assert_int_equal(aif_grow(&lines, &cap, n + 1, sizeof(*lines)), 0);
		lines[n++] = strdup(l);
	}
	qsort(lines, n, sizeof(*lines), by_text);
	for (size_t i = 0; i < n; i++) {
		char *a = kept ? lines[kept - 1] : NULL, *b = lines[i];
		size_t la = a ? (size_t)(strrchr(a, ' ') - a) : 0;

		if (a && !strncmp(a, b, la + 1) && !strchr(b + la + 1, ' ')) {
			char *sum;

			assert_true(asprintf(&sum, "%.*s %lld", (int)la, a,
					     atoll(a + la + 1) + atoll(b + la + 1)) > 0);
			free(a);
			free(b);
			lines[kept - 1] = sum;
		} else {
			lines[kept++] = b;
		}
	}
	free(copy);
	*ret = lines;
	*ret_len = kept;
}

static void free_lines(char **lines, size_t n)
{
	while (n--)
		free(lines[n]);
	free(lines);
}

static unsigned rand_next(uint64_t *seed)
{
	*seed = aif_mix64(*seed + UINT64_C(0x9e3779b97f4a7c15));
	return (unsigned)(*seed >> 33);
}

static char *random_text(uint64_t seed, size_t bytes, unsigned letters)
{
	struct aif_buf b = {0};
	char *text;

	while (b.len < bytes) {
		unsigned depth = 1 + rand_next(&seed) % 12;

		for (unsigned i = 0; i < depth; i++) {
			unsigned len = 1 + rand_next(&seed) % (rand_next(&seed) % 16 ? 3 : 90);

			/* Often the same letter again: long common starts. */
			for (unsigned k = 0; k < len; k++)
				aif_buf_putc(&b,
					     (char)('a' + (rand_next(&seed) % 4
								   ? 0
								   : rand_next(&seed) % letters)));
			aif_buf_putc(&b, i + 1 < depth ? ';' : ' ');
		}
		aif_buf_printf(&b, "%u\n", 1 + rand_next(&seed) % 100);
	}
	assert_false(aif_buf_failed(&b));
	text = strdup(aif_buf_str(&b));
	aif_buf_finish(&b);
	return text;
}

static void test_random_against_reference(void **state)
{
	static const struct {
		size_t bytes;
		unsigned letters;
	} cases[] = {{200, 2}, {20000, 2}, {20000, 20}, {3000000, 4}};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases) * 5; i++) {
		char *text = random_text(i, cases[i / 5].bytes, cases[i / 5].letters), *back;
		char **wanted, **got;
		size_t wanted_len, got_len;
		struct aif_tree t;
		struct aif_folded_stats stats;
		struct aif_err err;

		if (i / 5 == 3 && i % 5 > 0) {
			free(text);
			continue;
		}
		assert_int_equal(read_bytes(text, strlen(text), &t, &stats, &err), 0);
		assert_int_equal(stats.bad, 0);
		back = written(&t);
		expect(text, &wanted, &wanted_len);
		expect(back, &got, &got_len);
		assert_int_equal(got_len, wanted_len);
		for (size_t k = 0; k < got_len; k++)
			assert_string_equal(got[k], wanted[k]);
		free_lines(wanted, wanted_len);
		free_lines(got, got_len);
		free(text);
		free(back);
		aif_tree_finish(&t);
	}
}

static void test_pipe_in_small_pieces(void **state)
{
	char *text = random_text(99, 300000, 5), *one, *two;
	struct aif_tree t, piped;
	struct aif_folded_stats stats;
	struct aif_err err;
	int fds[2];
	pid_t pid;

	(void)state;
	assert_int_equal(read_bytes(text, strlen(text), &t, &stats, &err), 0);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		size_t len = strlen(text);

		for (size_t at = 0; at < len; at += 977)
			if (write(fds[1], text + at, AIF_MIN(len - at, (size_t)977)) < 0)
				_exit(1);
		_exit(0);
	}
	close(fds[1]);
	assert_int_equal(aif_tree_init(&piped, false), 0);
	assert_int_equal(aif_folded_read(fds[0], "-", &piped, &stats, &err), 0);
	assert_int_equal(aif_tree_seal(&piped), 0);
	close(fds[0]);
	waitpid(pid, NULL, 0);
	one = written(&t);
	two = written(&piped);
	assert_string_equal(one, two);
	free(one);
	free(two);
	free(text);
	aif_tree_finish(&t);
	aif_tree_finish(&piped);
}

static void long_names_and_deep_stacks_are_read(void **state)
{
	struct aif_buf b = {0};
	struct aif_tree t;
	struct aif_folded_stats stats;
	struct aif_err err;
	char *text;

	(void)state;
	/* a name of 3 MB, then a stack 100,000 deep */
	for (unsigned i = 0; i < 3000000; i++)
		aif_buf_putc(&b, 'x');
	aif_buf_puts(&b, " 1\n");
	for (unsigned i = 0; i < 100000; i++)
		aif_buf_puts(&b, i ? ";f" : "f");
	aif_buf_puts(&b, " 2\n");
	assert_int_equal(read_bytes((char *)b.data, b.len, &t, &stats, &err), 0);
	assert_int_equal(stats.stacks, 2);
	assert_int_equal(t.len, 100002);
	text = written(&t);
	assert_int_equal(strlen(text), b.len);
	free(text);
	aif_tree_finish(&t);

	/* what has no line at all is skipped in bounded memory */
	aif_buf_clear(&b);
	assert_non_null(aif_buf_reserve(&b, 70 << 20));
	memset(b.data, 'y', 70 << 20);
	b.len = 70 << 20;
	aif_buf_puts(&b, " 1\ngood 5\n");
	assert_int_equal(read_bytes((char *)b.data, b.len, &t, &stats, &err), 0);
	assert_int_equal(stats.first_bad, 1);
	assert_int_equal(t.nodes[0].total, 5);
	aif_tree_finish(&t);
	aif_buf_finish(&b);
}

static void test_focus_and_ignore(void **state)
{
	static const char in[] = "a;b 1\na;c 2\na;c;b 4\nd 8\n";
	static const struct {
		const char *focus, *ignore;
		uint64_t total;
	} cases[] = {
		{NULL, NULL, 15}, {"^b$", NULL, 5},  {NULL, "b", 10},
		{"c", "b", 2},    {"b|d", NULL, 13}, {"a", "x", 7},
	};
	char name[] = "/tmp/test_folded.XXXXXX";
	int fd = mkstemp(name);
	struct aif_tree t;
	struct aif_err err;
	struct aif_buf warning = {0};

	(void)state;
	assert_int_equal(write(fd, in, strlen(in)), strlen(in));
	close(fd);
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		assert_int_equal(aif_flame_read_folded(name, cases[i].focus, cases[i].ignore, &t,
						       &warning, &err),
				 0);
		assert_int_equal(t.nodes[0].total, cases[i].total);
		aif_tree_finish(&t);
	}
	assert_int_equal(warning.len, 0);
	assert_int_equal(aif_flame_read_folded(name, "nowhere", NULL, &t, &warning, &err),
			 -ENODATA);
	assert_non_null(strstr(err.text, "--focus"));
	/* A text that is no regular expression is a name. */
	assert_int_equal(aif_flame_read_folded(name, "(", NULL, &t, &warning, &err), -ENODATA);
	assert_non_null(strstr(err.text, "--focus"));
	assert_true(aif_flame_is_folded(name));
	unlink(name);
	assert_int_equal(aif_flame_read_folded(name, NULL, NULL, &t, &warning, &err), -ENOENT);
	assert_false(aif_flame_is_folded(name));
	assert_true(aif_flame_is_folded("-"));
	assert_false(aif_flame_is_folded("/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_text_comes_back_sorted_and_summed),
		cmocka_unit_test(test_frames_are_not_split),
		cmocka_unit_test(test_names_with_blanks),
		cmocka_unit_test(line_ends_and_empty_frames_are_read),
		cmocka_unit_test(test_counts_with_decimals),
		cmocka_unit_test(test_rounding_is_said),
		cmocka_unit_test(test_what_is_not_folded_text),
		cmocka_unit_test(test_comments_are_passed),
		cmocka_unit_test(test_nothing_at_all),
		cmocka_unit_test(sums_that_overflow_are_refused),
		cmocka_unit_test(bytes_that_break_the_format_are_replaced),
		cmocka_unit_test(marks_and_names_give_the_kind_of_a_frame),
		cmocka_unit_test(test_random_against_reference),
		cmocka_unit_test(test_pipe_in_small_pieces),
		cmocka_unit_test(long_names_and_deep_stacks_are_read),
		cmocka_unit_test(test_focus_and_ignore),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
