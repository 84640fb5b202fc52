/* SPDX-License-Identifier: Apache-2.0 */
#include "text/elide.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ELLIPSIS "\u2026"
/* Rounds of looking for the next difference of texts that are still cut to the same: each shows
 * other characters of them. Texts that do not differ by then are numbered. */
#define MAX_ROUNDS 16

static bool is_begin(uint8_t byte)
{
	return (byte & 0xc0) != 0x80;
}

size_t aif_elide_width(const void *text, size_t len)
{
	const uint8_t *s = text;
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += is_begin(s[i]);
	return n;
}

/* The first byte behind `n` characters. */
static size_t behind(const uint8_t *s, size_t len, size_t n)
{
	size_t at = 0;

	for (; at < len; at++)
		if (is_begin(s[at]) && n-- == 0)
			break;
	return at;
}

/* Characters from..to. */
static void put_part(const uint8_t *s, size_t len, size_t from, size_t to, struct aif_buf *ret)
{
	size_t begin = behind(s, len, from);

	aif_buf_append(ret, s + begin, behind(s + begin, len - begin, to - from));
}

void aif_elide(const void *text, size_t len, size_t width, struct aif_buf *ret)
{
	size_t whole = aif_elide_width(text, len), tail;

	width = AIF_MAX(width, AIF_ELIDE_LEAST);
	tail = (width - 1) / 3;
	if (whole <= width) {
		aif_buf_append(ret, text, len);
		return;
	}
	put_part(text, len, 0, width - 1 - tail, ret);
	aif_buf_puts(ret, ELLIPSIS);
	put_part(text, len, whole - tail, whole, ret);
}

/* Shows what begins at `place`, which the middle or the end has room for; else as aif_elide. */
static void cut_around(const uint8_t *s, size_t len, size_t width, size_t place,
		       struct aif_buf *ret)
{
	size_t whole = aif_elide_width(s, len), side = (width - 2) / 4,
	       middle = width - 2 - 2 * side;

	if (whole <= width || place <= side) {
		aif_elide(s, len, width, ret);
		return;
	}
	put_part(s, len, 0, side, ret);
	aif_buf_puts(ret, ELLIPSIS);
	if (place + middle + side >= whole) {
		put_part(s, len, whole - (width - 1 - side), whole, ret);
		return;
	}
	put_part(s, len, place, place + middle, ret);
	aif_buf_puts(ret, ELLIPSIS);
	put_part(s, len, whole - side, whole, ret);
}

struct text {
	const struct aif_elider *c;
	uint32_t id;
};

static const uint8_t *bytes_of(const struct text *t, size_t *ret_len)
{
	return (const uint8_t *)aif_strset_get(&t->c->texts, t->id, ret_len);
}

static bool is_word(uint8_t c)
{
	return !is_begin(c) || c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* The character at which the first two of n texts differ; from the beginning of its word on, if
 * that is near. */
static size_t difference(const struct text *t, size_t n, size_t near)
{
	size_t len, least, bytes = SIZE_MAX, at;
	const uint8_t *first = bytes_of(&t[0], &least);

	for (size_t i = 1; i < n; i++) {
		const uint8_t *s = bytes_of(&t[i], &len);

		for (at = 0; at < AIF_MIN(len, least) && s[at] == first[at];)
			at++;
		bytes = AIF_MIN(bytes, at);
	}
	while (bytes && bytes < least && !is_begin(first[bytes]))
		bytes--;
	at = bytes;
	for (size_t back = 0; at && back < near && is_word(first[at - 1]); back++)
		at--;
	/* A word that began further away is shown from where it differs. */
	if (at && is_word(first[at - 1]))
		at = bytes;
	return aif_elide_width(first, at);
}

static int by_cut(const void *pa, const void *pb)
{
	const struct text *a = pa, *b = pb;
	uint32_t x = a->c->cut_of[a->id], y = b->c->cut_of[b->id];

	return AIF_ORDER(x, y) ?: AIF_ORDER(a->id, b->id);
}

static int keep(struct aif_elider *c, uint32_t id, const struct aif_buf *cut)
{
	uint32_t string =
		aif_buf_failed(cut) ? AIF_STR_NONE : aif_strset_put(&c->cuts, cut->data, cut->len);

	if (string == AIF_STR_NONE)
		return -ENOMEM;
	c->cut_of[id] = string;
	return 0;
}

/* Texts that are cut to the same are cut where they differ, as often as it takes. */
static int tell_apart(struct aif_elider *c, struct text *t, size_t n, size_t width, unsigned round,
		      struct aif_buf *space)
{
	int r = 0;

	if (n > 1)
		qsort(t, n, sizeof(*t), by_cut);
	for (size_t i = 0, j; i < n && r == 0; i = j) {
		size_t place;

		for (j = i + 1; j < n && c->cut_of[t[j].id] == c->cut_of[t[i].id];)
			j++;
		if (j == i + 1 || round == MAX_ROUNDS)
			continue;
		place = difference(t + i, j - i, width / 6);
		for (size_t k = i; k < j && r == 0; k++) {
			size_t len;
			const uint8_t *s = bytes_of(&t[k], &len);

			aif_buf_clear(space);
			cut_around(s, len, width, place, space);
			r = keep(c, t[k].id, space);
		}
		if (r == 0)
			r = tell_apart(c, t + i, j - i, width, round + 1, space);
	}
	return r;
}

/* Numbers texts that are still the same as another, wherever they were cut: the number replaces
 * their end. */
static int number(struct aif_elider *c, size_t width, struct aif_buf *space)
{
	struct aif_map taken = {0};
	uint64_t other;
	unsigned next = 2;
	char end[16];
	int r = 0;

	for (uint32_t id = 0; id < c->texts.len && r == 0; id++) {
		size_t len;
		const char *s = aif_strset_get(&c->texts, id, &len);

		while (r == 0 && aif_map_get(&taken, c->cut_of[id], &other)) {
			int n = snprintf(end, sizeof(end), ELLIPSIS "%u", next++);

			aif_buf_clear(space);
			put_part((const uint8_t *)s, len, 0,
				 width - AIF_MIN(width, aif_elide_width(end, (size_t)n)), space);
			aif_buf_puts(space, end);
			r = keep(c, id, space);
		}
		if (r == 0)
			r = aif_map_put(&taken, c->cut_of[id], id);
	}
	aif_map_finish(&taken);
	return r;
}

int aif_elider_add(struct aif_elider *c, const void *text, size_t len)
{
	return aif_strset_put(&c->texts, text, len) == AIF_STR_NONE ? -ENOMEM : 0;
}

int aif_elider_make(struct aif_elider *c, size_t width)
{
	size_t n = c->texts.len, len;
	struct text *t = calloc(n + 1, sizeof(*t));
	struct aif_buf space = {0};
	int r = t ? aif_grow(&c->cut_of, &c->cut_of_cap, n + 1, sizeof(*c->cut_of)) : -ENOMEM;

	width = AIF_MAX(width, AIF_ELIDE_LEAST);
	for (uint32_t id = 0; id < n && r == 0; id++) {
		const uint8_t *text;

		t[id] = (struct text){c, id};
		text = bytes_of(&t[id], &len);
		aif_buf_clear(&space);
		aif_elide(text, len, width, &space);
		r = keep(c, id, &space);
	}
	if (r == 0)
		r = tell_apart(c, t, n, width, 0, &space);
	if (r == 0)
		r = number(c, width, &space);
	aif_buf_finish(&space);
	free(t);
	return r;
}

const char *aif_elider_get(const struct aif_elider *c, const void *text, size_t len,
			   size_t *ret_len)
{
	uint32_t id = aif_strset_find(&c->texts, text, len);

	/* A text that was not added, as its memory ran out the first time that it was made. */
	if (id >= c->cut_of_cap) {
		*ret_len = len;
		return text;
	}
	return aif_strset_get(&c->cuts, c->cut_of[id], ret_len);
}

void aif_elider_finish(struct aif_elider *c)
{
	aif_strset_finish(&c->texts);
	aif_strset_finish(&c->cuts);
	free(c->cut_of);
	*c = (struct aif_elider){0};
}
