/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "report/annotate_hits.h"

/* Lines of source that frames stand on, and their text where the profile keeps it. */

struct aif_source_line {
	uint32_t file, line; /* string; AIF_NONE: none */
	uint32_t function;   /* string: whose line it is; AIF_NONE: the kernel's own */
	uint32_t frame;      /* one that stands on it */
	uint64_t weight;     /* samples, or ns of CPU or device time */
};

/* Finds the line of the innermost function that has one. False if none has. */
bool aif_source_of(const struct aif_profile *p, uint32_t frame, struct aif_source_line *ret);
static inline bool aif_source_same(const struct aif_source_line *a, const struct aif_source_line *b)
{
	return a->file == b->file && a->line == b->line && a->function == b->function;
}

/* The lines of the hits, each once, with the sum of samples, by file and line. *ret is freed by the
 * caller. 0 or -ENOMEM. */
int aif_source_lines(const struct aif_profile *p, const struct aif_hit *hits, size_t n,
		     struct aif_source_line **ret, size_t *ret_len);

/* Sorts the lines and adds up the weights of equal ones, in place. Returns how many are left. */
size_t aif_source_lines_sum(struct aif_source_line *lines, size_t n);

/* Appends "gemm.cu:12", and " (f)" of what is not the kernel itself. */
void aif_source_place(const struct aif_profile *p, const struct aif_source_line *s,
		      struct aif_buf *ret);

/* Place where the last line was found: lines behind it are searched from there, not from the
 * beginning of the text. Zeroed at first. */
struct aif_source_cursor {
	const char *text, *at; /* of the file, of the line */
	uint32_t line;
};
/* The line itself, without its end; not terminated. NULL: it is not in the profile. */
const char *aif_source_text(const struct aif_profile *p, const struct aif_source_line *s,
			    struct aif_source_cursor *c, size_t *ret_len);
/* Appends the line's text with blanks for tabs; nothing where the profile has none. */
void aif_source_put_text(const struct aif_profile *p, const struct aif_source_line *s,
			 struct aif_source_cursor *c, struct aif_buf *ret);
/* Appends the place and the text, cut at the width of a terminal of `columns` (0: no limit); `used`
 * of them are taken. */
void aif_source_put(const struct aif_profile *p, const struct aif_source_line *s,
		    struct aif_source_cursor *c, size_t columns, size_t used, struct aif_buf *ret);
