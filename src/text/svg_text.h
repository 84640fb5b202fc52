/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Appends text of any bytes as the content of an XML element, cut to `max` columns with an
 * ellipsis in the last if it is longer. What cannot be shown is replaced as by
 * aif_name_sanitize(). A column is the width of a letter in a monospaced font; CJK characters
 * take two. */
void aif_svg_text(struct aif_buf *b, const char *s, size_t len, size_t max);
