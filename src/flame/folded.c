/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/folded.h"

#include "base/utf8.h"

#include <errno.h>
#include <string.h>

void aif_folded_count(struct aif_buf *b, uint64_t value, uint32_t scale)
{
	uint64_t rest = value % scale;

	aif_buf_printf(b, "%llu", (unsigned long long)(value / scale));
	if (!rest)
		return;
	aif_buf_putc(b, '.');
	for (scale /= 10; rest; scale /= 10) {
		aif_buf_putc(b, (char)('0' + rest / scale));
		rest %= scale;
	}
}

static const char *suffix(unsigned type)
{
	switch (aif_tree_base_type(type)) {
	case AIF_TREE_PYTHON:
		return "_[p]";
	case AIF_TREE_OS:
		return "_[k]";
	case AIF_TREE_KERNEL:
	case AIF_TREE_COPY:
	case AIF_TREE_LINE:
	case AIF_TREE_INSTRUCTION:
	case AIF_TREE_STALL:
		return "_[g]";
	default:
		return "";
	}
}

/* The format has no escapes: what would end a frame or line is replaced. */
void aif_folded_frame(struct aif_buf *b, const struct aif_tree *t, uint32_t name)
{
	size_t len, at_start = b->len;
	const char *text = aif_tree_text(t, name, &len);
	unsigned type = aif_tree_type_of(t, name);

	aif_utf8_put(b, text, len);
	if (aif_buf_failed(b))
		return;
	for (size_t at = at_start; at < b->len; at++) {
		if (b->data[at] == ';')
			b->data[at] = ':';
		else if (b->data[at] < ' ' || b->data[at] == 0x7f)
			b->data[at] = ' ';
	}
	/* Replaces a byte order mark: at the start of the text it would be no part of a name. */
	if (b->len - at_start >= 3 && !memcmp(b->data + at_start, "\xef\xbb\xbf", 3))
		memcpy(b->data + at_start, "???", 3);
	/* Blanks at a frame's end would be taken for those before the count. */
	while (b->len > at_start && b->data[b->len - 1] == ' ')
		b->len--;
	if (b->len == at_start)
		aif_buf_putc(b, '?');
	/* A line that begins with "# " or is "#" would be a comment. */
	if (b->data && b->data[at_start] == '#' && b->len == at_start + 1)
		aif_buf_putc(b, '_');
	else if (b->data && b->data[at_start] == '#' && b->data[at_start + 1] == ' ')
		b->data[at_start + 1] = '_';
	aif_buf_puts(b, suffix(type));
	if (type & AIF_TREE_INLINED)
		aif_buf_puts(b, "_[i]");
}

void aif_folded_write(const struct aif_tree *t, struct aif_out *out)
{
	struct aif_buf line = {0}; /* the path to the node at hand */
	uint32_t n = 0;
	size_t *ends = NULL, ends_cap = 0, depth = 0; /* ends: the line's length at each depth */

	assert(t->sealed);
	for (;;) {
		const struct aif_tree_node *node = &t->nodes[n];

		if (node->self) {
			struct aif_buf *b = aif_out_buf(out);

			aif_buf_append(b, line.data, line.len);
			if (!n)
				aif_buf_puts(b, "all");
			aif_buf_putc(b, ' ');
			aif_folded_count(b, node->self, t->scale);
			aif_buf_putc(b, '\n');
			aif_out_flush_if_full(out);
			if (out->error)
				break;
		}
		if (node->first) {
			n = node->first;
			depth++;
		} else {
			for (; n && !t->nodes[n].next; depth--)
				n = t->nodes[n].parent;
			if (!n)
				break;
			n = t->nodes[n].next;
		}
		if (aif_grow(&ends, &ends_cap, depth + 1, sizeof(*ends)) < 0) {
			out->error = -ENOMEM;
			break;
		}
		line.len = depth > 1 ? ends[depth - 1] : 0;
		if (depth > 1)
			aif_buf_putc(&line, ';');
		aif_folded_frame(&line, t, t->nodes[n].name);
		ends[depth] = line.len;
	}
	if (aif_buf_failed(&line))
		out->error = -ENOMEM;
	aif_buf_finish(&line);
	free(ends);
}
