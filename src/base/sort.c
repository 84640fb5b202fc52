/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

#include "base/base.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* More parts than this are sorted like any other array. */
#define PARTS 8
/* Longer elements are left to qsort_r(). */
#define MOVED_MAX 256

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

/* Bounds arrays of which each element is moved to its place. */
#define FEW 8

static void sort_few(const struct sorting *s, char *array, size_t n)
{
	char moved[MOVED_MAX];

	for (size_t i = 1; i < n; i++) {
		size_t to = i;

		while (to &&
		       s->compare(array + (to - 1) * s->size, array + i * s->size, s->arg) > 0)
			to--;
		if (to == i)
			continue;
		memcpy(moved, array + i * s->size, s->size);
		memmove(array + (to + 1) * s->size, array + to * s->size, (i - to) * s->size);
		memcpy(array + to * s->size, moved, s->size);
	}
}

/* Sorts halves and merges them. `copy` has room for the first half. */
static void sort_halves(const struct sorting *s, char *array, size_t n, char *copy)
{
	size_t half = n / 2, bytes = half * s->size;
	const char *a = copy, *a_end = copy + bytes, *b = array + bytes,
		   *b_end = array + n * s->size;

	if (n <= FEW) {
		sort_few(s, array, n);
		return;
	}
	sort_halves(s, array, half, copy);
	sort_halves(s, array + bytes, n - half, copy);
	if (s->compare(b - s->size, b, s->arg) <= 0)
		return;
	memcpy(copy, array, bytes);
	for (char *to = array; a < a_end; to += s->size) {
		const char **first = b == b_end || s->compare(a, b, s->arg) <= 0 ? &a : &b;

		memcpy(to, *first, s->size);
		*first += s->size;
	}
}

/* Sorts what is in no order. The copy that qsort_r() would take lies in no file, however long it is (base/spill.h). */
static void sort_any(const struct sorting *s, void *array, size_t n)
{
	char *copy = s->size <= MOVED_MAX ? malloc(n / 2 * s->size) : NULL;

	if (copy)
		sort_halves(s, array, n, copy);
	else
		qsort_r(array, n, s->size, s->compare, s->arg);
	free(copy);
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
	sort_any(&s, array, n);
}

struct plain {
	int (*compare)(const void *a, const void *b);
};

static int compare_plain(const void *a, const void *b, void *arg)
{
	const struct plain *plain = arg;

	return plain->compare(a, b);
}

void aif_sort(void *array, size_t n, size_t size, int (*compare)(const void *a, const void *b))
{
	struct plain plain = {compare};
	const char *at = array;

	for (size_t i = 1; i < n; i++, at += size)
		if (compare(at, at + size) > 0) {
			sort_any(&(struct sorting){size, compare_plain, &plain}, array, n);
			return;
		}
}

/* Fewer values are compared with each other. */
#define FEW_VALUES 32

static uint64_t ranked_of_few(const uint64_t *values, const uint64_t *counts, size_t n,
			      uint64_t rank)
{
	uint64_t found = 0;
	bool any = false;

	/* The largest of those that no more than `rank` are smaller than. */
	for (size_t i = 0; i < n; i++) {
		uint64_t smaller = 0;

		for (size_t k = 0; k < n; k++)
			smaller += values[k] < values[i] ? counts ? counts[k] : 1 : 0;
		if ((counts && !counts[i]) || smaller > rank || (any && values[i] <= found))
			continue;
		found = values[i];
		any = true;
	}
	return found;
}

/* Some bits after others from the highest, counts the values that begin like the one at `rank` by their next bits. */
uint64_t aif_ranked(const uint64_t *values, const uint64_t *counts, size_t n, uint64_t rank)
{
	enum { BITS = 11, VALUES = 1 << BITS };
	uint64_t any = 0, found = 0;

	if (!n)
		return 0;
	if (n < FEW_VALUES)
		return ranked_of_few(values, counts, n, rank);
	for (size_t i = 0; i < n; i++)
		any |= values[i];
	for (int shift = any ? (63 - __builtin_clzll(any)) / BITS * BITS : 0; shift >= 0;
	     shift -= BITS) {
		uint64_t sums[VALUES] = {0};
		unsigned value = 0, last = 0;

		for (size_t i = 0; i < n; i++)
			if (!((values[i] ^ found) >> shift >> BITS))
				sums[values[i] >> shift & (VALUES - 1)] += counts ? counts[i] : 1;
		for (unsigned i = 0; i < VALUES; i++)
			last = sums[i] ? i : last;
		while (value < last && rank >= sums[value])
			rank -= sums[value++];
		found |= (uint64_t)value << shift;
	}
	return found;
}

int aif_by_u32(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return AIF_ORDER(*x, *y);
}

int aif_by_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return AIF_ORDER(*x, *y);
}

int aif_by_double(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return AIF_ORDER(*x, *y);
}
