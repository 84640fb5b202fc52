/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a schedule from the time line, which is far larger than what replays need of it: once to see in which order executions are,
 * and once, beside the waits, in the order of launch calls. */
#include "analysis/replay/internal.h"

#include "base/map.h"
#include "base/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An execution that starts so soon behind the end of another stream's waited for that, if it waited for longer than that. */
#define BEHIND_OTHER_NS 10000
/* A wait may be stamped a little before the end of the work that it was for: their clocks are mapped. */
#define CLOCK_NS 2000
/* Executions launched latest among which the one is searched that a wait was for. */
#define LAUNCHED_BACK 4096
/* Fewer launches make no schedule. */
#define FEWEST 10
/* Delays of the quickest tenth are quick: one in so many. */
#define QUICK 10

/* ---- executions in the order of their launch calls --------------------------------------------- */

static int by_launch_and_start(const void *a, const void *b, void *arg)
{
	const struct aif_exec_timeline *t = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct aif_timeline_exec *x = &t->execs[i], *y = &t->execs[j];
	int64_t at = t->launches[x->launch].at, other = t->launches[y->launch].at;

	return AIF_ORDER(at, other) ?: AIF_ORDER(x->launch, y->launch)
	       ?: AIF_ORDER(x->start, y->start) ?: AIF_ORDER(i, j);
}

static bool is_of(const struct aif_replay *r, const struct aif_timeline_exec *x, int64_t from,
		  int64_t to)
{
	return x->launch != AIF_NONE && r->t->launches[x->launch].at >= from &&
	       r->t->launches[x->launch].at < to;
}

/* Sums up the order of executions. */
struct survey {
	size_t launches;
	bool is_out_of_order; /* some start earlier than one launched before */
	const struct aif_timeline_exec *last;
};

static void survey_add(struct survey *s, const struct aif_timeline_exec *x)
{
	s->launches += !s->last || s->last->launch != x->launch;
	s->is_out_of_order |= s->last && s->last->start > x->start;
	s->last = x;
}

/* Lists the executions in the order of their launch calls. */
static int list_execs(struct aif_replay *r, int64_t from, int64_t to, struct survey *s)
{
	size_t n = 0;

	r->of = malloc((r->execs_len + 1) * sizeof(*r->of));
	if (!r->of)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->t->execs_len; i++)
		if (is_of(r, &r->t->execs[i], from, to))
			r->of[n++] = i;
	aif_sort_r(r->of, n, sizeof(*r->of), by_launch_and_start, (void *)r->t);
	*s = (struct survey){0};
	for (size_t i = 0; i < n; i++)
		survey_add(s, aif_replay_exec_of(r, i));
	return 0;
}

/* Takes the executions that are launched in [from, to): of one stream, mostly, as they are in the time line. */
static int take_execs(struct aif_replay *r, int64_t from, int64_t to, struct survey *s)
{
	bool is_listed = false;
	uint32_t last = AIF_NONE;

	*s = (struct survey){0};
	for (uint32_t i = 0; i < r->t->execs_len; i++) {
		if (!is_of(r, &r->t->execs[i], from, to))
			continue;
		r->first = last == AIF_NONE ? i : r->first;
		is_listed |= last != AIF_NONE &&
			     (i != last + 1 || by_launch_and_start(&last, &i, (void *)r->t) > 0);
		survey_add(s, &r->t->execs[i]);
		last = i;
		r->execs_len++;
	}
	return is_listed ? list_execs(r, from, to, s) : 0;
}

/* ---- waits ------------------------------------------------------------------------------------- */

static int by_end(const void *a, const void *b)
{
	const struct aif_replay_wait *x = a, *y = b;

	return AIF_ORDER(x->end, y->end);
}

static int take_waits(struct aif_replay *r, const struct aif_queue *queue, int64_t from, int64_t to)
{
	for (size_t i = 0; i < queue->waits_len; i++) {
		const struct aif_queue_wait *w = &queue->waits[i];

		if (w->start < from || w->end > to || w->end <= w->start)
			continue;
		if (aif_grow(&r->waits, &r->waits_cap, r->waits_len + 1, sizeof(*r->waits)) < 0)
			return -ENOMEM;
		r->waits[r->waits_len++] = (struct aif_replay_wait){
			.start = w->start, .end = w->end, .until = AIF_NONE};
	}
	if (r->waits_len)
		aif_sort(r->waits, r->waits_len, sizeof(*r->waits), by_end);
	return 0;
}

/* ---- packing times ----------------------------------------------------------------------------- */

/* Each sets a time that is not negative, in the map if there is no room for it. 0 or -ENOMEM. */
static int set_host(struct aif_replay *r, size_t event, int64_t ns)
{
	uint64_t host = (uint64_t)AIF_MAX(ns, 0);

	r->events[event].host_ns =
		(uint32_t)AIF_MIN(host, (uint64_t)AIF_REPLAY_LONG_HOST) & AIF_REPLAY_LONG_HOST;
	return host < AIF_REPLAY_LONG_HOST ? 0 : aif_map_put(&r->long_hosts, event, host);
}

static int set_delay(struct aif_replay *r, size_t exec, int64_t ns)
{
	uint64_t delay = (uint64_t)AIF_MAX(ns, 0);

	r->execs[exec].delay_ns =
		(uint32_t)AIF_MIN(delay, (uint64_t)AIF_REPLAY_LONG) & AIF_REPLAY_LONG;
	return delay < AIF_REPLAY_LONG ? 0 : aif_map_put(&r->long_delays, exec, delay);
}

static int set_exec(struct aif_replay *r, size_t exec, uint64_t ns)
{
	r->execs[exec].ns = (uint32_t)AIF_MIN(ns, (uint64_t)UINT32_MAX);
	return ns < UINT32_MAX ? 0 : aif_map_put(&r->long_execs, exec, ns);
}

/* Notes that a replay looks back to an execution when the one at `from` comes next. */
static void look_back(struct aif_replay *r, uint32_t from, uint32_t exec)
{
	r->reach = AIF_MAX(r->reach, (size_t)(from - exec));
}

/* Sets what an event or an execution comes behind; *list is made for the first of n. 0 or -ENOMEM. */
static int set_behind(uint32_t **list, size_t n, size_t i, uint32_t behind)
{
	if (!*list)
		*list = malloc((n + 1) * sizeof(**list));
	if (!*list)
		return -ENOMEM;
	(*list)[i] = behind;
	return 0;
}

/* ---- what executions start behind ---------------------------------------------------------------- */

/* Executions that the next one by start may come behind. */
struct linking {
	struct aif_map of; /* the last execution of each stream, but of the one at hand */
	uint64_t stream;   /* at hand */
	uint32_t exec;     /* its last execution; AIF_NONE: none yet */
	uint32_t last_end; /* the last to end of all; AIF_NONE: none yet */
	int64_t last_end_at;
};

/* Goes on with another stream. 0 or -ENOMEM. */
static int turn_to(struct linking *l, uint32_t stream)
{
	uint64_t exec;

	if (l->exec != AIF_NONE && l->stream == stream)
		return 0;
	if (l->exec != AIF_NONE && aif_map_put(&l->of, l->stream, l->exec) < 0)
		return -ENOMEM;
	l->stream = stream;
	l->exec = aif_map_get(&l->of, stream, &exec) ? (uint32_t)exec : AIF_NONE;
	return 0;
}

/* Finds what an execution started behind; they come by start. Only what comes earlier in the order of launches can be replayed before
 * it. */
static int link_exec(struct aif_replay *r, struct linking *l, uint32_t i)
{
	struct aif_replay_exec *x = &r->execs[i];
	const struct aif_timeline_exec *of = aif_replay_exec_of(r, i);
	int64_t base = r->t->launches[of->launch].at, before_end;
	int e = turn_to(l, aif_timeline_work_of(r->t, of)->stream);
	uint32_t before = l->exec;

	l->exec = i;
	x->is_behind_launch = true;
	before_end = before == AIF_NONE ? 0 : aif_replay_exec_of(r, before)->end;
	if (before != AIF_NONE && before < i && before_end <= of->start) {
		x->before = before;
		look_back(r, i, before);
		if (before_end > base) {
			base = before_end;
			x->is_behind_launch = false;
		}
	}
	if (l->last_end != AIF_NONE && l->last_end < i && l->last_end != x->before &&
	    l->last_end_at <= of->start && l->last_end_at > base + BEHIND_OTHER_NS &&
	    of->start - l->last_end_at <= BEHIND_OTHER_NS) {
		x->is_behind_other = true;
		look_back(r, i, l->last_end);
		if (!e)
			e = set_behind(&r->other, r->execs_len, i, l->last_end);
		base = l->last_end_at;
		x->is_behind_launch = false;
	}
	if (!e)
		e = set_delay(r, i, of->start - base);
	/* Keeps the last to end of those before the next one. */
	if (l->last_end == AIF_NONE || l->last_end_at < of->end) {
		l->last_end = i;
		l->last_end_at = of->end;
	}
	return e;
}

static int by_start(const void *a, const void *b, void *arg)
{
	const struct aif_replay *r = arg;
	const struct aif_timeline_exec *x = aif_replay_exec_of(r, *(const uint32_t *)a),
				       *y = aif_replay_exec_of(r, *(const uint32_t *)b);

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* Links executions that do not start in the order of their launches. */
static int link_by_start(struct aif_replay *r, struct linking *l)
{
	uint32_t *order = malloc((r->execs_len + 1) * sizeof(*order));
	int e = order ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < r->execs_len && !e; i++)
		order[i] = i;
	if (!e)
		aif_sort_r(order, r->execs_len, sizeof(*order), by_start, r);
	for (size_t n = 0; n < r->execs_len && !e; n++)
		e = link_exec(r, l, order[n]);
	free(order);
	return e;
}

/* ---- the chain of events --------------------------------------------------------------------------- */

struct reading {
	struct aif_replay *r;
	struct aif_replay_moments *to;
	struct linking links;
	bool is_linked;         /* executions are taken in the order of their starts */
	struct aif_map work_of; /* index of .works, by kind and kernel */
	int64_t done;           /* until when the host's time has been taken */
	/* Executions that were taken, of which those from .since on are of the event before. */
	uint32_t taken, since;
	/* The latest end of all executions up to each of the latest ones. */
	int64_t ended[LAUNCHED_BACK];
};

/* Returns the last of the copies of the event before that ended until `at`, AIF_NONE: none did. */
static uint32_t copy_before(const struct reading *g, int64_t at)
{
	const struct aif_replay *r = g->r;
	uint32_t last = AIF_NONE;

	for (uint32_t k = g->since; k < g->taken; k++) {
		const struct aif_timeline_exec *x = aif_replay_exec_of(r, k);

		if (aif_timeline_work_of(r->t, x)->kind != AIF_LAUNCH_KERNEL && x->end <= at &&
		    (last == AIF_NONE || x->end > aif_replay_exec_of(r, last)->end))
			last = k;
	}
	return last;
}

/* Sets what held an event up that came at `at`: the host's time before it begins behind that. 0 or -ENOMEM. */
static int take_copy(struct reading *g, size_t event, int64_t at)
{
	uint32_t copy = copy_before(g, at);

	if (copy == AIF_NONE)
		return 0;
	g->r->events[event].is_behind = true;
	look_back(g->r, g->taken, copy);
	g->done = AIF_MAX(g->done, aif_replay_exec_of(g->r, copy)->end);
	return set_behind(&g->r->behind, g->r->events_len, event, copy);
}

/* Sets the work that an execution is. 0 or -ENOMEM. */
static int take_work(struct reading *g, uint32_t i, const struct aif_timeline_exec *x)
{
	struct aif_replay *r = g->r;
	const struct aif_timeline_work *of = aif_timeline_work_of(r->t, x);
	uint64_t key = (uint64_t)of->kind << 32 | of->kernel, work;

	if (!aif_map_get(&g->work_of, key, &work)) {
		work = r->works_len;
		if (work < AIF_REPLAY_WORKS) {
			if (aif_grow(&r->works, &r->works_cap, work + 1, sizeof(*r->works)) < 0 ||
			    aif_map_put(&g->work_of, key, work) < 0)
				return -ENOMEM;
			r->works[r->works_len++] = (uint32_t)(x - r->t->execs);
		}
	}
	r->work[i] = (uint16_t)work;
	return 0;
}

static int take_exec(struct reading *g, uint32_t i)
{
	struct aif_replay *r = g->r;
	const struct aif_timeline_exec *x = aif_replay_exec_of(r, i);
	int64_t *ended = &g->ended[i % LAUNCHED_BACK];
	int e;

	r->execs[i] = (struct aif_replay_exec){
		.before = AIF_NONE,
		.is_last =
			i + 1 == r->execs_len || x->launch != aif_replay_exec_of(r, i + 1)->launch};
	g->to->end = AIF_MAX(g->to->end, x->end);
	*ended = g->to->end;
	e = set_exec(r, i, aif_timed_ns(x));
	if (!e)
		e = take_work(g, i, x);
	return !e && g->is_linked ? link_exec(r, &g->links, i) : e;
}

static int take_launch(struct reading *g, size_t event)
{
	struct aif_replay *r = g->r;
	const struct aif_timeline_exec *x = aif_replay_exec_of(r, g->taken);
	const struct aif_timeline_launch *l = &r->t->launches[x->launch];
	uint32_t first = g->taken;
	int e = take_copy(g, event, l->at);

	if (!e)
		e = set_host(r, event, l->at - g->done);
	g->done = l->at;
	g->to->at[event] = l->at;
	g->to->exec[event] = first;
	r->stacks[event] = (uint32_t)AIF_MIN((size_t)l->stack, r->p->stacks_len);
	for (bool is_last = false; !is_last && !e; g->taken++) {
		e = take_exec(g, g->taken);
		is_last = r->execs[g->taken].is_last;
	}
	g->since = first;
	return e;
}

/* Finds the execution that a wait was for, the last to end until it returned of those launched before it. Returns its end; INT64_MIN:
 * there is none. */
static int64_t find_until(const struct reading *g, struct aif_replay_wait *w)
{
	const struct aif_replay *r = g->r;
	int64_t end = INT64_MIN;

	for (uint32_t k = g->taken; k-- > 0 && g->taken - k < LAUNCHED_BACK;) {
		const struct aif_timeline_exec *x = aif_replay_exec_of(r, k);

		/* Ends the search: those before end no later than what was found. */
		if (end >= g->ended[k % LAUNCHED_BACK])
			break;
		if (r->t->launches[x->launch].at <= w->start && x->end <= w->end + CLOCK_NS &&
		    x->end > end) {
			end = x->end;
			w->until = k;
		}
	}
	return end;
}

static int take_wait(struct reading *g, size_t event, struct aif_replay_wait *w)
{
	struct aif_replay *r = g->r;
	int64_t arrived, end;
	int e = take_copy(g, event, w->start);

	r->events[event].is_wait = true;
	arrived = AIF_MAX(w->start, g->done);
	end = find_until(g, w);
	if (w->until != AIF_NONE)
		look_back(r, g->taken, w->until);
	if (!e)
		e = set_host(r, event, arrived - g->done);
	w->tail_ns =
		(double)AIF_MAX(w->end - (end == INT64_MIN ? arrived : AIF_MAX(arrived, end)), 0);
	g->done = AIF_MAX(g->done, w->end);
	g->to->at[event] = w->end;
	g->to->exec[event] = g->taken;
	r->stacks[event] = (uint32_t)r->p->stacks_len + 1;
	g->since = g->taken;
	return e;
}

/* Makes one chain of launches and waits, which both come in order; a wait comes behind launches of the same moment. */
static int take_events(struct reading *g)
{
	struct aif_replay *r = g->r;
	size_t wait = 0;
	int e = 0;

	for (size_t i = 0; i < r->events_len && !e; i++) {
		int64_t at = g->taken < r->execs_len
				     ? r->t->launches[aif_replay_exec_of(r, g->taken)->launch].at
				     : INT64_MAX;
		bool is_wait = g->taken == r->execs_len ||
			       (wait < r->waits_len && r->waits[wait].end < at);

		if (!i)
			g->done = is_wait ? r->waits[wait].end : at;
		r->events[i] = (struct aif_replay_event){0};
		e = is_wait ? take_wait(g, i, &r->waits[wait++]) : take_launch(g, i);
	}
	if (!e && !g->is_linked)
		e = link_by_start(r, &g->links);
	return e;
}

/* ---- what is usual ------------------------------------------------------------------------------ */

static int find_usual(struct aif_replay *r)
{
	/* Delays behind launches from the front, those behind executions from the back. */
	uint64_t *delays = malloc((r->execs_len + 1) * sizeof(*delays)), *behind;
	size_t launches = 0, gaps = 0;

	if (!delays)
		return -ENOMEM;
	for (size_t i = 0; i < r->execs_len; i++)
		delays[r->execs[i].is_behind_launch ? launches++ : r->execs_len - ++gaps] =
			aif_replay_delay_ns(r, i);
	behind = delays + r->execs_len - gaps;
	r->usual_launch_ns = (double)aif_ranked(delays, NULL, launches, launches / 2);
	r->usual_gap_ns = (double)aif_ranked(behind, NULL, gaps, gaps / 2);
	r->quick_launch_ns = (double)aif_ranked(delays, NULL, launches, launches / QUICK);
	r->quick_gap_ns = (double)aif_ranked(behind, NULL, gaps, gaps / QUICK);
	free(delays);
	return 0;
}

/* Finds how soon behind the end of their work quick waits return. 0 or -ENOMEM. */
static int find_quick_tail(struct aif_replay *r)
{
	uint64_t *tails = malloc((r->waits_len + 1) * sizeof(*tails));

	if (!tails)
		return -ENOMEM;
	for (size_t i = 0; i < r->waits_len; i++)
		tails[i] = (uint64_t)r->waits[i].tail_ns;
	r->quick_tail_ns = (double)aif_ranked(tails, NULL, r->waits_len, r->waits_len / QUICK);
	free(tails);
	return 0;
}

/* ---- all --------------------------------------------------------------------------------------- */

/* Makes room for n events and for the executions. 0 or -ENOMEM. */
static int make_room(struct aif_replay *r, size_t n, struct aif_replay_moments *to)
{
	r->events = malloc((n + 1) * sizeof(*r->events));
	r->stacks = malloc((n + 1) * sizeof(*r->stacks));
	to->at = malloc((n + 1) * sizeof(*to->at));
	to->exec = malloc((n + 1) * sizeof(*to->exec));
	r->execs = malloc((r->execs_len + 1) * sizeof(*r->execs));
	r->work = malloc((r->execs_len + 1) * sizeof(*r->work));
	if (!r->events || !r->stacks || !to->at || !to->exec || !r->execs || !r->work)
		return -ENOMEM;
	r->events_len = n;
	return 0;
}

int aif_replay_read(struct aif_replay *r, const struct aif_queue *queue, int64_t from, int64_t to,
		    struct aif_replay_moments *ret)
{
	struct reading g = {.r = r, .to = ret, .links = {.exec = AIF_NONE, .last_end = AIF_NONE}};
	struct survey survey;
	int e = take_execs(r, from, to, &survey);

	ret->end = INT64_MIN;
	if (e || survey.launches < FEWEST)
		return e;
	g.is_linked = !survey.is_out_of_order;
	e = take_waits(r, queue, from, to);
	if (!e)
		e = make_room(r, survey.launches + r->waits_len, ret);
	if (!e)
		e = take_events(&g);
	if (!e)
		e = find_usual(r);
	if (!e)
		e = find_quick_tail(r);
	aif_map_finish(&g.links.of);
	aif_map_finish(&g.work_of);
	return e;
}
