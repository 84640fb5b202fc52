/* SPDX-License-Identifier: Apache-2.0 */
#include "page/cells.h"
#include "page/columns.h"
#include "page/tree.h"

#include "profile/model.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void test_grid(void **state)
{
	static const struct {
		uint64_t end_ns, cell_ns, cells;
	} expected[] = {
		{0, 1, 1},
		{1500, 1, 1500},
		{3000, 1, 3000},
		{4000, 2, 2000},
		{UINT64_C(3000000000), 1000000, 3000},
		{UINT64_C(8000000000), 2000000, 4000},
		{UINT64_C(600000000000), 20000000, 30000},
		{UINT64_C(1200000000000), 20000000, 60000},
		{UINT64_C(1200000000001), 50000000, 24001},
		{UINT64_C(86400000000000), UINT64_C(2000000000), 43200},
		{UINT64_C(1) << 61, UINT64_C(50000000000000), 46117},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(expected); i++) {
		struct aif_page_grid g = aif_page_grid_of(expected[i].end_ns);

		assert_int_equal(g.cell_ns, expected[i].cell_ns);
		assert_int_equal(g.cells, expected[i].cells);
	}
}

static uint64_t weight_of(const struct aif_page_cells *c, uint32_t group)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->len; i++)
		if (c->pairs[i].group == group)
			sum += c->pairs[i].ns;
	return sum;
}

static void test_cells_spread_weights(void **state)
{
	struct aif_page_grid g = {.cell_ns = 10, .cells = 10, .end_ns = 100};
	struct aif_page_cells c;

	(void)state;
	aif_page_cells_init(&c, &g);
	assert_int_equal(aif_page_cells_add(&c, 1, 5, 25, 20), 0);
	assert_int_equal(aif_page_cells_add(&c, 0, 90, 500, 40),
			 0); /* behind the end: in the last cell */
	assert_int_equal(aif_page_cells_add(&c, 1, -50, 10, 7), 0);
	assert_int_equal(aif_page_cells_add(&c, 1, 33, 33, 3), 0); /* a moment */
	aif_page_cells_seal(&c);
	assert_int_equal(c.join, 1);
	assert_int_equal(c.len, 5);
	assert_int_equal(c.pairs[0].group, 0);
	assert_int_equal(c.pairs[0].cell, 9);
	assert_int_equal(c.pairs[0].ns, 40);
	assert_int_equal(c.pairs[1].cell, 0);
	assert_int_equal(c.pairs[1].ns, 5 + 7);
	assert_int_equal(c.pairs[2].ns, 10);
	assert_int_equal(c.pairs[3].cell, 2);
	assert_int_equal(c.pairs[3].ns, 5);
	assert_int_equal(c.pairs[4].ns, 3);
	aif_page_cells_finish(&c);
}

static void test_cells_are_bounded(void **state)
{
	struct aif_page_grid g = aif_page_grid_of(UINT64_C(600000000000));
	struct aif_page_cells c;

	(void)state;
	aif_page_cells_init(&c, &g);
	c.max = 5000;
	for (uint32_t i = 0; i < 300; i++) /* each spans all cells */
		assert_int_equal(aif_page_cells_add(&c, i % 20, 0, (int64_t)g.end_ns, 30000000), 0);
	aif_page_cells_seal(&c);
	assert_true(c.len <= c.max);
	assert_true(c.join > 1);
	for (uint32_t i = 0; i < 20; i++) /* rounding: at most half a unit a cell and row */
		assert_in_range(weight_of(&c, i), 15 * 30000000 - 225000, 15 * 30000000 + 225000);
	aif_page_cells_finish(&c);
}

static void test_columns(void **state)
{
	static const uint32_t sums[] = {5, 7, 7, 100};
	static const uint64_t wide[] = {1, UINT64_C(1) << 40}, small[] = {1, 1};
	static const uint8_t bytes[] = {1, 2, 3};
	static const uint8_t expected[] = {1, 2, 3,    0,    5,  0, 0, 0, 2, 0, 0,    0,
					   0, 0, 0,    0,    93, 0, 0, 0, 1, 0, 0,    0,
					   1, 0, 0,    0,    0,  0, 0, 0, 0, 0, 0,    0,
					   0, 0, 0xf0, 0x3f, 0,  0, 0, 0, 0, 0, 0x70, 0x42};
	struct aif_page_columns c;

	(void)state;
	aif_page_columns_init(&c);
	aif_page_u8(&c, "a", bytes, 3);
	aif_page_d32(&c, "b", sums, 4);
	aif_page_u64(&c, "small", small, 2);
	aif_page_u64(&c, "c", wide, 2);
	aif_page_u32(&c, "none", NULL, 0);
	assert_false(aif_page_columns_failed(&c));
	assert_string_equal(aif_buf_str(&c.index), "{\"a\":[\"u8\",0,3],\"b\":[\"d32\",4,4],"
						   "\"small\":[\"u32\",20,2],\"c\":[\"f64\",32,2],"
						   "\"none\":[\"u32\",48,0]");
	assert_int_equal(c.bytes.len, sizeof(expected));
	assert_memory_equal(c.bytes.data, expected, sizeof(expected));
	aif_page_columns_finish(&c);
}

static uint32_t child(struct aif_tree *t, uint32_t parent, const char *text, uint64_t self)
{
	uint32_t name = aif_tree_name(t, AIF_TREE_C, text, strlen(text)),
		 node = aif_tree_child(t, parent, name);

	assert_int_not_equal(node, 0);
	t->nodes[node].self += self;
	return node;
}

/* A bound of ten frames joins 1,000 narrow callees, and leaves three wide ones. */
static void test_narrow_frames_are_joined(void **state)
{
	const uint8_t marks[1100] = {[0] = 7, [1] = 8},
		      written[] = {7, 8, 0, 0, 0, AIF_PAGE_MARK_NONE};
	struct aif_page_names names = {0};
	struct aif_page_entries entries = {0}, none = {0};
	struct aif_page_columns c;
	struct aif_tree tree;
	struct aif_page_tree page = {.tree = &tree, .entries = &entries, .frames_max = 10};
	struct aif_buf json = {0};
	uint32_t main_node;
	uint64_t sum = 0;
	char text[32];

	(void)state;
	aif_page_columns_init(&c);
	assert_int_equal(aif_tree_init(&tree, true), 0);
	main_node = child(&tree, 0, "main", 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "leaf%d", i);
		assert_int_equal(aif_page_entry_add(&entries, child(&tree, main_node, text, 2),
						    AIF_NONE, AIF_PAGE_TIME, 2),
				 0);
	}
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "wide%d", i);
		assert_int_equal(aif_page_entry_add(&entries, child(&tree, main_node, text, 5000),
						    AIF_NONE, AIF_PAGE_TIME, 5000),
				 0);
	}
	assert_int_equal(aif_page_entry_add(&entries, main_node, AIF_NONE, AIF_PAGE_TIME, 0), 0);
	assert_int_equal(aif_tree_seal(&tree), 0);
	assert_int_equal(aif_page_tree_write(&page, "t_", &names, &c), 0);
	assert_int_equal(page.joined, 1000);
	assert_int_equal(page.joined_below, 4);
	assert_int_equal(entries.len, 4);
	for (size_t i = 0; i < entries.len; i++)
		sum += entries.at[i].value;
	assert_int_equal(sum, 17000);
	assert_int_equal(entries.at[3].value, 2000);
	assert_int_equal(entries.at[3].node, 5); /* all, main, three wide ones, the rest */
	assert_true(!strncmp(aif_buf_str(&c.index), "{\"t_depth\":[\"u16\",0,6],", 23));
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(c.bytes.data[2 * i], i < 2 ? i : 2);
	aif_page_names_write(&names, &c, &json);
	assert_string_equal(aif_buf_str(&json),
			    "\"names\":[\"all\",\"main\",\"wide0\",\"wide1\",\"wide2\","
			    "\"[1000 narrow frames]\"],\"full\":[],\"modules\":[]");
	aif_buf_finish(&json);
	/* Marks are those of the frames that are kept. */
	page.marks = marks;
	page.entries = &none;
	assert_int_equal(aif_page_tree_write(&page, "m_", &names, &c), 0);
	assert_non_null(strstr(aif_buf_str(&c.index), "\"m_look\":[\"u8\","));
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(c.bytes.data[c.bytes.len - 6 + i], written[i]);
	aif_tree_finish(&tree);
	aif_page_columns_finish(&c);
	aif_page_names_finish(&names);
	free(entries.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grid),
		cmocka_unit_test(test_cells_spread_weights),
		cmocka_unit_test(test_cells_are_bounded),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_narrow_frames_are_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
