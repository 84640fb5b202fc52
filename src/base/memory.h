/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Remembers for the process that an allocation failed. A view makes its output of hundreds of small
 * texts and tables, each of which is empty when memory runs out: what a view prints or commits
 * behind a failure may lack anything, so it does neither. Buffers, arrays, maps and sets note their
 * own failures. The only state of the libraries that is the process's; it goes one way, and
 * commands that bear a lack of memory, as record does, never ask.
 */
void aif_memory_fail(void);
bool aif_memory_failed(void);

/* calloc() that notes its failure: where the caller can only leave something out. */
void *aif_memory_calloc(size_t n, size_t size);
