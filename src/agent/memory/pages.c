/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/memory/pages.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define CHUNK (64u << 10)

/* Large tables, few of which are ever full: after mlockall(MCL_FUTURE) the kernel would fill all of what may
 * be accessed when it is mapped. */
#define SPARSE (4u << 20)

static void *map(size_t size, int access)
{
	void *p = mmap(NULL, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void *map_sparse(size_t size)
{
	void *p = map(size, PROT_NONE);

	if (p && (munlock(p, size) < 0 || mprotect(p, size, PROT_READ | PROT_WRITE) < 0)) {
		munmap(p, size);
		return NULL;
	}
	return p;
}

void *aif_pages(size_t size)
{
	int saved = errno;
	void *p = size < SPARSE ? map(size, PROT_READ | PROT_WRITE) : map_sparse(size);

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
	size_t page = getauxval(AT_PAGESZ), all = stack_bytes(size, page);
	int saved = errno;
	uint8_t *p = map(all, PROT_READ | PROT_WRITE);

	if (p && mprotect(p, page, PROT_NONE) < 0) {
		munmap(p, all);
		p = NULL;
	}
	errno = saved;
	return p ? p + all : NULL;
}

void aif_pages_stack_free(void *top, size_t size)
{
	size_t all = stack_bytes(size, getauxval(AT_PAGESZ));
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
