/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles and shares of the launches of a span. */
#include "analysis/queue/queue.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct summing {
	const struct aif_queue *q;
	const struct aif_weights *weights;
	const struct aif_queue_span *span;
	struct aif_queue_sum *to;
	/* Room for all launches of the span; .value_weights NULL: each stands for itself. */
	uint64_t *values, *value_weights;
	size_t values_len;
	double whole, idle, after_wait, step_ahead; /* of those that are known, weighted */
	struct aif_estimate error;                  /* of .idle, as a ratio */
};

/* Returns the i-th launch, in the order of what the span goes by. */
static const struct aif_queue_launch *launch_at(const struct summing *s, size_t i)
{
	return &s->q->launches[s->span->by_start && s->q->by_start ? s->q->by_start[i] : i];
}

static int64_t time_of(const struct summing *s, const struct aif_queue_launch *l)
{
	int64_t at = aif_queue_at(s->q, l);

	return s->span->by_start ? at + (int64_t)aif_queue_delay(s->q, l) : at;
}

/* Returns the first of the device's launches at `at` or later. */
static size_t first_launch(const struct summing *s, const struct aif_queue_device *d, int64_t at)
{
	return AIF_BISECT(mid, d->first, d->end, time_of(s, launch_at(s, mid)) < at);
}

/* Gives each launch of the span to take(), which returns 0 or -errno. */
static int for_launches(struct summing *s,
			int (*take)(struct summing *s, const struct aif_queue_launch *l))
{
	bool is_all = s->span->device == AIF_QUEUE_ALL;
	size_t k = is_all ? 0 : s->span->device, end = is_all ? s->q->devices_len : k + 1;
	int e = 0;

	for (; k < end; k++) {
		const struct aif_queue_device *d = &s->q->devices[k];
		size_t last = first_launch(s, d, s->span->to);

		for (size_t i = first_launch(s, d, s->span->from); i < last && !e; i++)
			e = take(s, launch_at(s, i));
	}
	return e;
}

static int count(struct summing *s, const struct aif_queue_launch *l)
{
	double weight = (double)aif_queue_weight_of(s->q, l) / AIF_WEIGHT_ONE;

	s->to->launches++;
	if (!l->is_known)
		return 0;
	s->to->known++;
	s->to->ahead_most = AIF_MAX(s->to->ahead_most, (uint64_t)l->ahead);
	s->whole += weight;
	s->idle += l->ahead ? 0 : weight;
	s->after_wait += l->is_after_wait ? weight : 0;
	s->step_ahead += s->span->step_ns && l->ahead_ns > s->span->step_ns ? weight : 0;
	return 0;
}

/* Adds what a launch differs from the mean: the linearised ratio. The weights may be those of a part of the recording. */
static int add_error(struct summing *s, const struct aif_queue_launch *l)
{
	uint32_t cycle = aif_weights_cycle_at(s->weights, aif_queue_thread_of(s->q, l),
					      s->q->start_ns + (uint64_t)aif_queue_at(s->q, l));

	return l->is_known ? aif_estimate_add(&s->error, s->weights, cycle,
					      (l->ahead ? 0 : 1) - s->idle / s->whole)
			   : 0;
}

static void add_value(struct summing *s, const struct aif_queue_launch *l, uint64_t value)
{
	s->values[s->values_len] = value;
	if (s->value_weights)
		s->value_weights[s->values_len] = aif_queue_weight_of(s->q, l);
	s->values_len++;
}

static int add_delay(struct summing *s, const struct aif_queue_launch *l)
{
	add_value(s, l, aif_queue_delay(s->q, l));
	return 0;
}

static int add_ahead(struct summing *s, const struct aif_queue_launch *l)
{
	if (l->is_known)
		add_value(s, l, l->ahead);
	return 0;
}

static int add_ahead_ns(struct summing *s, const struct aif_queue_launch *l)
{
	if (l->is_known)
		add_value(s, l, l->ahead_ns);
	return 0;
}

static void count_waits(struct summing *s)
{
	for (size_t k = 0; k < s->q->devices_len; k++) {
		const struct aif_queue_device *d = &s->q->devices[k];

		if (s->span->device != AIF_QUEUE_ALL && s->span->device != k)
			continue;
		for (size_t i = d->waits_first; i < d->waits_end; i++) {
			const struct aif_queue_wait *w = &s->q->waits[i];

			if (w->end < s->span->from || w->end >= s->span->to)
				continue;
			s->to->waits++;
			s->to->emptied += w->has_emptied;
		}
	}
}

static uint64_t ppm_of(double part, double whole)
{
	return whole > 0 ? aif_timed_rounded(1e6 * part / whole) : 0;
}

/* Returns the least value that `percent` of the weight does not exceed, some bits after others from the highest: of the values that
 * begin like it, sums weights by the next bits. Takes a few reads of the values, where sorting them takes 20 and a copy. */
static uint64_t quantile(const struct summing *s, unsigned percent)
{
	enum { BITS = 10, VALUES = 1 << BITS };
	const uint64_t *values = s->values, *weights = s->value_weights;
	size_t n = s->values_len;
	unsigned __int128 all = 0, below = 0;
	uint64_t any = 0, found = 0;

	for (size_t i = 0; i < n; i++) {
		all += weights ? weights[i] : 1;
		any |= values[i];
	}
	for (int shift = any ? (63 - __builtin_clzll(any)) / BITS * BITS : 0; shift >= 0;
	     shift -= BITS) {
		unsigned __int128 weight[VALUES] = {0};
		size_t count[VALUES] = {0}, next = 0;

		for (size_t i = 0; i < n; i++) {
			size_t at = values[i] >> shift & (VALUES - 1);

			if ((values[i] ^ found) >> shift >> BITS)
				continue;
			count[at]++;
			if (weights)
				weight[at] += weights[i];
		}
		for (; next < VALUES - 1; next++) {
			unsigned __int128 more = weights ? weight[next] : count[next];

			if (count[next] && (below + more) * 100 >= all * percent)
				break;
			below += more;
		}
		found |= (uint64_t)next << shift;
	}
	return found;
}

/* Collects values of the span's launches. Sets their median and 95th percentile: the least that so many do not exceed. */
static void find_quantiles(struct summing *s,
			   int (*add)(struct summing *s, const struct aif_queue_launch *l),
			   uint64_t *ret_median, uint64_t *ret_p95)
{
	s->values_len = 0;
	(void)for_launches(s, add);
	if (!s->values_len)
		return;
	*ret_median = quantile(s, 50);
	*ret_p95 = quantile(s, 95);
}

/* The standard error of the share that found the device idle. One more launch of those that were not seen could be of the other kind
 * (analysis/weights.h): a share of 0 or 1 is not exact. */
static uint64_t error_of(struct summing *s)
{
	double known = (double)s->to->known, unseen = known > 0 ? (s->whole - known) / known : 0,
	       error = aif_estimate_error(&s->error, s->weights);

	return AIF_MIN(ppm_of(sqrt(error * error + unseen * unseen), s->whole), 1000000);
}

int aif_queue_sum(const struct aif_queue *q, const struct aif_weights *weights,
		  const struct aif_queue_span *span, struct aif_queue_sum *ret)
{
	struct summing s = {.q = q, .weights = weights, .span = span, .to = ret};
	int e = 0;

	*ret = (struct aif_queue_sum){0};
	(void)for_launches(&s, count);
	count_waits(&s);
	ret->idle_ppm = ppm_of(s.idle, s.whole);
	ret->after_wait_ppm = ppm_of(s.after_wait, s.whole);
	ret->step_ahead_ppm = ppm_of(s.step_ahead, s.whole);
	if (weights)
		e = for_launches(&s, add_error);
	if (!e && weights)
		ret->idle_error_ppm = error_of(&s);
	aif_estimate_finish(&s.error);
	s.values = malloc((ret->launches + 1) * sizeof(*s.values));
	if (q->t && q->t->weights)
		s.value_weights = malloc((ret->launches + 1) * sizeof(*s.value_weights));
	if (!e && (!s.values || (q->t && q->t->weights && !s.value_weights)))
		e = -ENOMEM;
	if (!e) {
		find_quantiles(&s, add_delay, &ret->delay_median_ns, &ret->delay_p95_ns);
		find_quantiles(&s, add_ahead, &ret->ahead_median, &ret->ahead_p95);
		find_quantiles(&s, add_ahead_ns, &ret->ahead_median_ns, &ret->ahead_p95_ns);
	}
	free(s.values);
	free(s.value_weights);
	return e;
}
