/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "compare/words.h"

struct aif_gate;

/* Members of JSON objects that diff and gate share: each begins with a comma where one is needed. */
void aif_compare_json_number(struct aif_buf *b, const char *name, double value); /* null: NAN */
void aif_compare_json_text(struct aif_buf *b, const char *name, const char *value);
void aif_compare_json_compared(struct aif_buf *b, const struct aif_compared *of);
void aif_compare_json_lines(struct aif_buf *b, const char *name, const struct aif_buf *lines);
void aif_compare_json_side(struct aif_buf *b, const char *name, const struct aif_side *s);
/* The members that the JSON of both begins with, "{" before and no comma behind. `result`: of the gate, "fine". */
void aif_compare_json_answer(const struct aif_comparison *c, struct aif_buf *out);
void aif_gate_json_answer(const struct aif_gate *g, const char *result, struct aif_buf *out);
