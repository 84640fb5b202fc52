/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/memory/pages.h"

#include "base/auxv.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define CHUNK (64u << 10)

/* Large tables, few of which are ever full. */
#define SPARSE (4u << 20)

static void *map(size_t size, int access)
{
	void *p = mmap(NULL, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Maps memory that may be accessed but for its first bytes, once the kernel would no longer fill it. */
static uint8_t *map_unlocked(size_t first, size_t size)
{
	uint8_t *p = map(size, PROT_NONE);

	if (p && ((munlock(p, size) < 0 && size >= SPARSE) ||
		  mprotect(p + first, size - first, PROT_READ | PROT_WRITE) < 0)) {
		munmap(p, size);
		return NULL;
	}
	return p;
}

void *aif_pages(size_t size)
{
	int saved = errno;
	void *p = size < SPARSE ? map(size, PROT_READ | PROT_WRITE) : map_unlocked(0, size);

	errno = saved;
	return p;
}

void *aif_pages_unlocked(size_t size)
{
	int saved = errno;
	void *p = map_unlocked(0, size);

	errno = saved;
	return p;
}

/* Bytes of a stack with the page below it. */
static size_t stack_bytes(size_t size, size_t page)
{
	return AIF_ALIGN_UP(size, page) + page;
}

void *aif_pages_stack(size_t size)
{
	size_t page = aif_auxv(AT_PAGESZ), all = stack_bytes(size, page);
	int saved = errno;
	uint8_t *p = map_unlocked(page, all);

	errno = saved;
	return p ? p + all : NULL;
}

void aif_pages_stack_free(void *top, size_t size)
{
	size_t all = stack_bytes(size, aif_auxv(AT_PAGESZ));
	int saved = errno;

	munmap((uint8_t *)top - all, all);
	errno = saved;
}

bool aif_pages_shared(const size_t *bytes, void **ret, size_t n)
{
	size_t size = 0;
	uint8_t *memory;

	for (size_t i = 0; i < n; i++)
		size += AIF_ALIGN_UP(bytes[i], 64);
	memory = aif_pages_unlocked(size);
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
