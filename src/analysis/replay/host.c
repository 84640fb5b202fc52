/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the host's time that rows of the blame have, by event. */
#include "analysis/replay/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct amounts {
	struct aif_map of;
	struct aif_replay_amount *at;
	size_t len, cap;
};

static struct aif_replay_amount *amount_of(struct amounts *a, uint64_t key)
{
	uint64_t i;

	if (aif_map_get(&a->of, key, &i))
		return &a->at[i];
	if (aif_grow(&a->at, &a->cap, a->len + 1, sizeof(*a->at)) < 0 ||
	    aif_map_put(&a->of, key, a->len) < 0)
		return NULL;
	a->at[a->len] = (struct aif_replay_amount){0, 0};
	return &a->at[a->len++];
}

static bool is_before(const struct aif_replay *r, size_t event, int64_t at)
{
	return aif_replay_time_of(r, &r->events[event]) < at;
}

/* Returns the first event at or behind a moment. `near`: the event that was asked for last, as times come in runs: from there on
 * steps are doubled until they have passed it. */
static size_t event_at(const struct aif_replay *r, int64_t at, size_t near)
{
	size_t lo = 0, hi = AIF_MIN(near, r->events_len), step = 1;

	if (hi < r->events_len && is_before(r, hi, at)) {
		for (lo = hi + 1; hi + step < r->events_len && is_before(r, hi + step, at);
		     step *= 2)
			lo = hi + step + 1;
		hi = AIF_MIN(hi + step, r->events_len);
	} else {
		size_t from = hi;

		for (; step <= from && !is_before(r, from - step, at); step *= 2)
			hi = from - step;
		lo = step <= from ? from - step + 1 : 0;
	}
	return AIF_BISECT(mid, lo, hi, is_before(r, mid, at));
}

/* True if it is time of the host's own: waits have events of their own, and what follows a launch call is that call's. */
static bool is_host(enum aif_idle_cause cause)
{
	return cause != AIF_IDLE_CAUSE_WAIT && cause != AIF_IDLE_CAUSE_LAUNCH &&
	       cause != AIF_IDLE_CAUSE_LATE;
}

static bool is_launch(enum aif_idle_cause cause)
{
	return cause == AIF_IDLE_CAUSE_LAUNCH;
}

/* Adds up rows of such a cause. */
static int add_courses(struct amounts *to, const struct aif_idle_blame *blame,
		       const struct aif_idle_course *course, bool (*is_such)(enum aif_idle_cause),
		       bool (*is_gone)(const void *arg, const struct aif_idle_row *row),
		       const void *arg)
{
	struct aif_map row_of = {0};
	int e = 0;

	for (size_t i = 0; i < blame->len && !e; i++)
		e = aif_map_put(&row_of, aif_idle_row_key(&blame->rows[i]), i);
	for (size_t i = 0; i < course->parts_len && !e; i++) {
		struct aif_replay_amount *a = amount_of(to, course->parts[i].course);
		uint64_t row;

		if (!a)
			e = -ENOMEM;
		else if (aif_map_get(&row_of, course->parts[i].row, &row) &&
			 is_such(blame->rows[row].cause)) {
			a->all += course->parts[i].ns;
			a->gone += is_gone(arg, &blame->rows[row]) ? course->parts[i].ns : 0;
		}
	}
	aif_map_finish(&row_of);
	return e;
}

/* Returns false if nothing is gone: then times need not be read. */
static bool is_any_gone(const struct amounts *a)
{
	for (size_t i = 0; i < a->len; i++)
		if (a->at[i].gone > 0)
			return true;
	return false;
}

/* Sets *ret to the amounts of courses by their place. Memory for free(). 0 or -ENOMEM. */
static int place_amounts(const struct amounts *courses, const struct aif_idle_course *course,
			 struct aif_replay_amount **ret)
{
	uint64_t i;

	*ret = calloc(course->courses_len + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t k = 0; k < course->courses_len; k++)
		if (aif_map_get(&courses->of, course->courses[k], &i))
			(*ret)[k] = courses->at[i];
	return 0;
}

/* Returns the index of an event's stack; a wait's comes last. */
static size_t stack_of(const struct aif_replay *r, size_t event)
{
	const struct aif_replay_event *e = &r->events[event];

	if (e->is_wait)
		return r->p->stacks_len + 1;
	return AIF_MIN(aif_replay_launch_of(r, e->of)->stack, r->p->stacks_len);
}

/* Executions among which the one is looked for that ends a gap. */
#define EXECS_BACK 64

/* Returns 1 + the event that launched what ended a gap behind its call; where the gap's part ends before that, the last to launch
 * before the part; 0: there is none. */
static size_t launched_by(const struct aif_replay *r, const struct aif_idle_time *t, size_t near)
{
	size_t last = 0, looked = 0;

	for (size_t event = event_at(r, t->from + 1, near); event && looked < EXECS_BACK; event--) {
		const struct aif_replay_event *e = &r->events[event - 1];

		last = last || e->is_wait ? last : event;
		for (uint32_t k = e->of, end = aif_replay_end_of(r, e);
		     k < end && looked < EXECS_BACK; k++, looked++)
			if (aif_replay_exec_of(r, k)->start == t->to)
				return event;
	}
	return last;
}

/* Idle time that is gone, by the place of its course: time of the host's own, and between calls and what they launched. */
struct gone {
	struct aif_replay_amount *host, *calls;
	bool is_host, is_calls; /* some is */
};

/* Adds idle time to the event that it lies before: all of it where `all` is not NULL, and as much of it as is gone. */
static void add_host(const struct aif_replay *r, const struct aif_replay_amount *a,
		     const struct aif_idle_time *t, size_t *event, double *all, double *of_event)
{
	/* Time behind a launch call belongs to that one. */
	*event = event_at(r, t->to, *event);
	if (*event == r->events_len)
		return;
	if (all)
		all[*event] += (double)(t->to - t->from);
	of_event[*event] += (double)(t->to - t->from) * a->gone / a->all;
}

/* Reads the times once, which are more than launches. Adds what is gone of the host's to of_event, of the others to `calls`, by
 * event; and all of the host's to `all` if it is not NULL. */
static void add_times(const struct aif_replay *r, const struct gone *gone,
		      const struct aif_idle_course *course, double *all, double *of_event,
		      float *calls)
{
	struct aif_idle_course_reader times = {0};
	struct aif_idle_time t;
	size_t host = 0, call = 0;

	while (aif_idle_course_next(course, &times, &t)) {
		const struct aif_replay_amount *a = &gone->host[times.place],
					       *b = &gone->calls[times.place];

		if (gone->is_host && a->all > 0 && (all || a->gone > 0))
			add_host(r, a, &t, &host, all, of_event);
		if (!(b->gone > 0))
			continue;
		call = launched_by(r, &t, call);
		if (call)
			calls[call - 1] += (float)((double)(t.to - t.from) * b->gone / b->all);
	}
}

/* Sums what is gone by event. What all of the host's is gets summed the first time, as it is the same whatever is gone. 0 or
 * -ENOMEM. */
static int sum_times(struct aif_replay *r, const struct gone *gone,
		     const struct aif_idle_course *course, double *of_event, float *calls)
{
	double *all = NULL;

	if (gone->is_host && r->idle_of != course) {
		free(r->idle);
		r->idle_of = NULL;
		r->idle = all = calloc(r->events_len + 1, sizeof(*all));
		if (!all)
			return -ENOMEM;
		r->idle_of = course;
	}
	memset(of_event, 0, (r->events_len + 1) * sizeof(*of_event));
	memset(calls, 0, (r->events_len + 1) * sizeof(*calls));
	if (gone->is_host || gone->is_calls)
		add_times(r, gone, course, all, of_event, calls);
	return 0;
}

/* Sets *ret_any to the sum of all events, and of_stack to sums by stack. */
static void sum_stacks(const struct aif_replay *r, const double *of_event,
		       struct aif_replay_amount *of_stack, struct aif_replay_amount *ret_any)
{
	for (size_t i = 0; i < r->events_len; i++) {
		struct aif_replay_amount *a;

		if (!(r->idle[i] > 0))
			continue;
		a = &of_stack[stack_of(r, i)];
		a->all += r->idle[i];
		a->gone += of_event[i];
		ret_any->all += r->idle[i];
		ret_any->gone += of_event[i];
	}
}

/* Sets *ret to the part that stays of each event's host time: as of its own idle time, else as of that of events with its stack,
 * else as of all. 0 or -ENOMEM. */
static int find_parts(const struct aif_replay *r, const double *of_event, float *ret)
{
	struct aif_replay_amount *of_stack = calloc(r->p->stacks_len + 2, sizeof(*of_stack)),
				 any = {0, 0};

	if (!of_stack)
		return -ENOMEM;
	sum_stacks(r, of_event, of_stack, &any);
	for (size_t i = 0; i < r->events_len; i++) {
		struct aif_replay_amount own = {.gone = of_event[i], .all = r->idle[i]};
		const struct aif_replay_amount *a = own.all > 0 ? &own : &of_stack[stack_of(r, i)];

		a = a->all > 0 ? a : &any;
		ret[i] = a->all > 0 ? (float)(1 - a->gone / a->all) : 1;
	}
	free(of_stack);
	return 0;
}

/* Sets *ret to the amounts of such causes by the place of their courses, *ret_is_any to whether some are gone. 0 or -ENOMEM. */
static int find_gone(const struct aif_idle_blame *blame, const struct aif_idle_course *course,
		     bool (*is_such)(enum aif_idle_cause),
		     bool (*is_gone)(const void *arg, const struct aif_idle_row *row),
		     const void *arg, struct aif_replay_amount **ret, bool *ret_is_any)
{
	struct amounts courses = {0};
	int e = add_courses(&courses, blame, course, is_such, is_gone, arg);

	if (!e)
		e = place_amounts(&courses, course, ret);
	*ret_is_any = is_any_gone(&courses);
	free(courses.at);
	aif_map_finish(&courses.of);
	return e;
}

int aif_replay_host_without(struct aif_replay *r, const struct aif_idle_blame *blame,
			    const struct aif_idle_course *course,
			    bool (*is_gone)(const void *arg, const struct aif_idle_row *row),
			    const void *arg, float *ret, float *ret_calls)
{
	struct gone gone = {0};
	double *of_event = r->scratch;
	int e = find_gone(blame, course, is_host, is_gone, arg, &gone.host, &gone.is_host);

	if (!e)
		e = find_gone(blame, course, is_launch, is_gone, arg, &gone.calls, &gone.is_calls);
	if (!e)
		e = sum_times(r, &gone, course, of_event, ret_calls);
	if (!e && gone.is_host)
		e = find_parts(r, of_event, ret);
	for (size_t i = 0; i < r->events_len && !gone.is_host; i++)
		ret[i] = 1;
	free(gone.host);
	free(gone.calls);
	return e;
}
