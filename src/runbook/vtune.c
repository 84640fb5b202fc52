/* SPDX-License-Identifier: Apache-2.0 */
/* vtune_summary.json: functions with most time, and where they are known, what became of a CPU's slots. */
#include "runbook/runbook.h"

#include "text/json.h"

#include <inttypes.h>

static void put_hotspots(const struct aif_runbook_hotspots *h, struct aif_buf *out)
{
	aif_buf_putc(out, '[');
	for (size_t i = 0; h && i < h->len; i++) {
		aif_buf_puts(out, i ? ",\n    " : "\n    ");
		aif_buf_puts(out, "{\"symbol\": ");
		aif_out_json_escaped_text(out, h->at[i].symbol);
		aif_buf_printf(out, ", \"value\": %.6f, \"percent\": %.4f}", h->at[i].seconds,
			       h->sampled > 0 ? 100 * h->at[i].seconds / h->sampled : 0);
	}
	aif_buf_putc(out, ']');
}

/* Appends the members that the file has for all and for each analysis. */
static void put_functions(const struct aif_runbook_analysis *a, struct aif_buf *out)
{
	aif_buf_puts(out, "\n  \"hotspots\": ");
	put_hotspots(a->hotspots, out);
	aif_buf_puts(out, ",\n  \"top_hotspots\": ");
	put_hotspots(a->hotspots, out);
	aif_buf_puts(out, ",\n  ");
	aif_runbook_put_raw(a->hotspots, a->raw, out);
}

static void put_metrics(const struct aif_runbook_analysis *a, struct aif_buf *out)
{
	aif_buf_putc(out, '{');
	for (size_t i = 0; i < a->metrics_len; i++)
		aif_buf_printf(out, "%s\"%s\": %.4f", i ? ", " : "", a->metrics[i].name,
			       a->metrics[i].value);
	aif_buf_putc(out, '}');
}

static void put_analysis(const struct aif_runbook_analysis *a, struct aif_buf *out)
{
	aif_buf_printf(out, "{\"name\": \"%s\", ", a->name);
	aif_runbook_put_text("result_dir", a->result, out);
	aif_runbook_put_text("report_text", a->report, out);
	aif_runbook_put_text("report_csv", a->csv, out);
	put_functions(a, out);
	aif_buf_puts(out, ", \"summary_metrics\": ");
	put_metrics(a, out);
	aif_buf_putc(out, '}');
}

/* Appends the shares of samples at instructions of each kind; nothing where no instruction is known. */
static void put_mix(const struct aif_runbook_hotspots *h, struct aif_buf *out)
{
	if (!h->known)
		return;
	aif_buf_printf(out, ", \"instruction_mix\": {\"samples\": %" PRIu64, h->known);
	for (unsigned k = 0; k < AIF_INSN_KINDS; k++)
		aif_buf_printf(out, ", \"%s\": %.4f", aif_insn_kind_key((enum aif_insn_kind)k),
			       (double)h->of_kind[k] / (double)h->known);
	aif_buf_putc(out, '}');
}

void aif_runbook_vtune(const struct aif_runbook_vtune *v, struct aif_buf *out)
{
	const struct aif_runbook_analysis *first = &v->analyses[0];
	const char *others[][2] = {{"report", first->report}, {"table", first->csv}};

	aif_buf_puts(out, "{\n  ");
	aif_runbook_put_time(out);
	aif_runbook_put_text("analysis", first->name, out);
	aif_runbook_put_text("result_dir", first->result, out);
	aif_runbook_put_text("report_path", first->report, out);
	aif_runbook_put_text("csv_path", first->csv, out);
	put_functions(first, out);
	aif_buf_puts(out, ",\n  \"analyses\": [");
	for (size_t i = 0; i < v->len; i++) {
		aif_buf_puts(out, i ? ", " : "");
		put_analysis(&v->analyses[i], out);
	}
	aif_buf_puts(out, "],\n  \"analysis_metrics\": {");
	for (size_t i = 0; i < v->len; i++) {
		aif_buf_printf(out, "%s\"%s\": ", i ? ", " : "", v->analyses[i].name);
		put_metrics(&v->analyses[i], out);
	}
	aif_buf_puts(out, "},\n  ");
	aif_runbook_put_artifacts(v->mode, (const char *const(*)[2])others, AIF_ARRAY_LEN(others),
				  out);
	aif_buf_printf(out, ",\n  \"aiflame\": {\"tool\": \"%s\"", v->tool);
	if (v->skipped) {
		aif_buf_puts(out, ", \"skipped\": {\"vtune\": ");
		aif_out_json_escaped_text(out, v->skipped);
		aif_buf_putc(out, '}');
	}
	put_mix(v->mode->hotspots, out);
	aif_buf_puts(out, "}\n}\n");
}
