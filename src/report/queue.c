/* SPDX-License-Identifier: Apache-2.0 */
/* --queue: how far the host was ahead of each device, in each step, or in equal parts of the time. */
#include "analysis/loop/phases.h"
#include "analysis/queue/queue.h"
#include "base/human.h"
#include "report/report_table.h"

#include <stdio.h>

/* Equal parts of the time where no steps are known. */
#define CELLS 20

static const struct aif_table_column columns[] = {
	{"start", AIF_TABLE_AT},          {"time", AIF_TABLE_NS},
	{"launches", AIF_TABLE_COUNT}, /* as captured */
	{"known", AIF_TABLE_COUNT}, /* of these: whose depth is; the columns up to ahead_most are of them */
	{"found_idle", AIF_TABLE_SHARE},  {"error", AIF_TABLE_SHARE}, /* of found_idle */
	{"after_wait", AIF_TABLE_SHARE}, /* found it idle behind a wait */
	{"step_ahead", AIF_TABLE_SHARE}, /* had more than a median step of work before them */
	{"work_ahead", AIF_TABLE_NS},    /* median */
	{"work_ahead_p95", AIF_TABLE_NS}, {"ahead", AIF_TABLE_COUNT}, /* launches, median */
	{"ahead_p95", AIF_TABLE_COUNT},   {"ahead_most", AIF_TABLE_COUNT},
	{"delay", AIF_TABLE_NS}, /* from call to start, median */
	{"delay_p95", AIF_TABLE_NS},      {"waits", AIF_TABLE_COUNT},
	{"emptied", AIF_TABLE_COUNT}, /* waits behind which nothing was queued */
	{"process", AIF_TABLE_ID},        {"device", AIF_TABLE_TEXT},
	{"part", AIF_TABLE_TEXT},
};

static int add_row(struct aif_report *r, const struct aif_queue *q, size_t k,
		   const struct aif_loop_step *part, const struct aif_phases *f, const char *name)
{
	const struct aif_queue_device *d = &q->devices[k];
	struct aif_queue_span span = {.device = k,
				      .from = part->start,
				      .to = part->end,
				      .by_start = f->is_queued,
				      .step_ns = f->median_ns};
	struct aif_queue_sum s;
	int e = aif_queue_sum(q, r->timeline->weights, &span, &s);

	if (e || (!s.launches && !s.waits))
		return e;
	aif_table_number(&r->t, part->start > 0 ? (uint64_t)part->start : 0);
	aif_table_number(&r->t, (uint64_t)part->end - (uint64_t)part->start);
	aif_table_number(&r->t, s.launches);
	aif_table_number(&r->t, s.known);
	aif_table_number(&r->t, s.idle_ppm);
	aif_table_number(&r->t, s.idle_error_ppm);
	aif_table_number(&r->t, s.after_wait_ppm);
	aif_table_number(&r->t, s.step_ahead_ppm);
	aif_table_number(&r->t, s.ahead_median_ns);
	aif_table_number(&r->t, s.ahead_p95_ns);
	aif_table_number(&r->t, s.ahead_median);
	aif_table_number(&r->t, s.ahead_p95);
	aif_table_number(&r->t, s.ahead_most);
	aif_table_number(&r->t, s.delay_median_ns);
	aif_table_number(&r->t, s.delay_p95_ns);
	aif_table_number(&r->t, s.waits);
	aif_table_number(&r->t, s.emptied);
	aif_report_process_cell(r, d->process);
	aif_report_device_cell(r, d->device);
	aif_table_text(&r->t, name);
	return 0;
}

static int step_rows(struct aif_report *r, const struct aif_queue *q, const struct aif_phases *f)
{
	char name[32];
	int e = 0;

	for (size_t i = 0; i < f->len && !e; i++) {
		snprintf(name, sizeof(name), "%s %zu",
			 f->from == AIF_PHASES_MARKS ? "step" : "turn", i + 1);
		for (size_t k = 0; k < q->devices_len && !e; k++)
			if (aif_timed_in_span(r->o->sel, f->steps[i].start))
				e = add_row(r, q, k, &f->steps[i], f, name);
	}
	return e;
}

/* The time from the first launch call to behind the last, of what was asked for. */
static struct aif_loop_step reach(const struct aif_report *r, const struct aif_queue *q)
{
	struct aif_loop_step of = {.start = INT64_MAX, .end = INT64_MIN};

	for (size_t i = 0; i < q->len; i++) {
		int64_t at = aif_queue_at(q, &q->launches[i]);

		if (aif_timed_in_span(r->o->sel, at)) {
			of.start = AIF_MIN(of.start, at);
			of.end = AIF_MAX(of.end, at + 1);
		}
	}
	return of;
}

static int cell_rows(struct aif_report *r, const struct aif_queue *q, const struct aif_phases *f)
{
	struct aif_loop_step all = reach(r, q), cell;
	int64_t length;
	int e = 0;

	if (all.start >= all.end)
		return 0;
	length = (all.end - all.start + CELLS - 1) / CELLS;
	for (cell.start = all.start; cell.start < all.end && !e; cell.start = cell.end) {
		cell.end = AIF_MIN(cell.start + length, all.end);
		for (size_t k = 0; k < q->devices_len && !e; k++)
			e = add_row(r, q, k, &cell, f, "time");
	}
	return e;
}

/* Notes what the shares are of, where they are not of all launches. */
static void note_unknown(struct aif_report *r, const struct aif_queue *q)
{
	uint64_t known = 0;

	for (size_t i = 0; i < q->len; i++)
		known += q->launches[i].is_known;
	if (known < q->len) {
		aif_buf_puts(&r->before, "the depth of the queue is known for ");
		aif_human_share(&r->before, aif_share_ppm(known, q->len));
		aif_buf_puts(
			&r->before,
			" of the captured launches: not before one that was launched since a pause, or since launches were left out, has started\n");
	}
	if (q->unjoined) {
		aif_human_counted(&r->before, q->unjoined, "execution");
		aif_buf_puts(
			&r->before,
			" without a launch: counted from the start on, as it is not known since when they were queued\n");
	}
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	struct aif_selection whole = {0};
	const struct aif_utilization *u = aif_facts_none();
	struct aif_phases f = {0};
	struct aif_queue q = {0};
	int e;

	(void)err;
	/* Lengths are put one after another and say nothing of queues. */
	if (r->p->traits.is_lengths)
		return 0;
	e = aif_report_read_whole(r, &whole);
	if (!e)
		e = aif_phases_find(r->p, &whole, r->timeline, &f);
	if (!e)
		e = aif_utilization_get(r->p, r->timeline, &u);
	if (!e)
		e = aif_queue_make(r->p, r->timeline, u, &q);
	if (!e) {
		note_unknown(r, &q);
		e = f.from ? step_rows(r, &q, &f) : cell_rows(r, &q, &f);
	}
	r->damaged += q.damaged;
	aif_queue_finish(&q);
	aif_phases_finish(&f);
	aif_facts_put(u);
	return e;
}

const struct aif_report_table aif_report_table_queue = {
	.lacks = AIF_LACK_WORK | AIF_LACK_EXECUTIONS | AIF_LACK_LAUNCHES | AIF_LACK_RECORDS |
		 AIF_LACK_CLOCKS | AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_TIMELINE,
	.hides_zeros = true,
	.rows = "launches with times",
	.no_kernel = "the work of other kernels is queued, too",
	.left_out = aif_report_left_out_execs,
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
