/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/markdown.h"

#include <string.h>

void aif_compare_markdown(const void *text, size_t len, struct aif_buf *out)
{
	const char *at = text;

	for (size_t i = 0; i < len; i++) {
		if (at[i] == '@') { /* which mentions somebody, backslash or not */
			aif_buf_puts(out, "&#64;");
			continue;
		}
		if (at[i] && strchr("|*_`<>\\[]()!#&~", at[i]))
			aif_buf_putc(out, '\\');
		aif_buf_putc(out, at[i] == '\n' || at[i] == '\r' ? ' ' : at[i]);
	}
}

void aif_compare_markdown_lines(const struct aif_buf *lines, struct aif_buf *out)
{
	for (size_t at = 0, to; at < lines->len; at = to + 1) {
		for (to = at; to < lines->len && lines->data[to] != '\n'; to++)
			;
		aif_compare_markdown(lines->data + at, to - at, out);
		aif_buf_puts(out, "  \n");
	}
}
