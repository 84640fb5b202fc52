/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * The agent's own memory, never from the target's malloc, which may be replaced, traced or in the
 * middle of something. Nothing here runs on a launch path in steady state.
 */

/* Fresh zeroed pages, or NULL. Untouched pages cost nothing. errno is kept. */
void *aif_pages(size_t size);

/* The same, which after mlockall(MCL_FUTURE) the kernel neither fills nor goes on counting against what the program may lock
 * (RLIMIT_MEMLOCK). Takes munlock(), which a filter of system calls may forbid. */
void *aif_pages_unlocked(size_t size);

/* Maps a stack of so many bytes, a multiple of 16, above a page that nobody may touch; returns its upper end, or NULL. errno is
 * kept. */
void *aif_pages_stack(size_t size);
void aif_pages_stack_free(void *top, size_t size);

/* The same for `n` things at once: ret[i] begins a cache line and has bytes[i]. False: no memory. */
bool aif_pages_shared(const size_t *bytes, void **ret, size_t n);

/* A bump allocator for what lives as long as the process: descriptions of devices, queues, kernels.
 * Not locked: its owner is. */
struct aif_arena {
	uint8_t *at, *end;
};

void *aif_arena_alloc(struct aif_arena *a, size_t size); /* zeroed, 16-byte aligned, or NULL */
char *aif_arena_strdup(struct aif_arena *a, const char *s);
