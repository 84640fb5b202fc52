/* SPDX-License-Identifier: Apache-2.0 */
/* --threads: what each thread did with its time. */
#include "report/thread_times.h"

#include <errno.h>
#include <stdlib.h>

static const struct aif_table_column columns[] = {
	{"cpu", AIF_TABLE_NS},     {"waiting", AIF_TABLE_NS},     {"calls", AIF_TABLE_NS},
	{"off_cpu", AIF_TABLE_NS}, {"launches", AIF_TABLE_COUNT}, {"process", AIF_TABLE_ID},
	{"thread", AIF_TABLE_ID},  {"name", AIF_TABLE_TEXT},
};

static int fill(struct aif_report *r, struct aif_err *err)
{
	const struct aif_profile *p = r->p;
	struct aif_thread_times *of = calloc(p->threads_len + 1, sizeof(*of));
	int e = of ? aif_thread_times_add(r, of, err) : -ENOMEM;

	aif_report_note_captured(r, ":");
	for (size_t i = 0; i < p->threads_len && !e; i++) {
		const struct aif_thread *t = &p->threads[i];

		if (!aif_thread_times_seen(&of[i]))
			continue;
		aif_table_number(&r->t, of[i].cpu);
		aif_table_number(&r->t, of[i].waiting);
		aif_table_number(&r->t, of[i].calls);
		aif_table_number(&r->t, of[i].off_cpu);
		aif_table_number(&r->t, of[i].launches);
		aif_report_process_cell(r, t->process);
		aif_table_id(&r->t, t->tid, NULL);
		aif_table_text(&r->t, t->name == AIF_NONE ? "" : aif_profile_str(p, t->name));
	}
	free(of);
	return e ? e : aif_table_sort(&r->t, 0);
}

const struct aif_report_table aif_report_table_threads = {
	.lacks = AIF_LACK_CPU | AIF_LACK_OFF_CPU | AIF_LACK_WAITS | AIF_LACK_RECORDS |
		 AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_TIMELINE,
	.hides_zeros = true,
	.wants_cpu = true,
	.rows = "threads that were sampled, waited or launched",
	.no_kernel = "a thread's time is of no kernel",
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
