/* SPDX-License-Identifier: Apache-2.0 */
#include "names/tree.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint32_t child(struct aif_tree *t, uint32_t parent, unsigned type, const char *text)
{
	uint32_t name = aif_tree_name(t, type, text, strlen(text)), node;

	assert_int_not_equal(name, AIF_STR_NONE);
	node = aif_tree_child(t, parent, name);
	assert_int_not_equal(node, 0);
	return node;
}

static void assert_text(const struct aif_tree *t, uint32_t node, const char *expected)
{
	size_t len;
	const char *text = aif_tree_text(t, t->nodes[node].name, &len);

	assert_int_equal(len, strlen(expected));
	assert_memory_equal(text, expected, len);
}

static void test_same_frame_is_one_node(void **state)
{
	struct aif_tree t;
	uint32_t a, b;

	(void)state;
	assert_int_equal(aif_tree_init(&t, false), 0);
	a = child(&t, 0, AIF_TREE_C, "main");
	assert_int_equal(child(&t, 0, AIF_TREE_C, "main"), a);
	b = child(&t, a, AIF_TREE_C, "main"); /* recursion */
	assert_int_not_equal(a, b);
	assert_int_not_equal(child(&t, 0, AIF_TREE_PYTHON, "main"), a);
	assert_int_not_equal(child(&t, 0, AIF_TREE_C | AIF_TREE_INLINED, "main"), a);
	assert_int_equal(t.len, 5);
	assert_int_equal(aif_tree_type_of(&t, t.nodes[a].name), AIF_TREE_C);
	assert_text(&t, a, "main");
	assert_text(&t, 0, "all");
	aif_tree_finish(&t);
}

static void test_totals_and_order(void **state)
{
	static const char *const names[] = {"b", "a", "ab", "a(int)", "a ", "c", ""};
	static const char *const order[] = {"", "a", "a ", "a(int)", "ab", "b", "c"};
	struct aif_tree t;
	uint32_t top, n;
	size_t i = 0;

	(void)state;
	assert_int_equal(aif_tree_init(&t, true), 0);
	top = child(&t, 0, AIF_TREE_C, "top");
	for (i = 0; i < AIF_ARRAY_LEN(names); i++) {
		n = child(&t, top, AIF_TREE_C, names[i]);
		t.nodes[n].self = i + 1;
		t.details[n].samples = 10;
		t.details[n].grades = 1u << (i % 3);
	}
	t.nodes[top].self = 100;
	assert_int_equal(aif_tree_seal(&t), 0);
	assert_int_equal(aif_tree_seal(&t), 0); /* once is enough */
	assert_int_equal(t.nodes[0].total, 128);
	assert_int_equal(t.nodes[0].self, 0);
	assert_int_equal(t.nodes[top].total, 128);
	assert_int_equal(t.details[0].samples, 70);
	assert_int_equal(t.details[0].grades, 7);
	i = 0;
	for (n = t.nodes[top].first; n; n = t.nodes[n].next)
		assert_text(&t, n, order[i++]);
	assert_int_equal(i, AIF_ARRAY_LEN(order));
	aif_tree_finish(&t);
}

/* The order must not depend on the order in which frames came. */
static void test_order_of_types(void **state)
{
	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		struct aif_tree t;

		assert_int_equal(aif_tree_init(&t, false), 0);
		child(&t, 0, turn ? AIF_TREE_OS : AIF_TREE_C, "f");
		child(&t, 0, turn ? AIF_TREE_C : AIF_TREE_OS, "f");
		assert_int_equal(aif_tree_seal(&t), 0);
		assert_int_equal(aif_tree_type_of(&t, t.nodes[t.nodes[0].first].name), AIF_TREE_C);
		aif_tree_finish(&t);
	}
}

static void a_node_has_many_children_in_order(void **state)
{
	struct aif_tree t;
	char name[16];
	uint32_t n, count = 0;

	(void)state;
	assert_int_equal(aif_tree_init(&t, false), 0);
	for (int round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 20000; i++) {
			snprintf(name, sizeof(name), "%05u", (i * 7919u) % 20000);
			n = child(&t, 0, AIF_TREE_C, name);
			t.nodes[n].self++;
		}
	}
	assert_int_equal(t.len, 20001);
	assert_int_equal(aif_tree_seal(&t), 0);
	for (n = t.nodes[0].first; n; n = t.nodes[n].next) {
		snprintf(name, sizeof(name), "%05u", count++);
		assert_text(&t, n, name);
		assert_int_equal(t.nodes[n].total, 2);
	}
	assert_int_equal(count, 20000);
	aif_tree_finish(&t);
}

static void test_overflow_is_an_error(void **state)
{
	struct aif_tree t;

	(void)state;
	assert_int_equal(aif_tree_init(&t, false), 0);
	t.nodes[child(&t, 0, AIF_TREE_C, "a")].self = UINT64_MAX;
	t.nodes[child(&t, 0, AIF_TREE_C, "b")].self = 1;
	assert_int_equal(aif_tree_seal(&t), -EOVERFLOW);
	aif_tree_finish(&t);
}

static void a_tree_that_overflows_is_rescaled_once(void **state)
{
	struct aif_tree t;
	uint32_t a;

	(void)state;
	assert_int_equal(aif_tree_init(&t, false), 0);
	a = child(&t, 0, AIF_TREE_C, "a");
	t.nodes[a].self = UINT64_MAX / 10;
	assert_true(aif_tree_rescale(&t));
	assert_int_equal(t.scale, 10);
	assert_int_equal(t.nodes[a].self, UINT64_MAX / 10 * 10);
	assert_false(aif_tree_rescale(&t));
	assert_int_equal(t.scale, 10);
	assert_int_equal(t.nodes[a].self, UINT64_MAX / 10 * 10);
	aif_tree_finish(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_frame_is_one_node),
		cmocka_unit_test(test_totals_and_order),
		cmocka_unit_test(test_order_of_types),
		cmocka_unit_test(a_node_has_many_children_in_order),
		cmocka_unit_test(test_overflow_is_an_error),
		cmocka_unit_test(a_tree_that_overflows_is_rescaled_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
