/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Text of others as UTF-8 (RFC 3629): names in a profile may be any bytes, and most readers
 * refuse a file for one of them. */

/* The length of the character at s, 1 to 4, with its code point; 0: there is none. n > 0. */
size_t aif_utf8_char(const uint8_t *s, size_t n, uint32_t *ret_code);

/* Is all of it UTF-8, and without NUL, at which many readers stop? */
bool aif_utf8_is_text(const void *bytes, size_t n);

/* Appends it so that it is: other bytes as U+FFFD each, NUL as its picture, U+2400. All else
 * stays, line ends, too. */
void aif_utf8_put(struct aif_buf *b, const void *bytes, size_t n);
/* Appends a character; what is none, half of a surrogate pair among them, as U+FFFD. */
void aif_utf8_put_char(struct aif_buf *b, uint32_t c);
