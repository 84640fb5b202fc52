/* SPDX-License-Identifier: Apache-2.0 */
/* Comments of generated wrappers: which lines they speak of. */
#include "names/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct aif_profile p;
static struct aif_program program;
static struct aif_compiled *compiled;

static void open_text(const char *text, size_t len, const char *name)
{
	memset(&p, 0, sizeof(p));
	program = (struct aif_program){
		.source = aif_strset_put(&p.strings, text, len),
		.source_name = aif_strset_put(&p.strings, name, strlen(name)),
	};
	p.programs = &program;
	p.programs_len = 1;
	assert_int_equal(aif_compiled_new(&p, &compiled), 0);
}

static void close_text(void)
{
	aif_compiled_free(compiled);
	aif_strset_finish(&p.strings);
}

static void is(uint32_t line, const char *aten, const char *nodes)
{
	const struct aif_compiled_call *c = aif_compiled_find(compiled, program.source_name, line);

	if (!aten) {
		assert_null(c);
		return;
	}
	assert_non_null(c);
	assert_int_equal(c->aten_len, strlen(aten));
	assert_memory_equal(c->aten, aten, c->aten_len);
	assert_int_equal(c->nodes_len, strlen(nodes));
	assert_memory_equal(c->nodes, nodes, c->nodes_len);
}

static const char wrapper[] =
	"# Source Nodes: [x], Original ATen: [aten.old]\n" /* 1 */
	"old.run()\n"                                      /* 2 */
	"\n"                                               /* 3 */
	"other()\n"                                        /* 4 */
	"        # Topologically Sorted Source Nodes: [a, b], Original ATen: [aten.t, aten.mm]\n" /* 5 */
	"        # [Provenance debug handles] triton_0:1\n"                           /* 6 */
	"        stream0 = get_raw_stream(0)\n"                                       /* 7 */
	"        triton_0.run(buf0,\n"                                                /* 8 */
	"            stream=stream0)\n"                                               /* 9 */
	"        del buf0\n"                                                          /* 10 */
	"        later()\n"                                                           /* 11 */
	"        # Topologically Sorted Source Nodes: [], Original ATen: []\n"        /* 12 */
	"        copy()\n"                                                            /* 13 */
	"        # Topologically Sorted Source Nodes: [], Original ATen: [aten.c]\n"  /* 14 */
	"        # Topologically Sorted Source Nodes: [d], Original ATen: [aten.d]\n" /* 15 */
	"        mm(buf1)\n"                                                          /* 16 */
	"        buf2 = empty_strided_cuda((1, ))\n"                                  /* 17 */
	"        mm(buf2)";                                                           /* 18 */

static void comments_speak_of_the_call_below(void **state)
{
	static const char *const want[19][2] = {
		[2] = {"aten.old", "x"},           [6] = {"aten.t, aten.mm", "a, b"},
		[7] = {"aten.t, aten.mm", "a, b"}, [8] = {"aten.t, aten.mm", "a, b"},
		[9] = {"aten.t, aten.mm", "a, b"}, [16] = {"aten.d", "d"},
	};

	(void)state;
	open_text(wrapper, strlen(wrapper), "/tmp/x.py");
	for (uint32_t i = 0; i < 19; i++)
		is(i, want[i][0], want[i][1]);
	is(19, NULL, NULL);
	is(UINT32_MAX, NULL, NULL);
	assert_null(aif_compiled_find(compiled, program.source, 8));
	assert_null(aif_compiled_find(compiled, AIF_NONE, 8));
	close_text();
}

static void sources_of_other_languages_are_not_read(void **state)
{
	(void)state;
	open_text(wrapper, strlen(wrapper), "/tmp/x.cl");
	is(8, NULL, NULL);
	close_text();
}

/* Lists without an end, lines without one, bytes that are no text. */
static void texts_may_be_anything(void **state)
{
	static const char odd[] = "# Source Nodes: [a, Original ATen: [b\nf()\n"
				  "# Source Nodes: [\0\xff], Original ATen: [\0\xfe]\n\0f()\n"
				  "# Source Nodes: [], Original ATen: [c]";
	char *large = malloc(3000000);
	size_t len = 0;

	(void)state;
	open_text(odd, sizeof(odd) - 1, "a.py");
	is(2, NULL, NULL);
	assert_non_null(aif_compiled_find(compiled, program.source_name, 4));
	is(5, NULL, NULL);
	close_text();
	assert_non_null(large);
	while (len < 2999900)
		len += (size_t)sprintf(large + len, "#Source Nodes: [],Original ATen: [%zu]\nf\n",
				       len);
	open_text(large, len, "a.py");
	is(2, "0", "");
	assert_non_null(aif_compiled_find(compiled, program.source_name, 2 * AIF_COMPILED_CALLS));
	/* No more of them are read. */
	is(2 * AIF_COMPILED_CALLS + 2, NULL, NULL);
	close_text();
	open_text("", 0, "a.py");
	is(0, NULL, NULL);
	is(1, NULL, NULL);
	close_text();
	free(large);
}

static void place_is(const struct aif_compiled_lines *l, uint32_t line, const char *want)
{
	struct aif_compiled_place at;
	char text[256] = "";

	if (aif_compiled_lines_find(l, line, &at))
		snprintf(text, sizeof(text), "%.*s:%u %.*s", (int)at.file_len, at.file, at.line,
			 (int)at.function_len, at.function);
	assert_string_equal(text, want);
}

static void the_innermost_of_the_program_is_the_place(void **state)
{
	static const char text[] =
		"1\n"
		"5\n"
		"\t  File \"/a/train.py\", line 3, in <module>\n"
		"\t    main()\n"
		"\t  File \"/a/m.py\", line 12, in forward\n"
		"\t  File \"/x/site-packages/torch/nn/linear.py\", line 99, in forward\n"
		"9\n"
		"\t  File \"/x/site-packages/torch/nn/linear.py\", line 7, in f\n"
		"9\n"
		"\t  File \"/a/m.py\", line 99999999999, in f\n"
		"\t  File \"/a/m.py, line 1, in f\n"
		"20\n"
		"\t  File \"/a/last.py\", line 4, in g";
	struct aif_compiled_lines l = {0};

	(void)state;
	assert_int_equal(aif_compiled_lines_read(&l, text, strlen(text)), 0);
	place_is(&l, 0, "");
	place_is(&l, 1, "");
	place_is(&l, 4, "");
	place_is(&l, 5, "/a/m.py:12 forward");
	place_is(&l, 8, "/a/m.py:12 forward");
	place_is(&l, 9, "");
	place_is(&l, 20, "/a/last.py:4 g");
	place_is(&l, UINT32_MAX, "/a/last.py:4 g");
	aif_compiled_lines_finish(&l);
	/* Lines ascend, or are not read further; so too where one is no number. */
	assert_int_equal(aif_compiled_lines_read(&l, "7\n5\n", 4), 0);
	assert_int_equal(l.len, 1);
	aif_compiled_lines_finish(&l);
	assert_int_equal(aif_compiled_lines_read(&l, "\tx\n1x\n2\n", 9), 0);
	assert_int_equal(l.len, 0);
	aif_compiled_lines_finish(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comments_speak_of_the_call_below),
		cmocka_unit_test(sources_of_other_languages_are_not_read),
		cmocka_unit_test(texts_may_be_anything),
		cmocka_unit_test(the_innermost_of_the_program_is_the_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
