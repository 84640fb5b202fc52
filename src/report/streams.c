/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --streams: each queue's waiting by cause, what its launches cost and how long it was. The definitions are those of
 * Holistic Trace Analysis (get_idle_time_breakdown, get_cuda_kernel_launch_stats, get_queue_length_summary), of a
 * launch and its execution:
 *
 *   waits         gaps between what ran in the stream, by idle_of() of utilization_whole.c
 *   delay         from the end of the call to the start of the execution, at least 0; where calls have no times of
 *                 their own, from its begin
 *   short         executions that took less time than the call that launched them
 *   slow calls    of more than 50 us; late: delays of more than 100 us (HTA's defaults)
 *   queue length  launches that were made and have not begun to run: +1 when the call begins, -1 at the start; its
 *                 average is over time, from the first call to the last start. full: the time with 1,024 and more,
 *                 where CUDA's next launch blocks
 *
 * A graph's launch is one, and begins to run with its first node.
 *
 * Where launches were left out, each execution and launch counts as often as it stands for others, and waits are shared out
 * as those are that were seen whole; what is of single launches or of all at once (the longest delay, the
 * queue's length) is of what was captured.
 */
#include "report/report_table.h"
#include "base/sort.h"
#include "analysis/idle/blame.h"
#include "analysis/utilization.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SLOW_CALL_NS UINT64_C(50000)
#define QUEUE_FULL   1024

static const struct aif_table_column columns[] = {
	{"executions", AIF_TABLE_COUNT},
	{"busy", AIF_TABLE_NS},
	{"error", AIF_TABLE_NS}, /* of busy */
	{"host_wait", AIF_TABLE_NS},
	{"kernel_wait", AIF_TABLE_NS},
	{"other_wait", AIF_TABLE_NS},
	{"unknown_wait", AIF_TABLE_NS},
	{"launches", AIF_TABLE_COUNT},
	{"short", AIF_TABLE_COUNT},
	{"slow_calls", AIF_TABLE_COUNT},
	{"late", AIF_TABLE_COUNT},
	{"delay_average", AIF_TABLE_NS},
	{"delay_max", AIF_TABLE_NS},
	{"queue_average", AIF_TABLE_COUNT},
	{"queue_max", AIF_TABLE_COUNT},
	{"full", AIF_TABLE_NS},
	{"process", AIF_TABLE_ID},
	{"stream", AIF_TABLE_ID},
	{"device", AIF_TABLE_TEXT},
};

struct queue {
	int64_t *calls, *starts; /* of launches; both in order when they are read */
	size_t len;
	uint64_t average, max, full;
};

static int by_time(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return AIF_ORDER(*x, *y);
}

static void measure_queue(const struct aif_device_utilization *d, struct queue *q)
{
	size_t in = 0, out = 0;
	unsigned __int128 sum = 0;
	uint64_t whole = 0; /* time */
	int64_t at;

	q->average = q->max = q->full = 0;
	if (!q->len)
		return;
	aif_sort(q->calls, q->len, sizeof(*q->calls), by_time);
	aif_sort(q->starts, q->len, sizeof(*q->starts), by_time);
	at = AIF_MIN(q->calls[0], q->starts[0]);
	while (out < q->len) {
		bool is_call = in < q->len && q->calls[in] <= q->starts[out];
		int64_t next = is_call ? q->calls[in] : q->starts[out];
		uint64_t ns = (uint64_t)next - (uint64_t)at, length = in > out ? in - out : 0;

		/* The length is not known while launches were left out. */
		ns -= aif_spans_covered(&d->not_collected, at, next);
		whole += at >= q->calls[0] ? ns : 0;
		sum += (unsigned __int128)ns * length;
		q->full += length >= QUEUE_FULL ? ns : 0;
		at = next;
		in += is_call;
		out += !is_call;
		q->max = AIF_MAX(q->max, in > out ? in - out : 0);
	}
	if (whole)
		q->average = (uint64_t)((sum + whole / 2) / whole);
}

/* Numbers are weighted. */
struct stream {
	double executions, launches, short_ones, slow_calls, late, delays;
	uint64_t delay_max;
	int64_t from, to;
	struct aif_utilization_waits waits;
	struct aif_estimate busy;
};

static void add_launch(struct aif_report *r, const struct aif_timeline_exec *x, struct stream *s,
		       struct queue *q)
{
	const struct aif_timeline_launch *l = &r->timeline->launches[x->launch];
	uint32_t call = r->ops.calls[x->launch];
	int64_t end = l->at;
	uint64_t delay;

	if (call != AIF_NONE) {
		uint64_t ns = aif_op_ns(&r->ops.ops[call]);

		end = r->ops.ops[call].end;
		s->short_ones += aif_exec_timeline_whole(r->timeline, x, aif_timed_ns(x) < ns);
		s->slow_calls += aif_exec_timeline_whole(r->timeline, x, ns > SLOW_CALL_NS);
	}
	delay = x->start > end ? (uint64_t)x->start - (uint64_t)end : 0;
	s->launches += aif_exec_timeline_whole(r->timeline, x, 1);
	s->late += aif_exec_timeline_whole(r->timeline, x, delay > AIF_IDLE_LAUNCH_NS);
	s->delays += aif_exec_timeline_whole(r->timeline, x, delay);
	s->delay_max = AIF_MAX(s->delay_max, delay);
	q->calls[q->len] = l->at;
	q->starts[q->len++] = x->start;
}

/* Adds an execution; called in the order of their starts. */
static int add_exec(struct aif_report *r, const struct aif_device_utilization *d,
		    const struct aif_timeline_exec *x, struct stream *s)
{
	int64_t from = AIF_MAX(x->start, s->to);

	if (x->start > s->to) {
		struct aif_utilization_gap gap = aif_utilization_gap(r->timeline, d, s->to, x);

		aif_utilization_waits_add(&s->waits, r->timeline, x, &gap);
	}
	s->executions += aif_exec_timeline_whole(r->timeline, x, 1);
	s->to = AIF_MAX(s->to, x->end);
	return x->end <= from ? 0
			      : aif_estimate_add(&s->busy, r->timeline->weights,
						 aif_timeline_cycle_of(r->timeline, x),
						 (double)((uint64_t)x->end - (uint64_t)from));
}

static void put_row(struct aif_report *r, const struct aif_device_utilization *d, uint32_t stream,
		    struct stream *s, const struct queue *q)
{
	uint64_t waits[AIF_IDLE_COUNT], span, busy;
	double room;

	(void)aif_utilization_reach(r->p, r->timeline, d->process, &s->from, &s->to);
	span = (uint64_t)s->to - (uint64_t)s->from - aif_spans_covered(&d->paused, s->from, s->to);
	room = (double)span - s->busy.seen;
	busy = aif_utilization_estimate(&s->busy, aif_utilization_fits(&s->busy, room));
	aif_utilization_waits_split(&s->waits, span - AIF_MIN(busy, span), waits);
	aif_table_number(&r->t, aif_timed_rounded(s->executions));
	aif_table_number(&r->t, busy);
	aif_table_number(&r->t, aif_utilization_error(&s->busy, r->timeline->weights, room));
	for (size_t i = 0; i < AIF_IDLE_COUNT; i++)
		aif_table_number(&r->t, waits[i]);
	aif_table_number(&r->t, aif_timed_rounded(s->launches));
	aif_table_number(&r->t, aif_timed_rounded(s->short_ones));
	aif_table_number(&r->t, aif_timed_rounded(s->slow_calls));
	aif_table_number(&r->t, aif_timed_rounded(s->late));
	aif_table_number(&r->t,
			 s->launches > 0 ? aif_timed_rounded(floor(s->delays / s->launches)) : 0);
	aif_table_number(&r->t, s->delay_max);
	aif_table_number(&r->t, q->average);
	aif_table_number(&r->t, q->max);
	aif_table_number(&r->t, q->full);
	aif_report_process_cell(r, d->process);
	aif_table_number(&r->t, stream == AIF_NONE ? 0 : r->p->streams[stream].ordinal);
	aif_report_device_cell(r, d->device);
}

static int by_stream(const void *a, const void *b, void *arg)
{
	const struct aif_exec_timeline *t = arg;
	const struct aif_timeline_exec *x = &t->execs[*(const uint32_t *)a],
				       *y = &t->execs[*(const uint32_t *)b];
	uint32_t stream = aif_timeline_work_of(t, x)->stream,
		 other = aif_timeline_work_of(t, y)->stream;

	if (stream != other)
		return stream < other ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static uint32_t stream_of(const struct aif_exec_timeline *t, uint32_t exec)
{
	return aif_timeline_work_of(t, &t->execs[exec])->stream;
}

/* Adds a stream of a device: n executions, as indices in order of their starts. */
static int add_stream(struct aif_report *r, const struct aif_device_utilization *d,
		      const uint32_t *order, size_t n, uint8_t *seen, struct queue *q)
{
	const struct aif_timeline_exec *execs = r->timeline->execs;
	struct stream s = {.from = execs[order[0]].start};
	int e = 0;

	q->len = 0;
	s.to = s.from;
	for (size_t i = 0; i < n && !e; i++) {
		const struct aif_timeline_exec *x = &execs[order[i]];

		e = add_exec(r, d, x, &s);
		if (x->launch != AIF_NONE && !seen[x->launch]) {
			seen[x->launch] = 1;
			add_launch(r, x, &s, q);
		}
	}
	measure_queue(d, q);
	if (!e)
		put_row(r, d, stream_of(r->timeline, order[0]), &s, q);
	aif_estimate_finish(&s.busy);
	return e;
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	const struct aif_exec_timeline *t = r->timeline;
	const struct aif_utilization *w = aif_facts_none();
	struct queue q = {.calls = malloc((t->execs_len + 1) * sizeof(*q.calls)),
			  .starts = malloc((t->execs_len + 1) * sizeof(*q.starts))};
	uint8_t *seen = calloc(t->launches_len + 1, sizeof(*seen));
	uint32_t *order = malloc((t->execs_len + 1) * sizeof(*order));
	int e = q.calls && q.starts && seen && order ? aif_utilization_get(r->p, t, &w) : -ENOMEM;

	(void)err;
	aif_report_note_captured(r, ": delay_max, queue_average, queue_max, full");
	for (size_t k = 0; k < w->len && !e; k++) {
		const struct aif_device_utilization *d = &w->devices[k];
		size_t n = d->end - d->first;

		memcpy(order, w->order + d->first, n * sizeof(*order));
		aif_sort_r(order, n, sizeof(*order), by_stream, (void *)t);
		for (size_t i = 0, end; i < n && !e; i = end) {
			for (end = i + 1;
			     end < n && stream_of(t, order[end]) == stream_of(t, order[i]);)
				end++;
			e = add_stream(r, d, order + i, end - i, seen, &q);
		}
	}
	free(q.calls);
	free(q.starts);
	free(seen);
	free(order);
	aif_facts_put(w);
	return e ? e : aif_table_sort(&r->t, 1);
}

const struct aif_report_table aif_report_table_streams = {
	.lacks = AIF_LACK_WORK | AIF_LACK_EXECUTIONS | AIF_LACK_LAUNCHES | AIF_LACK_RECORDS |
		 AIF_LACK_CLOCKS | AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_TIMELINE | AIF_REPORT_NEEDS_OPS,
	.hides_zeros = true,
	.rows = "device activity",
	.no_kernel = "time in which other kernels run is not idle",
	.left_out = aif_report_left_out_execs,
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
