/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "fixture_runs.h"

#include "compare/gate.h"

/* Judges by budgets, a line each; the answer in any of its formats has the text `says`. */
static inline enum aif_gate_answer gate(const struct compared *x, const char *budgets,
					const char *says)
{
	struct aif_budgets b = {0};
	struct aif_gate g = {0};
	struct aif_buf text = {0};
	struct aif_err err = {0};
	enum aif_gate_answer answer;

	assert_int_equal(aif_budgets_add_text(&b, budgets, "test", &err), 0);
	assert_int_equal(aif_gate_judge(&x->c, &b, NULL, 0, &g), 0);
	aif_gate_text(&g, &text);
	aif_gate_markdown(&g, &text);
	aif_gate_json(&g, &text);
	aif_gate_junit(&g, &text);
	aif_gate_annotations(&g, &text);
	if (!strstr(aif_buf_str(&text), says))
		print_message("%s", aif_buf_str(&text));
	assert_non_null(strstr(aif_buf_str(&text), says));
	answer = g.answer;
	aif_buf_finish(&text);
	aif_gate_finish(&g);
	aif_budgets_finish(&b);
	return answer;
}
