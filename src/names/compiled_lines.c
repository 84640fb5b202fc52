/* SPDX-License-Identifier: Apache-2.0 */
#include "names/compiled_lines.h"

#include "base/map.h"
#include "names/callers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads digits up to *at; false: there are none, or they are too many. */
static bool read_number(const char **at, const char *end, uint32_t *ret)
{
	uint64_t n = 0;
	const char *p = *at;

	for (; p < end && *p >= '0' && *p <= '9' && p - *at < 10; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	if (p == *at || n > UINT32_MAX)
		return false;
	*at = p;
	*ret = (uint32_t)n;
	return true;
}

int aif_compiled_lines_read(struct aif_compiled_lines *l, const char *text, size_t len)
{
	const char *at = text, *end = text + len, *stop;

	for (; at < end; at = stop + 1) {
		struct aif_compiled_entry *last = l->len ? &l->entries[l->len - 1] : NULL;
		const char *p = at;
		uint32_t line;

		stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		if (*at == '\t') {
			if (last)
				last->stack_len = (size_t)(stop - last->stack);
			continue;
		}
		/* Lines ascend. */
		if (l->len == AIF_COMPILED_LINES_MAX || !read_number(&p, stop, &line) ||
		    p != stop || (last && line < last->line))
			break;
		if (aif_grow(&l->entries, &l->cap, l->len + 1, sizeof(*l->entries)) < 0)
			return -ENOMEM;
		l->entries[l->len++] = (struct aif_compiled_entry){
			.line = line, .stack = stop < end ? stop + 1 : end};
	}
	return 0;
}

void aif_compiled_lines_finish(struct aif_compiled_lines *l)
{
	free(l->entries);
	*l = (struct aif_compiled_lines){0};
}

#define FILE_MARK "File \""
#define LINE_MARK "\", line "
#define NAME_MARK ", in "

static const char *find(const char *at, const char *end, const char *text)
{
	return at < end ? memmem(at, (size_t)(end - at), text, strlen(text)) : NULL;
}

/* Reads `File "PATH", line N, in NAME`. */
static bool place_read(const char *at, const char *end, struct aif_compiled_place *ret)
{
	const char *file = find(at, end, FILE_MARK), *line, *name;
	struct aif_compiled_place p;

	if (!file)
		return false;
	file += strlen(FILE_MARK);
	line = find(file, end, LINE_MARK);
	if (!line)
		return false;
	p.file = file;
	p.file_len = (size_t)(line - file);
	line += strlen(LINE_MARK);
	if (!read_number(&line, end, &p.line))
		return false;
	name = find(line, end, NAME_MARK);
	if (name != line)
		return false;
	p.function = name + strlen(NAME_MARK);
	p.function_len = (size_t)(end - p.function);
	*ret = p;
	return true;
}

static bool is_own(const struct aif_compiled_place *p)
{
	char file[4096];

	snprintf(file, sizeof(file), "%.*s", (int)AIF_MIN(p->file_len, sizeof(file) - 1), p->file);
	return aif_caller_is_python(file);
}

bool aif_compiled_lines_find(const struct aif_compiled_lines *l, uint32_t line,
			     struct aif_compiled_place *ret)
{
	size_t lo = AIF_BISECT(mid, 0, l->len, l->entries[mid].line <= line);
	bool is_known = false, has_own = false;
	const struct aif_compiled_entry *e;
	const char *at, *end, *stop;

	/* Takes the last entry that begins at the line or before. */
	if (!lo)
		return false;
	e = &l->entries[lo - 1];
	for (at = e->stack, end = at + e->stack_len; at < end; at = stop + 1) {
		struct aif_compiled_place p;
		bool own;

		stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		if (!place_read(at, stop, &p))
			continue;
		own = is_own(&p);
		if (has_own && !own)
			continue;
		*ret = p;
		has_own = own;
		is_known = true;
	}
	return is_known;
}
