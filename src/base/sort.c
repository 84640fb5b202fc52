/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

#include <stdlib.h>

void aif_sort(void *array, size_t n, size_t size, int (*compare)(const void *a, const void *b))
{
	const char *at = array;

	for (size_t i = 1; i < n; i++, at += size)
		if (compare(at, at + size) > 0) {
			qsort(array, n, size, compare);
			return;
		}
}

void aif_sort_r(void *array, size_t n, size_t size,
		int (*compare)(const void *a, const void *b, void *arg), void *arg)
{
	const char *at = array;

	for (size_t i = 1; i < n; i++, at += size)
		if (compare(at, at + size, arg) > 0) {
			qsort_r(array, n, size, compare, arg);
			return;
		}
}
