/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void aif_sort(void *array, size_t n, size_t size, int (*compare)(const void *a, const void *b))
{
	const char *at = array;

	for (size_t i = 1; i < n; i++, at += size)
		if (compare(at, at + size) > 0) {
			qsort(array, n, size, compare);
			return;
		}
}

/* More parts than this are sorted like any other array. */
#define PARTS 8

struct sorting {
	size_t size;
	int (*compare)(const void *a, const void *b, void *arg);
	void *arg;
};

/* Merges the parts [from, mid) and [mid, end) of an array into another at `from`. */
static void merge(const struct sorting *s, const char *array, char *to, size_t from, size_t mid,
		  size_t end)
{
	const char *a = array + from * s->size, *a_end = array + mid * s->size, *b = a_end,
		   *b_end = array + end * s->size;

	to += from * s->size;
	for (; a < a_end && b < b_end; to += s->size) {
		const char **first = s->compare(a, b, s->arg) <= 0 ? &a : &b;

		memcpy(to, *first, s->size);
		*first += s->size;
	}
	memcpy(to, a, (size_t)(a_end - a));
	memcpy(to + (a_end - a), b, (size_t)(b_end - b));
}

/* Merges neighbours until one part is left. parts[i] is the end of the i-th one. False: there is no memory. */
static bool merge_all(const struct sorting *s, char *array, size_t *parts, size_t len)
{
	size_t bytes = parts[len - 1] * s->size;
	char *copy = malloc(bytes), *in = array, *to = copy;

	if (!copy)
		return false;
	while (len > 1) {
		char *other = in;
		size_t n = 0;

		for (size_t i = 0, from = 0; i < len; i += 2, from = parts[n++]) {
			size_t end = i + 1 < len ? parts[i + 1] : parts[i];

			merge(s, in, to, from, parts[i], end);
			parts[n] = end;
		}
		len = n;
		in = to;
		to = other;
	}
	if (in != array)
		memcpy(array, in, bytes);
	free(copy);
	return true;
}

void aif_sort_r(void *array, size_t n, size_t size,
		int (*compare)(const void *a, const void *b, void *arg), void *arg)
{
	struct sorting s = {size, compare, arg};
	size_t parts[PARTS], len = 0;
	const char *at = array;

	for (size_t i = 1; i < n && len < PARTS; i++, at += size)
		if (compare(at, at + size, arg) > 0)
			parts[len++] = i;
	if (!len)
		return;
	if (len < PARTS) {
		parts[len++] = n;
		if (merge_all(&s, array, parts, len))
			return;
	}
	qsort_r(array, n, size, compare, arg);
}
