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

/* Returns false if nothing is gone: then times need not be read, which are more than launches. */
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

/* Adds the parts of each event's idle time. */
static int add_times(const struct aif_replay *r, const struct amounts *courses,
		     const struct aif_idle_course *course, struct aif_replay_amount *of_event)
{
	struct aif_idle_course_reader times = {0};
	struct aif_replay_amount *of_place;
	struct aif_idle_time t;
	size_t event = 0;

	if (place_amounts(courses, course, &of_place) < 0)
		return -ENOMEM;
	while (aif_idle_course_next(course, &times, &t)) {
		const struct aif_replay_amount *a = &of_place[times.place];

		if (!(a->all > 0))
			continue;
		/* Time behind a launch call belongs to that one. */
		event = event_at(r, t.to, event);
		if (event == r->events_len)
			continue;
		of_event[event].all += (double)(t.to - t.from);
		of_event[event].gone += (double)(t.to - t.from) * a->gone / a->all;
	}
	free(of_place);
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

/* Adds idle time between calls and what they launched, as far as it is gone. */
static int add_calls(const struct aif_replay *r, const struct amounts *courses,
		     const struct aif_idle_course *course, float *ret)
{
	struct aif_idle_course_reader times = {0};
	struct aif_replay_amount *of_place;
	struct aif_idle_time t;
	size_t event = 0;

	memset(ret, 0, (r->events_len + 1) * sizeof(*ret));
	if (!is_any_gone(courses))
		return 0;
	if (place_amounts(courses, course, &of_place) < 0)
		return -ENOMEM;
	while (aif_idle_course_next(course, &times, &t)) {
		const struct aif_replay_amount *a = &of_place[times.place];

		if (!(a->gone > 0))
			continue;
		event = launched_by(r, &t, event);
		if (event)
			ret[event - 1] += (float)((double)(t.to - t.from) * a->gone / a->all);
	}
	free(of_place);
	return 0;
}

int aif_replay_host_without(const struct aif_replay *r, const struct aif_idle_blame *blame,
			    const struct aif_idle_course *course,
			    bool (*is_gone)(const void *arg, const struct aif_idle_row *row),
			    const void *arg, float *ret, float *ret_calls)
{
	struct aif_replay_amount *of_event = r->scratch;
	struct aif_replay_amount *of_stack = calloc(r->p->stacks_len + 2, sizeof(*of_stack));
	struct amounts courses = {0}, calls = {0};
	struct aif_replay_amount any = {0};
	int e = of_stack ? add_courses(&courses, blame, course, is_host, is_gone, arg) : -ENOMEM;

	memset(of_event, 0, (r->events_len + 1) * sizeof(*of_event));
	if (!e && is_any_gone(&courses))
		e = add_times(r, &courses, course, of_event);
	if (!e)
		e = add_courses(&calls, blame, course, is_launch, is_gone, arg);
	if (!e)
		e = add_calls(r, &calls, course, ret_calls);
	for (size_t i = 0; i < r->events_len && !e; i++) {
		struct aif_replay_amount *a;

		if (!(of_event[i].all > 0))
			continue;
		a = &of_stack[stack_of(r, i)];
		a->all += of_event[i].all;
		a->gone += of_event[i].gone;
		any.all += of_event[i].all;
		any.gone += of_event[i].gone;
	}
	for (size_t i = 0; i < r->events_len && !e; i++) {
		const struct aif_replay_amount *a =
			of_event[i].all > 0 ? &of_event[i] : &of_stack[stack_of(r, i)];

		a = a->all > 0 ? a : &any;
		ret[i] = a->all > 0 ? (float)(1 - a->gone / a->all) : 1;
	}
	free(of_stack);
	free(courses.at);
	aif_map_finish(&courses.of);
	free(calls.at);
	aif_map_finish(&calls.of);
	return e;
}
