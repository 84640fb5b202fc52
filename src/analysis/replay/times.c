/* SPDX-License-Identifier: Apache-2.0 */
/* Places of idle times in the schedule. They are the same whatever is gone, and to find them takes the moments of launches and
 * executions: so they are found once, and kept in a few bytes each. */
#include "analysis/packed.h"
#include "analysis/replay/internal.h"

#include <errno.h>
#include <string.h>

/* ---- amounts ----------------------------------------------------------------------------------- */

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

/* True if it is time of the host's own: waits have events of their own, and what follows a launch call is that call's. */
static bool is_host(enum aif_idle_cause cause)
{
	return cause != AIF_IDLE_CAUSE_WAIT && cause != AIF_IDLE_CAUSE_LAUNCH &&
	       cause != AIF_IDLE_CAUSE_LATE && cause != AIF_IDLE_CAUSE_RANKS;
}

static bool is_launch(enum aif_idle_cause cause)
{
	return cause == AIF_IDLE_CAUSE_LAUNCH;
}

/* Adds up rows of such a cause. */
static int add_courses(struct amounts *to, const struct aif_idle_part *part,
		       bool (*is_such)(enum aif_idle_cause),
		       bool (*is_gone)(const void *arg, const struct aif_idle_row *row),
		       const void *arg)
{
	const struct aif_idle_blame *blame = &part->blame;
	const struct aif_idle_course *course = &part->course;
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
			a->gone += is_gone && is_gone(arg, &blame->rows[row]) ? course->parts[i].ns
									      : 0;
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

/* Sets *ret to the amounts of such causes by the place of their courses, *ret_is_any to whether some are gone. 0 or -ENOMEM. */
static int find_amounts(const struct aif_idle_part *part, bool (*is_such)(enum aif_idle_cause),
			bool (*is_gone)(const void *arg, const struct aif_idle_row *row),
			const void *arg, struct aif_replay_amount **ret, bool *ret_is_any)
{
	struct amounts courses = {0};
	int e = add_courses(&courses, part, is_such, is_gone, arg);

	if (!e)
		e = place_amounts(&courses, &part->course, ret);
	*ret_is_any = is_any_gone(&courses);
	free(courses.at);
	aif_map_finish(&courses.of);
	return e;
}

int aif_replay_gone_find(const struct aif_replay *r,
			 bool (*is_gone)(const void *arg, const struct aif_idle_row *row),
			 const void *arg, struct aif_replay_gone *ret)
{
	int e;

	*ret = (struct aif_replay_gone){0};
	e = find_amounts(r->part, is_host, is_gone, arg, &ret->host, &ret->is_host);
	return e ? e : find_amounts(r->part, is_launch, is_gone, arg, &ret->calls, &ret->is_calls);
}

void aif_replay_gone_finish(struct aif_replay_gone *g)
{
	free(g->host);
	free(g->calls);
}

/* ---- the events of a time ---------------------------------------------------------------------- */

/* Returns the first event at or behind a moment. `near`: the event that was asked for last, as times come in runs. */
static size_t event_at(const struct aif_replay *r, const int64_t *times, int64_t at, size_t near)
{
	return AIF_BISECT_NEAR(i, r->events_len, near, times[i] < at);
}

/* Executions among which the one is looked for that ends a gap. */
#define EXECS_BACK 64

/* Returns 1 + the event that launched what ended a gap behind its call; where the gap's part ends before that, the last to launch
 * before the part; 0: there is none. `first`: the first event behind the part's begin. */
static size_t launched_by(const struct aif_replay *r, const struct aif_replay_moments *moments,
			  const struct aif_idle_time *t, size_t first)
{
	size_t last = 0, looked = 0;

	for (size_t event = first; event && looked < EXECS_BACK; event--) {
		uint32_t k = moments->exec[event - 1];

		if (r->events[event - 1].is_wait)
			continue;
		last = last ? last : event;
		for (bool is_last = false; !is_last && looked < EXECS_BACK; k++, looked++) {
			if (aif_replay_exec_of(r, k)->start == t->to)
				return event;
			is_last = r->execs[k].is_last;
		}
	}
	return last;
}

/* ---- packing them ------------------------------------------------------------------------------ */

/* A time begins with a byte of flags: how long its numbers are. */
enum { PLACE_SHIFT = 0, HOST_SHIFT = 2, CALL_SHIFT = 4, NS_SHIFT = 6 };
enum { TIME_MAX_BYTES = 1 + 4 * AIF_PACKED_MAX };

/* Packs a time: events by how far they are from those of the time before. 0 or -ENOMEM. */
static int put_time(struct aif_replay *r, const struct aif_replay_time *t,
		    const struct aif_replay_time *before)
{
	uint8_t *first = aif_buf_reserve(&r->places, TIME_MAX_BYTES), *at = first, flags = 0;

	if (!first)
		return -ENOMEM;
	at = aif_packed_put(first + 1, t->place, PLACE_SHIFT, &flags);
	at = aif_packed_put(at, aif_to_zigzag(t->host - before->host), HOST_SHIFT, &flags);
	at = aif_packed_put(at, aif_to_zigzag(t->call - before->call), CALL_SHIFT, &flags);
	at = aif_packed_put(at, t->ns, NS_SHIFT, &flags);
	*first = flags;
	r->places.len += (size_t)(at - first);
	return 0;
}

/* Adds idle time of the host's own before an event. 0 or -ENOMEM. */
static int add_idle(struct aif_replay *r, size_t event, int64_t ns)
{
	uint64_t sum = aif_replay_idle_ns(r, event) + (uint64_t)ns;

	r->idle[event] = (uint32_t)AIF_MIN(sum, (uint64_t)UINT32_MAX);
	return sum < UINT32_MAX ? 0 : aif_map_put(&r->long_idle, event, sum);
}

int aif_replay_place_times(struct aif_replay *r, const struct aif_replay_moments *moments)
{
	struct aif_idle_course_reader times = {0};
	struct aif_replay_time now = {0};
	struct aif_replay_gone all;
	struct aif_idle_time t;
	size_t behind = 0;
	int e = aif_replay_gone_find(r, NULL, NULL, &all);

	r->idle = calloc(r->events_len + 1, sizeof(*r->idle));
	if (!r->idle)
		e = -ENOMEM;
	while (!e && aif_idle_course_next(&r->part->course, &times, &t)) {
		bool is_host = all.host[times.place].all > 0,
		     is_call = all.calls[times.place].all > 0;
		struct aif_replay_time before = now;

		if (!is_host && !is_call)
			continue;
		now.ns = (uint64_t)(t.to - t.from);
		now.place = times.place;
		if (is_host) {
			/* Time behind a launch call belongs to that one. */
			now.host = event_at(r, moments->at, t.to, now.host);
			if (now.host < r->events_len)
				e = add_idle(r, now.host, t.to - t.from);
		}
		if (!e && is_call) {
			behind = event_at(r, moments->at, t.from + 1, behind);
			now.call = launched_by(r, moments, &t, behind);
		}
		if (!e)
			e = put_time(r, &now, &before);
	}
	aif_replay_gone_finish(&all);
	return e;
}

bool aif_replay_next_time(const struct aif_replay *r, size_t *offset, struct aif_replay_time *t)
{
	const uint8_t *at;
	uint8_t flags;

	if (*offset >= r->places.len)
		return false;
	at = r->places.data + *offset;
	flags = *at++;
	t->place = aif_packed_take(&at, PLACE_SHIFT, flags);
	t->host += aif_from_zigzag(aif_packed_take(&at, HOST_SHIFT, flags));
	t->call += aif_from_zigzag(aif_packed_take(&at, CALL_SHIFT, flags));
	t->ns = aif_packed_take(&at, NS_SHIFT, flags);
	*offset = (size_t)(at - r->places.data);
	return true;
}
