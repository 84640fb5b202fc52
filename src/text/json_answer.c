/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json_answer.h"

#include "text/json.h"

static void separate(struct aif_buf *b)
{
	if (b->len)
		aif_buf_putc(b, ',');
}

/* A path in a command keeps each byte. */
static void put_command(struct aif_buf *b, const char *command)
{
	if (command)
		aif_out_json_escaped_text(b, command);
	else
		aif_buf_puts(b, "null");
}

void aif_json_answer_verdict(struct aif_json_answer *a, const char *text)
{
	aif_buf_clear(&a->verdict);
	aif_out_json_text(&a->verdict, text);
}

void aif_json_answer_evidence(struct aif_json_answer *a, const char *text, int64_t share_ppm,
			      const char *command)
{
	struct aif_buf *b = &a->evidence;

	separate(b);
	aif_buf_puts(b, "{\"text\":");
	aif_out_json_text(b, text);
	aif_buf_puts(b, ",\"share_ppm\":");
	if (share_ppm < 0)
		aif_buf_puts(b, "null");
	else
		aif_out_json_i64(b, share_ppm);
	aif_buf_puts(b, ",\"command\":");
	put_command(b, command);
	aif_buf_putc(b, '}');
}

void aif_json_answer_abstain(struct aif_json_answer *a, const char *what, const char *why)
{
	struct aif_buf *b = &a->abstained;

	separate(b);
	aif_buf_puts(b, "{\"what\":");
	aif_out_json_text(b, what);
	aif_buf_puts(b, ",\"why\":");
	aif_out_json_text(b, why);
	aif_buf_putc(b, '}');
}

void aif_json_answer_next(struct aif_json_answer *a, const char *command)
{
	separate(&a->next);
	put_command(&a->next, command);
}

static void put_list(const char *name, struct aif_buf *items, struct aif_buf *out)
{
	aif_buf_printf(out, ",\"%s\":[", name);
	aif_buf_append(out, items->data, items->len);
	aif_buf_putc(out, ']');
	out->failed |= aif_buf_failed(items);
	aif_buf_finish(items);
}

void aif_json_answer_put(struct aif_json_answer *a, const char *command, struct aif_buf *out)
{
	aif_buf_puts(out, "\"schema_version\":");
	aif_out_json_u64(out, AIF_JSON_SCHEMA);
	aif_buf_puts(out, ",\"command\":");
	aif_out_json_text(out, command);
	aif_buf_puts(out, ",\"verdict\":");
	if (a->verdict.len)
		aif_buf_append(out, a->verdict.data, a->verdict.len);
	else
		aif_buf_puts(out, "null");
	out->failed |= aif_buf_failed(&a->verdict);
	aif_buf_finish(&a->verdict);
	put_list("evidence", &a->evidence, out);
	put_list("abstained", &a->abstained, out);
	put_list("next", &a->next, out);
}
