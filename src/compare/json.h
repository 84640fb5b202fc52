/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "compare/words.h"

/* Members of JSON objects that diff and gate share: each begins with a comma where one is needed. */
void aif_compare_json_key(struct aif_buf *b, const char *name);
void aif_compare_json_number(struct aif_buf *b, const char *name, double value); /* null: NAN */
void aif_compare_json_text(struct aif_buf *b, const char *name, const char *value);
void aif_compare_json_compared(struct aif_buf *b, const struct aif_compared *of);
void aif_compare_json_lines(struct aif_buf *b, const char *name, const struct aif_buf *lines);
void aif_compare_json_side(struct aif_buf *b, const char *name, const struct aif_side *s);
