/* SPDX-License-Identifier: Apache-2.0 */
/* --kernels: device time by kernel, and who launched most of it. */
#include "report/work_table.h"

#include <string.h>

static const struct aif_table_column columns[] = {
	{"wall_share", AIF_TABLE_SHARE}, {"wall", AIF_TABLE_NS},        {"time", AIF_TABLE_NS},
	{"error", AIF_TABLE_NS},         {"launches", AIF_TABLE_COUNT}, {"average", AIF_TABLE_NS},
	{"samples", AIF_TABLE_COUNT},    {"process", AIF_TABLE_ID},     {"kernel", AIF_TABLE_TEXT},
	{"operator", AIF_TABLE_TEXT},    {"caller", AIF_TABLE_TEXT},
};

/* Says which columns of launching functions have something to show. */
struct launchers {
	struct aif_buf text;
	bool have_operators;
	bool have_callers; /* other ones than the operators */
};

static void operator_cell(struct aif_report *r, struct launchers *l, uint32_t stack)
{
	const char *name = aif_stack_names_operator(r->stacks, stack);

	r->t.failed |= !name;
	l->have_operators |= name && *name;
	aif_table_text(&r->t, name ? name : "");
}

/* Adds a cell with the caller; in plain tables only if it is not the operator, which stands beside
 * it. */
static void caller_cell(struct aif_report *r, struct launchers *l, uint32_t stack)
{
	const char *caller = aif_stack_names_caller(r->stacks, stack), *op;
	bool is_other;

	/* The operator may be written where the caller is. */
	aif_buf_clear(&l->text);
	aif_buf_puts(&l->text, caller ? caller : "");
	op = aif_stack_names_operator(r->stacks, stack);
	is_other = !caller || !op || strcmp(aif_buf_str(&l->text), op) != 0;
	l->have_callers |= is_other;
	if (is_other || r->o->format != AIF_TABLE_PLAIN)
		aif_work_caller_cell(r, stack);
	else
		aif_table_text(&r->t, "");
}

static void put_row(struct aif_report *r, struct launchers *l, const struct aif_work_sum *s)
{
	aif_table_number(&r->t, aif_share_ppm(s->wall, r->a->conservation.busy_ns));
	aif_table_number(&r->t, s->wall);
	aif_table_number(&r->t, s->time);
	aif_work_error_cell(r, s->variance);
	aif_table_number(&r->t, s->launches);
	aif_table_number(&r->t, s->launches ? s->time / s->launches : 0);
	aif_table_number(&r->t, s->samples);
	aif_report_process_cell(r, s->process);
	aif_report_kernel_cell(r, s->kind, s->kernel);
	operator_cell(r, l, s->stack);
	caller_cell(r, l, s->stack);
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	struct aif_work_sums w = {0};
	struct launchers l = {0};
	int e = aif_work_table_begin(r, AIF_NAME_NORMAL, err);

	if (!e)
		e = aif_work_table_sums(r, aif_work_kernel_key, &w);
	for (size_t i = 0; i < w.len && !e; i++)
		put_row(r, &l, &w.sums[i]);
	if (!l.have_callers)
		aif_report_hide(r, "caller");
	if (!l.have_operators)
		aif_report_hide(r, "operator");
	if (!e)
		e = aif_work_table_end(r, &w);
	aif_work_sums_finish(&w);
	aif_buf_finish(&l.text);
	return e;
}

const struct aif_report_table aif_report_table_kernels = {
	.needs = AIF_REPORT_NEEDS_ATTRIBUTION,
	.rows = "device activity",
	.wants_times = true,
	.left_out = aif_report_left_out_rows,
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
