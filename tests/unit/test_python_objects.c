/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a Python program, read from outside: those of each version are found, what is none of them is not. */
#include "fixture_python_heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct heap heap;
static struct aif_python_objects o;

static uint64_t linemaps(void)
{
	uint64_t modules = aif_python_modules(&o, heap.runtime), module, cache;

	module = aif_python_get(&o, modules, "torch._inductor.codecache");
	cache = module ? aif_python_attribute(&o, module, "PyCodeCache") : 0;
	return cache ? aif_python_attribute(&o, cache, "linemaps") : 0;
}

static void make(unsigned minor)
{
	heap_make(&heap, minor);
	o = heap_objects(&heap);
}

static void each_version_is_read(void **state)
{
	(void)state;
	for (unsigned minor = 11; minor <= 14; minor++) {
		uint64_t map, *both, *lines, *stacks;
		size_t n, lines_len, stacks_len;
		struct aif_buf text = {0};
		uint32_t line;

		make(minor);
		map = aif_python_get(&o, linemaps(), "/a.py");
		assert_true(map && aif_python_items(&o, map, &both, &n));
		assert_int_equal(n, 2);
		assert_true(aif_python_items(&o, both[0], &lines, &lines_len));
		assert_true(aif_python_items(&o, both[1], &stacks, &stacks_len));
		assert_true(lines_len == 2 && stacks_len == 2);
		assert_true(aif_python_int(&o, lines[0], &line) && line == 8);
		assert_true(aif_python_int(&o, lines[1], &line) && line == 900);
		assert_true(aif_python_text(&o, stacks[0], &text));
		assert_int_equal(text.len, 5);
		assert_memory_equal(text.data, "stack", 5);
		assert_false(aif_python_text(&o, stacks[1], &text)); /* Python's None */
		assert_false(aif_python_int(&o, stacks[0], &line));
		assert_true(aif_python_int(&o, heap_int(&heap, 0), &line) && line == 0);
		aif_buf_finish(&text);
		free(both);
		free(lines);
		free(stacks);
	}
}

static void what_is_not_there_is_not_found(void **state)
{
	(void)state;
	make(12);
	assert_int_equal(aif_python_get(&o, linemaps(), "/c.py"), 0);
	assert_int_equal(aif_python_get(&o, linemaps(), ""), 0);
	assert_int_equal(aif_python_get(&o, heap.none, "sys"), 0);
	assert_int_equal(aif_python_get(&o, 0, "sys"), 0);
	assert_int_equal(aif_python_attribute(&o, linemaps(), "x"), 0);
	o.minor = 10;
	assert_int_equal(aif_python_modules(&o, heap.runtime), 0);
	make(13);
	heap.words[2] = 1; /* without the GIL */
	assert_int_equal(aif_python_modules(&o, heap.runtime), 0);
	make(14);
	heap.words[1]++; /* of the patch level: it does not count */
	assert_int_not_equal(aif_python_modules(&o, heap.runtime), 0);
	heap.words[0]++;
	assert_int_equal(aif_python_modules(&o, heap.runtime), 0);
}

static void sizes_are_bounded(void **state)
{
	uint64_t *items, items_of[1] = {0}, list, text;
	struct aif_buf b = {0};
	size_t n;

	(void)state;
	make(11);
	list = heap_list(&heap, items_of, 1);
	text = heap_text(&heap, "x");
	((uint64_t *)(uintptr_t)list)[2] = UINT64_MAX;
	((uint64_t *)(uintptr_t)text)[2] = UINT64_MAX / 2;
	assert_false(aif_python_items(&o, list, &items, &n));
	assert_false(aif_python_text(&o, text, &b));
	((uint64_t *)(uintptr_t)list)[2] = AIF_PYTHON_ITEMS_MAX; /* more than the heap has */
	assert_false(aif_python_items(&o, list, &items, &n));
	aif_buf_finish(&b);
}

/* Characters of one, two and four bytes; a half of a pair. */
static void texts_are_utf8(void **state)
{
	static const uint8_t latin[] = {0xe9, 'a'};
	static const uint16_t narrow[] = {0x20ac, 0xd800};
	static const uint32_t wide[] = {0x1f600};
	const struct {
		unsigned kind, len;
		const void *chars;
		const char *want;
	} tests[] = {{1, 2, latin,
		      "\xc3\xa9"
		      "a"},
		     {2, 2, narrow, "\xe2\x82\xac\xef\xbf\xbd"},
		     {4, 1, wide, "\xf0\x9f\x98\x80"}};

	(void)state;
	for (unsigned minor = 11; minor <= 12; minor++) {
		make(minor);
		for (size_t i = 0; i < AIF_ARRAY_LEN(tests); i++) {
			uint64_t *at = heap_object(&heap, HEAP_TEXT, 12);
			struct aif_buf b = {0};

			at[2] = tests[i].len;
			at[4] = tests[i].kind << 2 | 1 << 5;
			memcpy(at + (minor >= 12 ? 7 : 9), tests[i].chars,
			       tests[i].kind * tests[i].len);
			assert_true(aif_python_text(&o, (uint64_t)(uintptr_t)at, &b));
			assert_int_equal(b.len, strlen(tests[i].want));
			assert_memory_equal(b.data, tests[i].want, b.len);
			at[4] = 3 << 2 | 1 << 5;
			assert_false(aif_python_text(&o, (uint64_t)(uintptr_t)at, &b));
			aif_buf_finish(&b);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_version_is_read),
		cmocka_unit_test(what_is_not_there_is_not_found),
		cmocka_unit_test(sizes_are_bounded),
		cmocka_unit_test(texts_are_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
