/* SPDX-License-Identifier: Apache-2.0 */
/* --stacks: device time by launch stack. */
#include "report/work_table.h"

#include "text/elide.h"

#include <string.h>

/* The widest stack in plain tables: five lines of a terminal, of which the launching functions have most. */
#define STACK_COLUMNS      ((size_t)400)
#define STACK_HEAD_COLUMNS ((size_t)320)

static const char seam[] = " < ";

static const struct aif_table_column columns[] = {
	{"wall_share", AIF_TABLE_SHARE}, {"wall", AIF_TABLE_NS},
	{"time", AIF_TABLE_NS},          {"error", AIF_TABLE_NS},
	{"launches", AIF_TABLE_COUNT},   {"samples", AIF_TABLE_COUNT},
	{"process", AIF_TABLE_ID},       {"kernel", AIF_TABLE_TEXT},
	{"stack", AIF_TABLE_TEXT},
};

void aif_report_elide_stack(struct aif_buf *line)
{
	const size_t len = sizeof(seam) - 1;
	size_t first = 0, last = line->len, left = 0;
	struct aif_buf brief = {0};

	if (aif_elide_width(line->data, line->len) <= STACK_COLUMNS || aif_buf_failed(line))
		return;
	for (const uint8_t *at; (at = memmem(line->data + first, line->len - first, seam, len));) {
		size_t next = (size_t)(at - line->data) + len;

		if (first && aif_elide_width(line->data, next) > STACK_HEAD_COLUMNS)
			break;
		first = next;
	}
	for (size_t i = first; i + len < line->len; i++)
		if (!memcmp(line->data + i, seam, len)) {
			left++;
			last = i;
		}
	if (left < 2) /* a name for a number */
		return;
	aif_buf_append(&brief, line->data, first);
	aif_buf_printf(&brief, "(%zu more)", left);
	aif_buf_append(&brief, line->data + last, line->len - last);
	aif_buf_clear(line);
	aif_buf_append(line, brief.data, brief.len);
	line->failed |= aif_buf_failed(&brief);
	aif_buf_finish(&brief);
}

static int put_row(struct aif_report *r, const struct aif_work_sum *s, struct aif_buf *line)
{
	int e;

	aif_table_number(&r->t, aif_share_ppm(s->wall, r->a->conservation.busy_ns));
	aif_table_number(&r->t, s->wall);
	aif_table_number(&r->t, s->time);
	aif_work_error_cell(r, s->variance);
	aif_table_number(&r->t, s->launches);
	aif_table_number(&r->t, s->samples);
	aif_report_process_cell(r, s->process);
	aif_report_kernel_cell(r, s->kind, s->kernel);
	aif_buf_clear(line);
	e = aif_stack_names_line(r->stacks, s->stack, line);
	if (r->o->format == AIF_TABLE_PLAIN && r->o->detail != AIF_NAME_FULL)
		aif_report_elide_stack(line);
	aif_table_text(&r->t, aif_buf_str(line));
	return e;
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	struct aif_work_sums w = {0};
	struct aif_buf line = {0};
	int e = aif_work_table_begin(r, r->o->detail, err);

	if (!e)
		e = aif_work_table_sums(r, aif_work_stack_key, &w);
	r->t.folds = seam;
	for (size_t i = 0; i < w.len && !e; i++)
		e = put_row(r, &w.sums[i], &line);
	if (!e)
		e = aif_work_table_end(r, &w);
	aif_work_sums_finish(&w);
	aif_buf_finish(&line);
	return e;
}

const struct aif_report_table aif_report_table_stacks = {
	.lacks = AIF_LACK_WORK | AIF_LACK_EXECUTIONS | AIF_LACK_LAUNCHES | AIF_LACK_RECORDS |
		 AIF_LACK_JOINS | AIF_LACK_STACKS | AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_ATTRIBUTION,
	.rows = "device activity",
	.wants_times = true,
	.left_out = aif_report_left_out_rows,
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
