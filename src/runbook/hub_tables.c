/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of hub.html, of what the directory's files say. They may be somebody else's. */
#include "runbook/hub.h"

#include "runbook/run_dir.h"
#include "text/json_value.h"
#include "text/svg_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LEDGER  (4u << 20)
#define MOST_PICTURE (1u << 20)
enum { MOST_COLUMNS = 200, HOTSPOTS_SHOWN = 10, LEDGER_SHOWN = 20, BAR_PX = 240 };

static void put_html(const char *text, size_t n, struct aif_buf *out)
{
	aif_svg_text(out, text, n, MOST_COLUMNS);
}

static void put_base64(const uint8_t *bytes, size_t n, struct aif_buf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)bytes[i] << 16;

		v |= i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0;
		v |= i + 2 < n ? bytes[i + 2] : 0;
		aif_buf_putc(out, digits[v >> 18]);
		aif_buf_putc(out, digits[v >> 12 & 63]);
		aif_buf_putc(out, i + 1 < n ? digits[v >> 6 & 63] : '=');
		aif_buf_putc(out, i + 2 < n ? digits[v & 63] : '=');
	}
}

/* Reads a number of a file, NAN: there is none. */
static double number(const char *dir, const char *file, const char *way)
{
	struct aif_buf path = {0};
	struct aif_err none = {0};
	double ret;

	aif_buf_printf(&path, "%s/%s", dir, file);
	if (aif_json_value(aif_buf_str(&path), way, &ret, &none) < 0)
		ret = NAN;
	aif_buf_finish(&path);
	return ret;
}

/* Appends a text of a file. False: there is none. */
static bool text(const char *dir, const char *file, const char *way, struct aif_buf *out)
{
	struct aif_buf path = {0};
	struct aif_err none = {0};
	bool is_number, ok;

	aif_buf_printf(&path, "%s/%s", dir, file);
	ok = aif_json_scalar(aif_buf_str(&path), way, out, &is_number, &none) == 0;
	aif_buf_finish(&path);
	return ok;
}

static void put_hotspots(const char *dir, struct aif_buf *out)
{
	struct aif_buf symbol = {0};
	char way[64];
	size_t n;

	aif_buf_puts(out,
		     "<h2>Functions</h2>\n<table><tr><th>function<th>seconds<th>percent</tr>\n");
	for (n = 0; n < HOTSPOTS_SHOWN; n++) {
		aif_buf_clear(&symbol);
		snprintf(way, sizeof(way), ".hotspots[%zu].symbol", n);
		if (!text(dir, "vtune_summary.json", way, &symbol))
			break;
		aif_buf_puts(out, "<tr><td>");
		put_html(aif_buf_str(&symbol), symbol.len, out);
		snprintf(way, sizeof(way), ".hotspots[%zu].value", n);
		aif_buf_printf(out, "<td class=\"n\">%.3f", number(dir, "vtune_summary.json", way));
		snprintf(way, sizeof(way), ".hotspots[%zu].percent", n);
		aif_buf_printf(out, "<td class=\"n\">%.1f</tr>\n",
			       number(dir, "vtune_summary.json", way));
	}
	aif_buf_puts(out, n ? "</table>\n" : "</table>\n<p>n/a: no samples of functions.</p>\n");
	aif_buf_finish(&symbol);
}

/* Appends a row with a bar, `value` of `all`. */
static void put_bar(const char *name, double value, double all, const char *format,
		    struct aif_buf *out)
{
	double share = all > 0 && value > 0 ? AIF_MIN(value / all, 1.0) : 0;
	char shown[48];

	snprintf(shown, sizeof(shown), "%.4g", value);
	aif_buf_printf(out,
		       "<tr><td>%s<td class=\"n\">%s%s<td><span class=\"bar\" "
		       "style=\"width:%.0fpx\"></span></tr>\n",
		       name, shown, format, share * BAR_PX);
}

/* Appends bars of the members that a file has, `scale` times their values; `none` where it has none of them. */
static void put_bars(const char *dir, const char *file, const char *title, const char *object,
		     const char *const (*members)[2], size_t len, double all, double scale,
		     const char *unit, const char *none, struct aif_buf *out)
{
	bool any = false;

	aif_buf_printf(out, "<h2>%s</h2>\n", title);
	for (size_t i = 0; i < len; i++) {
		char way[128];
		double value;

		snprintf(way, sizeof(way), "%s.%s", object, members[i][0]);
		value = number(dir, file, way);
		if (isnan(value))
			continue;
		aif_buf_puts(out, any ? "" : "<table>\n");
		any = true;
		put_bar(members[i][1], scale * value, all, unit, out);
	}
	if (any)
		aif_buf_puts(out, "</table>\n");
	else
		aif_buf_printf(out, "<p>n/a: %s.</p>\n", none);
}

static void put_slots(const char *dir, struct aif_buf *out)
{
	static const char *const slots[][2] = {{"Retiring", "retiring"},
					       {"Bad Speculation", "bad speculation"},
					       {"Frontend Bound", "frontend bound"},
					       {"Backend Bound", "backend bound"},
					       {"Memory Bound", "of these memory bound"},
					       {"Core Bound", "of these core bound"}};
	static const char *const memory[][2] = {{"L1 Bound", "L1 bound"},
						{"L2 Bound", "L2 bound"},
						{"L3 Bound", "L3 bound"},
						{"DRAM Bound", "DRAM bound"},
						{"Store Bound", "store bound"}};
	static const char *const kinds[][2] = {{"packed_fp", "packed floating point"},
					       {"scalar_fp", "scalar floating point"},
					       {"load", "loads"},
					       {"store", "stores"},
					       {"branch", "branches"}};

	put_bars(dir, "vtune_summary.json", "Slots of the CPU",
		 ".analysis_metrics.uarch-exploration", slots, AIF_ARRAY_LEN(slots), 100, 1, " %",
		 "neither the CPU's topdown counters nor VTune", out);
	put_bars(dir, "vtune_summary.json", "Memory", ".analysis_metrics.memory-access", memory,
		 AIF_ARRAY_LEN(memory), 100, 1, " %", "VTune's memory-access was not run", out);
	put_bars(dir, "vtune_summary.json", "Instructions of the samples",
		 ".aiflame.instruction_mix", kinds, AIF_ARRAY_LEN(kinds), 100, 100, " %",
		 "the recording has no code that was sampled", out);
}

static void put_roofs(const char *dir, struct aif_buf *out)
{
	static const char *const flops[][2] = {{"sp_fma_peak_gflops", "multiply-adds, 32 bits"},
					       {"dp_fma_peak_gflops", "multiply-adds, 64 bits"}};
	static const char *const bytes[][2] = {{"l1_bw_gb_s", "L1"},
					       {"l2_bw_gb_s", "L2"},
					       {"l3_bw_gb_s", "L3"},
					       {"dram_bw_gb_s", "memory"}};
	static const char none[] = "not measured: run with --deep";

	put_bars(dir, "advisor_summary.json", "Roofs: arithmetic", ".summary_metrics", flops,
		 AIF_ARRAY_LEN(flops),
		 number(dir, "advisor_summary.json", ".summary_metrics.sp_fma_peak_gflops"), 1,
		 " GFLOP/s", none, out);
	put_bars(dir, "advisor_summary.json", "Roofs: bytes", ".summary_metrics", bytes,
		 AIF_ARRAY_LEN(bytes),
		 number(dir, "advisor_summary.json", ".summary_metrics.l1_bw_gb_s"), 1, " GB/s",
		 none, out);
}

/* Appends a row of the roofline's table. False: there is no such function. */
static bool put_point(const char *dir, size_t n, struct aif_buf *out)
{
	static const char *const members[] = {
		"self_time_s",      "gflop",  "memory_gb",  "intensity",
		"access_intensity", "gflops", "memory_gb_s"};
	static const char file[] = "advisor_summary.json";
	struct aif_buf name = {0}, bound = {0};
	char way[96];
	bool any;

	snprintf(way, sizeof(way), ".aiflame.roofline.points[%zu].routine", n);
	any = text(dir, file, way, &name);
	if (any) {
		aif_buf_puts(out, "<tr><td>");
		put_html(aif_buf_str(&name), name.len, out);
	}
	for (size_t i = 0; any && i < AIF_ARRAY_LEN(members); i++) {
		double value;

		snprintf(way, sizeof(way), ".aiflame.roofline.points[%zu].%s", n, members[i]);
		value = number(dir, file, way);
		if (isnan(value))
			aif_buf_puts(out, "<td class=\"n\">n/a");
		else
			aif_buf_printf(out, "<td class=\"n\">%.3g", value);
	}
	if (any) {
		snprintf(way, sizeof(way), ".aiflame.roofline.points[%zu].bound", n);
		if (!text(dir, file, way, &bound))
			aif_buf_puts(&bound, "n/a");
		aif_buf_puts(out, "<td>");
		put_html(aif_buf_str(&bound), bound.len, out);
		aif_buf_puts(out, "</tr>\n");
	}
	aif_buf_finish(&name);
	aif_buf_finish(&bound);
	return any;
}

static void put_roofline(const char *dir, struct aif_buf *out)
{
	struct aif_buf picture = {0};
	struct aif_err none = {0};
	size_t n = 0;

	aif_buf_puts(out, "<h2>Roofline</h2>\n");
	if (aif_runbook_dir_read(dir, "roofline.svg", MOST_PICTURE, &picture, &none) < 0 ||
	    !picture.len) {
		aif_buf_puts(out, "<p>n/a: not counted: run with --roofline.</p>\n");
	} else {
		/* A picture of its own: whatever it has, it runs nothing. */
		aif_buf_puts(out, "<p><img alt=\"Roofline\" src=\"data:image/svg+xml;base64,");
		put_base64(picture.data, picture.len, out);
		aif_buf_puts(out, "\"></p>\n<table><tr><th>function<th>seconds<th>GFLOP<th>GB "
				  "from and to memory<th>FLOP/byte<th>FLOP/byte of loads and "
				  "stores<th>GFLOP/s<th>GB/s<th>below the roof of</tr>\n");
		while (n < HOTSPOTS_SHOWN && put_point(dir, n, out))
			n++;
		aif_buf_puts(out, "</table>\n");
	}
	aif_buf_finish(&picture);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

static double number_in(const char *line, size_t n, const char *way)
{
	struct aif_buf value = {0};
	double ret = NAN;

	if (aif_json_text_scalar(line, n, way, &value))
		ret = strtod(aif_buf_str(&value), NULL);
	aif_buf_finish(&value);
	return ret;
}

static void put_cell(const char *line, size_t n, const char *way, size_t most, struct aif_buf *out)
{
	struct aif_buf value = {0};

	aif_buf_puts(out, "<td>");
	if (aif_json_text_scalar(line, n, way, &value))
		put_html(aif_buf_str(&value), AIF_MIN(value.len, most), out);
	aif_buf_finish(&value);
}

static void put_line(const char *line, size_t n, const char *way, double most, struct aif_buf *out)
{
	double speed = number_in(line, n, way);

	aif_buf_puts(out, "<tr>");
	put_cell(line, n, ".at", 19, out);
	put_cell(line, n, ".git.commit", 10, out);
	put_cell(line, n, ".note", MOST_COLUMNS, out);
	put_cell(line, n, ".baseline", MOST_COLUMNS, out);
	put_cell(line, n, ".verdict", MOST_COLUMNS, out);
	aif_buf_puts(out, "<td class=\"n\">");
	if (isnan(speed))
		aif_buf_puts(out, "n/a<td>");
	else
		aif_buf_printf(out, "%.4g<td><span class=\"bar\" style=\"width:%.0fpx\"></span>",
			       speed, most > 0 ? BAR_PX * AIF_MIN(speed / most, 1.0) : 0);
	aif_buf_puts(out, "</tr>\n");
}

/* Returns where the last lines of a text begin. */
static const char *last_lines(const char *all, size_t len)
{
	const char *at = all + len;
	size_t lines = 0;

	while (at > all && (at[-1] != '\n' || lines++ < LEDGER_SHOWN + (all[len - 1] == '\n') - 1))
		at--;
	return at;
}

/* Returns the greatest of a number of each line, NAN where none has it. */
static double most_of(const char *lines, const char *way)
{
	double most = NAN;

	for (const char *at = lines; *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] != 0))
		most = fmax(most, number_in(at, strcspn(at, "\n"), way));
	return most;
}

static void put_ledger(const char *dir, struct aif_buf *out)
{
	struct aif_buf all = {0};
	struct aif_err none = {0};
	const char *from, *way = ".metrics.decode_tok_s";
	double most;

	if (aif_runbook_dir_read(dir, "ledger.jsonl", MOST_LEDGER, &all, &none) < 0 || !all.len) {
		aif_buf_finish(&all);
		return;
	}
	from = last_lines(aif_buf_str(&all), all.len);
	most = most_of(from, way);
	if (isnan(most)) {
		way = ".metrics.train_steps_s";
		most = most_of(from, way);
	}
	aif_buf_printf(out,
		       "<h2>Ledger</h2>\n<table><tr><th>at<th>commit<th>note<th>baseline"
		       "<th>verdict<th>%s<th></tr>\n",
		       isnan(most) ? "decode_tok_s" : way + strlen(".metrics."));
	for (const char *at = from; *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] != 0))
		put_line(at, strcspn(at, "\n"), way, most, out);
	aif_buf_puts(out, "</table>\n");
	aif_buf_finish(&all);
}

void aif_runbook_hub_tables(const char *dir, struct aif_buf *out)
{
	put_hotspots(dir, out);
	put_slots(dir, out);
	put_roofs(dir, out);
	put_roofline(dir, out);
	put_ledger(dir, out);
}
