/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Sort like qsort() and qsort_r(), unless the array is in order already. Rows of a file mostly are, and qsort() takes a
 * copy of the array, and as long for one in order as for any other. What is in order one part after the other, as one kind of
 * times is behind another kind, is merged by aif_sort_r(): what is equal stays in its order. */
void aif_sort(void *array, size_t n, size_t size, int (*compare)(const void *a, const void *b));
void aif_sort_r(void *array, size_t n, size_t size,
		int (*compare)(const void *a, const void *b, void *arg), void *arg);
/* Returns the value that would be at `rank` if the values were in order, each as often as `counts` says (NULL: once); the
 * largest if the rank is beyond; 0 of none. Reads them a few times, where sorting takes 20 reads and a copy. */
uint64_t aif_ranked(const uint64_t *values, const uint64_t *counts, size_t n, uint64_t rank);

/* Compare two numbers for qsort(), the least first. */
int aif_by_u32(const void *a, const void *b);
int aif_by_u64(const void *a, const void *b);
int aif_by_double(const void *a, const void *b);
