/* SPDX-License-Identifier: Apache-2.0 */
/* advisor_summary.json: what the machine can do, and which functions use packed arithmetic. */
#include "runbook/runbook.h"

#include "text/json.h"

#include <inttypes.h>

/* Names and keys as of Advisor's roofs and v7's summary. */
static const struct {
	enum aif_roof roof;
	const char *name, *key;
	bool is_compute;
} roof_names[] = {
	{AIF_ROOF_FMA_SP, "SP Vector FMA Peak", "sp_fma_peak_gflops", true},
	{AIF_ROOF_FMA_DP, "DP Vector FMA Peak", "dp_fma_peak_gflops", true},
	{AIF_ROOF_L1, "L1 Bandwidth", "l1_bw_gb_s", false},
	{AIF_ROOF_L2, "L2 Bandwidth", "l2_bw_gb_s", false},
	{AIF_ROOF_L3, "L3 Bandwidth", "l3_bw_gb_s", false},
	{AIF_ROOF_DRAM, "DRAM Bandwidth", "dram_bw_gb_s", false},
};

static void put_summary(const struct aif_runbook_advisor *v, struct aif_buf *out)
{
	aif_buf_printf(out,
		       "\n  \"summary_metrics\": {\"elapsed_time_s\": %.6f, \"total_cpu_time_s\": "
		       "%.6f",
		       v->elapsed_s, v->mode->hotspots->seconds);
	aif_buf_printf(out, ", \"cpu_threads\": %" PRIu64, v->mode->hotspots->threads);
	for (size_t i = 0; v->roofs && i < AIF_ARRAY_LEN(roof_names); i++)
		if (v->roofs->all[roof_names[i].roof].n)
			aif_buf_printf(out, ", \"%s\": %.3f", roof_names[i].key,
				       v->roofs->all[roof_names[i].roof].max / 1e9);
	if (v->roofs) {
		aif_buf_puts(out, ", \"isa_used\": ");
		aif_out_json_escaped_text(out, v->roofs->isa);
	}
	aif_buf_putc(out, '}');
}

static void put_roofs(const struct aif_roofs *r, const struct aif_runbook_roofline *counted,
		      struct aif_buf *out)
{
	const char *before = "";

	aif_buf_puts(out, ",\n  \"advisum_metrics\": {\"roof_items\": [");
	for (size_t i = 0; i < 2 * AIF_ARRAY_LEN(roof_names); i++) {
		const struct aif_spread *s =
			i % 2 ? &r->all[roof_names[i / 2].roof] : &r->one[roof_names[i / 2].roof];

		if (!s->n)
			continue;
		aif_buf_printf(out,
			       "%s\n    {\"name\": \"%s\", \"bandwidth_gops\": %.3f, \"kind\": "
			       "\"%s\", \"threading\": \"%s\"}",
			       before, roof_names[i / 2].name, s->max / 1e9,
			       roof_names[i / 2].is_compute ? "compute" : "memory",
			       i % 2 ? "multi" : "single");
		before = ",";
	}
	aif_buf_printf(out,
		       "], \"global_metrics\": {\"ISAUsed\": \"%s\", \"CPUThreads\": %u}, "
		       "\"memory_traffic_gb\": {",
		       r->isa, r->threads);
	if (counted)
		aif_buf_printf(out, "\"DRAM\": %.6f",
			       (double)(counted->totals.fetched + counted->totals.written) *
				       (double)counted->totals.line_bytes / 1e9);
	aif_buf_puts(out, "}}");
}

/* Appends functions with samples at floating point: vectorized is one where at least half of these are at packed
 * instructions. */
static void put_vectorized(const struct aif_runbook_hotspots *h, struct aif_buf *out)
{
	const char *before = "";

	aif_buf_puts(out, ",\n  \"vectorization_hotspots\": [");
	for (size_t i = 0; i < h->len; i++) {
		const struct aif_runbook_hotspot *s = &h->at[i];

		if (!s->fp_samples)
			continue;
		aif_buf_printf(out, "%s\n    {\"routine\": ", before);
		aif_out_json_escaped_text(out, s->symbol);
		aif_buf_printf(out,
			       ", \"is_vectorized\": %s, \"self_time_s\": %.6f, \"total_time_s\": "
			       "%.6f}",
			       2 * s->packed_samples >= s->fp_samples ? "true" : "false",
			       s->seconds, s->total_seconds);
		before = ",";
	}
	aif_buf_putc(out, ']');
}

static void put_rows(const struct aif_runbook_advisor *v, struct aif_buf *out)
{
	const struct aif_runbook_hotspots *h = v->mode->hotspots;

	aif_buf_puts(out, ",\n  \"preview_rows\": ");
	if (v->rows) {
		aif_buf_append(out, v->rows->data, v->rows->len);
		return;
	}
	aif_buf_putc(out, '[');
	for (size_t i = 0; i < h->len; i++) {
		aif_buf_puts(out, i ? ",\n    " : "\n    ");
		aif_buf_puts(out, "{\"Function\": ");
		aif_out_json_escaped_text(out, h->at[i].symbol);
		aif_buf_printf(out, ", \"Self Time\": \"%.6fs\"}", h->at[i].seconds);
	}
	aif_buf_putc(out, ']');
}

void aif_runbook_advisor(const struct aif_runbook_advisor *v, struct aif_buf *out)
{
	const char *project = v->project ? v->project : v->mode->data;
	const char *others[][2] = {{"report", v->report}, {"table", v->csv}};

	aif_buf_puts(out, "{\n  ");
	aif_runbook_put_time(out);
	aif_buf_puts(out, "\"analysis\": \"roofline\", ");
	aif_runbook_put_text("project_dir", project, out);
	aif_runbook_put_text("project_path", project, out);
	aif_runbook_put_text("report_path", v->report, out);
	aif_runbook_put_text("csv_path", v->csv, out);
	aif_runbook_put_text("html_path", NULL, out);
	put_summary(v, out);
	if (v->roofs)
		put_roofs(v->roofs, v->roofline, out);
	put_vectorized(v->mode->hotspots, out);
	put_rows(v, out);
	aif_buf_puts(out, ",\n  ");
	aif_runbook_put_raw(v->mode->hotspots, v->raw, out);
	aif_buf_puts(out, ",\n  ");
	aif_runbook_put_artifacts(v->mode, (const char *const(*)[2])others, AIF_ARRAY_LEN(others),
				  out);
	aif_buf_printf(out, ",\n  \"aiflame\": {\"tool\": \"%s\", \"unavailable\": [%s%s]",
		       v->project ? "advisor" : "aiflame record", v->roofs ? "" : "\"roofs\", ",
		       v->roofline ? "" : "\"operations\", \"bytes\"");
	if (v->skipped || v->not_counted) {
		const char *before = "";

		aif_buf_puts(out, ", \"skipped\": {");
		if (v->skipped) {
			aif_buf_puts(out, "\"advisor\": ");
			aif_out_json_escaped_text(out, v->skipped);
			before = ", ";
		}
		if (v->not_counted) {
			aif_buf_printf(out, "%s\"callgrind\": ", before);
			aif_out_json_escaped_text(out, v->not_counted);
		}
		aif_buf_putc(out, '}');
	}
	if (v->roofline && v->roofs) {
		aif_buf_puts(out, ",\n  \"roofline\": ");
		aif_runbook_roofline_json(v->roofline, v->roofs, out);
	}
	aif_buf_puts(out, "}\n}\n");
}
