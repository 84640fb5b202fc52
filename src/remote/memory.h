/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Memory of another process, read in pages that are kept. The process runs on and may be hostile: what is read may be
 * anything, may change, and may be gone; each read may fail, and their number is bounded.
 */
#define AIF_REMOTE_PAGE  4096u
#define AIF_REMOTE_PAGES 512u /* kept: 2 MiB */

struct aif_remote_memory {
	/* Copies n bytes at `at`; returns how many could be read, from the first on. */
	size_t (*read)(void *arg, uint64_t at, void *to, size_t n);
	void *arg;
	uint64_t pages_left; /* to be read */
	struct aif_remote_page {
		uint64_t number; /* + 1; 0: free */
		uint8_t bytes[AIF_REMOTE_PAGE];
	} pages[AIF_REMOTE_PAGES];
};

/* Memory of process `pid`, for free(); at most `pages` pages are read. NULL: no memory. */
struct aif_remote_memory *aif_remote_memory_new(int pid, uint64_t pages);

/* Copies n bytes. False: not all of them can be read. */
bool aif_remote_read(struct aif_remote_memory *m, uint64_t at, void *to, size_t n);

static inline bool aif_remote_u64(struct aif_remote_memory *m, uint64_t at, uint64_t *ret)
{
	return aif_remote_read(m, at, ret, sizeof(*ret));
}

/* Drops what was kept: the memory may have changed since. */
void aif_remote_forget(struct aif_remote_memory *m);

/* Copies up to n bytes of process `pid` in one call, past what is kept. Returns the bytes, from the first on, or -errno. */
int64_t aif_remote_copy(int pid, uint64_t at, void *to, size_t n);
