/* SPDX-License-Identifier: Apache-2.0 */
#include "report/why/cpu_answer.h"

#include "report/why/why.h"

#define DAMAGED "part of the file could not be read: samples are missing"

void aif_why_cpu_command(const struct aif_why_cpu_answer *a, const char *view, struct aif_buf *out)
{
	aif_buf_printf(out, "aiflame %s%s ", view, a->options);
	aif_buf_shell_path(out, a->path);
}

void aif_why_cpu_say_unknown(const struct aif_why_cpu_answer *a, struct aif_buf *out)
{
	struct aif_buf text = {0};

	if (aif_why_incomplete(a->p, true, &text))
		aif_buf_printf(out, "unknown  %s (aiflame info)\n", aif_buf_str(&text));
	out->failed |= aif_buf_failed(&text);
	aif_buf_finish(&text);
}

void aif_why_cpu_say_next(const struct aif_why_cpu_answer *a, const char *table,
			  const char *picture, struct aif_buf *out)
{
	aif_buf_puts(out, "next     ");
	aif_why_cpu_command(a, table, out);
	aif_buf_puts(out, ", ");
	aif_why_cpu_command(a, picture, out);
	aif_buf_puts(out, a->damaged ? "\ndamaged  " DAMAGED "\n" : "\n");
}

void aif_why_cpu_put_head(const struct aif_why_cpu_answer *a, struct aif_json_answer *head,
			  struct aif_buf *out)
{
	static const char *const next[] = {"report --cpu", "flame --of cpu"};
	struct aif_buf text = {0};

	if (a->damaged)
		aif_json_answer_abstain(head, "damaged", DAMAGED);
	if (aif_why_incomplete(a->p, true, &text))
		aif_json_answer_abstain(head, "incomplete", aif_buf_str(&text));
	for (size_t i = 0; i < AIF_ARRAY_LEN(next); i++) {
		aif_buf_clear(&text);
		aif_why_cpu_command(a, next[i], &text);
		aif_json_answer_next(head, aif_buf_str(&text));
	}
	aif_json_answer_put(head, "why", out);
	out->failed |= aif_buf_failed(&text);
	aif_buf_finish(&text);
}
