/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with most CPU time of their own; the files that name them. */
#include "runbook/runbook.h"

#include "names/cpu_functions.h"
#include "text/iso_time.h"
#include "text/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int aif_runbook_hotspots_find(const struct aif_names *names, const struct aif_selection *sel,
			      struct aif_runbook_hotspots *ret, struct aif_err *err)
{
	struct aif_cpu_functions f = {0};
	int e = aif_cpu_functions_find(names, sel, AIF_NAME_NORMAL, &f, err);

	*ret = (struct aif_runbook_hotspots){.seconds = (double)f.weight_ns / 1e9,
					     .samples = f.samples};
	ret->at = calloc(AIF_RUNBOOK_HOTSPOTS, sizeof(*ret->at));
	if (!ret->at)
		e = -ENOMEM;
	for (size_t i = 0; i < f.len && !e && ret->len < AIF_RUNBOOK_HOTSPOTS; i++) {
		if (!f.at[i].self_samples)
			continue;
		ret->at[ret->len] = (struct aif_runbook_hotspot){
			strdup(aif_cpu_function_name(&f, &f.at[i])), (double)f.at[i].self_ns / 1e9,
			f.at[i].self_samples};
		if (ret->at[ret->len++].symbol == NULL)
			e = -ENOMEM;
	}
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

static void put_text(const char *key, const char *value, struct aif_buf *out)
{
	aif_buf_printf(out, "\"%s\": ", key);
	if (value)
		aif_out_json_text(out, value);
	else
		aif_buf_puts(out, "null");
	aif_buf_puts(out, ", ");
}

static void put_time(struct aif_buf *out)
{
	aif_buf_puts(out, "\"generated_at\": \"");
	aif_iso_time_now(out);
	aif_buf_puts(out, "\", ");
}

static void put_flame(const struct aif_runbook_flame *m, struct aif_buf *out)
{
	const char *before = "";

	put_time(out);
	put_text("mode", m->mode, out);
	put_text("svg_path", m->svg, out);
	put_text("perf_data_path", m->data, out);
	put_text("folded_path", m->folded, out);
	aif_buf_puts(out, "\"top_symbols\": [");
	for (size_t i = 0; i < m->hotspots->len; i++) {
		aif_buf_puts(out, before);
		aif_buf_puts(out, "\n    {\"symbol\": ");
		aif_out_json_text(out, m->hotspots->at[i].symbol);
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
		aif_out_json_text(out, modes[i].mode);
	}
	aif_buf_puts(out, "],\n  \"by_mode\": {");
	for (size_t i = 0; i < len; i++) {
		aif_buf_puts(out, i ? ",\n  " : "\n  ");
		aif_out_json_text(out, modes[i].mode);
		aif_buf_puts(out, ": {");
		put_flame(&modes[i], out);
		aif_buf_putc(out, '}');
	}
	aif_buf_puts(out, "}\n}\n");
}

static void put_hotspots(const struct aif_runbook_hotspots *h, struct aif_buf *out)
{
	aif_buf_putc(out, '[');
	for (size_t i = 0; i < h->len; i++) {
		aif_buf_puts(out, i ? ",\n    " : "\n    ");
		aif_buf_puts(out, "{\"symbol\": ");
		aif_out_json_text(out, h->at[i].symbol);
		aif_buf_printf(out, ", \"value\": %.6f, \"percent\": %.4f}", h->at[i].seconds,
			       h->seconds > 0 ? 100 * h->at[i].seconds / h->seconds : 0);
	}
	aif_buf_putc(out, ']');
}

static void put_raw(const struct aif_runbook_hotspots *h, struct aif_buf *out)
{
	struct aif_buf text = {0};

	aif_buf_puts(&text, "Function\tCPU Time\n");
	for (size_t i = 0; i < h->len; i++)
		aif_buf_printf(&text, "%s\t%.6fs\n", h->at[i].symbol, h->at[i].seconds);
	aif_buf_puts(out, "\"raw_text\": ");
	aif_out_json_string(out, aif_buf_str(&text), text.len);
	aif_buf_finish(&text);
}

/* Appends the members that vtune_summary.json has for all and for each analysis. */
static void put_analysis(const struct aif_runbook_hotspots *h, struct aif_buf *out)
{
	aif_buf_puts(out, "\n  \"hotspots\": ");
	put_hotspots(h, out);
	aif_buf_puts(out, ",\n  \"top_hotspots\": ");
	put_hotspots(h, out);
	aif_buf_puts(out, ",\n  ");
	put_raw(h, out);
}

static void put_artifacts(const struct aif_runbook_flame *m, struct aif_buf *out)
{
	aif_buf_puts(out, "\"artifacts\": [{\"label\": \"profile\", \"path\": ");
	aif_out_json_text(out, m->data);
	aif_buf_puts(out, "}, {\"label\": \"flame graph\", \"path\": ");
	aif_out_json_text(out, m->svg);
	aif_buf_puts(out, "}]");
}

static void put_metrics(const struct aif_runbook_metric *m, size_t len, struct aif_buf *out)
{
	aif_buf_putc(out, '{');
	for (size_t i = 0; i < len; i++)
		aif_buf_printf(out, "%s\"%s\": %.4f", i ? ", " : "", m[i].name, m[i].value);
	aif_buf_putc(out, '}');
}

void aif_runbook_vtune(const struct aif_runbook_flame *m, const struct aif_runbook_metric *uarch,
		       size_t len, struct aif_buf *out)
{
	static const struct aif_runbook_hotspots none;

	aif_buf_puts(out, "{\n  ");
	put_time(out);
	aif_buf_puts(out, "\"analysis\": \"hotspots\", ");
	put_text("result_dir", m->data, out);
	put_text("report_path", NULL, out);
	put_text("csv_path", NULL, out);
	put_analysis(m->hotspots, out);
	aif_buf_puts(out, ",\n  \"analyses\": [{\"name\": \"hotspots\", ");
	put_text("result_dir", m->data, out);
	put_text("report_text", NULL, out);
	put_text("report_csv", NULL, out);
	put_analysis(m->hotspots, out);
	aif_buf_puts(out, ", \"summary_metrics\": {}}");
	if (len) {
		aif_buf_puts(out, ", {\"name\": \"uarch-exploration\", ");
		put_text("result_dir", m->data, out);
		put_text("report_text", NULL, out);
		put_text("report_csv", NULL, out);
		put_analysis(&none, out);
		aif_buf_puts(out, ", \"summary_metrics\": ");
		put_metrics(uarch, len, out);
		aif_buf_putc(out, '}');
	}
	aif_buf_puts(out, "],\n  \"analysis_metrics\": {\"hotspots\": {}");
	if (len) {
		aif_buf_puts(out, ", \"uarch-exploration\": ");
		put_metrics(uarch, len, out);
	}
	aif_buf_puts(out, "},\n  ");
	put_artifacts(m, out);
	aif_buf_puts(out, ",\n  \"aiflame\": {\"tool\": \"aiflame record\"}\n}\n");
}

void aif_runbook_advisor(const struct aif_runbook_flame *m, double elapsed_s, double cpu_s,
			 struct aif_buf *out)
{
	aif_buf_puts(out, "{\n  ");
	put_time(out);
	aif_buf_puts(out, "\"analysis\": \"roofline\", ");
	put_text("project_dir", m->data, out);
	put_text("project_path", m->data, out);
	put_text("report_path", NULL, out);
	put_text("csv_path", NULL, out);
	put_text("html_path", NULL, out);
	aif_buf_printf(out,
		       "\n  \"summary_metrics\": {\"elapsed_time_s\": %.6f, \"total_cpu_time_s\": "
		       "%.6f},\n  \"preview_rows\": [",
		       elapsed_s, cpu_s);
	for (size_t i = 0; i < m->hotspots->len; i++) {
		aif_buf_puts(out, i ? ",\n    " : "\n    ");
		aif_buf_puts(out, "{\"Function\": ");
		aif_out_json_text(out, m->hotspots->at[i].symbol);
		aif_buf_printf(out, ", \"Self Time\": \"%.6fs\"}", m->hotspots->at[i].seconds);
	}
	aif_buf_puts(out, "],\n  ");
	put_raw(m->hotspots, out);
	aif_buf_puts(out, ",\n  ");
	put_artifacts(m, out);
	aif_buf_puts(out, ",\n  \"aiflame\": {\"tool\": \"aiflame record\", \"unavailable\": "
			  "[\"roofs\", \"operations\", \"bytes\"]}\n}\n");
}
