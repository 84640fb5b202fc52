/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Sort like qsort() and qsort_r(), unless the array is in order already. Rows of a file mostly are, and qsort() takes a
 * copy of the array, and as long for one in order as for any other. What is in order one part after the other, as one kind of
 * times is behind another kind, is merged by aif_sort_r(): what is equal stays in its order. */
void aif_sort(void *array, size_t n, size_t size, int (*compare)(const void *a, const void *b));
void aif_sort_r(void *array, size_t n, size_t size,
		int (*compare)(const void *a, const void *b, void *arg), void *arg);
