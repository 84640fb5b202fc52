/* SPDX-License-Identifier: Apache-2.0 */
/* The most that could be gained: replays of the recorded schedule in which one cause takes no time. */
#include "report/why/bounds.h"

#include <errno.h>

struct asking {
	const struct aif_why *w;
	const struct aif_idle_part *part;
	const struct aif_why_rows *rows;
	enum aif_why_group group;
	const struct aif_why_function *function; /* NULL: .group is asked for */
	enum aif_work_class class;
	uint32_t kind, name; /* of a kernel; kind AIF_NONE: .class is asked for */
	float *host, *calls;
};

static bool is_of_group(const void *arg, const struct aif_idle_row *row)
{
	const struct asking *a = arg;

	return aif_why_group_of(row->cause) == a->group;
}

static bool is_of_function(const void *arg, const struct aif_idle_row *row)
{
	const struct asking *a = arg;
	size_t i = (size_t)(row - a->part->blame.rows);

	return i < a->rows->len && a->rows->owner[i] != AIF_NONE &&
	       &a->w->functions[a->w->owners[a->rows->owner[i]].function] == a->function;
}

static bool is_of_class(const void *arg, const struct aif_timeline_exec *x)
{
	const struct asking *a = arg;

	return a->part->u->classes[x - a->part->t->execs] == a->class;
}

static bool is_of_kernel(const void *arg, const struct aif_timeline_exec *x)
{
	const struct asking *a = arg;
	const struct aif_timeline_work *of = aif_timeline_work_of(a->part->t, x);

	return of->kind == a->kind && of->kernel != AIF_NONE &&
	       a->rows->p->kernels[of->kernel].name == a->name;
}

static double gain(const struct aif_replay *r, const struct aif_replay_without *without)
{
	double ns = aif_replay_length(r, without);

	return ns > 0 ? AIF_MAX(r->length_ns / ns, 1) : 0;
}

/* The largest gain that samples of the host tell: above it so little time is left that they do not tell how much. */
#define SAMPLED_MOST 4.0
/* The same of a device that is made of CPUs: where these do not rest, kernels themselves take less, of which no replay knows. PoCL's
 * took half as long in a program without its owner, as both CPUs were awake. */
#define SAMPLED_MOST_CPU 3.0

static bool is_made_of_cpus(const struct aif_profile *p)
{
	for (size_t i = 0; i < p->devices_len; i++)
		if (p->devices[i].kind == AIF_DEVICE_CPU)
			return true;
	return false;
}

/* Sets *ret to the gain if the host takes no time in what is asked for. */
static int without_host(struct aif_replay *r, struct asking *a, double *ret)
{
	int e = aif_replay_host_without(r, a->function ? is_of_function : is_of_group, a, a->host,
					a->calls);

	if (!e)
		*ret = gain(r, &(struct aif_replay_without){
				       .host = a->host, .calls = a->calls, .latencies = true});
	if (!e && *ret > (is_made_of_cpus(a->rows->p) ? SAMPLED_MOST_CPU : SAMPLED_MOST))
		*ret = 0;
	return e;
}

static int bound_group(struct aif_replay *r, struct asking *a, double *ret)
{
	*ret = 0;
	/* Waits cost the time in which the host could have gone on, too. */
	if (!a->w->of_group[a->group] && a->group != AIF_WHY_SYNC)
		return 0;
	switch (a->group) {
	case AIF_WHY_COMPUTE:
	case AIF_WHY_COPY:
		a->class = a->group == AIF_WHY_COMPUTE ? AIF_WORK_COMPUTE : AIF_WORK_MEMORY;
		*ret = gain(r, &(struct aif_replay_without){.is_zero = is_of_class, .arg = a});
		return 0;
	case AIF_WHY_SYNC:
		*ret = gain(r, &(struct aif_replay_without){.waits = true});
		return 0;
	case AIF_WHY_LATE:
		*ret = gain(r, &(struct aif_replay_without){.late = true});
		return 0;
	/* No replay has what nobody did, and what others do. */
	case AIF_WHY_COMMUNICATION:
	case AIF_WHY_WAITING:
	case AIF_WHY_DEMAND:
	case AIF_WHY_UNKNOWN:
		return 0;
	default:
		return without_host(r, a, ret);
	}
}

static void bound_kernels(const struct aif_replay *r, struct asking *a, struct aif_why *w)
{
	for (size_t i = 0; i < w->kernels_len && i < AIF_WHY_BOUNDED; i++) {
		struct aif_why_kernel *k = &w->kernels[i];

		a->kind = k->kind;
		a->name = k->kernel == AIF_NONE ? AIF_NONE : a->rows->p->kernels[k->kernel].name;
		if (k->kernel != AIF_NONE)
			k->bound_gain = gain(
				r, &(struct aif_replay_without){.is_zero = is_of_kernel, .arg = a});
	}
}

int aif_why_bounds_find(const struct aif_why_rows *rows, const struct aif_idle_part *part,
			struct aif_why *w)
{
	struct asking a = {.w = w, .part = part, .rows = rows};
	struct aif_replay r;
	int e = aif_replay_make(rows->p, part, &w->queue, part->is_cut ? part->from : INT64_MIN,
				part->is_cut ? part->to : INT64_MAX, &r);

	a.host = malloc((r.events_len + 1) * sizeof(*a.host));
	a.calls = malloc((r.events_len + 1) * sizeof(*a.calls));
	if (!e && (!a.host || !a.calls))
		e = -ENOMEM;
	if (!e && r.length_ns > 0) {
		for (unsigned g = 0; g < AIF_WHY_GROUPS && !e; g++) {
			a.group = (enum aif_why_group)g;
			e = bound_group(&r, &a, &w->bound_of_group[g]);
		}
		for (size_t i = 0; i < w->functions_len && i < AIF_WHY_BOUNDED && !e; i++) {
			a.function = &w->functions[i];
			e = without_host(&r, &a, &w->functions[i].bound_gain);
		}
		bound_kernels(&r, &a, w);
	}
	free(a.host);
	free(a.calls);
	aif_replay_finish(&r);
	return e;
}
