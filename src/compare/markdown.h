/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Texts in Markdown: names in them may come from whoever made the profile. */

/* Puts text of one line so that Markdown shows it as it is. */
void aif_compare_markdown(const void *text, size_t len, struct aif_buf *out);
/* Puts lines so, each a line of the paragraph. */
void aif_compare_markdown_lines(const struct aif_buf *lines, struct aif_buf *out);
