/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/replay/replay.h"

#include "analysis/weights.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An execution that starts so soon behind the end of another stream's waited for that, if it waited for longer than that. */
#define BEHIND_OTHER_NS 10000
/* A wait may be stamped a little before the end of the work that it was for: their clocks are mapped. */
#define CLOCK_NS 2000
/* Fewer launches make no schedule. */
#define FEWEST 10

/* ---- reading the schedule -------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct aif_replay_event *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int by_launch_and_start(const void *a, const void *b, void *arg)
{
	const struct aif_exec_timeline *t = arg;
	const struct aif_timeline_exec *x = &t->execs[((const struct aif_replay_exec *)a)->of],
				       *y = &t->execs[((const struct aif_replay_exec *)b)->of];
	int64_t at = t->launches[x->launch].at, other = t->launches[y->launch].at;

	if (at != other)
		return at < other ? -1 : 1;
	if (x->launch != y->launch)
		return x->launch < y->launch ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int take_execs(struct aif_replay *r, int64_t from, int64_t to)
{
	for (uint32_t i = 0; i < r->t->execs_len; i++) {
		const struct aif_timeline_exec *x = &r->t->execs[i];

		if (x->launch == AIF_NONE || r->t->launches[x->launch].at < from ||
		    r->t->launches[x->launch].at >= to)
			continue;
		if (aif_grow(&r->execs, &r->execs_cap, r->execs_len + 1, sizeof(*r->execs)) < 0)
			return -ENOMEM;
		r->execs[r->execs_len++] = (struct aif_replay_exec){.of = i,
								    .before = AIF_NONE,
								    .other = AIF_NONE,
								    .ns = (double)aif_timed_ns(x)};
	}
	if (r->execs_len)
		qsort_r(r->execs, r->execs_len, sizeof(*r->execs), by_launch_and_start,
			(void *)r->t);
	return 0;
}

static int add_event(struct aif_replay *r, const struct aif_replay_event *e)
{
	if (aif_grow(&r->events, &r->events_cap, r->events_len + 1, sizeof(*r->events)) < 0)
		return -ENOMEM;
	r->events[r->events_len++] = *e;
	return 0;
}

static const struct aif_timeline_exec *exec_of(const struct aif_replay *r, size_t i)
{
	return &r->t->execs[r->execs[i].of];
}

static int take_launches(struct aif_replay *r)
{
	int e = 0;

	for (uint32_t i = 0, next; i < r->execs_len && !e; i = next) {
		uint32_t launch = exec_of(r, i)->launch;

		for (next = i; next < r->execs_len && exec_of(r, next)->launch == launch; next++)
			;
		e = add_event(r, &(struct aif_replay_event){
					 .at = r->t->launches[launch].at,
					 .stack = r->t->launches[launch].stack == AIF_NONE
							  ? (uint32_t)r->p->stacks_len
							  : r->t->launches[launch].stack,
					 .first = i,
					 .end = next,
					 .behind = AIF_NONE,
					 .until = AIF_NONE});
	}
	return e;
}

/* Waits have their begin in .tail_ns until the chain is linked. */
static int take_waits(struct aif_replay *r, const struct aif_queue *queue, int64_t from, int64_t to)
{
	int e = 0;

	for (size_t i = 0; i < queue->waits_len && !e; i++) {
		const struct aif_queue_wait *w = &queue->waits[i];

		if (w->start >= from && w->end <= to && w->end > w->start)
			e = add_event(r, &(struct aif_replay_event){.at = w->end,
								    .tail_ns = (double)w->start,
								    .stack = AIF_NONE,
								    .behind = AIF_NONE,
								    .until = AIF_NONE,
								    .first = UINT32_MAX});
	}
	return e;
}

/* Returns the last of the copies of a launch that ended until `at`, AIF_NONE: none did. */
static uint32_t copy_before(const struct aif_replay *r, const struct aif_replay_event *e,
			    int64_t at)
{
	uint32_t last = AIF_NONE;

	for (uint32_t k = e->first; e->stack != AIF_NONE && k < e->end; k++)
		if (exec_of(r, k)->kind != AIF_LAUNCH_KERNEL && exec_of(r, k)->end <= at &&
		    (last == AIF_NONE || exec_of(r, k)->end > exec_of(r, last)->end))
			last = k;
	return last;
}

/* Links the host's events: each takes the time since the one before. */
static void link_host(struct aif_replay *r)
{
	int64_t last = r->events[0].at;
	/* The execution that ends last of those launched so far, and ended until a moment, is searched among the latest ones. */
	uint32_t launched = 0;

	for (size_t i = 0; i < r->events_len; i++) {
		struct aif_replay_event *e = &r->events[i];
		int64_t start, arrived, end = INT64_MIN;

		e->behind = i ? copy_before(r, e - 1,
					    e->stack == AIF_NONE ? (int64_t)e->tail_ns : e->at)
			      : AIF_NONE;
		if (e->behind != AIF_NONE)
			last = AIF_MAX(last, exec_of(r, e->behind)->end);
		if (e->stack != AIF_NONE) {
			e->host_ns = (double)AIF_MAX(e->at - last, 0);
			last = e->at;
			launched = e->end;
			continue;
		}
		start = (int64_t)e->tail_ns;
		arrived = AIF_MAX(start, last);
		for (uint32_t k = launched; k-- > 0 && launched - k < 4096;) {
			const struct aif_timeline_exec *x = exec_of(r, k);

			if (r->t->launches[x->launch].at <= start && x->end <= e->at + CLOCK_NS &&
			    x->end > end) {
				end = x->end;
				e->until = k;
			}
		}
		e->host_ns = (double)AIF_MAX(arrived - last, 0);
		e->tail_ns = (double)AIF_MAX(
			e->at - (end == INT64_MIN ? arrived : AIF_MAX(arrived, end)), 0);
		last = AIF_MAX(last, e->at);
	}
}

static int by_start(const void *a, const void *b, void *arg)
{
	const struct aif_replay *r = arg;
	const struct aif_timeline_exec *x = exec_of(r, *(const uint32_t *)a),
				       *y = exec_of(r, *(const uint32_t *)b);

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static int by_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double median(uint64_t *ns, size_t n)
{
	qsort(ns, n, sizeof(*ns), by_ns);
	return n ? (double)ns[n / 2] : 0;
}

/* Finds what each execution started behind. Only what comes earlier in the order of launches can be replayed before it. */
static int link_execs(struct aif_replay *r)
{
	uint32_t *order = malloc((r->execs_len + 1) * sizeof(*order)), last_end = AIF_NONE;
	uint64_t *launch = malloc((r->execs_len + 1) * sizeof(*launch)),
		 *gap = malloc((r->execs_len + 1) * sizeof(*gap));
	size_t launches = 0, gaps = 0;
	struct aif_map last = {0};
	int e = order && launch && gap ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < r->execs_len && !e; i++)
		order[i] = i;
	if (!e)
		qsort_r(order, r->execs_len, sizeof(*order), by_start, r);
	for (size_t n = 0; n < r->execs_len && !e; n++) {
		uint32_t i = order[n];
		struct aif_replay_exec *x = &r->execs[i];
		const struct aif_timeline_exec *of = exec_of(r, i);
		int64_t base = r->t->launches[of->launch].at;
		uint64_t before;

		x->is_behind_launch = true;
		if (aif_map_get(&last, of->stream, &before) && before < i &&
		    exec_of(r, before)->end <= of->start) {
			x->before = (uint32_t)before;
			if (exec_of(r, before)->end > base) {
				base = exec_of(r, before)->end;
				x->is_behind_launch = false;
			}
		}
		if (last_end != AIF_NONE && last_end < i && last_end != x->before &&
		    exec_of(r, last_end)->end <= of->start &&
		    exec_of(r, last_end)->end > base + BEHIND_OTHER_NS &&
		    of->start - exec_of(r, last_end)->end <= BEHIND_OTHER_NS) {
			x->other = last_end;
			base = exec_of(r, last_end)->end;
			x->is_behind_launch = false;
		}
		x->delay_ns = (double)AIF_MAX(of->start - base, 0);
		if (x->is_behind_launch)
			launch[launches++] = (uint64_t)x->delay_ns;
		else
			gap[gaps++] = (uint64_t)x->delay_ns;
		e = aif_map_put(&last, of->stream, i);
		/* Keeps the last to end of those before the next one. */
		if (last_end == AIF_NONE || exec_of(r, last_end)->end < of->end)
			last_end = i;
	}
	if (!e) {
		r->usual_launch_ns = median(launch, launches);
		r->usual_gap_ns = median(gap, gaps);
	}
	free(order);
	free(launch);
	free(gap);
	aif_map_finish(&last);
	return e;
}

/* True if the part is of one process on one device, and whole. */
static bool is_whole(const struct aif_idle_part *part)
{
	return !part->t->weights && !part->t->left_out && part->u->len == 1;
}

int aif_replay_make(const struct aif_profile *p, const struct aif_idle_part *part,
		    const struct aif_queue *queue, int64_t from, int64_t to, struct aif_replay *ret)
{
	double recorded = 0;
	int64_t begin = INT64_MAX, end = INT64_MIN;
	int e;

	*ret = (struct aif_replay){.p = p, .t = part->t};
	if (!is_whole(part))
		return 0;
	e = take_execs(ret, from, to);
	if (!e)
		e = take_launches(ret);
	if (e || ret->events_len < FEWEST)
		return e;
	e = take_waits(ret, queue, from, to);
	if (e)
		return e;
	qsort(ret->events, ret->events_len, sizeof(*ret->events), by_time);
	link_host(ret);
	e = link_execs(ret);
	ret->ends = malloc((ret->execs_len + 1) * sizeof(*ret->ends));
	if (e || !ret->ends)
		return e ? e : -ENOMEM;
	for (size_t i = 0; i < ret->execs_len; i++)
		end = AIF_MAX(end, exec_of(ret, i)->end);
	begin = ret->events[0].at;
	end = AIF_MAX(end, ret->events[ret->events_len - 1].at);
	recorded = (double)(end - begin);
	ret->length_ns = aif_replay_length(ret, &(struct aif_replay_without){.waits = false});
	if (ret->length_ns < recorded * (1 - AIF_REPLAY_ERROR_PPM / 1e6) ||
	    ret->length_ns > recorded * (1 + AIF_REPLAY_ERROR_PPM / 1e6))
		ret->length_ns = 0;
	return 0;
}

void aif_replay_finish(struct aif_replay *r)
{
	free(r->events);
	free(r->execs);
	free(r->ends);
	*r = (struct aif_replay){0};
}

/* ---- replaying it ---------------------------------------------------------------------------- */

/* Returns when an execution starts that is launched at `at`. */
static double start_of(const struct aif_replay *r, const struct aif_replay_exec *x, double at,
		       bool no_late)
{
	double usual_launch = AIF_MIN(r->usual_launch_ns, x->delay_ns);
	double usual_gap = AIF_MIN(r->usual_gap_ns, x->delay_ns);
	double launch = x->is_behind_launch && !no_late ? x->delay_ns : usual_launch;
	double gap = !x->is_behind_launch && !no_late ? x->delay_ns : usual_gap;
	double start = at + launch;

	if (x->before != AIF_NONE)
		start = AIF_MAX(start, r->ends[x->before] + gap);
	if (x->other != AIF_NONE)
		start = AIF_MAX(start, r->ends[x->other] + gap);
	return start;
}

double aif_replay_length(const struct aif_replay *r, const struct aif_replay_without *without)
{
	double now = 0, end = 0;

	for (size_t i = 0; i < r->events_len; i++) {
		const struct aif_replay_event *e = &r->events[i];

		if (e->behind != AIF_NONE && !without->waits)
			now = AIF_MAX(now, r->ends[e->behind]);
		now += e->host_ns * (without->host ? (double)without->host[i] : 1);
		if (e->stack == AIF_NONE) {
			if (without->waits)
				continue;
			if (e->until != AIF_NONE)
				now = AIF_MAX(now, r->ends[e->until]);
			now += e->tail_ns;
			continue;
		}
		for (uint32_t k = e->first; k < e->end; k++) {
			const struct aif_replay_exec *x = &r->execs[k];
			bool is_zero = without->is_zero &&
				       without->is_zero(without->arg, &r->t->execs[x->of]);

			r->ends[k] = start_of(r, x, now, without->late) + (is_zero ? 0 : x->ns);
			end = AIF_MAX(end, r->ends[k]);
		}
	}
	return AIF_MAX(now, end);
}

/* ---- what the host's time is ----------------------------------------------------------------- */

/* Amounts that are gone and all, of a course or of launches with one stack. */
struct amount {
	double gone, all;
};
struct amounts {
	struct aif_map of;
	struct amount *at;
	size_t len, cap;
};

static struct amount *amount_of(struct amounts *a, uint64_t key)
{
	uint64_t i;

	if (aif_map_get(&a->of, key, &i))
		return &a->at[i];
	if (aif_grow(&a->at, &a->cap, a->len + 1, sizeof(*a->at)) < 0 ||
	    aif_map_put(&a->of, key, a->len) < 0)
		return NULL;
	a->at[a->len] = (struct amount){0, 0};
	return &a->at[a->len++];
}

/* Returns the first event at or behind a moment. */
static size_t event_at(const struct aif_replay *r, int64_t at)
{
	size_t lo = 0, hi = r->events_len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->events[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* True if it is time of the host's own: waits have events of their own, and what follows a launch call is the execution's. */
static bool is_host(enum aif_idle_cause cause)
{
	return cause != AIF_IDLE_CAUSE_WAIT && cause != AIF_IDLE_CAUSE_LAUNCH &&
	       cause != AIF_IDLE_CAUSE_LATE;
}

static int add_courses(struct amounts *to, const struct aif_idle_blame *blame,
		       const struct aif_idle_course *course,
		       bool (*is_gone)(const void *arg, const struct aif_idle_row *row),
		       const void *arg)
{
	struct aif_map row_of = {0};
	int e = 0;

	for (size_t i = 0; i < blame->len && !e; i++)
		e = aif_map_put(&row_of, aif_idle_row_key(&blame->rows[i]), i);
	for (size_t i = 0; i < course->parts_len && !e; i++) {
		struct amount *a = amount_of(to, course->parts[i].course);
		uint64_t row;

		if (!a)
			e = -ENOMEM;
		else if (aif_map_get(&row_of, course->parts[i].row, &row) &&
			 is_host(blame->rows[row].cause)) {
			a->all += course->parts[i].ns;
			a->gone += is_gone(arg, &blame->rows[row]) ? course->parts[i].ns : 0;
		}
	}
	aif_map_finish(&row_of);
	return e;
}

/* Adds the parts of each event's idle time. */
static int add_times(const struct aif_replay *r, struct amounts *courses,
		     const struct aif_idle_course *course, struct amount *of_event)
{
	for (size_t i = 0; i < course->times_len; i++) {
		const struct aif_idle_time *t = &course->times[i];
		const struct amount *a = amount_of(courses, t->course);
		/* Time behind a launch call belongs to that one. */
		size_t event = event_at(r, t->to);

		if (!a)
			return -ENOMEM;
		if (event == r->events_len || !(a->all > 0))
			continue;
		of_event[event].all += (double)(t->to - t->from);
		of_event[event].gone += (double)(t->to - t->from) * a->gone / a->all;
	}
	return 0;
}

int aif_replay_host_without(const struct aif_replay *r, const struct aif_idle_blame *blame,
			    const struct aif_idle_course *course,
			    bool (*is_gone)(const void *arg, const struct aif_idle_row *row),
			    const void *arg, float *ret)
{
	struct amount *of_event = calloc(r->events_len + 1, sizeof(*of_event)), *a;
	struct amounts courses = {0}, stacks = {0};
	struct amount any = {0};
	int e = of_event ? add_courses(&courses, blame, course, is_gone, arg) : -ENOMEM;

	if (!e)
		e = add_times(r, &courses, course, of_event);
	for (size_t i = 0; i < r->events_len && !e; i++) {
		a = amount_of(&stacks, r->events[i].stack);
		if (a) {
			a->all += of_event[i].all;
			a->gone += of_event[i].gone;
			any.all += of_event[i].all;
			any.gone += of_event[i].gone;
		}
		e = a ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < r->events_len && !e; i++) {
		a = amount_of(&stacks, r->events[i].stack);
		a = of_event[i].all > 0 ? &of_event[i] : a;
		a = a && a->all > 0 ? a : &any;
		ret[i] = a->all > 0 ? (float)(1 - a->gone / a->all) : 1;
	}
	free(of_event);
	free(courses.at);
	aif_map_finish(&courses.of);
	free(stacks.at);
	aif_map_finish(&stacks.of);
	return e;
}
