/* SPDX-License-Identifier: Apache-2.0 */
#include "export/counters.h"
#include "export/timed_report.h"

#include <stdio.h>

/* `report --counters`: what each counter of each device was. */

static const struct aif_table_column columns[] = {
	{"device", AIF_TABLE_TEXT}, {"counter", AIF_TABLE_TEXT}, {"unit", AIF_TABLE_TEXT},
	{"process", AIF_TABLE_ID},  {"values", AIF_TABLE_COUNT}, {"min", AIF_TABLE_ANY},
	{"median", AIF_TABLE_ANY},  {"max", AIF_TABLE_ANY},      {"mean", AIF_TABLE_ANY},
};

/* For people six digits, for programs all. */
static void number_cell(struct aif_timed_report *r, double v)
{
	char text[40];
	int n = snprintf(text, sizeof(text), r->o->format == AIF_TABLE_PLAIN ? "%.6g" : "%.17g", v);

	aif_table_any(r->t, 'n', text, (size_t)n);
}

int aif_counters_table(struct aif_timed_report *r, struct aif_err *err)
{
	struct aif_counters c;
	int e = aif_counters_read(r->p, r->o->which, &c);

	(void)err;
	aif_table_init(r->t, columns, AIF_ARRAY_LEN(columns));
	for (size_t i = 0; i < c.len && !e; i++) {
		const struct aif_counter *of = &c.at[i];
		struct aif_counter_sums s;

		e = aif_counter_sum_up(&c, of, &s);
		if (e)
			break;
		aif_timed_report_device_cell(r, of->device);
		aif_table_text(r->t, of->name == AIF_NONE ? "" : aif_profile_str(r->p, of->name));
		aif_table_text(r->t, of->unit == AIF_NONE ? "" : aif_profile_str(r->p, of->unit));
		aif_timed_report_process_cell(r, of->process);
		aif_table_number(r->t, of->len);
		number_cell(r, s.min);
		number_cell(r, s.median);
		number_cell(r, s.max);
		number_cell(r, s.mean);
	}
	if (c.damaged && r->o->format == AIF_TABLE_PLAIN)
		aif_table_say_damaged(c.damaged, r->after);
	aif_counters_finish(&c);
	return e;
}
