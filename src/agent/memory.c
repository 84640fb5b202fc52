/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK (64u << 10)

void *aif_pages(size_t size)
{
	int saved = errno;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

bool aif_pages_shared(const size_t *bytes, void **ret, size_t n)
{
	size_t size = 0;
	uint8_t *memory;

	for (size_t i = 0; i < n; i++)
		size += AIF_ALIGN_UP(bytes[i], 64);
	memory = aif_pages(size);
	for (size_t i = 0; memory && i < n; i++) {
		ret[i] = memory;
		memory += AIF_ALIGN_UP(bytes[i], 64);
	}
	return memory;
}

void *aif_arena_alloc(struct aif_arena *a, size_t size)
{
	uint8_t *p;

	size = AIF_ALIGN_UP(size, 16);
	if (size > CHUNK / 4)
		return aif_pages(size);
	if (size > (size_t)(a->end - a->at)) {
		p = aif_pages(CHUNK);
		if (!p)
			return NULL;
		a->at = p;
		a->end = p + CHUNK;
	}
	p = a->at;
	a->at += size;
	return p;
}

char *aif_arena_strdup(struct aif_arena *a, const char *s)
{
	size_t len = strlen(s) + 1;
	char *p = aif_arena_alloc(a, len);

	return p ? memcpy(p, s, len) : NULL;
}
