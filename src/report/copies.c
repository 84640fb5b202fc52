/* SPDX-License-Identifier: Apache-2.0 */
/* --copies: transfers by kind and caller, with bytes and rate. */
#include "report/work_table.h"

#include "base/u64_of.h"

#include <errno.h>
#include <string.h>

static const struct aif_table_column columns[] = {
	{"time", AIF_TABLE_NS},
	{"error", AIF_TABLE_NS},
	{"copies", AIF_TABLE_COUNT},
	{"bytes", AIF_TABLE_BYTES},
	{"bytes_per_second", AIF_TABLE_BYTES},
	{"process", AIF_TABLE_ID},
	{"kind", AIF_TABLE_TEXT},
	{"name", AIF_TABLE_TEXT},
	{"caller", AIF_TABLE_TEXT},
};

static int copy_key(struct aif_work_sums *w, const struct aif_attribution_row *row, uint64_t *ret)
{
	const char *caller;

	if (row->kind == AIF_LAUNCH_KERNEL || aif_launch_is_memory(row->kind))
		return -ENOENT; /* report --memory has allocations */
	caller = aif_stack_names_caller(w->stacks, row->stack);
	return caller ? aif_work_text_key(w, caller, strlen(caller),
					  row->kernel == AIF_NONE
						  ? ~row->kind
						  : w->names->p->kernels[row->kernel].name,
					  ret)
		      : -ENOMEM;
}

static void put_row(struct aif_report *r, const struct aif_work_sum *s)
{
	uint64_t rate = s->time ? aif_u64_of((double)s->bytes * 1e9 / (double)s->time) : 0;

	aif_table_number(&r->t, s->time);
	aif_work_error_cell(r, s->variance);
	aif_table_number(&r->t, s->launches);
	aif_table_number(&r->t, s->bytes);
	aif_table_number(&r->t, rate);
	aif_report_process_cell(r, s->process);
	aif_table_text(&r->t, aif_launch_kind_name(s->kind));
	aif_report_kernel_cell(r, s->kind, s->kernel);
	aif_work_caller_cell(r, s->stack);
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	struct aif_work_sums w = {0};
	int e = aif_work_table_begin(r, AIF_NAME_NORMAL, err);

	aif_report_hide(r, "kind"); /* the name says it */
	if (!e)
		e = aif_work_table_sums(r, copy_key, &w);
	for (size_t i = 0; i < w.len && !e; i++)
		put_row(r, &w.sums[i]);
	if (!e)
		e = aif_work_table_end(r, &w);
	aif_work_sums_finish(&w);
	return e;
}

const struct aif_report_table aif_report_table_copies = {
	.lacks = AIF_LACK_WORK | AIF_LACK_EXECUTIONS | AIF_LACK_LAUNCHES | AIF_LACK_RECORDS |
		 AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_ATTRIBUTION,
	.rows = "copies",
	.left_out = aif_report_left_out_rows,
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
