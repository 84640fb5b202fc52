/* SPDX-License-Identifier: Apache-2.0 */
#include "names/compiled.h"

#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NODES "Source Nodes: ["
#define ATEN  "Original ATen: ["

struct file {
	uint32_t source; /* string */
	bool is_read;
	struct aif_compiled_call *calls;
	size_t len, cap;
	uint32_t lines; /* string, AIF_NONE: there is none */
};

struct aif_compiled {
	const struct aif_profile *p;
	struct aif_map by_name; /* of source_name -> index in files */
	struct file *files;
	size_t len, cap;
};

/* ---- the text ------------------------------------------------------------------------------------ */

struct line {
	const char *at; /* behind its indentation */
	size_t len;
};

static const char *find(const struct line *l, const char *text)
{
	return l->len ? memmem(l->at, l->len, text, strlen(text)) : NULL;
}

static bool begins(const struct line *l, const char *text)
{
	return l->len >= strlen(text) && !memcmp(l->at, text, strlen(text));
}

/* Reads a list in brackets that begins behind `mark`. "" where there is none. */
static const char *list(const struct line *l, const char *mark, size_t *ret_len)
{
	const char *at = find(l, mark), *end;

	*ret_len = 0;
	if (!at)
		return "";
	at += strlen(mark);
	end = memchr(at, ']', l->len - (size_t)(at - l->at));
	if (!end)
		return "";
	*ret_len = (size_t)(end - at);
	return at;
}

/* True for lines between two calls: a comment speaks of what comes before them. */
static bool ends_call(const struct line *l)
{
	return !l->len || begins(l, "del ") || begins(l, "return ") || begins(l, "def ") ||
	       find(l, "= empty_strided");
}

/* Says of each call where the program computes what it does. */
static int places_read(const struct aif_profile *p, struct file *f)
{
	struct aif_compiled_lines lines = {0};
	const char *text;
	size_t len;
	int r;

	if (f->lines == AIF_NONE)
		return 0;
	text = aif_strset_get(&p->strings, f->lines, &len);
	r = aif_compiled_lines_read(&lines, text, len);
	for (size_t i = 0; r == 0 && i < f->len; i++)
		(void)aif_compiled_lines_find(&lines, f->calls[i].last, &f->calls[i].place);
	aif_compiled_lines_finish(&lines);
	return r;
}

static int file_read(const struct aif_profile *p, struct file *f)
{
	size_t len;
	const char *at = aif_strset_get(&p->strings, f->source, &len), *end = at + len;
	struct aif_compiled_call now = {0};
	uint32_t number = 0;
	bool is_open = false;

	f->is_read = true;
	while (at < end && f->len < AIF_COMPILED_CALLS) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		struct line l;

		stop = stop ? stop : end;
		while (at < stop && (*at == ' ' || *at == '\t'))
			at++;
		l = (struct line){.at = at, .len = (size_t)(stop - at)};
		at = stop + 1;
		number++;
		if (begins(&l, "#") && find(&l, NODES)) {
			now = (struct aif_compiled_call){.first = number + 1};
			now.nodes = list(&l, NODES, &now.nodes_len);
			now.aten = list(&l, ATEN, &now.aten_len);
			is_open = now.aten_len > 0;
		} else if (is_open && ends_call(&l)) {
			is_open = false;
		} else if (is_open) {
			/* The call goes on. */
			if (f->len && f->calls[f->len - 1].first == now.first) {
				f->calls[f->len - 1].last = number;
				continue;
			}
			now.last = number;
			if (aif_grow(&f->calls, &f->cap, f->len + 1, sizeof(*f->calls)) < 0)
				return -ENOMEM;
			f->calls[f->len++] = now;
		}
	}
	return places_read(p, f);
}

/* ---- files --------------------------------------------------------------------------------------- */

void aif_compiled_free(struct aif_compiled *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->len; i++)
		free(c->files[i].calls);
	free(c->files);
	aif_map_finish(&c->by_name);
	free(c);
}

/* Sources of device programs, OpenCL C for instance, are no files of Python's. */
static bool is_python(const struct aif_profile *p, const struct aif_program *program)
{
	const char *name;
	size_t len;

	if (program->source >= p->strings.len || program->source_name >= p->strings.len)
		return false;
	name = aif_strset_get(&p->strings, program->source_name, &len);
	return len > 3 && !memcmp(name + len - 3, ".py", 3);
}

/* Finds the rows with lines of the program, which are named as their files are. */
static void lines_find(struct aif_compiled *c)
{
	const size_t mark = strlen(AIF_COMPILED_LINES);
	const struct aif_profile *p = c->p;

	for (size_t i = 0; i < p->programs_len; i++) {
		const struct aif_program *row = &p->programs[i];
		const char *name;
		size_t len;
		uint32_t file;
		uint64_t at;

		if (row->source >= p->strings.len || row->source_name >= p->strings.len)
			continue;
		name = aif_strset_get(&p->strings, row->source_name, &len);
		if (len <= mark || memcmp(name + len - mark, AIF_COMPILED_LINES, mark))
			continue;
		file = aif_strset_find(&p->strings, name, len - mark);
		if (file != AIF_STR_NONE && aif_map_get(&c->by_name, file, &at))
			c->files[at].lines = row->source;
	}
}

int aif_compiled_new(const struct aif_profile *p, struct aif_compiled **ret)
{
	struct aif_compiled *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->p = p;
	for (size_t i = 0; i < p->programs_len; i++) {
		if (!is_python(p, &p->programs[i]) ||
		    aif_map_get(&c->by_name, p->programs[i].source_name, NULL))
			continue;
		if (aif_grow(&c->files, &c->cap, c->len + 1, sizeof(*c->files)) < 0 ||
		    aif_map_put(&c->by_name, p->programs[i].source_name, c->len) < 0) {
			aif_compiled_free(c);
			return -ENOMEM;
		}
		c->files[c->len++] =
			(struct file){.source = p->programs[i].source, .lines = AIF_NONE};
	}
	lines_find(c);
	*ret = c;
	return 0;
}

const struct aif_compiled_call *aif_compiled_find(struct aif_compiled *c, uint32_t file,
						  uint32_t line)
{
	struct file *f;
	size_t lo;
	uint64_t i;

	if (!c->len || !aif_map_get(&c->by_name, file, &i))
		return NULL;
	f = &c->files[i];
	if (!f->is_read && file_read(c->p, f) < 0)
		return NULL;
	lo = AIF_BISECT(mid, 0, f->len, f->calls[mid].last < line);
	return lo < f->len && f->calls[lo].first <= line ? &f->calls[lo] : NULL;
}

void aif_compiled_put(const struct aif_compiled_call *c, struct aif_buf *ret,
		      struct aif_buf *ret_full)
{
	const struct aif_compiled_place *at = &c->place;
	const char *base;
	size_t len = 0;
	unsigned named = 0;

	/* Whole names, so many at most. */
	while (len < c->aten_len && (c->aten[len] != ',' || ++named < AIF_COMPILED_NAMED))
		len++;
	aif_buf_append(ret, c->aten, len);
	aif_buf_puts(ret, len < c->aten_len ? ", ... [compiled]" : " [compiled]");
	aif_buf_append(ret_full, c->aten, c->aten_len);
	aif_buf_puts(ret_full, " [compiled] of ");
	aif_buf_append(ret_full, c->nodes, c->nodes_len);
	if (!at->line)
		return;
	base = memrchr(at->file, '/', at->file_len);
	base = base ? base + 1 : at->file;
	aif_buf_putc(ret, ' ');
	aif_buf_append(ret, base, (size_t)(at->file + at->file_len - base));
	aif_buf_printf(ret, ":%u", at->line);
	aif_buf_puts(ret_full, ", in ");
	aif_buf_append(ret_full, at->function, at->function_len);
	aif_buf_puts(ret_full, " (");
	aif_buf_append(ret_full, at->file, at->file_len);
	aif_buf_printf(ret_full, ":%u)", at->line);
}
