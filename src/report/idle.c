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

/* Rows of one cause whose stacks are folded to the same text are one. */
struct sums {
	struct sum {
		struct aif_idle_row of;
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
		s->at[i].of.ns += row->ns;
		s->at[i].of.drained_ns += row->drained_ns;
		return 0;
	}
	if (aif_grow(&s->at, &s->cap, s->len + 1, sizeof(*s->at)) < 0 ||
	    aif_map_put(&s->by_text, key, s->len) < 0)
		return -ENOMEM;
	s->at[s->len++] = (struct sum){.of = *row, .text = text};
	return 0;
}

static int put_row(struct aif_report *r, const struct aif_idle_blame *b, const struct sums *sums,
		   const struct sum *s, struct aif_buf *line)
{
	const char *caller = aif_stack_names_caller(r->stacks, s->of.stack);
	const struct aif_idle_wake *wake;
	size_t wakes;

	aif_table_number(&r->t, aif_share_ppm(s->of.ns, b->idle_ns));
	aif_table_number(&r->t, s->of.ns);
	aif_table_number(&r->t, aif_share_ppm(s->of.drained_ns, s->of.ns));
	aif_table_text(&r->t, aif_idle_cause_name(s->of.cause));
	aif_report_process_cell(r, s->of.process);
	aif_buf_clear(line);
	if (s->of.is_machine)
		aif_buf_puts(line, AIF_IDLE_MACHINE);
	else if (caller && *caller)
		aif_buf_printf(line, "%s%s", s->of.is_before ? "before " : "", caller);
	aif_table_text(&r->t, aif_buf_str(line));
	wake = aif_idle_wakes_of(b, &s->of, &wakes);
	aif_buf_clear(line);
	if (wakes && aif_wake_text(r->p, r->stacks, wake, line) < 0)
		return -ENOMEM;
	aif_table_text(&r->t, aif_buf_str(line));
	aif_table_text(&r->t, aif_strset_get(&sums->texts, s->text, NULL));
	return caller ? 0 : -ENOMEM;
}

static int put_rows(struct aif_report *r, const struct aif_idle_blame *b)
{
	struct sums sums = {0};
	struct aif_buf line = {0};
	int e = 0;

	for (size_t i = 0; i < b->len && !e; i++) {
		aif_buf_clear(&line);
		if (b->rows[i].is_before && !b->rows[i].is_machine)
			aif_buf_puts(&line, "before ");
		if (b->rows[i].is_machine)
			aif_buf_puts(&line, AIF_IDLE_MACHINE);
		else
			e = aif_stack_names_line(r->stacks, b->rows[i].stack, &line);
		if (!e && r->o->format == AIF_TABLE_PLAIN && r->o->detail != AIF_NAME_FULL)
			aif_report_elide_stack(&line);
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
	r->damaged += part->blame.damaged;
	aif_facts_put(part);
	return e ? e : aif_table_sort(&r->t, 1);
}

const struct aif_report_table aif_report_table_idle = {
	.lacks = AIF_LACK_WORK | AIF_LACK_EXECUTIONS | AIF_LACK_LAUNCHES | AIF_LACK_RECORDS |
		 AIF_LACK_CLOCKS | AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_TIMELINE,
	.hides_zeros = true,
	.rows = "idle time between executions",
	.no_kernel = "time in which other kernels run is not idle",
	.left_out = aif_report_left_out_execs,
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
