/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what devices did in a run: "aiflame": {"device": {}} of perf_stat_summary.json. */
#include "runbook/runbook.h"

#include "analysis/power/power.h"
#include "names/stall_rules.h"
#include "query/query.h"
#include "text/json.h"

#include <errno.h>
#include <string.h>

/* Energy of a part of which less was read is not known; nor is that of a mode whose ranges fill less of the time from the first
 * to the last one: it was spent on other modes, too. */
#define COVERED_LEAST 0.9

static void put_busy(const struct aif_conservation *c, struct aif_buf *out)
{
	uint64_t of = c->busy_ns + c->idle_ns;

	aif_buf_printf(out, "\"busy\": %.4f, \"busy_seconds\": %.6f, ",
		       of ? (double)c->busy_ns / (double)of : 0, (double)c->busy_ns / 1e9);
	aif_buf_printf(out, "\"kernel_seconds\": %.6f, \"copy_seconds\": %.6f",
		       (double)c->busy_kernel_ns / 1e9, (double)c->busy_copy_ns / 1e9);
}

/* Appends what samples of device code waited for, by class; nothing where samples have no reasons. */
static int put_stalls(const struct aif_names *names, struct aif_buf *out, struct aif_err *err)
{
	static const char sql[] = "SELECT reason, sum(count) FROM samples WHERE reason IS NOT NULL "
				  "AND reason != '' GROUP BY reason";
	double of[AIF_STALL_CLASS_COUNT] = {0}, all = 0;
	const char *before = ", \"stalls\": {";
	struct aif_query *q = NULL;
	sqlite3_stmt *st = NULL;
	int r, e = aif_query_new(names, &q, err);

	if (e)
		return e;
	r = sqlite3_prepare_v2(aif_query_db(q), sql, -1, &st, NULL);
	while ((r == SQLITE_OK || r == SQLITE_ROW) && (r = sqlite3_step(st)) == SQLITE_ROW) {
		const char *reason = (const char *)sqlite3_column_text(st, 0);
		double count = sqlite3_column_double(st, 1);

		of[aif_stall_find(reason, strlen(reason))->of] += count;
		all += count;
	}
	if (r != SQLITE_DONE)
		e = aif_err_set(err, -EIO, "runbook: %s", sqlite3_errmsg(aif_query_db(q)));
	for (unsigned i = 0; i < AIF_STALL_CLASS_COUNT && all > 0; i++) {
		aif_buf_printf(out, "%s\"%s\": %.4f", before,
			       aif_stall_class_name((enum aif_stall_class)i), of[i] / all);
		before = ", ";
	}
	aif_buf_puts(out, all > 0 ? "}" : "");
	sqlite3_finalize(st);
	aif_query_free(q);
	return e;
}

/* Measures the energy of all devices in a part of the run. False: less than most of it was read. */
static bool energy_of(const struct aif_profile *p, int64_t from, int64_t to, double *ret_j)
{
	struct aif_power w = {0};
	uint64_t ns = 0;
	bool ok = to > from && aif_power_measure(p, NULL, from, to, &w) == 0 &&
		  aif_power_energy(&w, ret_j, &ns) && w.len &&
		  (double)ns >= COVERED_LEAST * (double)(to - from) * (double)w.len;

	aif_power_finish(&w);
	return ok;
}

static void put_energy(const struct aif_profile *p, const struct aif_runbook_entries *modes,
		       size_t len, const struct aif_conservation *c, struct aif_buf *out)
{
	const char *before = ", \"joules_per_token\": {";
	bool any = false;
	double j;

	if (energy_of(p, (int64_t)c->first_start_ns, (int64_t)c->last_end_ns, &j))
		aif_buf_printf(out, ", \"joules\": %.3f", j);
	for (size_t i = 0; i < len; i++) {
		int64_t ns = modes[i].to_ns - modes[i].from_ns;

		if (!modes[i].tokens || (double)modes[i].ranges_ns < COVERED_LEAST * (double)ns ||
		    !energy_of(p, modes[i].from_ns, modes[i].to_ns, &j))
			continue;
		aif_buf_puts(out, before);
		aif_out_json_escaped_text(out, modes[i].mode);
		aif_buf_printf(out, ": %.6g", j / (double)modes[i].tokens);
		before = ", ";
		any = true;
	}
	aif_buf_puts(out, any ? "}" : "");
}

int aif_runbook_device(const struct aif_names *names, const struct aif_runbook_entries *modes,
		       size_t len, struct aif_buf *out, struct aif_err *err)
{
	struct aif_attribution a = {0};
	int e = aif_attribution_compute(names->p, NULL, &a, err);

	if (!e && a.conservation.busy_ns) {
		aif_buf_putc(out, '{');
		put_busy(&a.conservation, out);
		e = put_stalls(names, out, err);
		put_energy(names->p, modes, len, &a.conservation, out);
		aif_buf_putc(out, '}');
	}
	aif_attribution_finish(&a);
	if (!e && aif_buf_failed(out))
		e = aif_err_set(err, -ENOMEM, "runbook: out of memory");
	return e;
}
