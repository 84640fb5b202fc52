/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/replay/internal.h"

#include "analysis/weights.h"
#include "base/map.h"
#include "base/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An execution that starts so soon behind the end of another stream's waited for that, if it waited for longer than that. */
#define BEHIND_OTHER_NS 10000
/* A wait may be stamped a little before the end of the work that it was for: their clocks are mapped. */
#define CLOCK_NS 2000
/* Fewer launches make no schedule; of more executions, or waits, there is none. */
#define FEWEST 10
/* Delays of the quickest tenth are quick: one in so many. */
#define QUICK 10
#define MOST  ((size_t)1 << 30)

/* ---- reading the schedule -------------------------------------------------------------------- */

static int by_end(const void *a, const void *b)
{
	const struct aif_replay_wait *x = a, *y = b;

	return x->end < y->end ? -1 : x->end > y->end;
}

static int by_launch_and_start(const void *a, const void *b, void *arg)
{
	const struct aif_exec_timeline *t = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct aif_timeline_exec *x = &t->execs[i], *y = &t->execs[j];
	int64_t at = t->launches[x->launch].at, other = t->launches[y->launch].at;

	if (at != other)
		return at < other ? -1 : 1;
	if (x->launch != y->launch)
		return x->launch < y->launch ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return i < j ? -1 : i > j;
}

static bool is_of(const struct aif_replay *r, const struct aif_timeline_exec *x, int64_t from,
		  int64_t to)
{
	return x->launch != AIF_NONE && r->t->launches[x->launch].at >= from &&
	       r->t->launches[x->launch].at < to;
}

/* Lists the executions in the order of their launch calls. */
static int list_execs(struct aif_replay *r, int64_t from, int64_t to)
{
	size_t n = 0;

	r->of = malloc((r->execs_len + 1) * sizeof(*r->of));
	if (!r->of)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->t->execs_len; i++)
		if (is_of(r, &r->t->execs[i], from, to))
			r->of[n++] = i;
	aif_sort_r(r->of, n, sizeof(*r->of), by_launch_and_start, (void *)r->t);
	return 0;
}

/* Takes the executions that are launched in [from, to): of one stream, mostly, as they are in the time line. */
static int take_execs(struct aif_replay *r, int64_t from, int64_t to)
{
	bool is_listed = false;
	uint32_t last = AIF_NONE;
	int e = 0;

	for (uint32_t i = 0; i < r->t->execs_len; i++) {
		if (!is_of(r, &r->t->execs[i], from, to))
			continue;
		r->first = last == AIF_NONE ? i : r->first;
		is_listed |= last != AIF_NONE &&
			     (i != last + 1 || by_launch_and_start(&last, &i, (void *)r->t) > 0);
		last = i;
		r->execs_len++;
	}
	if (is_listed)
		e = list_execs(r, from, to);
	r->execs = malloc((r->execs_len + 1) * sizeof(*r->execs));
	if (e || !r->execs)
		return -ENOMEM;
	for (size_t i = 0; i < r->execs_len; i++)
		r->execs[i] = (struct aif_replay_exec){
			.before = AIF_NONE,
			.is_last = i + 1 == r->execs_len ||
				   aif_replay_exec_of(r, i)->launch !=
					   aif_replay_exec_of(r, i + 1)->launch};
	return 0;
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

static size_t count_launches(const struct aif_replay *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->execs_len; i++)
		n += r->execs[i].is_last;
	return n;
}

/* Makes one chain of launches and waits, which both come in order; a wait comes behind launches of the same moment. */
static int take_events(struct aif_replay *r, size_t launches)
{
	uint32_t i = 0, wait = 0;

	r->events = malloc((launches + r->waits_len + 1) * sizeof(*r->events));
	if (!r->events)
		return -ENOMEM;
	while (i < r->execs_len || wait < r->waits_len) {
		struct aif_replay_event *e = &r->events[r->events_len++];

		*e = (struct aif_replay_event){.of = i};
		if (i == r->execs_len ||
		    (wait < r->waits_len && r->waits[wait].end < aif_replay_launch_of(r, i)->at)) {
			e->is_wait = true;
			e->of = wait++;
		} else {
			i = aif_replay_end_of(r, e);
		}
	}
	return 0;
}

/* Returns the last of the copies of a launch that ended until `at`, AIF_NONE: none did. */
static uint32_t copy_before(const struct aif_replay *r, const struct aif_replay_event *e,
			    int64_t at)
{
	uint32_t last = AIF_NONE;

	for (uint32_t k = e->of, end = aif_replay_end_of(r, e); !e->is_wait && k < end; k++)
		if (aif_replay_exec_of(r, k)->kind != AIF_LAUNCH_KERNEL &&
		    aif_replay_exec_of(r, k)->end <= at &&
		    (last == AIF_NONE ||
		     aif_replay_exec_of(r, k)->end > aif_replay_exec_of(r, last)->end))
			last = k;
	return last;
}

/* Sets *to to a time that is not negative, in the map if there is no room for it. 0 or -ENOMEM. */
static int set_host(struct aif_replay *r, size_t event, int64_t ns)
{
	uint64_t host = (uint64_t)AIF_MAX(ns, 0);

	r->events[event].host_ns = (uint32_t)AIF_MIN(host, (uint64_t)UINT32_MAX);
	return host < UINT32_MAX ? 0 : aif_map_put(&r->long_hosts, event, host);
}

static int set_delay(struct aif_replay *r, size_t exec, int64_t ns)
{
	uint64_t delay = (uint64_t)AIF_MAX(ns, 0);

	r->execs[exec].delay_ns = (uint32_t)AIF_MIN(delay, (uint64_t)AIF_REPLAY_LONG);
	return delay < AIF_REPLAY_LONG ? 0 : aif_map_put(&r->long_delays, exec, delay);
}

static uint64_t host_of(const struct aif_replay *r, size_t event)
{
	uint64_t ns = r->events[event].host_ns;

	if (ns == UINT32_MAX)
		aif_map_get(&r->long_hosts, event, &ns);
	return ns;
}

static uint64_t delay_of(const struct aif_replay *r, size_t exec)
{
	uint64_t ns = r->execs[exec].delay_ns;

	if (ns == AIF_REPLAY_LONG)
		aif_map_get(&r->long_delays, exec, &ns);
	return ns;
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

/* Links the host's events: each takes the time since the one before. 0 or -ENOMEM. */
static int link_host(struct aif_replay *r)
{
	int64_t last = aif_replay_time_of(r, &r->events[0]);
	/* The execution that ends last of those launched so far, and ended until a moment, is searched among the latest ones. */
	uint32_t launched = 0;

	for (size_t i = 0; i < r->events_len; i++) {
		struct aif_replay_event *e = &r->events[i];
		struct aif_replay_wait *w = e->is_wait ? &r->waits[e->of] : NULL;
		int64_t at = aif_replay_time_of(r, e), start, arrived, end = INT64_MIN;
		uint32_t copy = i ? copy_before(r, e - 1, w ? w->start : at) : AIF_NONE;

		if (copy != AIF_NONE) {
			e->is_behind = true;
			if (set_behind(&r->behind, r->events_len, i, copy) < 0)
				return -ENOMEM;
			last = AIF_MAX(last, aif_replay_exec_of(r, copy)->end);
		}
		if (!w) {
			if (set_host(r, i, at - last) < 0)
				return -ENOMEM;
			last = at;
			launched = aif_replay_end_of(r, e);
			continue;
		}
		start = w->start;
		arrived = AIF_MAX(start, last);
		for (uint32_t k = launched; k-- > 0 && launched - k < 4096;) {
			const struct aif_timeline_exec *x = aif_replay_exec_of(r, k);

			if (r->t->launches[x->launch].at <= start && x->end <= at + CLOCK_NS &&
			    x->end > end) {
				end = x->end;
				w->until = k;
			}
		}
		if (set_host(r, i, arrived - last) < 0)
			return -ENOMEM;
		w->tail_ns = (double)AIF_MAX(
			at - (end == INT64_MIN ? arrived : AIF_MAX(arrived, end)), 0);
		last = AIF_MAX(last, at);
	}
	return 0;
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

/* Returns the value that would be at `rank` if they were in order: byte by byte from the highest, it counts those that begin
 * like it by their next byte. 0 of none. */
static double ranked(const uint64_t *ns, size_t n, size_t rank)
{
	uint64_t found = 0;

	for (unsigned shift = 64; n && shift;) {
		size_t counts[256] = {0}, byte = 0;

		shift -= 8;
		for (size_t i = 0; i < n; i++)
			if (shift == 56 || ns[i] >> (shift + 8) == found >> (shift + 8))
				counts[ns[i] >> shift & 0xff]++;
		while (rank >= counts[byte])
			rank -= counts[byte++];
		found |= (uint64_t)byte << shift;
	}
	return (double)found;
}

/* The last execution of each stream; that of the stream at hand is not in the map. */
struct latest {
	struct aif_map of;
	uint64_t stream;
	uint32_t exec; /* AIF_NONE: none yet */
};

/* Goes on with another stream. 0 or -ENOMEM. */
static int latest_turn(struct latest *l, uint32_t stream)
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

/* Finds what each execution started behind. Only what comes earlier in the order of launches can be replayed before it. */
static int link_execs(struct aif_replay *r)
{
	uint32_t *order = malloc((r->execs_len + 1) * sizeof(*order)), last_end = AIF_NONE;
	/* Delays behind launches from the front, those behind executions from the back. */
	uint64_t *delays = malloc((r->execs_len + 1) * sizeof(*delays));
	size_t launches = 0, gaps = 0;
	struct latest latest = {.exec = AIF_NONE};
	int e = order && delays ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < r->execs_len && !e; i++)
		order[i] = i;
	if (!e && r->execs_len)
		aif_sort_r(order, r->execs_len, sizeof(*order), by_start, r);
	for (size_t n = 0; n < r->execs_len && !e; n++) {
		uint32_t i = order[n];
		struct aif_replay_exec *x = &r->execs[i];
		const struct aif_timeline_exec *of = aif_replay_exec_of(r, i);
		int64_t base = r->t->launches[of->launch].at;
		uint32_t before;

		e = latest_turn(&latest, of->stream);
		before = latest.exec;
		latest.exec = i;
		x->is_behind_launch = true;
		if (before != AIF_NONE && before < i &&
		    aif_replay_exec_of(r, before)->end <= of->start) {
			x->before = before;
			if (aif_replay_exec_of(r, before)->end > base) {
				base = aif_replay_exec_of(r, before)->end;
				x->is_behind_launch = false;
			}
		}
		if (last_end != AIF_NONE && last_end < i && last_end != x->before &&
		    aif_replay_exec_of(r, last_end)->end <= of->start &&
		    aif_replay_exec_of(r, last_end)->end > base + BEHIND_OTHER_NS &&
		    of->start - aif_replay_exec_of(r, last_end)->end <= BEHIND_OTHER_NS) {
			x->is_behind_other = true;
			if (!e)
				e = set_behind(&r->other, r->execs_len, i, last_end);
			base = aif_replay_exec_of(r, last_end)->end;
			x->is_behind_launch = false;
		}
		if (!e)
			e = set_delay(r, i, of->start - base);
		if (x->is_behind_launch)
			delays[launches++] = delay_of(r, i);
		else
			delays[r->execs_len - ++gaps] = delay_of(r, i);
		/* Keeps the last to end of those before the next one. */
		if (last_end == AIF_NONE || aif_replay_exec_of(r, last_end)->end < of->end)
			last_end = i;
	}
	if (!e) {
		const uint64_t *behind = delays + r->execs_len - gaps;

		r->usual_launch_ns = ranked(delays, launches, launches / 2);
		r->usual_gap_ns = ranked(behind, gaps, gaps / 2);
		r->quick_launch_ns = ranked(delays, launches, launches / QUICK);
		r->quick_gap_ns = ranked(behind, gaps, gaps / QUICK);
	}
	free(order);
	free(delays);
	aif_map_finish(&latest.of);
	return e;
}

/* Finds how soon behind the end of their work quick waits return. 0 or -ENOMEM. */
static int find_quick_tail(struct aif_replay *r)
{
	uint64_t *tails = malloc((r->waits_len + 1) * sizeof(*tails));

	if (!tails)
		return -ENOMEM;
	for (size_t i = 0; i < r->waits_len; i++)
		tails[i] = (uint64_t)r->waits[i].tail_ns;
	r->quick_tail_ns = ranked(tails, r->waits_len, r->waits_len / QUICK);
	free(tails);
	return 0;
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
	size_t launches;
	int64_t begin = INT64_MAX, end = INT64_MIN;
	int e;

	*ret = (struct aif_replay){.p = p, .t = part->t};
	if (!is_whole(part) || part->t->execs_len >= MOST || queue->waits_len >= MOST)
		return 0;
	e = take_execs(ret, from, to);
	launches = e ? 0 : count_launches(ret);
	if (e || launches < FEWEST)
		return e;
	e = take_waits(ret, queue, from, to);
	if (!e)
		e = take_events(ret, launches);
	if (e)
		return e;
	e = link_host(ret);
	if (!e)
		e = link_execs(ret);
	if (!e)
		e = find_quick_tail(ret);
	ret->scratch =
		malloc((AIF_MAX(ret->execs_len, ret->events_len) + 1) * sizeof(*ret->scratch));
	if (e || !ret->scratch)
		return e ? e : -ENOMEM;
	for (size_t i = 0; i < ret->execs_len; i++)
		end = AIF_MAX(end, aif_replay_exec_of(ret, i)->end);
	begin = aif_replay_time_of(ret, &ret->events[0]);
	end = AIF_MAX(end, aif_replay_time_of(ret, &ret->events[ret->events_len - 1]));
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
	free(r->waits);
	free(r->execs);
	free(r->of);
	free(r->other);
	free(r->behind);
	aif_map_finish(&r->long_hosts);
	aif_map_finish(&r->long_delays);
	free(r->scratch);
	free(r->idle);
	*r = (struct aif_replay){0};
}

/* ---- replaying it ---------------------------------------------------------------------------- */

/* Returns how long an execution takes to start behind what it waits for: `recorded` less what its call takes `sooner`, and no more than
 * what is usual if nothing is late, or quick if all is. */
static double delay_without(const struct aif_replay_without *without, double recorded,
			    double sooner, double usual, double quick, bool is_recorded)
{
	double delay = AIF_MAX(recorded - sooner, 0);

	if (!is_recorded || without->late)
		delay = AIF_MIN(AIF_MIN(usual, recorded), delay);
	return without->latencies ? AIF_MIN(quick, delay) : delay;
}

/* Returns when an execution starts that is launched at `at`. */
static double start_of(const struct aif_replay *r, size_t exec, double at, double sooner,
		       const struct aif_replay_without *without)
{
	const struct aif_replay_exec *x = &r->execs[exec];
	const double *ends = r->scratch;
	double recorded = (double)delay_of(r, exec),
	       gap = delay_without(without, recorded, sooner, r->usual_gap_ns, r->quick_gap_ns,
				   !x->is_behind_launch),
	       start = at + delay_without(without, recorded, sooner, r->usual_launch_ns,
					  r->quick_launch_ns, x->is_behind_launch);

	if (x->before != AIF_NONE)
		start = AIF_MAX(start, ends[x->before] + gap);
	if (x->is_behind_other)
		start = AIF_MAX(start, ends[r->other[exec]] + gap);
	return start;
}

double aif_replay_length(const struct aif_replay *r, const struct aif_replay_without *without)
{
	double now = 0, end = 0, sooner = 0, *ends = r->scratch;

	for (size_t i = 0; i < r->events_len; i++) {
		const struct aif_replay_event *e = &r->events[i];

		if (e->is_behind && !without->waits)
			now = AIF_MAX(now, ends[r->behind[i]]);
		/* The call before may have held the host up for as long as what it launched. */
		now += AIF_MAX((double)host_of(r, i) *
					       (without->host ? (double)without->host[i] : 1) -
				       sooner,
			       0);
		sooner = without->calls && !e->is_wait ? (double)without->calls[i] : 0;
		if (e->is_wait) {
			const struct aif_replay_wait *w = &r->waits[e->of];

			if (without->waits)
				continue;
			if (w->until != AIF_NONE)
				now = AIF_MAX(now, ends[w->until]);
			now += without->latencies ? AIF_MIN(r->quick_tail_ns, w->tail_ns)
						  : w->tail_ns;
			continue;
		}
		for (uint32_t k = e->of, last = aif_replay_end_of(r, e); k < last; k++) {
			const struct aif_timeline_exec *of = aif_replay_exec_of(r, k);
			bool is_zero = without->is_zero && without->is_zero(without->arg, of);

			ends[k] = start_of(r, k, now, sooner, without) +
				  (is_zero ? 0 : (double)aif_timed_ns(of));
			end = AIF_MAX(end, ends[k]);
		}
	}
	return AIF_MAX(now, end);
}
