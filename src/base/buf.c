/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "base/memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void aif_buf_finish(struct aif_buf *b)
{
	free(b->data);
	*b = (struct aif_buf){0};
}

void aif_buf_clear(struct aif_buf *b)
{
	b->len = 0;
	b->failed = false;
}

void *aif_buf_reserve(struct aif_buf *b, size_t more)
{
	size_t need, cap;
	void *data;

	if (b->failed)
		return NULL;
	if (__builtin_add_overflow(b->len, more, &need) || need > SIZE_MAX / 2)
		goto fail;
	if (need <= b->cap)
		return b->data + b->len;
	for (cap = b->cap ? b->cap : 256; cap < need;)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data)
		goto fail;
	b->data = data;
	b->cap = cap;
	return b->data + b->len;
fail:
	b->failed = true;
	aif_memory_fail();
	return NULL;
}

void aif_buf_append(struct aif_buf *b, const void *p, size_t n)
{
	void *to = n ? aif_buf_reserve(b, n) : NULL;

	if (!to)
		return;
	memcpy(to, p, n);
	b->len += n;
}

void aif_buf_puts(struct aif_buf *b, const char *s)
{
	aif_buf_append(b, s, strlen(s));
}

void aif_buf_putc(struct aif_buf *b, char c)
{
	aif_buf_append(b, &c, 1);
}

void aif_buf_printf(struct aif_buf *b, const char *fmt, ...)
{
	va_list ap, again;
	char *to;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		b->failed = true;
	else if ((to = aif_buf_reserve(b, (size_t)n + 1)) != NULL) {
		vsnprintf(to, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

void aif_buf_shell(struct aif_buf *b, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./+-=:@%,";

	if (*word && word[strspn(word, plain)] == '\0') {
		aif_buf_puts(b, word);
		return;
	}
	aif_buf_putc(b, '\'');
	for (; *word; word++)
		if (*word == '\'')
			aif_buf_puts(b, "'\\''");
		else
			aif_buf_putc(b, *word);
	aif_buf_putc(b, '\'');
}

void aif_buf_shell_path(struct aif_buf *b, const char *path)
{
	struct aif_buf dotted = {0};

	if (*path == '-' && path[1])
		aif_buf_puts(&dotted, "./");
	aif_buf_puts(&dotted, path);
	aif_buf_shell(b, aif_buf_str(&dotted));
	aif_buf_finish(&dotted);
}

const char *aif_buf_str(struct aif_buf *b)
{
	char *end = aif_buf_reserve(b, 1);

	if (!end)
		return "";
	*end = '\0';
	return (const char *)b->data;
}

/* Larger arrays grow by a quarter: the kernel moves their pages, and what is not used of them
 * counts for a limit on memory. */
#define GROWS_TWOFOLD ((size_t)32 << 20)

int aif_reserve(void *p, size_t *cap, size_t need, size_t size)
{
	void **array = p, *grown;
	size_t bytes;

	if (need <= *cap)
		return 0;
	if (__builtin_mul_overflow(need, size, &bytes))
		return -ENOMEM;
	grown = realloc(*array, bytes);
	if (!grown) {
		aif_memory_fail();
		return -ENOMEM;
	}
	*array = grown;
	*cap = need;
	return 0;
}

int aif_grow(void *p, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap ? *cap : 16, bytes;

	if (need <= *cap)
		return 0;
	while (n < need) {
		if (__builtin_mul_overflow(n, size, &bytes) ||
		    __builtin_add_overflow(n, bytes < GROWS_TWOFOLD ? n : n / 4, &n))
			return -ENOMEM;
	}
	return aif_reserve(p, cap, n, size);
}

void aif_fit(void *p, size_t *cap, size_t len, size_t size)
{
	void **array = p, *fitting;

	if (!len || len >= *cap)
		return;
	fitting = realloc(*array, len * size);
	if (!fitting)
		return;
	*array = fitting;
	*cap = len;
}
