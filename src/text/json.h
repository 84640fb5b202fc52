/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Pieces of JSON (RFC 8259), made for millions of them: no format strings. */

/* A string with its quotes. Any bytes: what is no UTF-8 becomes U+FFFD and what would not show
 * its picture, as aif_name_sanitize() has it. */
void aif_out_json_string(struct aif_buf *b, const char *bytes, size_t n);
void aif_out_json_text(struct aif_buf *b, const char *text);
/* The same with escapes in place of pictures for control characters of ASCII, for texts whose reader needs each byte: paths,
 * commands, reports of several lines. */
void aif_out_json_escaped(struct aif_buf *b, const char *bytes, size_t n);
void aif_out_json_escaped_text(struct aif_buf *b, const char *text);

/* The name of an object's member and its colon, a comma before it unless `b` ends in a bracket or comma. */
void aif_out_json_key(struct aif_buf *b, const char *name);

/* A member with its value. */
void aif_json_put_u64(struct aif_buf *b, const char *name, uint64_t v);
void aif_json_put_text(struct aif_buf *b, const char *name, const char *text);

/* Decimal numbers. */
void aif_out_json_u64(struct aif_buf *b, uint64_t v);
void aif_out_json_i64(struct aif_buf *b, int64_t v);
/* ns in units of 10^decimals ns, exactly, where a double has 53 bits. decimals: 3 (us) or 6 (ms). */
void aif_out_json_decimal(struct aif_buf *b, int64_t ns, unsigned decimals);

/* Is it one JSON list of integers and lists, as shapes are imported? Of a damaged file they may
 * be anything. */
bool aif_json_is_lists(const char *text);

/* Bytes of a literal. */
#define AIF_JSON_LIT(b, literal) aif_buf_append(b, literal, sizeof(literal) - 1)
