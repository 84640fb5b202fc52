/* SPDX-License-Identifier: Apache-2.0 */
/* Counters with the keys of perf_stat_summary.json; what is ours is under "aiflame". */
#include "stat/result.h"

#include "stat/topology.h"
#include "text/values.h"
#include "text/json.h"

#include <math.h>
#include <string.h>

#define LINE_BYTES 64

static void put_number(double value, struct aif_buf *out)
{
	if (!isfinite(value))
		aif_buf_puts(out, "null");
	else if (value == floor(value) && fabs(value) < 1e15)
		aif_buf_printf(out, "%.0f", value);
	else
		aif_buf_printf(out, "%.10g", value);
}

/* The value as it is stored: task-clock in ms, as perf prints it. */
static double stored(unsigned e, double value)
{
	return e == AIF_STAT_TASK_CLOCK ? value / 1e6 : value;
}

/* Begins a member of an object: its comma, line and key. */
static void key(const char **before, const char *name, struct aif_buf *out)
{
	aif_buf_puts(out, *before);
	aif_out_json_text(out, name);
	aif_buf_puts(out, ": ");
	*before = ", ";
}

static void put_counters(const struct aif_stat_result *r, struct aif_buf *out)
{
	const char *before = "";

	aif_buf_puts(out, "  \"counters\": {");
	for (unsigned e = 0; e < AIF_STAT_EVENTS; e++) {
		if (!r->values[e].n)
			continue;
		key(&before, aif_stat_event_name((enum aif_stat_event)e), out);
		put_number(stored(e, r->values[e].median), out);
	}
	aif_buf_puts(out, "},\n  \"derived\": {");
	before = "";
	for (unsigned d = 0; d < AIF_STAT_DERIVED_LEN; d++) {
		if (!r->derived[d].n)
			continue;
		key(&before, aif_stat_derived_key((enum aif_stat_derived)d), out);
		put_number(r->derived[d].median, out);
	}
	aif_buf_puts(out, "},\n");
}

static void put_rows(const struct aif_stat_result *r, struct aif_buf *out)
{
	const char *before = "";

	aif_buf_puts(out, "  \"notes\": {");
	if (r->cpus.n) {
		key(&before, "task-clock", out);
		aif_buf_printf(out, "\"%.3f CPUs utilized\"", r->cpus.median);
	}
	aif_buf_puts(out, "},\n  \"rows\": [");
	before = "\n    ";
	for (unsigned e = 0; e < AIF_STAT_EVENTS; e++) {
		if (!r->values[e].n)
			continue;
		aif_buf_printf(out, "%s{\"metric\": \"%s\", \"value\": ", before,
			       aif_stat_event_name((enum aif_stat_event)e));
		put_number(stored(e, r->values[e].median), out);
		aif_buf_puts(out, ", \"note\": ");
		if (e == AIF_STAT_TASK_CLOCK && r->cpus.n)
			aif_buf_printf(out, "\"%.3f CPUs utilized\"}", r->cpus.median);
		else
			aif_buf_puts(out, "\"\"}");
		before = ",\n    ";
	}
	aif_buf_puts(out, "\n  ],\n");
}

static void put_spread(const struct aif_spread *s, double scale, struct aif_buf *out)
{
	aif_buf_printf(out, "{\"n\": %zu, \"median\": ", s->n);
	put_number(s->median * scale, out);
	aif_buf_puts(out, ", \"min\": ");
	put_number(s->min * scale, out);
	aif_buf_puts(out, ", \"max\": ");
	put_number(s->max * scale, out);
	aif_buf_putc(out, '}');
}

static void put_usage(const struct aif_stat_result *r, struct aif_buf *out)
{
	static const char *const keys[] = {
		[AIF_STAT_ELAPSED] = "elapsed_seconds",
		[AIF_STAT_USER] = "user_seconds",
		[AIF_STAT_SYS] = "sys_seconds",
		[AIF_STAT_MAX_RSS] = "max_rss_bytes",
		[AIF_STAT_READ] = "read_bytes",
		[AIF_STAT_WRITTEN] = "written_bytes",
		[AIF_STAT_VOLUNTARY] = "voluntary_switches",
		[AIF_STAT_INVOLUNTARY] = "involuntary_switches",
	};
	const char *before = "";

	aif_buf_puts(out, ",\n    \"usage\": {");
	for (unsigned u = 0; u < AIF_STAT_USAGES; u++) {
		if (!r->usage[u].n)
			continue;
		key(&before, keys[u], out);
		put_spread(&r->usage[u], 1, out);
	}
	aif_buf_putc(out, '}');
}

static void put_unavailable(const struct aif_stat_result *r, struct aif_buf *out)
{
	const char *before = "\n      ";

	aif_buf_puts(out, ",\n    \"unavailable\": [");
	for (unsigned e = 0; e < AIF_STAT_EVENTS; e++) {
		if (r->values[e].n || !(r->events >> e & 1))
			continue;
		aif_buf_printf(out, "%s{\"event\": \"%s\", \"errno\": %d, \"reason\": ", before,
			       aif_stat_event_name((enum aif_stat_event)e), r->error[e]);
		aif_out_json_text(out, aif_stat_reason(r->error[e]));
		aif_buf_puts(out, ", \"fix\": ");
		aif_out_json_text(out, aif_stat_fix(r->error[e]));
		aif_buf_putc(out, '}');
		before = ",\n      ";
	}
	aif_buf_puts(out, "]");
}

/* Appends a share of all cycles, where both are counted. */
static void put_share(const struct aif_stat_result *r, const char *name, enum aif_stat_event of,
		      struct aif_buf *out)
{
	if (!r->values[of].n || !(r->values[AIF_STAT_CYCLES].median > 0))
		return;
	aif_buf_printf(out, ",\n    \"%s\": ", name);
	put_number(r->values[of].median / r->values[AIF_STAT_CYCLES].median, out);
}

/* Appends how fast memory was read and written, estimated: a cache line for each miss of the last cache. Prefetches, and what
 * devices and other programs move, are not in it. */
static void put_dram(const struct aif_stat_result *r, struct aif_buf *out)
{
	const struct aif_spread *loads = &r->values[AIF_STAT_LLC_LOAD_MISSES],
				*stores = &r->values[AIF_STAT_LLC_STORE_MISSES];
	double s = r->usage[AIF_STAT_ELAPSED].median, gb_s;

	if (!loads->n || !(s > 0))
		return;
	gb_s = LINE_BYTES * (loads->median + (stores->n ? stores->median : 0)) / s / 1e9;
	aif_buf_puts(out, ",\n    \"dram_gb_s\": ");
	put_number(gb_s, out);
	if (!r->roofs || !r->roofs->all[AIF_ROOF_DRAM].n)
		return;
	aif_buf_puts(out, ",\n    \"dram_share_of_roof\": ");
	put_number(gb_s * 1e9 / r->roofs->all[AIF_ROOF_DRAM].max, out);
}

static void put_ours(const struct aif_stat_result *r, struct aif_buf *out)
{
	const char *before = "";

	aif_buf_puts(out, "  \"aiflame\": {\n    \"command\": [");
	for (char *const *a = r->argv; a && *a; a++) {
		aif_buf_puts(out, a == r->argv ? "" : ", ");
		aif_out_json_escaped_text(out, *a);
	}
	aif_buf_puts(out, "],\n    \"runs\": {");
	for (unsigned e = 0; e < AIF_STAT_EVENTS; e++) {
		if (!r->values[e].n)
			continue;
		key(&before, aif_stat_event_name((enum aif_stat_event)e), out);
		put_spread(&r->values[e], stored(e, 1), out);
	}
	aif_buf_puts(out, "},\n    \"derived_runs\": {");
	before = "";
	for (unsigned d = 0; d < AIF_STAT_DERIVED_LEN; d++) {
		if (!r->derived[d].n)
			continue;
		key(&before, aif_stat_derived_key((enum aif_stat_derived)d), out);
		put_spread(&r->derived[d], 1, out);
	}
	aif_buf_puts(out, "},\n    \"percent_running\": {");
	before = "";
	for (unsigned e = 0; e < AIF_STAT_EVENTS; e++) {
		if (!r->values[e].n || isnan(r->running[e]))
			continue;
		key(&before, aif_stat_event_name((enum aif_stat_event)e), out);
		put_number(100 * r->running[e], out);
	}
	aif_buf_puts(out, "},\n    \"cpus_utilized\": ");
	put_spread(&r->cpus, 1, out);
	put_share(r, "frontend_stall_share", AIF_STAT_STALLED_FRONTEND, out);
	put_share(r, "backend_stall_share", AIF_STAT_STALLED_BACKEND, out);
	put_dram(r, out);
	put_usage(r, out);
	put_unavailable(r, out);
	if (r->device && *r->device)
		aif_buf_printf(out, ",\n    \"device\": %s", r->device);
	if (r->roofs) {
		aif_buf_puts(out, ",\n    \"roofs\": ");
		aif_roofs_json(r->roofs, out);
	}
	aif_buf_puts(out, "\n  }\n}\n");
}

void aif_stat_json(const struct aif_stat_result *r, const char *source, struct aif_buf *out)
{
	aif_buf_puts(out, "{\n  \"generated_at\": \"");
	aif_iso_time_now(out);
	aif_buf_puts(out, "\",\n  \"source\": ");
	aif_out_json_escaped_text(out, source);
	aif_buf_puts(out, ",\n");
	put_counters(r, out);
	aif_buf_puts(out, "  \"elapsed_seconds\": ");
	put_number(r->usage[AIF_STAT_ELAPSED].median, out);
	aif_buf_puts(out, ",\n");
	put_rows(r, out);
	aif_buf_puts(out, "  \"cpu_topology\": ");
	if (r->is_foreign)
		aif_buf_puts(out, "{}");
	else
		aif_stat_topology_json(out);
	aif_buf_puts(out, ",\n");
	put_ours(r, out);
}
