/* SPDX-License-Identifier: Apache-2.0 */
#include "report/source_lines.h"

#include "base/glob.h"
#include "names/frame_labels.h"
#include "names/kernel_names.h"
#include "names/names.h"

#include <errno.h>
#include <string.h>

/* Columns of a line's text, however narrow the terminal is. */
#define TEXT_COLUMNS 24

/* True for functions other than the kernel in its listing: inlined, or called and in its code. */
static bool is_function(const struct aif_profile *p, const struct aif_frame_name *n)
{
	uint32_t module = p->frames[n->frame].module,
		 kernel = module == AIF_NONE ? AIF_NONE : p->modules[module].kernel;

	if (n->inline_depth || kernel == AIF_NONE)
		return n->inline_depth;
	return !aif_kernel_is_itself(aif_profile_str(p, n->name),
				     aif_profile_str(p, p->kernels[kernel].name));
}

bool aif_source_of(const struct aif_profile *p, uint32_t frame, struct aif_source_line *ret)
{
	const struct aif_frame_name *n = aif_profile_frame_name(p, frame);

	for (; n; n = n > p->frame_names && n[-1].frame == frame ? n - 1 : NULL) {
		if (!n->line || n->file == AIF_NONE || !*aif_profile_str(p, n->file))
			continue;
		*ret = (struct aif_source_line){.file = n->file,
						.line = n->line,
						.function = is_function(p, n) ? n->name : AIF_NONE,
						.frame = frame};
		return true;
	}
	return false;
}

static int compare(const void *pa, const void *pb)
{
	const struct aif_source_line *a = pa, *b = pb;

	return AIF_ORDER(a->file, b->file) ?: AIF_ORDER(a->line, b->line)
	       ?: AIF_ORDER(a->function, b->function);
}

size_t aif_source_lines_sum(struct aif_source_line *lines, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(lines, n, sizeof(*lines), compare);
	for (size_t i = 0; i < n; i++) {
		if (kept && aif_source_same(&lines[kept - 1], &lines[i]))
			lines[kept - 1].weight += lines[i].weight;
		else
			lines[kept++] = lines[i];
	}
	return kept;
}

int aif_source_lines(const struct aif_profile *p, const struct aif_hit *hits, size_t n,
		     struct aif_source_line **ret, size_t *ret_len)
{
	struct aif_source_line *lines = malloc((n + 1) * sizeof(*lines));
	size_t len = 0;

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (aif_source_of(p, hits[i].frame, &lines[len]))
			lines[len++].weight = hits[i].samples;
	*ret = lines;
	*ret_len = aif_source_lines_sum(lines, len);
	return 0;
}

void aif_source_place(const struct aif_profile *p, const struct aif_source_line *s,
		      struct aif_buf *ret)
{
	aif_buf_printf(ret, "%s:%u", aif_source_name(aif_profile_str(p, s->file)), s->line);
	if (s->function != AIF_NONE) {
		const char *name = aif_profile_str(p, s->function);

		aif_buf_puts(ret, " (");
		aif_name_short(name, strlen(name), AIF_NAME_NORMAL, ret);
		aif_buf_putc(ret, ')');
	}
}

/* The program that the frame's code was built from. */
static uint32_t program_of(const struct aif_profile *p, uint32_t frame)
{
	uint32_t module = p->frames[frame].module, kernel;

	if (module == AIF_NONE)
		return AIF_NONE;
	kernel = p->modules[module].kernel;
	if (p->modules[module].program != AIF_NONE || kernel == AIF_NONE)
		return p->modules[module].program;
	return p->kernels[kernel].program;
}

/* PoCL compiles a copy of the source, under a name of its own. */
static bool is_copy(const char *file)
{
	const char *slash = strrchr(file, '/');

	return aif_glob("tempfile_*.cl", slash ? slash + 1 : file, strlen(slash ? slash + 1 : file),
			NULL);
}

/* The program's text that its line tables call by this name. */
static uint32_t source_of(const struct aif_profile *p, const struct aif_source_line *s)
{
	uint32_t own = program_of(p, s->frame);

	if (own != AIF_NONE &&
	    (p->programs[own].source_name == s->file ||
	     (p->programs[own].source_name == AIF_NONE && is_copy(aif_profile_str(p, s->file)))))
		return p->programs[own].source;
	for (size_t i = 0; i < p->programs_len; i++)
		if (p->programs[i].source_name == s->file && p->programs[i].source != AIF_NONE)
			return p->programs[i].source;
	return AIF_NONE;
}

const char *aif_source_text(const struct aif_profile *p, const struct aif_source_line *s,
			    struct aif_source_cursor *c, size_t *ret_len)
{
	uint32_t source = source_of(p, s);
	size_t len;
	const char *at, *end, *stop;

	if (source == AIF_NONE)
		return NULL;
	at = aif_strset_get(&p->strings, source, &len);
	end = at + len;
	if (c->text != at || c->line > s->line)
		*c = (struct aif_source_cursor){.text = at, .at = at, .line = 1};
	for (at = c->at; c->line < s->line; c->line++) {
		at = memchr(at, '\n', (size_t)(end - at));
		if (!at)
			return NULL;
		c->at = ++at;
	}
	stop = memchr(at, '\n', (size_t)(end - at));
	if (!stop)
		stop = end;
	if (stop > at && stop[-1] == '\r')
		stop--;
	*ret_len = (size_t)(stop - at);
	return at;
}

void aif_source_put_text(const struct aif_profile *p, const struct aif_source_line *s,
			 struct aif_source_cursor *c, struct aif_buf *ret)
{
	size_t len = 0;
	const char *text = aif_source_text(p, s, c, &len);

	for (size_t i = 0; text && i < len; i++)
		if (text[i] == '\t')
			aif_buf_puts(ret, "    ");
		else
			aif_buf_putc(ret, text[i]);
}

void aif_source_put(const struct aif_profile *p, const struct aif_source_line *s,
		    struct aif_source_cursor *c, size_t columns, size_t used, struct aif_buf *ret)
{
	size_t begin = ret->len, len, room;

	aif_source_place(p, s, ret);
	if (!aif_source_text(p, s, c, &len))
		return;
	aif_buf_puts(ret, "  ");
	used += ret->len - begin;
	begin = ret->len;
	room = columns > used + TEXT_COLUMNS ? columns - used : TEXT_COLUMNS;
	aif_source_put_text(p, s, c, ret);
	if (columns && ret->len - begin > room)
		aif_name_cut(ret, begin, room);
}
