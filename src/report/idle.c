/* SPDX-License-Identifier: Apache-2.0 */
/* --idle: time in which devices ran nothing, by what the thread did that launched next. */
#include "report/report_table.h"
#include "analysis/idle/part.h"
#include "report/wake_text.h"

#include <errno.h>

static const struct aif_table_column columns[] = {
	{"idle_share", AIF_TABLE_SHARE}, {"idle", AIF_TABLE_NS},    {"after_wait", AIF_TABLE_SHARE},
	{"cause", AIF_TABLE_TEXT},       {"process", AIF_TABLE_ID}, {"caller", AIF_TABLE_TEXT},
	{"waits_for", AIF_TABLE_TEXT},   {"stack", AIF_TABLE_TEXT},
};

/* Rows of one cause whose stacks are folded to the same text, or with --by caller have the same caller, are one. */
struct sums {
	struct sum {
		struct aif_idle_row of; /* its stack: that of the longest */
		uint64_t longest;
		uint32_t text;
	} * at;
	size_t len, cap;
	struct aif_map by_text; /* process << 36 | cause << 32 | text -> sum */
	struct aif_strset texts;
};

static int sum_add(struct sums *s, const struct aif_idle_row *row, const struct aif_buf *line)
{
	uint32_t text = aif_strset_put(&s->texts, line->data, line->len);
	uint64_t key = (uint64_t)row->process << 36 | (uint64_t)row->cause << 32 | text, i;

	if (text == AIF_STR_NONE)
		return -ENOMEM;
	if (aif_map_get(&s->by_text, key, &i)) {
		struct sum *of = &s->at[i];
		uint64_t ns = of->of.ns + row->ns;
		uint64_t drained_ns = of->of.drained_ns + row->drained_ns;

		if (row->ns > of->longest) {
			of->of = *row;
			of->longest = row->ns;
		}
		of->of.ns = ns;
		of->of.drained_ns = drained_ns;
		return 0;
	}
	if (aif_grow(&s->at, &s->cap, s->len + 1, sizeof(*s->at)) < 0 ||
	    aif_map_put(&s->by_text, key, s->len) < 0)
		return -ENOMEM;
	s->at[s->len++] = (struct sum){.of = *row, .longest = row->ns, .text = text};
	return 0;
}

static bool is_by_caller(const struct aif_report *r)
{
	return r->o->by == AIF_REPORT_BY_CALLER;
}

static int put_caller(struct aif_report *r, const struct aif_idle_row *row, struct aif_buf *line)
{
	const char *caller;

	if (row->is_machine) {
		aif_buf_puts(line, AIF_IDLE_MACHINE);
		return 0;
	}
	caller = aif_stack_names_caller(r->stacks, row->stack);
	if (caller && *caller)
		aif_buf_printf(line, "%s%s", row->is_before ? "before " : "", caller);
	return caller ? 0 : -ENOMEM;
}

static int put_stack(struct aif_report *r, const struct aif_idle_row *row, struct aif_buf *line)
{
	int e = 0;

	if (row->is_before && !row->is_machine)
		aif_buf_puts(line, "before ");
	if (row->is_machine)
		aif_buf_puts(line, AIF_IDLE_MACHINE);
	else
		e = aif_stack_names_line(r->stacks, row->stack, line);
	if (!e && r->o->format == AIF_TABLE_PLAIN && r->o->detail != AIF_NAME_FULL)
		aif_report_elide_stack(line);
	return e;
}

static int put_row(struct aif_report *r, const struct aif_idle_blame *b, const struct sums *sums,
		   const struct sum *s, struct aif_buf *line)
{
	const struct aif_idle_wake *wake;
	size_t wakes;
	int e;

	aif_table_number(&r->t, aif_share_ppm(s->of.ns, b->idle_ns));
	aif_table_number(&r->t, s->of.ns);
	aif_table_number(&r->t, aif_share_ppm(s->of.drained_ns, s->of.ns));
	aif_table_text(&r->t, aif_idle_cause_name(s->of.cause));
	aif_report_process_cell(r, s->of.process);
	aif_buf_clear(line);
	e = put_caller(r, &s->of, line);
	aif_table_text(&r->t, aif_buf_str(line));
	wake = aif_idle_wakes_of(b, &s->of, &wakes);
	aif_buf_clear(line);
	if (wakes && aif_wake_text(r->p, r->stacks, wake, line) < 0)
		return -ENOMEM;
	aif_table_text(&r->t, aif_buf_str(line));
	aif_table_text(&r->t, is_by_caller(r) ? "" : aif_strset_get(&sums->texts, s->text, NULL));
	return e;
}

static int put_rows(struct aif_report *r, const struct aif_idle_blame *b)
{
	struct sums sums = {0};
	struct aif_buf line = {0};
	int e = 0;

	for (size_t i = 0; i < b->len && !e; i++) {
		aif_buf_clear(&line);
		e = is_by_caller(r) ? put_caller(r, &b->rows[i], &line)
				    : put_stack(r, &b->rows[i], &line);
		if (!e && b->rows[i].ns)
			e = sum_add(&sums, &b->rows[i], &line);
	}
	for (size_t i = 0; i < sums.len && !e; i++)
		e = put_row(r, b, &sums, &sums.at[i], &line);
	free(sums.at);
	aif_map_finish(&sums.by_text);
	aif_strset_finish(&sums.texts);
	aif_buf_finish(&line);
	return e;
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	const struct aif_idle_part *part;
	int e = aif_report_name_stacks(r, r->o->detail, err), read;

	read = aif_idle_part_get(r->p, r->o->sel, &part);
	e = e ? e : read;
	aif_report_note_captured(r, ":");
	r->t.folds = " < ";
	if (!e && part->blame.idle_ns) {
		aif_idle_blame_say(&part->blame, &r->before);
		aif_buf_puts(&r->before, "\n");
	}
	if (!e)
		e = put_rows(r, &part->blame);
	if (!part->blame.wakes_len)
		aif_report_hide(r, "waits_for");
	if (is_by_caller(r))
		aif_report_hide(r, "stack");
	r->damaged += part->blame.damaged;
	aif_facts_put(part);
	return e ? e : aif_table_sort(&r->t, 1);
}

const struct aif_report_table aif_report_table_idle = {
	.lacks = AIF_LACK_WORK | AIF_LACK_EXECUTIONS | AIF_LACK_LAUNCHES | AIF_LACK_RECORDS |
		 AIF_LACK_CLOCKS | AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_TIMELINE,
	.by = 1U << AIF_REPORT_BY_STACK | 1U << AIF_REPORT_BY_CALLER,
	.hides_zeros = true,
	.rows = "idle time between executions",
	.no_kernel = "time in which other kernels run is not idle",
	.left_out = aif_report_left_out_execs,
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
