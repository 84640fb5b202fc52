/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with most CPU time of their own, what their instructions did, and flamegraph_manifest.json. */
#include "runbook/runbook.h"

#include "names/cpu_functions.h"
#include "runbook/instructions.h"
#include "text/values.h"
#include "text/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Adds what the samples of a function of its own did. */
static void count_fp(const struct aif_cpu_functions *f, const struct aif_cpu_function *of,
		     const uint8_t *kinds, struct aif_runbook_hotspot *ret)
{
	for (size_t i = 0; i < f->leaves_len; i++) {
		const struct aif_cpu_leaf *leaf = &f->leaves[i];

		if (leaf->name != of->name || leaf->module != of->module ||
		    kinds[i] == AIF_RUNBOOK_NO_KINDS)
			continue;
		if (kinds[i] & AIF_INSN_BIT(AIF_INSN_PACKED_FP))
			ret->packed_samples += leaf->samples;
		if (kinds[i] &
		    (AIF_INSN_BIT(AIF_INSN_PACKED_FP) | AIF_INSN_BIT(AIF_INSN_SCALAR_FP)))
			ret->fp_samples += leaf->samples;
	}
}

static void count_kinds(const struct aif_cpu_functions *f, const uint8_t *kinds,
			struct aif_runbook_hotspots *ret)
{
	for (size_t i = 0; i < f->leaves_len; i++) {
		if (kinds[i] == AIF_RUNBOOK_NO_KINDS)
			continue;
		ret->known += f->leaves[i].samples;
		for (unsigned k = 0; k < AIF_INSN_KINDS; k++)
			if (kinds[i] & AIF_INSN_BIT(k))
				ret->of_kind[k] += f->leaves[i].samples;
	}
}

int aif_runbook_hotspots_find(const struct aif_names *names, const struct aif_selection *sel,
			      struct aif_runbook_hotspots *ret, struct aif_err *err)
{
	struct aif_cpu_functions f = {0};
	int e = aif_cpu_functions_find(names, sel, AIF_NAME_NORMAL, AIF_CPU_INNERMOST, &f, err);
	uint8_t *kinds = malloc(f.leaves_len + 1);

	*ret = (struct aif_runbook_hotspots){
		.seconds = (double)f.weight_ns / 1e9,
		.sampled = (double)(f.weight_ns - AIF_MIN(f.unsampled_ns, f.weight_ns)) / 1e9,
		.samples = f.samples,
		.threads = f.threads};
	ret->at = calloc(AIF_RUNBOOK_HOTSPOTS, sizeof(*ret->at));
	if (!e)
		e = ret->at && kinds ? aif_runbook_instructions_find(names->p, &f, kinds) : -ENOMEM;
	if (!e)
		count_kinds(&f, kinds, ret);
	for (size_t i = 0; i < f.len && !e && ret->len < AIF_RUNBOOK_HOTSPOTS; i++) {
		struct aif_runbook_hotspot *to = &ret->at[ret->len];

		if (!f.at[i].self_samples)
			continue;
		*to = (struct aif_runbook_hotspot){
			.symbol = strdup(aif_cpu_function_name(&f, &f.at[i])),
			.seconds = (double)f.at[i].self_ns / 1e9,
			.total_seconds = (double)f.at[i].total_ns / 1e9,
			.samples = f.at[i].self_samples};
		count_fp(&f, &f.at[i], kinds, to);
		ret->len++;
		if (!to->symbol)
			e = -ENOMEM;
	}
	free(kinds);
	aif_cpu_functions_finish(&f);
	return e && !err->code ? aif_err_set(err, e, "runbook: %s", strerror(-e)) : e;
}

void aif_runbook_hotspots_finish(struct aif_runbook_hotspots *h)
{
	for (size_t i = 0; i < h->len; i++)
		free(h->at[i].symbol);
	free(h->at);
	*h = (struct aif_runbook_hotspots){0};
}

void aif_runbook_put_text(const char *key, const char *value, struct aif_buf *out)
{
	aif_buf_printf(out, "\"%s\": ", key);
	if (value)
		aif_out_json_escaped_text(out, value);
	else
		aif_buf_puts(out, "null");
	aif_buf_puts(out, ", ");
}

void aif_runbook_put_time(struct aif_buf *out)
{
	aif_buf_puts(out, "\"generated_at\": \"");
	aif_iso_time_now(out);
	aif_buf_puts(out, "\", ");
}

static void put_flame(const struct aif_runbook_flame *m, struct aif_buf *out)
{
	const char *before = "";

	aif_runbook_put_time(out);
	aif_runbook_put_text("mode", m->mode, out);
	aif_runbook_put_text("svg_path", m->svg, out);
	aif_runbook_put_text("perf_data_path", m->data, out);
	aif_runbook_put_text("folded_path", m->folded, out);
	aif_buf_puts(out, "\"top_symbols\": [");
	for (size_t i = 0; i < m->hotspots->len; i++) {
		aif_buf_puts(out, before);
		aif_buf_puts(out, "\n    {\"symbol\": ");
		aif_out_json_escaped_text(out, m->hotspots->at[i].symbol);
		aif_buf_printf(out, ", \"samples\": %" PRIu64 "}", m->hotspots->at[i].samples);
		before = ",";
	}
	aif_buf_printf(out, "], \"aiflame\": {\"of\": \"%s\"}", m->is_device ? "device" : "cpu");
}

void aif_runbook_manifest(const struct aif_runbook_flame *modes, size_t len, struct aif_buf *out)
{
	size_t top = 0;

	for (size_t i = 0; i < len; i++)
		if (!strcmp(modes[i].mode, "decode"))
			top = i;
	aif_buf_puts(out, "{\n  ");
	put_flame(&modes[top], out);
	aif_buf_puts(out, ",\n  \"available_modes\": [");
	for (size_t i = 0; i < len; i++) {
		aif_buf_puts(out, i ? ", " : "");
		aif_out_json_escaped_text(out, modes[i].mode);
	}
	aif_buf_puts(out, "],\n  \"by_mode\": {");
	for (size_t i = 0; i < len; i++) {
		aif_buf_puts(out, i ? ",\n  " : "\n  ");
		aif_out_json_escaped_text(out, modes[i].mode);
		aif_buf_puts(out, ": {");
		put_flame(&modes[i], out);
		aif_buf_putc(out, '}');
	}
	aif_buf_puts(out, "}\n}\n");
}

void aif_runbook_put_raw(const struct aif_runbook_hotspots *h, const struct aif_buf *raw,
			 struct aif_buf *out)
{
	static const char cut[] = "\n...[truncated]...";
	struct aif_buf text = {0};

	if (raw) {
		size_t n = AIF_MIN(raw->len, (size_t)AIF_RUNBOOK_RAW_MAX);

		aif_buf_append(&text, raw->data, n);
		if (n < raw->len)
			aif_buf_puts(&text, cut);
	} else {
		aif_buf_puts(&text, "Function\tCPU Time\n");
	}
	for (size_t i = 0; !raw && h && i < h->len; i++)
		aif_buf_printf(&text, "%s\t%.6fs\n", h->at[i].symbol, h->at[i].seconds);
	aif_buf_puts(out, "\"raw_text\": ");
	aif_out_json_escaped(out, aif_buf_str(&text), text.len);
	aif_buf_finish(&text);
}

static void put_artifact(const char *label, const char *path, const char *before,
			 struct aif_buf *out)
{
	aif_buf_printf(out, "%s{\"label\": \"%s\", \"path\": ", before, label);
	aif_out_json_escaped_text(out, path);
	aif_buf_putc(out, '}');
}

void aif_runbook_put_artifacts(const struct aif_runbook_flame *m, const char *const (*others)[2],
			       size_t len, struct aif_buf *out)
{
	aif_buf_puts(out, "\"artifacts\": [");
	put_artifact("profile", m->data, "", out);
	put_artifact("flame graph", m->svg, ", ", out);
	for (size_t i = 0; i < len; i++)
		if (others[i][1])
			put_artifact(others[i][0], others[i][1], ", ", out);
	aif_buf_putc(out, ']');
}
