/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* A growable byte buffer. Growth failure is sticky: later appends do nothing, and `failed` is
 * checked once at the end (aif_buf_failed). `data` may move at each append. A zeroed struct is an
 * empty buffer. Not for the agent's launch path. */
struct aif_buf {
	uint8_t *data;
	size_t len, cap;
	bool failed;
};

void aif_buf_finish(struct aif_buf *b);                /* frees; b is an empty buffer again */
void aif_buf_clear(struct aif_buf *b);                 /* length 0, memory kept */
void *aif_buf_reserve(struct aif_buf *b, size_t more); /* room for `more` at the end, or NULL */
void aif_buf_append(struct aif_buf *b, const void *p, size_t n);
void aif_buf_puts(struct aif_buf *b, const char *s);
void aif_buf_putc(struct aif_buf *b, char c);
void aif_buf_printf(struct aif_buf *b, const char *fmt, ...) AIF_PRINTF(2, 3);
/* One word of a shell's command line: as it stands, or in quotes where it needs them. */
void aif_buf_shell(struct aif_buf *b, const char *word);
/* The same of a file's name, which is no option: "-x" is "./-x". */
void aif_buf_shell_path(struct aif_buf *b, const char *path);
const char *aif_buf_str(struct aif_buf *b); /* terminated text; "" if failed */
static inline bool aif_buf_failed(const struct aif_buf *b)
{
	return b->failed;
}

/* Grow the array *p (elements of `size` bytes, *cap of them) so that it holds at least `need`.
 * Returns 0 or -ENOMEM with *p untouched. */
int aif_grow(void *p, size_t *cap, size_t need, size_t size);
/* Makes room for `need` elements and no more, of an array whose length is known before: it need not move as it grows.
 * Returns 0 or -ENOMEM with *p untouched. */
int aif_reserve(void *p, size_t *cap, size_t need, size_t size);
/* Gives back what the array *p has beyond its `len` elements, once no more come. */
void aif_fit(void *p, size_t *cap, size_t len, size_t size);
