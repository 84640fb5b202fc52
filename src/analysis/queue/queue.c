/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/queue/queue.h"

#include "base/sort.h"
#include "analysis/calls/host_calls.h"
#include "analysis/cpu_totals.h"
#include "analysis/gaps.h"
#include "analysis/time.h"
#include "profile/file.h"

#include <errno.h>
#include <string.h>

/* A call that waited, of a process. */
struct wait {
	int64_t start, end;
	uint32_t process;
};

/* Work of one launch on the device at hand, or an execution without a launch. */
struct item {
	uint64_t busy; /* what its executions add to the union */
	uint32_t exec; /* the first of them, which starts first */
};

struct making {
	const struct aif_profile *p;
	const struct aif_exec_timeline *t;
	struct aif_queue *to;
	struct aif_gaps gaps;
	uint32_t *
		item_of; /* by launch: 1 + its item of the device at hand, or 0; NULL: all are found */
	struct item *items;
	int64_t *ends; /* of the items, sorted once all are found */
	size_t items_len, items_cap, ends_cap;
	struct wait *waits; /* of all processes, by end */
	size_t waits_len, waits_cap;
};

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return AIF_ORDER(x, y);
}

/* Returns how many of n sorted times are at most `at`; `near`: about as many. */
static size_t count_until(const int64_t *times, size_t n, int64_t at, size_t near)
{
	return AIF_BISECT_NEAR(i, n, near, times[i] <= at);
}

/* Returns the index of an item's launch, AIF_NONE: it has none. */
static uint32_t launch_of(const struct making *m, const struct item *item)
{
	return m->t->execs[item->exec].launch;
}

/* Returns the start of its work. */
static int64_t start_of(const struct making *m, const struct item *item)
{
	return aif_time_clamp(m->t->execs[item->exec].start);
}

/* Returns the begin of its call. */
static int64_t call_of(const struct making *m, const struct item *item)
{
	uint32_t launch = launch_of(m, item);

	return launch == AIF_NONE ? start_of(m, item) : aif_time_clamp(m->t->launches[launch].at);
}

/* Returns how many calls of the items, which are in the order of these, are at most `at`; `near`: about as many. */
static size_t count_calls_until(const struct making *m, int64_t at, size_t near)
{
	return AIF_BISECT_NEAR(i, m->items_len, near, call_of(m, &m->items[i]) <= at);
}

/* ---- waits ----------------------------------------------------------------------------------- */

static int add_wait(struct making *m, uint32_t thread, int64_t start, int64_t end)
{
	if (thread == AIF_NONE || end <= start)
		return 0;
	if (aif_grow(&m->waits, &m->waits_cap, m->waits_len + 1, sizeof(*m->waits)) < 0)
		return -ENOMEM;
	m->waits[m->waits_len++] =
		(struct wait){.start = start, .end = end, .process = m->p->threads[thread].process};
	return 0;
}

static int take_cpu(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct making *m = arg;
	int e = 0;

	for (size_t i = 0; i < n && !e; i++) {
		int64_t at = aif_time_clamp((int64_t)(rows[i].time - m->p->start_ns));

		if (rows[i].waiting && !aif_cpu_is_off_cpu(m->p, rows[i].stack))
			e = add_wait(
				m, rows[i].thread, at,
				at + (int64_t)AIF_MIN(rows[i].waiting, (uint64_t)AIF_TIME_MAX));
	}
	return e;
}

static int by_wait_end(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return AIF_ORDER(x->end, y->end) ?: AIF_ORDER(x->start, y->start);
}

/* Reads calls that wait, of traces, too; else what the recorder estimated. */
static int read_waits(struct making *m, const struct aif_utilization *u)
{
	struct aif_host_calls calls;
	int e = aif_host_calls_read(m->p, NULL, &calls);

	m->to->has_calls = u->len > 0;
	for (size_t i = 0; i < u->len; i++)
		m->to->has_calls &= aif_host_calls_recorded(m->p, u->devices[i].device);
	for (size_t i = 0; i < calls.len && !e; i++)
		if (aif_host_call_waits(calls.at[i].kind))
			e = add_wait(m, calls.at[i].thread, aif_time_clamp(calls.at[i].start),
				     aif_time_clamp(calls.at[i].end));
	m->to->damaged += calls.damaged;
	aif_host_calls_finish(&calls);
	if (!e && !m->waits_len && !m->to->has_calls)
		e = aif_profile_cpu(m->p, take_cpu, m, &m->to->damaged);
	if (m->waits_len)
		aif_sort(m->waits, m->waits_len, sizeof(*m->waits), by_wait_end);
	return e;
}

/* ---- launches of a device --------------------------------------------------------------------- */

static int by_call(const void *a, const void *b, void *arg)
{
	const struct making *m = arg;
	const struct item *x = a, *y = b;
	int64_t call = call_of(m, x), other = call_of(m, y);
	uint32_t launch = launch_of(m, x), other_launch = launch_of(m, y);

	return AIF_ORDER(call, other) ?: AIF_ORDER(start_of(m, x), start_of(m, y))
	       ?: AIF_ORDER(launch, other_launch);
}

/* Adds an execution, which comes by its start, to the item of its launch. `until`: the end of the union before it. */
static int add_exec(struct making *m, uint32_t exec, int64_t until)
{
	const struct aif_timeline_exec *x = &m->t->execs[exec];
	int64_t start = aif_time_clamp(x->start), end = aif_time_clamp(x->end),
		from = AIF_MAX(start, until);
	uint32_t known = x->launch == AIF_NONE ? 0 : m->item_of[x->launch];

	if (!known) {
		if (aif_grow(&m->items, &m->items_cap, m->items_len + 1, sizeof(*m->items)) < 0 ||
		    aif_grow(&m->ends, &m->ends_cap, m->items_len + 1, sizeof(*m->ends)) < 0)
			return -ENOMEM;
		m->ends[m->items_len] = end;
		m->items[m->items_len++] = (struct item){.exec = exec};
		known = (uint32_t)m->items_len;
		if (x->launch == AIF_NONE)
			m->to->unjoined++;
		else
			m->item_of[x->launch] = known;
	}
	m->ends[known - 1] = AIF_MAX(m->ends[known - 1], end);
	m->items[known - 1].busy += end > from ? (uint64_t)(end - from) : 0;
	return 0;
}

static int find_items(struct making *m, const struct aif_utilization *u,
		      const struct aif_device_utilization *d)
{
	const struct aif_timeline_exec *execs = m->t->execs;
	int64_t until = INT64_MIN;
	int e = 0;

	m->items_len = 0;
	m->item_of = calloc(m->t->launches_len + 1, sizeof(*m->item_of));
	if (!m->item_of)
		return -ENOMEM;
	for (size_t i = d->first; i < d->end && !e; i++) {
		const struct aif_timeline_exec *x = &execs[u->order[i]];

		e = add_exec(m, u->order[i], until);
		until = AIF_MAX(until, aif_time_clamp(x->end));
	}
	free(m->item_of);
	m->item_of = NULL;
	if (!e && m->items_len) {
		aif_sort_r(m->items, m->items_len, sizeof(*m->items), by_call, m);
		aif_sort(m->ends, m->items_len, sizeof(*m->ends), by_time);
	}
	return e;
}

static struct aif_gaps_span span_at(const struct making *m, uint32_t process, int64_t at)
{
	return aif_gaps_at(&m->gaps, process, at > 0 ? (uint64_t)at : 0);
}

/* Adds the waits of the device's process during which it had something to do, in what was collected. */
static int add_waits(struct making *m, const struct aif_queue_device *d)
{
	struct aif_queue *q = m->to;
	size_t during = 0;

	for (size_t i = 0; i < m->waits_len; i++) {
		const struct wait *w = &m->waits[i];
		size_t before = count_calls_until(m, w->start, during);
		struct aif_gaps_span span;

		during = count_calls_until(m, w->end, before);
		if (w->process != d->process ||
		    (during == before &&
		     before <= count_until(m->ends, m->items_len, w->start, before)))
			continue;
		span = span_at(m, d->process, w->end);
		if (span.is_gap || span_at(m, d->process, w->start).number != span.number)
			continue;
		if (aif_grow(&q->waits, &q->waits_cap, q->waits_len + 1, sizeof(*q->waits)) < 0)
			return -ENOMEM;
		q->waits[q->waits_len++] = (struct aif_queue_wait){
			.start = w->start,
			.end = w->end,
			.has_emptied =
				during <= count_until(m->ends, m->items_len, w->end, during)};
	}
	return 0;
}

/* Adds the launches, which come by their calls, with the depth of the queue. */
static int add_launches(struct making *m, const struct aif_device_utilization *d,
			const struct aif_queue_device *of)
{
	struct aif_queue *q = m->to;
	int64_t kept = aif_timed_kept(m->p), since = INT64_MAX;
	uint64_t busy = 0, span_before = UINT64_MAX;
	struct aif_spans_cursor done_until = {0};
	size_t wait = of->waits_first, ended = 0;

	for (size_t i = 0; i < m->items_len; i++) {
		const struct item *item = &m->items[i];
		int64_t call = call_of(m, item);
		struct aif_gaps_span span = span_at(m, d->process, call);
		uint64_t done = aif_spans_covered_until(&d->busy, &done_until, call);
		bool is_after_wait = false;

		while (ended < m->items_len && m->ends[ended] <= call)
			ended++;
		for (; wait < of->waits_end && q->waits[wait].end <= call; wait++)
			is_after_wait |= q->waits[wait].has_emptied;
		if (span.number != span_before)
			since = span.start || kept ? INT64_MAX : INT64_MIN;
		span_before = span.number;
		if (launch_of(m, item) != AIF_NONE && call >= kept) {
			if (aif_grow(&q->launches, &q->cap, q->len + 1, sizeof(*q->launches)) < 0)
				return -ENOMEM;
			q->launches[q->len++] = (struct aif_queue_launch){
				.ahead = (uint32_t)(i > ended ? i - ended : 0),
				.ahead_ns = busy > done ? busy - done : 0,
				.exec = item->exec,
				.is_known = !span.is_gap && call >= since,
				.is_after_wait = is_after_wait && i <= ended};
		}
		if (!span.is_gap && start_of(m, item) >= 0)
			since = AIF_MIN(since, start_of(m, item));
		busy += item->busy;
	}
	return 0;
}

static int add_device(struct making *m, const struct aif_utilization *u,
		      const struct aif_device_utilization *d)
{
	struct aif_queue *q = m->to;
	struct aif_queue_device of = {.process = d->process,
				      .device = d->device,
				      .first = q->len,
				      .waits_first = q->waits_len};
	int e = find_items(m, u, d);

	if (!e)
		e = add_waits(m, &of);
	of.waits_end = q->waits_len;
	if (!e)
		e = add_launches(m, d, &of);
	of.end = q->len;
	if (!e &&
	    aif_grow(&q->devices, &q->devices_cap, q->devices_len + 1, sizeof(*q->devices)) < 0)
		e = -ENOMEM;
	if (!e)
		q->devices[q->devices_len++] = of;
	return e;
}

static int64_t start_behind_call(const struct aif_queue *q, uint32_t i)
{
	const struct aif_queue_launch *l = &q->launches[i];

	return AIF_MAX(aif_queue_at(q, l), aif_time_clamp(q->t->execs[l->exec].start));
}

static int by_start(const void *a, const void *b, void *arg)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	int64_t x = start_behind_call(arg, i), y = start_behind_call(arg, j);

	return AIF_ORDER(x, y) ?: AIF_ORDER(i, j);
}

static bool is_by_start(struct aif_queue *q)
{
	for (size_t k = 0; k < q->devices_len; k++)
		for (size_t i = q->devices[k].first + 1; i < q->devices[k].end; i++)
			if (start_behind_call(q, (uint32_t)i - 1) >
			    start_behind_call(q, (uint32_t)i))
				return false;
	return true;
}

/* Lists the launches of each device by their starts, if that is not their order: it is where each is made when the one before has
 * started. */
static int order_by_start(struct aif_queue *q)
{
	if (is_by_start(q))
		return 0;
	q->by_start = malloc((q->len + 1) * sizeof(*q->by_start));
	if (!q->by_start)
		return -ENOMEM;
	for (size_t i = 0; i < q->len; i++)
		q->by_start[i] = (uint32_t)i;
	for (size_t k = 0; k < q->devices_len; k++) {
		const struct aif_queue_device *d = &q->devices[k];

		if (d->end > d->first)
			aif_sort_r(q->by_start + d->first, d->end - d->first, sizeof(*q->by_start),
				   by_start, q);
	}
	return 0;
}

int aif_queue_make(const struct aif_profile *p, const struct aif_exec_timeline *t,
		   const struct aif_utilization *u, struct aif_queue *ret)
{
	struct making m = {.p = p, .t = t, .to = ret};
	int e;

	*ret = (struct aif_queue){.start_ns = p->start_ns, .t = t};
	aif_facts_hold(t);
	e = aif_gaps_init_with_off(&m.gaps, p);
	if (!e)
		e = read_waits(&m, u);
	for (size_t i = 0; i < u->len && !e; i++)
		e = add_device(&m, u, &u->devices[i]);
	aif_gaps_finish(&m.gaps);
	free(m.items);
	free(m.ends);
	free(m.waits);
	return e ? e : order_by_start(ret);
}

void aif_queue_drop_launches(struct aif_queue *q)
{
	free(q->launches);
	free(q->by_start);
	q->launches = NULL;
	q->by_start = NULL;
	q->len = q->cap = 0;
	for (size_t k = 0; k < q->devices_len; k++)
		q->devices[k].first = q->devices[k].end = 0;
	aif_facts_put(q->t);
	q->t = NULL;
}

void aif_queue_finish(struct aif_queue *q)
{
	aif_queue_drop_launches(q);
	free(q->devices);
	free(q->waits);
	*q = (struct aif_queue){0};
}
