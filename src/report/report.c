/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_table.h"

#include "analysis/no_samples.h"
#include "analysis/traits.h"
#include "analysis/untimed.h"
#include "base/human.h"
#include "base/name_sanitize.h"
#include "text/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The width of texts in front of other columns of plain tables, wherever these go; --detail full
 * has whole texts. */
#define TEXT_COLUMNS 64

const struct aif_report_table *const aif_report_tables[] = {
#define AIF_REPORT(name, help) &aif_report_table_##name,
#include "report/reports.def"
	NULL,
};

bool aif_report_needs_attribution(const struct aif_report_table *t)
{
	return t->needs & AIF_REPORT_NEEDS_ATTRIBUTION;
}

bool aif_report_has_by(const struct aif_report_table *t, enum aif_report_by by)
{
	return by == AIF_REPORT_BY_NAME || t->by & 1U << by;
}

bool aif_report_has_style(const struct aif_report_table *t)
{
	return t->print_style != NULL;
}

/* Writes why a plain table has no rows, which is an answer, too. */
static void describe_empty(const struct aif_report *r, struct aif_buf *out)
{
	const struct aif_report_table *t = r->table;
	bool has_kernel = r->kernel.is_set, has_part = aif_selection_is_part(r->o->sel);
	const char *no_cpu = t->wants_cpu ? aif_no_cpu_samples(r->p) : NULL;

	if (t->wants_times && !has_kernel && !has_part && aif_untimed_count(r->p))
		aif_buf_puts(
			out,
			"launches without times; see report --launches, flame --by launches\n");
	else if (has_kernel && !has_part && aif_report_needs_attribution(t))
		aif_buf_printf(out, "no %s matching --kernel '%s'\n", t->rows, r->o->kernel);
	else if (has_kernel || has_part)
		aif_buf_printf(out,
			       "no %s matching %s" AIF_REPORT_CHOOSES "; widen the selection\n",
			       t->rows, has_kernel ? "--kernel, " : "");
	else
		aif_buf_printf(out, "no %s in this profile; %s\n", t->rows,
			       no_cpu    ? no_cpu
			       : t->hint ? t->hint
					 : "see aiflame info");
}

/* Orders the rows by --sort. */
static int sort(struct aif_report *r, struct aif_err *err)
{
	struct aif_table *t = &r->t;
	const char *by = r->o->sort;
	struct aif_buf list = {0};
	int column;

	if (!by)
		return 0;
	column = aif_table_column(t, r->table->sort_column ? r->table->sort_column(t, by) : by);
	if (column >= 0)
		return aif_table_sort(t, column);
	for (size_t i = 0; i < t->width; i++)
		aif_buf_printf(&list, "%s%s", i ? ", " : "", t->columns[i].name);
	aif_err_set(err, -EINVAL, "report: --sort: no column '%s'; use one of %s", by,
		    aif_buf_str(&list));
	aif_buf_finish(&list);
	return -EINVAL;
}

/* Hides columns of amounts that are 0 in all rows, and of processes if all rows have the same one. An amount that is not known is
 * not 0: a column that has both stays, and one without any value is named below the table. */
static void hide_zeros(struct aif_report *r)
{
	const struct aif_table *t = &r->t;
	size_t process = (size_t)aif_table_column(t, "process"), unknown = 0;

	for (size_t c = 0; c + 1 < t->width && t->cells_len; c++) {
		enum aif_table_type type = t->columns[c].type;
		size_t known;

		if (type == AIF_TABLE_TEXT || type == AIF_TABLE_AT ||
		    (type == AIF_TABLE_ID && c != process) || aif_table_is_hidden(t, c) ||
		    !aif_report_is_empty(r, c, &known) ||
		    (known && known < t->cells_len / t->width))
			continue;
		aif_report_hide(r, t->columns[c].name);
		if (!known)
			aif_buf_printf(&r->after, "%s%s",
				       unknown++ ? ", " : "not known: ", t->columns[c].name);
	}
	if (unknown)
		aif_buf_putc(&r->after, '\n');
}

/* Reads what the table needs. 0 or -errno with *err. */
static int read_needed(struct aif_report *r, struct aif_err *err)
{
	const struct aif_report_table *t = r->table;
	unsigned needs_ops = t->needs & (AIF_REPORT_NEEDS_OPS | AIF_REPORT_NEEDS_OPERATORS);
	int e = aif_regex_init(&r->kernel, "--kernel", r->o->kernel, err);

	if (!e && r->kernel.is_set && t->no_kernel)
		e = aif_err_set(err, -EINVAL, "report: --kernel is not for this table: %s",
				t->no_kernel);
	if (!e)
		e = aif_process_names_init(&r->processes, r->p);
	if (!e && (t->needs & AIF_REPORT_NEEDS_TIMELINE || needs_ops))
		e = aif_exec_timeline_get(r->p, r->o->sel, &r->timeline);
	if (!e && needs_ops)
		e = aif_op_tree_make(r->p, r->o->sel, r->timeline,
				     t->needs & AIF_REPORT_NEEDS_OPERATORS ? AIF_OWNERS_OPERATORS
									   : AIF_OWNERS_ALL,
				     &r->ops);
	return e;
}

/* Notes what of the ranges asked for other threads launched, unless a column has it. */
static void note_for_others(struct aif_report *r)
{
	uint64_t ns = AIF_MAX(r->a ? r->a->for_others_ns : 0,
			      aif_timed_rounded(r->timeline->for_others_ns));

	if (!ns || !r->t.width || aif_table_column(&r->t, "other_threads") >= 0)
		return;
	aif_buf_puts(&r->after, "--range: ");
	aif_selection_say_for_others(ns, &r->after);
	aif_buf_putc(&r->after, '\n');
}

/* Makes numbers of the columns of times, with their unit in the titles: weights of some imported files are no times. */
static void count_columns(struct aif_report *r, const char *counts)
{
	const struct aif_report_table *t = r->table;
	struct aif_buf unit = {0};

	aif_name_sanitize(counts, strlen(counts), &unit);
	for (size_t i = 0; i < t->columns_len; i++) {
		r->made[i] = t->columns[i];
		r->titles[i] = t->columns[i].name;
		if (r->made[i].type != AIF_TABLE_NS)
			continue;
		r->made[i].type = AIF_TABLE_COUNT;
		snprintf(r->title_space[i], AIF_TITLE_MAX, "%s (%s)", t->columns[i].name,
			 aif_buf_str(&unit));
		r->titles[i] = r->title_space[i];
	}
	aif_buf_finish(&unit);
	aif_table_init(&r->t, r->made, t->columns_len);
	r->t.titles = r->titles;
}

/* Makes the rows. 0 or -errno with *err, -ENODATA where launches that were left out may be
 * missing. */
static int make_rows(struct aif_report *r, struct aif_err *err)
{
	const struct aif_report_table *t = r->table;
	const char *counts = t->lacks & AIF_LACK_CPU ? aif_cpu_counts(r->p) : NULL;
	int e;

	if (t->columns && counts)
		count_columns(r, counts);
	else if (t->columns)
		aif_table_init(&r->t, t->columns, t->columns_len);
	e = t->fill(r, err);
	if (!e && !r->t.cells_len && t->left_out)
		e = aif_left_out_error(t->left_out(r), "report", err);
	if (!e && t->hides_zeros)
		hide_zeros(r);
	note_for_others(r);
	return e ? e : sort(r, err);
}

/* Says what the profile lacks of what the table is made of. */
static void note_lacks(struct aif_report *r)
{
	if (aif_lacks_say(&r->p->traits, r->table->lacks, r->out))
		aif_buf_puts(r->out, " (aiflame info)\n");
}

/* Says how many rows the plain table leaves out. */
static void note_cut(struct aif_report *r)
{
	size_t rows = r->t.width ? r->t.cells_len / r->t.width : 0;

	if (!r->limit || rows <= r->limit)
		return;
	aif_buf_puts(r->out, "… ");
	aif_human_counted(r->out, rows - r->limit, "more row");
	aif_buf_puts(r->out, " (--limit 0 shows all)\n");
}

static int print(struct aif_report *r)
{
	bool is_plain = r->o->format == AIF_TABLE_PLAIN, has_rows = r->t.cells_len;
	/* Both read the same chunks. */
	uint64_t damaged =
		AIF_MAX(r->a ? r->a->conservation.damaged : 0, r->timeline->damaged + r->damaged) +
		r->ops.damaged;
	int e = 0;

	r->t.columns_max = r->o->columns;
	r->t.text_max = r->o->detail == AIF_NAME_FULL ? 0 : TEXT_COLUMNS;
	if (is_plain && has_rows && r->o->style && r->table->print_style) {
		r->table->print_style(r);
		return r->t.failed ? -ENOMEM : 0;
	}
	if (is_plain && has_rows)
		aif_buf_append(r->out, r->before.data, r->before.len);
	if (is_plain && !has_rows && r->t.width)
		describe_empty(r, r->out);
	else if (r->t.width)
		e = aif_table_print(&r->t, r->o->format, r->limit, r->out);
	if (is_plain && has_rows && !e)
		note_cut(r);
	if (is_plain && has_rows && !e)
		aif_buf_append(r->out, r->after.data, r->after.len);
	if (is_plain && !e)
		note_lacks(r);
	if (is_plain && damaged && !e)
		aif_table_describe_damaged(damaged, r->out);
	return e;
}

static void finish(struct aif_report *r)
{
	aif_buf_finish(&r->before);
	aif_buf_finish(&r->after);
	aif_table_finish(&r->t);
	aif_op_tree_finish(&r->ops);
	aif_facts_put(r->timeline);
	aif_stack_names_free(r->stacks);
	aif_process_names_finish(&r->processes);
	aif_regex_finish(&r->kernel);
}

/* Appends the types of a table's columns. */
static void write_types(const struct aif_table *t, struct aif_buf *json)
{
	static const char *const names[] = {
		[AIF_TABLE_TEXT] = "text",    [AIF_TABLE_COUNT] = "count",
		[AIF_TABLE_NS] = "ns",        [AIF_TABLE_BYTES] = "bytes",
		[AIF_TABLE_SHARE] = "share",  [AIF_TABLE_ID] = "id",
		[AIF_TABLE_AT] = "at",        [AIF_TABLE_ANY] = "any",
		[AIF_TABLE_CHANGE] = "bytes",
	};

	aif_buf_putc(json, '{');
	for (size_t i = 0; i < t->width; i++) {
		if (i)
			aif_buf_putc(json, ',');
		aif_out_json_text(json, t->columns[i].name);
		aif_buf_putc(json, ':');
		aif_out_json_text(json, names[t->columns[i].type]);
	}
	aif_buf_putc(json, '}');
}

int aif_report_write(const struct aif_names *names, const struct aif_attribution *a,
		     const struct aif_report_opts *opts, struct aif_buf *out, struct aif_err *err)
{
	struct aif_report r = {.p = names->p,
			       .names = names,
			       .o = opts,
			       .table = opts->table,
			       .a = a,
			       .timeline = aif_facts_none(),
			       .out = out,
			       .limit = opts->limit};
	int e = read_needed(&r, err);

	if (!e)
		e = make_rows(&r, err);
	if (!e && opts->types)
		write_types(&r.t, opts->types);
	if (!e)
		e = print(&r);
	finish(&r);
	return e == -ENOMEM ? aif_err_set(err, e, "out of memory") : e;
}
