/* SPDX-License-Identifier: Apache-2.0 */
#include "import/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BLOCK ((size_t)256 << 10)

/* More bytes behind those that are there. */
static int fill(struct aif_lines *l, struct aif_err *err)
{
	struct aif_buf *b = &l->buf;
	ssize_t n;
	void *room;

	if (l->at) {
		memmove(b->data, b->data + l->at, b->len - l->at);
		b->len -= l->at;
		l->seen -= l->at;
		l->at = 0;
	}
	room = aif_buf_reserve(b, BLOCK);
	if (!room)
		return aif_err_set(err, -ENOMEM, "out of memory");
	n = aif_import_read(l->source, room, BLOCK, err);
	if (n < 0)
		return (int)n;
	b->len += (size_t)n;
	l->is_eof = n == 0;
	return 0;
}

int aif_lines_next(struct aif_lines *l, char **ret, size_t *ret_len, struct aif_err *err)
{
	bool is_skipping = false;

	for (;;) {
		char *from, *nl = NULL;
		size_t len;
		int r;

		if (l->buf.len > l->seen)
			nl = memchr(l->buf.data + l->seen, '\n', l->buf.len - l->seen);
		if (!nl && !l->is_eof) {
			l->seen = l->buf.len;
			if (l->seen - l->at > AIF_LINE_MAX) {
				is_skipping = true;
				l->at = l->seen;
			}
			r = fill(l, err);
			if (r < 0)
				return r;
			continue;
		}
		if (!nl && l->at == l->buf.len && !is_skipping)
			return 0;
		from = (char *)l->buf.data + l->at;
		len = nl ? (size_t)(nl - from) : l->buf.len - l->at;
		l->is_cut = !nl;
		l->at += len + (nl != NULL);
		l->seen = l->at;
		l->number++;
		if (is_skipping) {
			is_skipping = false;
			aif_lines_bad(l);
			continue;
		}
		while (len && from[len - 1] == '\r')
			len--;
		*ret = from;
		*ret_len = len;
		return 1;
	}
}

void aif_lines_bad(struct aif_lines *l)
{
	if (!l->bad++)
		l->first_bad = l->number;
}

void aif_lines_finish(struct aif_lines *l, struct aif_builder *b)
{
	const char *name = aif_input_name(l->source->input);
	char text[400];

	snprintf(text, sizeof(text), "%s, first: line %" PRIu64, name, l->first_bad);
	if (l->bad)
		aif_builder_loss(b, AIF_REASON_IMPORT_LINE, AIF_NONE, aif_builder_puts(b, text),
				 l->bad);
	if (aif_input_is_torn(l->source->input) || (l->is_cut && !l->is_hand_made)) {
		snprintf(text, sizeof(text), "%s: its %s", name,
			 aif_input_is_torn(l->source->input) ? "packing ends early"
							     : "last line has no end");
		aif_builder_loss(b, AIF_REASON_IMPORT_TORN, AIF_NONE, aif_builder_puts(b, text), 1);
	}
	aif_buf_finish(&l->buf);
}
