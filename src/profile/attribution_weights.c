/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/attribution_internal.h"

#include <errno.h>
#include <math.h>

static int add_to_cycle(struct aif_attribution_work *w, uint32_t group, uint32_t cycle, uint64_t ns)
{
	uint64_t key = (uint64_t)group << 32 | cycle, i;

	if (!aif_map_get(&w->in_cycle, key, &i)) {
		i = w->cycle_sums_len;
		if (aif_grow(&w->cycle_sums, &w->cycle_sums_cap, i + 1, sizeof(*w->cycle_sums)) <
			    0 ||
		    aif_map_put(&w->in_cycle, key, i) < 0)
			return -ENOMEM;
		w->cycle_sums[w->cycle_sums_len++] =
			(struct aif_cycle_sum){.group = group, .cycle = cycle};
	}
	w->cycle_sums[i].ns += (double)ns;
	return 0;
}

static uint64_t times(uint64_t n, uint64_t weight)
{
	return (uint64_t)(((unsigned __int128)n * weight + AIF_WEIGHT_ONE - 1) / AIF_WEIGHT_ONE);
}

int aif_attribution_weigh(struct aif_attribution_work *w, struct aif_run *run, uint32_t thread,
			  uint64_t time, uint64_t bytes)
{
	const struct aif_weights_cycle *c = aif_weights_at(w->weights, thread, time);
	struct aif_group *g = &w->groups[run->group];
	uint64_t ns = run->end - run->start, weighted;
	size_t n;

	run->cycle = AIF_NONE;
	run->weight = c ? c->weight : AIF_WEIGHT_ONE;
	/* No recording is years long: these weights are nonsense, and sums must not wrap. */
	if (ns > (UINT64_C(1) << 42) || w->c.durations_ns > (UINT64_C(1) << 62) ||
	    bytes > (UINT64_C(1) << 42) || g->bytes > (UINT64_C(1) << 62))
		run->weight = AIF_WEIGHT_ONE;
	weighted = times(ns, run->weight);
	g->time += weighted;
	g->seen += ns;
	g->executions++;
	g->launches += run->weight;
	g->bytes += times(bytes, run->weight);
	w->c.durations_ns += weighted;
	if (!c || run->weight == AIF_WEIGHT_ONE)
		return 0;
	g->sampled = true;
	run->cycle = (uint32_t)(c - aif_weights_cycles(w->weights, &n));
	return add_to_cycle(w, run->group, run->cycle, weighted);
}

static int by_group(const void *a, const void *b)
{
	const struct aif_cycle_sum *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->cycle < y->cycle ? -1 : x->cycle > y->cycle;
}

/* What each process launched while it was not captured, beside what was. */
struct unseen {
	double *left_out, *off_ns, *executions; /* one piece of memory */
};

static int find_unseen(const struct aif_attribution_work *w, struct unseen *ret)
{
	size_t n = w->p->processes_len + 1;
	uint64_t start = w->p->start_ns;

	ret->left_out = calloc(3 * n, sizeof(*ret->left_out));
	if (!ret->left_out)
		return -ENOMEM;
	ret->off_ns = ret->left_out + n;
	ret->executions = ret->off_ns + n;
	aif_weights_left_out(w->weights, start + w->from, start + w->to, ret->left_out,
			     ret->off_ns);
	for (size_t i = 0; i < w->groups_len; i++)
		if (w->groups[i].process != AIF_NONE)
			ret->executions[w->groups[i].process] += (double)w->groups[i].executions;
	return 0;
}

/* Variances of the groups' times, by group. */
static int find_variances(struct aif_attribution_work *w, double *var)
{
	size_t n = w->cycle_sums_len;
	struct aif_estimate_part *parts = malloc((n + 1) * sizeof(*parts));

	if (!parts)
		return -ENOMEM;
	if (n)
		qsort(w->cycle_sums, n, sizeof(*w->cycle_sums), by_group);
	for (size_t i = 0; i < n; i++)
		parts[i] = (struct aif_estimate_part){w->cycle_sums[i].cycle, w->cycle_sums[i].ns};
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i; j < n && w->cycle_sums[j].group == w->cycle_sums[i].group;)
			j++;
		var[w->cycle_sums[i].group] = aif_estimate_variance(w->weights, parts + i, j - i);
	}
	free(parts);
	return 0;
}

static int estimate_errors(struct aif_attribution_work *w)
{
	double *var = calloc(w->groups_len + 1, sizeof(*var));
	struct unseen u = {0};
	int r = var ? find_variances(w, var) : -ENOMEM;

	if (!r)
		r = find_unseen(w, &u);
	for (size_t i = 0; i < w->groups_len && !r; i++) {
		struct aif_group *g = &w->groups[i];
		uint32_t process = g->process;

		/* What was met only while nothing was left out is exact. */
		if (g->sampled && process != AIF_NONE && u.left_out[process] > 0 && g->executions) {
			double one = (double)g->seen / (double)g->executions,
			       more = AIF_MIN(u.left_out[process] / u.executions[process] * one,
					      u.off_ns[process]);

			var[i] += more * more;
		}
		g->error = var[i] > 0 && var[i] < 1e36 ? (uint64_t)ceil(sqrt(var[i])) : 0;
	}
	free(u.left_out);
	free(var);
	return r;
}

struct stream_time {
	double seen, more;
};

/* A queue in order runs one thing at a time: what is estimated of it fits in the time in which nothing of it was
 * seen to run, and so does what is not known of that. Not by cycle: what is launched in one may run long
 * after it. */
static int fit_streams(struct aif_attribution_work *w)
{
	const struct aif_profile *p = w->p;
	struct stream_time *times = calloc(p->streams_len + 1, sizeof(*times));

	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < w->groups_len; i++) {
		const struct aif_group *g = &w->groups[i];

		if (g->stream != AIF_NONE) {
			times[g->stream].seen += (double)g->seen;
			times[g->stream].more += (double)(g->time - g->seen);
		}
	}
	for (size_t i = 0; i < w->groups_len; i++) {
		struct aif_group *g = &w->groups[i];
		const struct stream_time *t = g->stream == AIF_NONE ? NULL : &times[g->stream];
		double room;
		uint64_t more;

		if (!t || p->streams[g->stream].out_of_order)
			continue;
		room = AIF_MAX((double)(w->to - w->from) - t->seen, 0);
		g->error = (uint64_t)AIF_MIN((double)g->error, room);
		if (t->more <= room)
			continue;
		more = (uint64_t)((double)(g->time - g->seen) * room / t->more);
		w->c.durations_ns -= g->time - g->seen - more;
		g->time = g->seen + more;
	}
	free(times);
	return 0;
}

/* What is estimated of a device fits in the time in which it was not seen to work. */
static void fit_device(struct aif_attribution_work *w, struct aif_device_sum *d)
{
	struct aif_device_time *t = &d->t;
	aif_fraction more = d->more_kernel + d->more_copy,
		     room = (aif_fraction)t->idle_ns << AIF_FRACTION_BITS;
	double error = aif_estimate_error(&d->busy, w->weights);
	uint64_t kernel, copy;

	t->error_ns = (uint64_t)ceil(AIF_MIN(error, (double)t->idle_ns));
	t->idle_error_ns = (uint64_t)ceil(hypot((double)t->error_ns, (double)t->idle_error_ns));
	d->fits = more > room ? (double)room / (double)more : 1;
	kernel = (uint64_t)((aif_fraction)((double)d->more_kernel * d->fits) >> AIF_FRACTION_BITS);
	copy = (uint64_t)((aif_fraction)((double)d->more_copy * d->fits) >> AIF_FRACTION_BITS);
	kernel = AIF_MIN(kernel, t->idle_ns);
	copy = AIF_MIN(copy, t->idle_ns - kernel);
	t->kernel_ns += kernel;
	t->copy_ns += copy;
	t->busy_ns += kernel + copy;
	t->idle_ns -= kernel + copy;
}

static void sum_up(struct aif_attribution_work *w)
{
	struct aif_conservation *c = &w->c;
	double variance = 0, idle_variance = 0;

	for (size_t i = 0; i < w->p->devices_len; i++) {
		const struct aif_device_time *t = &w->devices[i].t;

		c->startup_ns += t->startup_ns;
		c->busy_ns += t->busy_ns;
		c->idle_ns += t->idle_ns;
		c->uncollected_ns += t->uncollected_ns;
		c->tail_ns += t->tail_ns;
		c->busy_kernel_ns += t->kernel_ns;
		c->busy_copy_ns += t->copy_ns;
		variance += (double)t->error_ns * (double)t->error_ns;
		idle_variance += (double)t->idle_error_ns * (double)t->idle_error_ns;
	}
	c->error_ns = (uint64_t)ceil(sqrt(variance));
	c->idle_error_ns = (uint64_t)ceil(sqrt(idle_variance));
}

int aif_attribution_settle(struct aif_attribution_work *w)
{
	struct aif_conservation *c = &w->c;
	int r = 0;

	if (w->weights)
		r = estimate_errors(w);
	if (w->weights && !r)
		r = fit_streams(w);
	if (r < 0)
		return r;
	for (size_t i = 0; i < w->p->devices_len; i++)
		fit_device(w, &w->devices[i]);
	for (size_t i = 0; i < w->groups_len; i++) {
		struct aif_group *g = &w->groups[i];

		if (g->more_wall)
			g->wall +=
				(aif_fraction)((double)g->more_wall * w->devices[g->device].fits);
	}
	sum_up(w);
	if (!w->weights)
		return 0;
	c->durations_ns = AIF_MAX(c->durations_ns, c->busy_ns);
	c->overlap_ns = c->durations_ns - c->busy_ns;
	return 0;
}

int aif_attribution_emit_devices(const struct aif_attribution_work *w, struct aif_attribution *a)
{
	struct aif_conservation *c = &a->conservation;

	a->devices = calloc(w->p->devices_len + 1, sizeof(*a->devices));
	if (!a->devices)
		return -ENOMEM;
	for (size_t i = 0; i < w->p->devices_len; i++) {
		const struct aif_device_time *t = &w->devices[i].t;

		if (!w->devices[i].is_used)
			continue;
		c->first_start_ns =
			a->devices_len ? AIF_MIN(c->first_start_ns, t->first_ns) : t->first_ns;
		c->last_end_ns = AIF_MAX(c->last_end_ns, t->last_ns);
		a->devices[a->devices_len++] = *t;
	}
	return 0;
}
