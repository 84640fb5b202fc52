/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/replay/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Refuses schedules of more executions, or waits. */
#define MOST ((size_t)1 << 30)

/* True if the part is of one process on one device, and whole. */
static bool is_whole(const struct aif_idle_part *part)
{
	return !part->t->weights && !part->t->left_out && part->u->len == 1;
}

/* Replays all that there is: .length_ns, if it takes about as long as it did. */
static void replay_all(struct aif_replay *r, const struct aif_replay_moments *moments)
{
	int64_t end = AIF_MAX(moments->end, moments->at[r->events_len - 1]);
	double recorded = (double)(end - moments->at[0]);

	r->length_ns = aif_replay_length(r, &(struct aif_replay_without){.waits = false});
	if (r->length_ns < recorded * (1 - AIF_REPLAY_ERROR_PPM / 1e6) ||
	    r->length_ns > recorded * (1 + AIF_REPLAY_ERROR_PPM / 1e6))
		r->length_ns = 0;
}

int aif_replay_make(const struct aif_profile *p, const struct aif_idle_part *part,
		    const struct aif_queue *queue, int64_t from, int64_t to, struct aif_replay *ret)
{
	struct aif_replay_moments moments = {0};
	int e;

	*ret = (struct aif_replay){.p = p, .part = part, .t = part->t};
	if (!is_whole(part) || part->t->execs_len >= MOST || queue->waits_len >= MOST)
		return 0;
	e = aif_replay_read(ret, queue, from, to, &moments);
	if (!e && ret->events_len) {
		ret->sums = malloc((ret->events_len + 1) * sizeof(*ret->sums));
		ret->zero = malloc((ret->works_len + 1) * sizeof(*ret->zero));
		for (ret->ends_len = 1; ret->ends_len < ret->reach;)
			ret->ends_len *= 2;
		ret->ends = malloc(ret->ends_len * sizeof(*ret->ends));
		e = ret->sums && ret->zero && ret->ends ? 0 : -ENOMEM;
		if (!e)
			replay_all(ret, &moments);
		if (!e && ret->length_ns > 0)
			e = aif_replay_place_times(ret, &moments);
	}
	free(moments.at);
	free(moments.exec);
	return e;
}

void aif_replay_finish(struct aif_replay *r)
{
	free(r->events);
	free(r->waits);
	free(r->execs);
	free(r->of);
	free(r->works);
	free(r->work);
	free(r->zero);
	free(r->other);
	free(r->behind);
	aif_map_finish(&r->long_hosts);
	aif_map_finish(&r->long_execs);
	aif_map_finish(&r->long_delays);
	free(r->ends);
	free(r->sums);
	free(r->stacks);
	free(r->idle);
	aif_map_finish(&r->long_idle);
	aif_buf_finish(&r->places);
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

/* Returns where a replay has the end of an execution that it looks back to, or of the one that comes next. */
static double *end_of(const struct aif_replay *r, size_t exec)
{
	return &r->ends[exec & (r->ends_len - 1)];
}

/* Returns when an execution starts that is launched at `at`. */
static double start_of(const struct aif_replay *r, size_t exec, double at, double sooner,
		       const struct aif_replay_without *without)
{
	const struct aif_replay_exec *x = &r->execs[exec];
	double recorded = (double)aif_replay_delay_ns(r, exec),
	       gap = delay_without(without, recorded, sooner, r->usual_gap_ns, r->quick_gap_ns,
				   !x->is_behind_launch),
	       start = at + delay_without(without, recorded, sooner, r->usual_launch_ns,
					  r->quick_launch_ns, x->is_behind_launch);

	if (x->before != AIF_NONE)
		start = AIF_MAX(start, *end_of(r, x->before) + gap);
	if (x->is_behind_other)
		start = AIF_MAX(start, *end_of(r, r->other[exec]) + gap);
	return start;
}

/* Asks of each work whether it takes no time. */
static void find_zero(const struct aif_replay *r, const struct aif_replay_without *without)
{
	for (size_t i = 0; i < r->works_len && without->is_zero; i++)
		r->zero[i] = without->is_zero(without->arg, &r->t->execs[r->works[i]]);
}

static bool is_zero(const struct aif_replay *r, const struct aif_replay_without *without,
		    size_t exec)
{
	uint16_t work;

	if (!without->is_zero)
		return false;
	work = r->work[exec];
	return work == AIF_REPLAY_WORKS
		       ? without->is_zero(without->arg, aif_replay_exec_of(r, exec))
		       : r->zero[work];
}

double aif_replay_length(const struct aif_replay *r, const struct aif_replay_without *without)
{
	double now = 0, end = 0, sooner = 0;
	size_t k = 0, wait = 0;

	find_zero(r, without);
	for (size_t i = 0; i < r->events_len; i++) {
		const struct aif_replay_event *e = &r->events[i];

		if (e->is_behind && !without->waits)
			now = AIF_MAX(now, *end_of(r, r->behind[i]));
		/* The call before may have held the host up for as long as what it launched. */
		now += AIF_MAX((double)aif_replay_host_ns(r, i) *
					       (without->host ? (double)without->host[i] : 1) -
				       sooner,
			       0);
		sooner = without->calls && !e->is_wait ? (double)without->calls[i] : 0;
		if (e->is_wait) {
			const struct aif_replay_wait *w = &r->waits[wait++];

			if (without->waits)
				continue;
			if (w->until != AIF_NONE)
				now = AIF_MAX(now, *end_of(r, w->until));
			now += without->latencies ? AIF_MIN(r->quick_tail_ns, w->tail_ns)
						  : w->tail_ns;
			continue;
		}
		do {
			double ends =
				start_of(r, k, now, sooner, without) +
				(is_zero(r, without, k) ? 0 : (double)aif_replay_exec_ns(r, k));

			*end_of(r, k) = ends;
			end = AIF_MAX(end, ends);
		} while (!r->execs[k++].is_last);
	}
	return AIF_MAX(now, end);
}
