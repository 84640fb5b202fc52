/* SPDX-License-Identifier: Apache-2.0 */
/* --counters: the values of each counter of each device. */
#include "analysis/counters.h"
#include "report/report_table.h"

#include <stdio.h>

static const struct aif_table_column columns[] = {
	{"device", AIF_TABLE_TEXT}, {"counter", AIF_TABLE_TEXT}, {"unit", AIF_TABLE_TEXT},
	{"process", AIF_TABLE_ID},  {"values", AIF_TABLE_COUNT}, {"min", AIF_TABLE_ANY},
	{"median", AIF_TABLE_ANY},  {"max", AIF_TABLE_ANY},      {"mean", AIF_TABLE_ANY},
};

/* Adds a cell with a number: six digits for people, all for programs. */
static void number_cell(struct aif_report *r, double v)
{
	char text[40];
	int n = snprintf(text, sizeof(text), r->o->format == AIF_TABLE_PLAIN ? "%.6g" : "%.17g", v);

	aif_table_any(&r->t, 'n', text, (size_t)n);
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	struct aif_counters c;
	int e = aif_counters_read(r->p, r->o->sel, &c);

	(void)err;
	for (size_t i = 0; i < c.len && !e; i++) {
		const struct aif_counter *of = &c.at[i];
		struct aif_counter_sums s;

		e = aif_counter_sum_up(&c, of, &s);
		if (e)
			break;
		aif_report_device_cell(r, of->device);
		aif_table_text(&r->t, of->name == AIF_NONE ? "" : aif_profile_str(r->p, of->name));
		aif_table_text(&r->t, of->unit == AIF_NONE ? "" : aif_profile_str(r->p, of->unit));
		aif_report_process_cell(r, of->process);
		aif_table_number(&r->t, of->len);
		number_cell(r, s.min);
		number_cell(r, s.median);
		number_cell(r, s.max);
		number_cell(r, s.mean);
	}
	if (c.damaged && r->o->format == AIF_TABLE_PLAIN)
		aif_table_describe_damaged(c.damaged, &r->after);
	aif_counters_finish(&c);
	return e;
}

const struct aif_report_table aif_report_table_counters = {
	.lacks = AIF_LACK_COUNTERS | AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_TIMELINE,
	.hides_zeros = true,
	.rows = "counters",
	.no_kernel = "counters are not counted by kernel",
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
