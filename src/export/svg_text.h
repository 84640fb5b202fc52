/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Appends text of any bytes as the content of an XML element, cut to `max` columns with an ellipsis in
 * the last if it is longer. What cannot be shown is replaced as by aif_name_sanitize(). A column is
 * the width of a letter in a monospaced font; CJK characters take two. */
void aif_svg_text(struct aif_buf *b, const char *s, size_t len, size_t max);

/* Numbers for people: "1,234,567"; "12.3 ms"; "4.0 MiB". */
void aif_text_count(struct aif_buf *b, uint64_t n);
void aif_text_time(struct aif_buf *b, uint64_t ns);
void aif_text_bytes(struct aif_buf *b, uint64_t bytes);
