/* SPDX-License-Identifier: Apache-2.0 */
/* Loops and branches around a line of source. */
#include "base/source_blocks.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct aif_source_blocks b;

static void read_text(const char *text)
{
	assert_int_equal(aif_source_blocks_init(&b, text, strlen(text)), 0);
}

/* Returns the innermost loop around a line; 0: none, -1: not known. */
static int loop_around(uint32_t line)
{
	struct aif_source_place at;

	if (!aif_source_place_find(&b, line, &at))
		return -1;
	return (int)aif_source_common_loop(&b, &at, &at);
}

static bool are_branches(uint32_t x, uint32_t y)
{
	struct aif_source_place p, q;

	assert_true(aif_source_place_find(&b, x, &p));
	assert_true(aif_source_place_find(&b, y, &q));
	return aif_source_are_branches(&b, &p, &q);
}

static uint32_t statement_of(uint32_t line)
{
	struct aif_source_place at;

	assert_true(aif_source_place_find(&b, line, &at));
	return at.statement;
}

static void loops_of_python(void **state)
{
	read_text("def train(loader):\n" /* 1 */
		  "    model = make()\n"
		  "    for epoch in range(3):  # all\n" /* 3 */
		  "        for batch in loader(\n"
		  "            1, 2\n" /* 5 */
		  "        ):\n"
		  "            loss = step(\n" /* 7 */
		  "                batch)\n"
		  "\n"
		  "        # no statement\n" /* 10 */
		  "        evaluate()\n"
		  "    def inner():\n" /* 12 */
		  "        return run()\n"
		  "    while inner(): pass\n" /* 14 */
		  "main()\n");
	(void)state;
	assert_int_equal(loop_around(2), 0);
	assert_int_equal(loop_around(7), 4);
	assert_int_equal(loop_around(8), 4);
	assert_int_equal(statement_of(8), 7);
	assert_int_equal(loop_around(11), 3);
	assert_int_equal(loop_around(13), 0);
	assert_int_equal(loop_around(14), 14);
	assert_int_equal(loop_around(15), 0);
	assert_int_equal(loop_around(9), -1);
	assert_int_equal(loop_around(99), -1);
	aif_source_blocks_finish(&b);
}

static void comprehensions_are_loops(void **state)
{
	read_text("for generation in range(n):\n"
		  "    fitness = [evaluate(g) for g in population]\n" /* 2 */
		  "    print(\"wait for it in vain\")\n"
		  "    x = 1  # (for what?)\n" /* 4 */
		  "    mutate()\n");
	(void)state;
	assert_int_equal(loop_around(2), 2);
	assert_int_equal(loop_around(4), 1);
	assert_int_equal(loop_around(5), 1);
	aif_source_blocks_finish(&b);
}

static void loops_of_c(void **state)
{
	read_text("static void train(void)\n" /* 1 */
		  "{\n"
		  "\tfor (int i = 0;\n" /* 3 */
		  "\t     i < 3; i++)\n"
		  "\t\tstep(a,\n" /* 5 */
		  "\t\t     b);\n"
		  "\tdo {\n" /* 7 */
		  "\t\tif (i)\n"
		  "\t\t\todd();\n"
		  "\t\telse\n" /* 10 */
		  "\t\t\teven();\n"
		  "#ifdef X\n"
		  "\t\tx();\n" /* 13 */
		  "#endif\n"
		  "\t} while (i);\n" /* 15 */
		  "\tlist_for_each_entry(e, &l, n) {\n"
		  "\t\tlaunch(e);\n" /* 17 */
		  "\t}\n"
		  "\tlast();\n" /* 19 */
		  "}\n");
	(void)state;
	assert_int_equal(loop_around(5), 3);
	assert_int_equal(loop_around(6), 3);
	assert_int_equal(statement_of(6), 5);
	assert_int_equal(loop_around(9), 7);
	assert_int_equal(loop_around(13), 7);
	assert_int_equal(loop_around(17), 16);
	assert_int_equal(loop_around(19), 0);
	assert_true(are_branches(9, 11));
	assert_false(are_branches(9, 13));
	assert_false(are_branches(5, 9));
	aif_source_blocks_finish(&b);
}

static void branches_of_one_decision(void **state)
{
	read_text("while True:\n" /* 1 */
		  "    if a:\n"
		  "        x()\n" /* 3 */
		  "    elif b:\n"
		  "        y()\n" /* 5 */
		  "    else:\n"
		  "        z()\n" /* 7 */
		  "    if c:\n"
		  "        u()\n" /* 9 */
		  "    else:\n"
		  "        v()\n"); /* 11 */
	(void)state;
	assert_true(are_branches(3, 5));
	assert_true(are_branches(3, 7));
	assert_true(are_branches(5, 7));
	assert_true(are_branches(9, 11));
	assert_false(are_branches(3, 11));
	assert_false(are_branches(7, 9));
	aif_source_blocks_finish(&b);
}

static void cases_of_one_switch(void **state)
{
	read_text("void f(void)\n"
		  "{\n"
		  "\tfor (;;)\n"
		  "\t\tswitch (x) {\n" /* 4 */
		  "\t\tcase 1:\n"
		  "\t\t\ta();\n" /* 6 */
		  "\t\t\tbreak;\n"
		  "\t\tdefault:\n"
		  "\t\t\tb();\n" /* 9 */
		  "\t\t}\n"
		  "}\n");
	(void)state;
	assert_true(are_branches(6, 9));
	assert_int_equal(loop_around(9), 3);
	aif_source_blocks_finish(&b);
}

/* Most lines of a profile's text are empty: what is around a line is known, or it is said not to be. */
static void lines_around_are_enough(void **state)
{
	static const char text[] = "class A:\n"
				   "    def f(self):\n" /* 2 */
				   "        if x:\n"
				   "            y()\n" /* 4 */
				   "        else:\n"
				   "            for i in z:\n" /* 6 */
				   "                print(i)\n"
				   "                launch(i)\n" /* 8 */
				   "        w()\n";
	uint8_t marks[16] = {0};
	char kept[sizeof(text)] = "", lost[sizeof(text)] = "";
	const char *line = text;

	(void)state;
	read_text(text);
	aif_source_mark_around(&b, 8, marks);
	aif_source_mark_around(&b, 4, marks);
	assert_false(marks[7]);
	for (uint32_t i = 1; *line; i++) {
		const char *end = strchr(line, '\n') + 1;

		strncat(kept, marks[i] ? line : "\n", marks[i] ? (size_t)(end - line) : 1);
		strncat(lost, i >= 7 ? line : "\n", i >= 7 ? (size_t)(end - line) : 1);
		line = end;
	}
	aif_source_blocks_finish(&b);
	read_text(kept);
	assert_int_equal(loop_around(8), 6);
	assert_true(are_branches(4, 8));
	aif_source_blocks_finish(&b);
	read_text(lost);
	assert_int_equal(loop_around(8), -1);
	aif_source_blocks_finish(&b);
}

static void texts_without_lines(void **state)
{
	(void)state;
	read_text("");
	assert_int_equal(loop_around(1), -1);
	aif_source_blocks_finish(&b);
	read_text("\n\n}\n)\n#");
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(loop_around(i), -1);
	aif_source_blocks_finish(&b);
	read_text("for");
	assert_int_equal(loop_around(1), 1);
	aif_source_blocks_finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_of_python),
		cmocka_unit_test(loops_of_c),
		cmocka_unit_test(comprehensions_are_loops),
		cmocka_unit_test(branches_of_one_decision),
		cmocka_unit_test(cases_of_one_switch),
		cmocka_unit_test(lines_around_are_enough),
		cmocka_unit_test(texts_without_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
