/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/extrapolate.h"
#include "base/u64_of.h"
#include "analysis/estimate.h"

#include <errno.h>
#include <math.h>

struct extrapolating {
	const struct aif_scope *s;
	const struct aif_weights *weights;
	const struct aif_classified *c;
	const struct aif_swept *swept;
	struct aif_extrapolated *ret;
};

/* ---- standard errors ---- */

/* Launches that each process made while it was not captured, and the executions that were
 * captured. */
struct unseen {
	double *left_out, *off_ns, *executions, *cycles; /* one piece of memory */
};

/* Counts the cycles of each process (weights.h). */
static void count_cycles(const struct extrapolating *x, double *cycles)
{
	const struct aif_profile *p = x->s->p;
	size_t len;
	const struct aif_weights_cycle *at = aif_weights_cycles(x->weights, &len);

	for (size_t i = 0; i < len; i++) {
		uint32_t process = aif_weights_process(x->weights, &at[i]);

		if (process < p->processes_len)
			cycles[process]++;
	}
}

static int find_unseen(const struct extrapolating *x, struct unseen *ret)
{
	const struct aif_groups *groups = &x->c->groups;
	size_t n = x->s->p->processes_len + 1;
	uint64_t start = x->s->p->start_ns;

	ret->left_out = calloc(4 * n, sizeof(*ret->left_out));
	if (!ret->left_out)
		return -ENOMEM;
	ret->off_ns = ret->left_out + n;
	ret->executions = ret->off_ns + n;
	ret->cycles = ret->executions + n;
	count_cycles(x, ret->cycles);
	aif_weights_left_out(x->weights, start + x->s->from, start + x->s->to, ret->left_out,
			     ret->off_ns);
	for (size_t i = 0; i < groups->len; i++)
		if (groups->at[i].process != AIF_NONE)
			ret->executions[groups->at[i].process] += (double)groups->at[i].executions;
	return 0;
}

/* Finds the variances of the groups' times, by group. */
static int find_variances(const struct extrapolating *x, double *var)
{
	const struct aif_cycle_sum *sums = x->c->cycle_sums;
	size_t n = x->c->cycle_sums_len;
	struct aif_estimate_part *parts = malloc((n + 1) * sizeof(*parts));

	if (!parts)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		parts[i] = (struct aif_estimate_part){sums[i].cycle, sums[i].ns};
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i; j < n && sums[j].group == sums[i].group;)
			j++;
		var[sums[i].group] = aif_estimate_variance(x->weights, parts + i, j - i);
	}
	free(parts);
	return 0;
}

/* Groups without estimated executions are exact: they were met only while nothing was left out. But a single
 * cycle does not tell that they were not met later: any launch that was left out may have been theirs. */
static double unseen_variance(const struct aif_group *g, const struct unseen *u)
{
	uint32_t process = g->process;
	double launches, more;

	if (process == AIF_NONE || !g->executions || u->left_out[process] <= 0)
		return 0;
	launches = u->left_out[process];
	if (u->cycles[process] >= 2 && !g->sampled)
		return 0;
	if (u->cycles[process] >= 2)
		launches /= u->executions[process];
	more = AIF_MIN(launches * (double)g->seen / (double)g->executions, u->off_ns[process]);
	return more * more;
}

static int estimate_errors(struct extrapolating *x)
{
	const struct aif_groups *groups = &x->c->groups;
	double *var = calloc(groups->len + 1, sizeof(*var));
	struct unseen u = {0};
	int r = var ? find_variances(x, var) : -ENOMEM;

	if (!r)
		r = find_unseen(x, &u);
	for (size_t i = 0; i < groups->len && !r; i++) {
		const struct aif_group *g = &groups->at[i];

		var[i] += unseen_variance(g, &u);
		x->ret->groups[i].error =
			var[i] > 0 && var[i] < 1e36 ? (uint64_t)ceil(sqrt(var[i])) : 0;
	}
	free(u.left_out);
	free(var);
	return r;
}

/* ---- what there is time for ---- */

struct stream_time {
	double seen, more;
};

/* Returns how long a queue may have run, ns: as long as its device had work, which is judged for each device alone. */
static uint64_t queue_ns(const struct extrapolating *x, const struct aif_stream *stream)
{
	uint64_t all = x->s->to - x->s->from;
	const struct aif_device_time *t;

	if (stream->device >= x->s->p->devices_len)
		return all;
	t = &x->swept->devices[stream->device].t;
	return AIF_MIN(all, t->busy_ns + t->idle_ns);
}

/* Fits what is estimated of a queue in order, which runs one thing at a time, in the time in
 * which nothing of it was seen to run, and so its error. Not by cycle: what is launched in one
 * may run long after it. */
static int fit_streams(struct extrapolating *x)
{
	const struct aif_profile *p = x->s->p;
	const struct aif_groups *groups = &x->c->groups;
	struct stream_time *times = calloc(p->streams_len + 1, sizeof(*times));

	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < groups->len; i++) {
		const struct aif_group *g = &groups->at[i];

		if (g->stream != AIF_NONE) {
			times[g->stream].seen += (double)g->seen;
			times[g->stream].more += (double)(g->time - g->seen);
		}
	}
	for (size_t i = 0; i < groups->len; i++) {
		const struct aif_group *g = &groups->at[i];
		const struct stream_time *t = g->stream == AIF_NONE ? NULL : &times[g->stream];
		struct aif_extrapolated_group *to = &x->ret->groups[i];
		double room;
		uint64_t more;

		if (!t || p->streams[g->stream].out_of_order)
			continue;
		room = AIF_MAX((double)queue_ns(x, &p->streams[g->stream]) - t->seen, 0);
		to->error = (uint64_t)AIF_MIN((double)to->error, room);
		if (t->more <= room)
			continue;
		more = (uint64_t)((double)(g->time - g->seen) * room / t->more);
		x->ret->durations_ns -= g->time - g->seen - more;
		to->time = g->seen + more;
	}
	free(times);
	return 0;
}

/* Fits what is estimated of a device in the time in which it was not seen to work. Returns which
 * part of that there is time for. */
static double fit_device(const struct aif_swept_device *d, struct aif_device_time *t)
{
	aif_fraction more = d->more_kernel + d->more_copy,
		     room = (aif_fraction)d->t.idle_ns << AIF_FRACTION_BITS;
	double fits = more > room ? (double)room / (double)more : 1;
	uint64_t kernel = (uint64_t)((aif_fraction)((double)d->more_kernel * fits) >>
				     AIF_FRACTION_BITS),
		 copy = (uint64_t)((aif_fraction)((double)d->more_copy * fits) >>
				   AIF_FRACTION_BITS);

	*t = d->t;
	t->error_ns = (uint64_t)ceil(AIF_MIN(d->busy_error, (double)t->idle_ns));
	t->idle_error_ns = aif_u64_of(ceil(hypot((double)t->error_ns, (double)t->idle_error_ns)));
	kernel = AIF_MIN(kernel, t->idle_ns);
	copy = AIF_MIN(copy, t->idle_ns - kernel);
	t->kernel_ns += kernel;
	t->copy_ns += copy;
	t->busy_ns += kernel + copy;
	t->idle_ns -= kernel + copy;
	return fits;
}

static int fit_devices(struct extrapolating *x)
{
	const struct aif_groups *groups = &x->c->groups;
	size_t n = x->s->p->devices_len;
	double *fits = calloc(n + 1, sizeof(*fits));

	if (!fits)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		fits[i] = fit_device(&x->swept->devices[i], &x->ret->devices[i]);
		x->ret->busy_ns += x->ret->devices[i].busy_ns;
	}
	for (size_t i = 0; i < groups->len; i++) {
		const struct aif_swept_group *g = &x->swept->groups[i];

		x->ret->groups[i].wall = g->wall;
		if (g->more_wall)
			x->ret->groups[i].wall +=
				(aif_fraction)((double)g->more_wall * fits[groups->at[i].device]);
	}
	free(fits);
	return 0;
}

int aif_extrapolate(const struct aif_scope *s, const struct aif_weights *weights,
		    const struct aif_classified *c, const struct aif_swept *swept,
		    struct aif_extrapolated *ret)
{
	struct extrapolating x = {.s = s, .weights = weights, .c = c, .swept = swept, .ret = ret};
	int r = 0;

	ret->groups = calloc(c->groups.len + 1, sizeof(*ret->groups));
	ret->devices = calloc(s->p->devices_len + 1, sizeof(*ret->devices));
	if (!ret->groups || !ret->devices)
		return -ENOMEM;
	for (size_t i = 0; i < c->groups.len; i++)
		ret->groups[i].time = c->groups.at[i].time;
	ret->durations_ns = c->durations_ns;
	ret->overlap_ns = swept->overlap_ns;
	if (weights)
		r = estimate_errors(&x);
	if (weights && !r)
		r = fit_streams(&x);
	if (!r)
		r = fit_devices(&x);
	if (!r && weights) {
		ret->durations_ns = AIF_MAX(ret->durations_ns, ret->busy_ns);
		ret->overlap_ns = ret->durations_ns - ret->busy_ns;
	}
	return r;
}

void aif_extrapolated_finish(struct aif_extrapolated *x)
{
	free(x->groups);
	free(x->devices);
	*x = (struct aif_extrapolated){0};
}
