/* SPDX-License-Identifier: Apache-2.0 */
#include "page/tables.h"

#include "profile/file.h"
#include "report/annotate_json.h"
#include "report/report_table.h"
#include "text/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const struct aif_report_table *table;
	const char *name, *title;
} tables[] = {
	{&aif_report_table_kernels, "kernels", "Kernels"},
	{&aif_report_table_cpu, "cpu", "Functions on CPUs"},
	{&aif_report_table_stacks, "stacks", "Launch stacks"},
	{&aif_report_table_idle, "idle", "Idle time"},
	{&aif_report_table_sync, "sync", "Calls"},
	{&aif_report_table_breakdown, "breakdown", "Devices"},
	{&aif_report_table_steps, "steps", "Steps"},
	{&aif_report_table_ranges, "ranges", "Ranges"},
	{&aif_report_table_ops, "ops", "Operators"},
	{&aif_report_table_copies, "copies", "Copies"},
	{&aif_report_table_memory, "memory", "Memory"},
	{&aif_report_table_comm, "comm", "Communication"},
	{&aif_report_table_ranks, "ranks", "Ranks"},
	{&aif_report_table_streams, "streams", "Queues"},
	{&aif_report_table_threads, "threads", "Threads"},
	{&aif_report_table_processes, "processes", "Processes"},
	{&aif_report_table_stalls, "stalls", "Stalls"},
	{&aif_report_table_counters, "counters", "Counters"},
};

static int table_write(const struct aif_names *names, const struct aif_attribution *a, size_t i,
		       struct aif_page_columns *columns, struct aif_buf *json, struct aif_err *err)
{
	char column[32];
	struct aif_report_opts o = {.table = tables[i].table,
				    .format = AIF_TABLE_JSON,
				    .detail = AIF_NAME_NORMAL,
				    .limit = AIF_PAGE_ROWS_MAX + 1};
	struct aif_err why = {0};
	struct aif_buf rows = {0}, types = {0};
	int r;

	o.types = &types;
	r = aif_report_write(names, a, &o, &rows, &why);
	if (r == -ENOMEM || aif_buf_failed(&rows) || aif_buf_failed(&types)) {
		aif_buf_finish(&rows);
		aif_buf_finish(&types);
		return aif_err_set(err, -ENOMEM, "view: out of memory");
	}
	aif_out_json_text(json, tables[i].name);
	aif_buf_puts(json, ":{\"title\":");
	aif_out_json_text(json, tables[i].title);
	aif_buf_puts(json, ",\"help\":");
	aif_out_json_text(json, tables[i].table->rows ? tables[i].table->rows : "");
	if (r < 0) {
		aif_buf_puts(json, ",\"none\":");
		aif_out_json_text(json, why.text);
	} else {
		aif_buf_puts(json, ",\"types\":");
		aif_buf_append(json, types.data, types.len);
		snprintf(column, sizeof(column), "rows_%s", tables[i].name);
		aif_page_u8(columns, column, rows.data, rows.len);
	}
	aif_buf_putc(json, '}');
	aif_buf_finish(&rows);
	aif_buf_finish(&types);
	return 0;
}

int aif_page_tables_write(const struct aif_names *names, const struct aif_attribution *a,
			  struct aif_page_columns *columns, struct aif_buf *json,
			  struct aif_err *err)
{
	const struct aif_op_rows *operators = NULL;
	int r = 0;

	/* Holds the operators, which four of the tables have in common. */
	if (aif_profile_rows(names->p, AIF_CHUNK_OPS))
		r = aif_op_rows_get(names->p, NULL, &operators);
	if (r < 0)
		return aif_err_set(err, r, "view: %s", strerror(-r));
	aif_buf_printf(json, "\"rows_max\":%d,\"tables\":{", AIF_PAGE_ROWS_MAX);
	for (size_t i = 0; r == 0 && i < AIF_ARRAY_LEN(tables); i++) {
		if (i)
			aif_buf_putc(json, ',');
		r = table_write(names, a, i, columns, json, err);
	}
	aif_buf_putc(json, '}');
	aif_facts_put(operators);
	return r;
}

/* ---- listings ------------------------------------------------------------------------------------ */

int aif_page_listings_write(const struct aif_names *names, const struct aif_attribution *a,
			    const struct aif_annotate_opts *o, struct aif_page_columns *columns,
			    struct aif_buf *json, struct aif_err *err)
{
	struct aif_strset used = {0};
	struct aif_buf code = {0};
	int r;

	aif_buf_puts(json, "\"code_of\":[");
	aif_buf_putc(&code, '[');
	r = aif_annotate_json(names, a, o, AIF_PAGE_LISTINGS_MAX, &used, json, &code);
	if (!r)
		r = aif_annotate_host_json(names, a, AIF_PAGE_LISTINGS_MAX, &used, json, &code);
	if (!r)
		r = aif_annotate_cpu_json(names, AIF_PAGE_LISTINGS_MAX, &used, json, &code);
	aif_strset_finish(&used);
	aif_buf_putc(json, ']');
	aif_buf_putc(&code, ']');
	if (!r && aif_buf_failed(&code))
		r = -ENOMEM;
	if (!r)
		aif_page_u8(columns, "code", code.data, code.len);
	aif_buf_finish(&code);
	return r < 0 ? aif_err_set(err, r, "view: %s", strerror(-r)) : 0;
}
