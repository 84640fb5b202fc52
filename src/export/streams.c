/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --streams: each queue's waiting by cause, what its launches cost and how long it was. The definitions are those of
 * Holistic Trace Analysis (get_idle_time_breakdown, get_cuda_kernel_launch_stats, get_queue_length_summary), of a
 * launch and its execution:
 *
 *   waits         gaps between what ran in the stream, by aif_idle_of()
 *   delay         from the end of the call to the start of the execution, at least 0; where calls have no times of
 *                 their own, from its begin
 *   short         executions that took less time than the call that launched them
 *   slow calls    of more than 50 us; late: delays of more than 100 us (HTA's defaults)
 *   queue length  launches that were made and have not begun to run: +1 when the call begins, -1 at the start; its
 *                 average is over time, from the first call to the last start. full: the time with 1,024 and more,
 *                 where CUDA's next launch blocks
 *
 * A graph's launch is one, and begins to run with its first node.
 */
#include "export/timed_report.h"
#include "export/work.h"

#include <errno.h>
#include <string.h>

#define SLOW_CALL_NS UINT64_C(50000)
#define LATE_NS      UINT64_C(100000)
#define QUEUE_FULL   1024

static const struct aif_table_column columns[] = {
	{"executions", AIF_TABLE_COUNT},
	{"busy", AIF_TABLE_NS},
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

	return *x < *y ? -1 : *x > *y;
}

static void measure_queue(struct queue *q)
{
	size_t in = 0, out = 0;
	unsigned __int128 sum = 0;
	int64_t at;

	q->average = q->max = q->full = 0;
	if (!q->len)
		return;
	qsort(q->calls, q->len, sizeof(*q->calls), by_time);
	qsort(q->starts, q->len, sizeof(*q->starts), by_time);
	at = AIF_MIN(q->calls[0], q->starts[0]);
	while (out < q->len) {
		bool is_call = in < q->len && q->calls[in] <= q->starts[out];
		int64_t next = is_call ? q->calls[in] : q->starts[out];
		uint64_t ns = (uint64_t)next - (uint64_t)at, length = in > out ? in - out : 0;

		sum += (unsigned __int128)ns * length;
		q->full += length >= QUEUE_FULL ? ns : 0;
		at = next;
		in += is_call;
		out += !is_call;
		q->max = AIF_MAX(q->max, in > out ? in - out : 0);
	}
	if (at > q->calls[0])
		q->average = (uint64_t)((sum + ((uint64_t)at - (uint64_t)q->calls[0]) / 2) /
					((uint64_t)at - (uint64_t)q->calls[0]));
}

struct stream {
	uint64_t executions, waits[AIF_IDLE_COUNT], short_ones, slow_calls, late, delay_max;
	unsigned __int128 delays;
	struct aif_spans busy;
};

static void add_launch(struct aif_timed_report *r, const struct aif_timed_exec *x, struct stream *s,
		       struct queue *q)
{
	const struct aif_timed_launch *l = &r->timed->launches[x->launch];
	uint32_t call = r->ops->calls[x->launch];
	int64_t end = l->at;
	uint64_t delay;

	if (call != AIF_NONE) {
		uint64_t ns = aif_op_ns(&r->ops->ops[call]);

		end = r->ops->ops[call].end;
		s->short_ones += aif_timed_ns(x) < ns;
		s->slow_calls += ns > SLOW_CALL_NS;
	}
	delay = x->start > end ? (uint64_t)x->start - (uint64_t)end : 0;
	s->late += delay > LATE_NS;
	s->delays += delay;
	s->delay_max = AIF_MAX(s->delay_max, delay);
	q->calls[q->len] = l->at;
	q->starts[q->len++] = x->start;
}

static int add_exec(struct aif_timed_report *r, const struct aif_device_work *d,
		    const struct aif_timed_exec *x, struct stream *s)
{
	const struct aif_spans *busy = &s->busy;
	int64_t end = busy->len ? busy->at[busy->len - 1].end : x->start;

	if (x->start > end)
		s->waits[aif_idle_of(r->timed, x, end)] +=
			(uint64_t)x->start - (uint64_t)end -
			aif_spans_covered(&d->not_collected, end, x->start);
	s->executions++;
	return aif_spans_add(&s->busy, x->start, x->end);
}

static void put_row(struct aif_timed_report *r, const struct aif_device_work *d, uint32_t stream,
		    const struct stream *s, const struct queue *q)
{
	aif_table_number(r->t, s->executions);
	aif_table_number(r->t, aif_spans_total(&s->busy));
	for (size_t i = 0; i < AIF_IDLE_COUNT; i++)
		aif_table_number(r->t, s->waits[i]);
	aif_table_number(r->t, q->len);
	aif_table_number(r->t, s->short_ones);
	aif_table_number(r->t, s->slow_calls);
	aif_table_number(r->t, s->late);
	aif_table_number(r->t, q->len ? (uint64_t)(s->delays / q->len) : 0);
	aif_table_number(r->t, s->delay_max);
	aif_table_number(r->t, q->average);
	aif_table_number(r->t, q->max);
	aif_table_number(r->t, q->full);
	aif_timed_report_process_cell(r, d->process);
	aif_table_number(r->t, stream == AIF_NONE ? 0 : r->p->streams[stream].ordinal);
	aif_timed_report_device_cell(r, d->device);
}

static int by_stream(const void *a, const void *b, void *arg)
{
	const struct aif_timed_exec *execs = arg, *x = &execs[*(const uint32_t *)a],
				    *y = &execs[*(const uint32_t *)b];

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* first, end: of one stream. seen: by launch. */
static int add_stream(struct aif_timed_report *r, const struct aif_work *w,
		      const struct aif_device_work *d, size_t first, size_t end, uint8_t *seen,
		      struct queue *q)
{
	const struct aif_timed_exec *execs = r->timed->execs;
	struct stream s = {0};
	int e = 0;

	q->len = 0;
	for (size_t i = first; i < end && !e; i++) {
		const struct aif_timed_exec *x = &execs[w->order[i]];

		e = add_exec(r, d, x, &s);
		if (x->launch != AIF_NONE && !seen[x->launch]) {
			seen[x->launch] = 1;
			add_launch(r, x, &s, q);
		}
	}
	measure_queue(q);
	if (!e)
		put_row(r, d, execs[w->order[first]].stream, &s, q);
	aif_spans_finish(&s.busy);
	return e;
}

int aif_streams_table(struct aif_timed_report *r, struct aif_err *err)
{
	const struct aif_timed *t = r->timed;
	struct aif_work w = {0};
	struct queue q = {.calls = malloc((t->execs_len + 1) * sizeof(*q.calls)),
			  .starts = malloc((t->execs_len + 1) * sizeof(*q.starts))};
	uint8_t *seen = calloc(t->launches_len + 1, sizeof(*seen));
	int e = q.calls && q.starts && seen ? aif_work_make(r->p, t, &w) : -ENOMEM;

	(void)err;
	aif_table_init(r->t, columns, AIF_ARRAY_LEN(columns));
	for (size_t k = 0; k < w.len && !e; k++) {
		struct aif_device_work *d = &w.devices[k];

		qsort_r(w.order + d->first, d->end - d->first, sizeof(*w.order), by_stream,
			t->execs);
		for (size_t i = d->first, end; i < d->end && !e; i = end) {
			for (end = i + 1; end < d->end && t->execs[w.order[end]].stream ==
								  t->execs[w.order[i]].stream;)
				end++;
			e = add_stream(r, &w, d, i, end, seen, &q);
		}
	}
	free(q.calls);
	free(q.starts);
	free(seen);
	aif_work_finish(&w);
	return e ? e : aif_table_sort(r->t, 1);
}
