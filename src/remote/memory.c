/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/memory.h"

#include "base/process_read.h"

#include <string.h>

int64_t aif_remote_copy(int pid, uint64_t at, void *to, size_t n)
{
	return aif_process_memory(pid, at, to, n);
}

static size_t read_process(void *arg, uint64_t at, void *to, size_t n)
{
	int64_t r = aif_remote_copy((int)(intptr_t)arg, at, to, n);

	return r < 0 ? 0 : (size_t)r;
}

struct aif_remote_memory *aif_remote_memory_new(int pid, uint64_t pages)
{
	struct aif_remote_memory *m = malloc(sizeof(*m));

	if (!m)
		return NULL;
	/* Touches all of it: not while a thread stands. */
	memset(m, 0, sizeof(*m));
	m->read = read_process;
	m->arg = (void *)(intptr_t)pid;
	m->pages_left = pages;
	return m;
}

void aif_remote_forget(struct aif_remote_memory *m)
{
	for (size_t i = 0; i < AIF_REMOTE_PAGES; i++)
		m->pages[i].number = 0;
}

static const uint8_t *page_at(struct aif_remote_memory *m, uint64_t number)
{
	struct aif_remote_page *page = &m->pages[number % AIF_REMOTE_PAGES];

	if (page->number == number + 1)
		return page->bytes;
	if (!m->pages_left)
		return NULL;
	m->pages_left--;
	page->number = 0;
	if (m->read(m->arg, number * AIF_REMOTE_PAGE, page->bytes, AIF_REMOTE_PAGE) !=
	    AIF_REMOTE_PAGE)
		return NULL;
	page->number = number + 1;
	return page->bytes;
}

bool aif_remote_read(struct aif_remote_memory *m, uint64_t at, void *to, size_t n)
{
	if (at > UINT64_MAX - n - AIF_REMOTE_PAGE)
		return false;
	while (n) {
		const uint8_t *page = page_at(m, at / AIF_REMOTE_PAGE);
		size_t from = at % AIF_REMOTE_PAGE, len = AIF_MIN(n, AIF_REMOTE_PAGE - from);

		if (!page)
			return false;
		memcpy(to, page + from, len);
		to = (char *)to + len;
		at += len;
		n -= len;
	}
	return true;
}
