/* SPDX-License-Identifier: Apache-2.0 */
/* profile_summary.json, profile_decode.csv and profile_decode.json: entries in three forms. */
#include "runbook/classes.h"
#include "runbook/runbook.h"

#include "text/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static enum aif_runbook_class class_of(const struct aif_runbook_entries *m, uint32_t kernel)
{
	size_t n;
	const char *name = aif_runbook_kernel(m, kernel, &n);

	return aif_runbook_class_of(name, n);
}

/* Appends a sum by class and returns it whole. first_only: of the first token; layer: of that one, -1: of all. */
static double put_by_op(const struct aif_runbook_entries *m, size_t len, bool first_only,
			int64_t layer, struct aif_buf *out)
{
	double sums[AIF_RUNBOOK_CLASSES] = {0}, all = 0;
	const char *before = "";

	for (size_t i = 0; i < len; i++)
		for (size_t k = 0; k < m[i].len; k++) {
			const struct aif_runbook_entry *e = &m[i].at[k];

			if ((first_only && e->token != 0) || (layer >= 0 && e->layer != layer))
				continue;
			all += e->us;
			sums[class_of(&m[i], e->kernel)] += e->us;
		}
	aif_buf_putc(out, '{');
	for (unsigned c = 0; c < AIF_RUNBOOK_CLASSES; c++) {
		if (sums[c] <= 0)
			continue;
		aif_buf_printf(out, "%s\"%s\": %.1f", before,
			       aif_runbook_class_name((enum aif_runbook_class)c), sums[c]);
		before = ", ";
	}
	aif_buf_putc(out, '}');
	return all;
}

/* Appends sums by layer, in their order. */
static void put_by_layer(const struct aif_runbook_entries *m, size_t len, bool first_only,
			 struct aif_buf *out)
{
	int64_t layer = -1, next;

	aif_buf_puts(out, "\"by_layer\": {");
	for (const char *before = "";; before = ", ") {
		next = INT64_MAX;
		for (size_t i = 0; i < len; i++)
			for (size_t k = 0; k < m[i].len; k++)
				if ((!first_only || m[i].at[k].token == 0) &&
				    m[i].at[k].layer > layer)
					next = AIF_MIN(next, m[i].at[k].layer);
		if (next == INT64_MAX)
			break;
		layer = next;
		aif_buf_printf(out, "%s\"%" PRId64 "\": ", before, layer);
		put_by_op(m, len, first_only, layer, out);
	}
	aif_buf_putc(out, '}');
}

/* Appends by_op, total_us, total_ms and by_layer. */
static void put_sums(const struct aif_runbook_entries *m, size_t len, bool first_only,
		     const char *between, struct aif_buf *out)
{
	double all;

	aif_buf_puts(out, "\"by_op\": ");
	all = put_by_op(m, len, first_only, -1, out);
	aif_buf_printf(out, ",%s\"total_us\": %.1f,%s\"total_ms\": %.4f,%s", between, all, between,
		       all / 1e3, between);
	put_by_layer(m, len, first_only, out);
}

/* Appends what was spent in each function, and on paths of which classes. */
static void put_paths(const struct aif_runbook_entries *m, struct aif_buf *out)
{
	aif_buf_putc(out, '[');
	for (size_t i = 0; i < m->paths_len; i++) {
		const struct aif_runbook_path *p = &m->paths[i];
		const char *before = "", *name;
		size_t n;

		name = aif_runbook_kernel(m, p->kernel, &n);
		aif_buf_printf(out, "%s\n    {\"kernel\": ", i ? "," : "");
		aif_out_json_escaped(out, name, n);
		aif_buf_printf(out, ", \"op\": \"%s\", \"within\": [",
			       aif_runbook_class_name(class_of(m, p->kernel)));
		for (unsigned c = 0; c < AIF_RUNBOOK_CLASSES; c++)
			if (p->within & 1u << c) {
				aif_buf_printf(out, "%s\"%s\"", before,
					       aif_runbook_class_name((enum aif_runbook_class)c));
				before = ", ";
			}
		aif_buf_printf(out, "], \"time_us\": %.1f}", p->us);
	}
	aif_buf_putc(out, ']');
}

static void put_token(int64_t token, struct aif_buf *out)
{
	if (token >= 0)
		aif_buf_printf(out, "%" PRId64, token);
}

static void put_entry(const struct aif_runbook_entries *m, const struct aif_runbook_entry *e,
		      bool is_typed, struct aif_buf *out)
{
	const char *quote = is_typed ? "" : "\"", *name;
	size_t n;

	name = aif_runbook_kernel(m, e->kernel, &n);
	aif_buf_puts(out, "{\"mode\": ");
	aif_out_json_escaped_text(out, m->mode);
	aif_buf_puts(out, ", \"kernel\": ");
	aif_out_json_escaped(out, name, n);
	aif_buf_printf(out, ", \"op\": \"%s\", \"layer\": %s%" PRId64 "%s, \"time_us\": %s%.1f%s, ",
		       aif_runbook_class_name(aif_runbook_class_of(name, n)), quote, e->layer,
		       quote, quote, e->us, quote);
	aif_buf_printf(out, "\"token_id\": %s", quote);
	if (is_typed && e->token < 0)
		aif_buf_puts(out, "null");
	else
		put_token(e->token, out);
	aif_buf_printf(out, "%s}", quote);
}

static void put_entries(const struct aif_runbook_entries *modes, size_t len, bool is_typed,
			struct aif_buf *out)
{
	const char *before = "\n    ";

	aif_buf_puts(out, "\"entries\": [");
	for (size_t i = 0; i < len; i++)
		for (size_t k = 0; k < modes[i].len; k++) {
			aif_buf_puts(out, before);
			put_entry(&modes[i], &modes[i].at[k], is_typed, out);
			before = ",\n    ";
		}
	aif_buf_puts(out, "\n  ]");
}

/* Appends a member for each mode. */
static void each_mode(const char *key, const struct aif_runbook_entries *modes, size_t len,
		      void (*put)(const struct aif_runbook_entries *m, struct aif_buf *out),
		      struct aif_buf *out)
{
	aif_buf_printf(out, "\"%s\": {", key);
	for (size_t i = 0; i < len; i++) {
		aif_buf_puts(out, i ? ", " : "");
		aif_out_json_escaped_text(out, modes[i].mode);
		aif_buf_puts(out, ": ");
		put(&modes[i], out);
	}
	aif_buf_putc(out, '}');
}

static void put_tokens(const struct aif_runbook_entries *m, struct aif_buf *out)
{
	if (m->tokens)
		aif_buf_printf(out, "%zu", m->tokens);
	else
		aif_buf_puts(out, "null");
}

void aif_runbook_profile_summary(const struct aif_runbook_entries *modes, size_t len,
				 struct aif_buf *out)
{
	aif_buf_puts(out, "{\n  ");
	put_sums(modes, len, false, "\n  ", out);
	aif_buf_puts(out, ",\n  \"by_mode\": {");
	for (size_t i = 0; i < len; i++) {
		struct aif_buf ops = {0};
		double all = put_by_op(&modes[i], 1, false, -1, &ops);

		aif_buf_puts(out, i ? ", " : "");
		aif_out_json_escaped_text(out, modes[i].mode);
		aif_buf_printf(out, ": {\"total_us\": %.1f, \"by_op\": %s}", all,
			       aif_buf_str(&ops));
		aif_buf_finish(&ops);
	}
	aif_buf_puts(out, "},\n  ");
	put_entries(modes, len, false, out);
	aif_buf_puts(out, ",\n  \"aiflame\": {");
	each_mode("tokens", modes, len, put_tokens, out);
	/* The sums that v7's script has at its top level. */
	aif_buf_puts(out, ", \"first_token\": {");
	put_sums(modes, len, true, " ", out);
	aif_buf_puts(out, "}, ");
	each_mode("paths", modes, len, put_paths, out);
	aif_buf_puts(out, "}\n}\n");
}

void aif_runbook_profile_json(const struct aif_runbook_entries *modes, size_t len,
			      struct aif_buf *out)
{
	size_t entries = 0, tokens = 0;

	for (size_t i = 0; i < len; i++) {
		entries += modes[i].len;
		tokens = AIF_MAX(tokens, modes[i].tokens);
	}
	aif_buf_puts(out, "{\n  ");
	put_entries(modes, len, true, out);
	/* token_id: the last. */
	aif_buf_printf(out, ",\n  \"total_entries\": %zu,\n  \"token_id\": %zu\n}\n", entries,
		       tokens ? tokens - 1 : 0);
}

/* One field of CSV after RFC 4180. */
static void put_field(const char *text, size_t n, struct aif_buf *out)
{
	if (!memchr(text, ',', n) && !memchr(text, '"', n) && !memchr(text, '\n', n) &&
	    !memchr(text, '\r', n)) {
		aif_buf_append(out, text, n);
		return;
	}
	aif_buf_putc(out, '"');
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"')
			aif_buf_putc(out, '"');
		aif_buf_putc(out, text[i]);
	}
	aif_buf_putc(out, '"');
}

void aif_runbook_profile_csv(const struct aif_runbook_entries *modes, size_t len,
			     struct aif_buf *out)
{
	aif_buf_puts(out, "mode,kernel,op,layer,time_us,token_id\n");
	for (size_t i = 0; i < len; i++)
		for (size_t k = 0; k < modes[i].len; k++) {
			const struct aif_runbook_entry *e = &modes[i].at[k];
			size_t n;
			const char *name = aif_runbook_kernel(&modes[i], e->kernel, &n);

			put_field(modes[i].mode, strlen(modes[i].mode), out);
			aif_buf_putc(out, ',');
			put_field(name, n, out);
			aif_buf_printf(out, ",%s,%" PRId64 ",%.1f,",
				       aif_runbook_class_name(aif_runbook_class_of(name, n)),
				       e->layer, e->us);
			put_token(e->token, out);
			aif_buf_putc(out, '\n');
		}
}
