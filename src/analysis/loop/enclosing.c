/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function that a loop is in, where all its launches have one stack: any function on it may loop. The thread was seen in others
 * meanwhile, by CPU samples, and in the function that loops whatever else it did.
 */
#include "analysis/loop/phases.h"

#include "analysis/time.h"
#include "profile/file.h"

#include <errno.h>
#include <string.h>

/* Most of the thread's time is in the function that loops; samples whose stacks were cut may be elsewhere. */
#define MOST 0.9

struct reading {
	const struct aif_profile *p;
	const struct aif_loop_span *of;
	uint32_t *path; /* stacks of the launches, from the root on */
	size_t depth;
	double *seen; /* by depth: weight of samples that leave the path there */
};

static bool is_same_function(const struct aif_profile *p, uint32_t a, uint32_t b)
{
	const struct aif_frame *x, *y;
	const struct aif_frame_name *n, *m;

	if (p->stacks[a].frame == AIF_NONE || p->stacks[b].frame == AIF_NONE)
		return false;
	x = &p->frames[p->stacks[a].frame];
	y = &p->frames[p->stacks[b].frame];
	n = aif_profile_frame_name(p, p->stacks[a].frame);
	m = aif_profile_frame_name(p, p->stacks[b].frame);
	return x->kind == y->kind && x->module == y->module && n && m && n->name == m->name &&
	       n->file == m->file;
}

/* Returns how many functions of the path a stack shares with it, from the root on. */
static size_t shared(const struct reading *r, uint32_t stack)
{
	uint32_t inner = AIF_NONE;
	size_t depth;

	for (; stack != AIF_NONE; inner = stack, stack = r->p->stacks[stack].parent) {
		depth = r->p->stacks[stack].depth;
		if (depth && depth <= r->depth && r->path[depth - 1] == stack)
			break;
	}
	depth = stack == AIF_NONE ? 0 : r->p->stacks[stack].depth;
	return inner != AIF_NONE && depth < r->depth &&
			       is_same_function(r->p, inner, r->path[depth])
		       ? depth + 1
		       : depth;
}

static int take_rows(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct reading *r = arg;

	for (size_t i = 0; i < n; i++) {
		int64_t at = aif_time_clamp((int64_t)(rows[i].time - r->p->start_ns));

		if (rows[i].thread == r->of->thread && !rows[i].waiting &&
		    rows[i].stack != AIF_NONE && at >= r->of->from && at < r->of->to)
			r->seen[shared(r, rows[i].stack)] += (double)rows[i].weight;
	}
	return 0;
}

int aif_loop_enclosing(const struct aif_profile *p, const struct aif_loop_span *of, uint32_t *ret)
{
	struct reading r = {.p = p, .of = of, .depth = p->stacks[of->stack].depth};
	uint64_t damaged = 0;
	double all = 0, within = 0;
	int e;

	*ret = of->stack;
	r.path = malloc((r.depth + 1) * sizeof(*r.path));
	r.seen = calloc(r.depth + 1, sizeof(*r.seen));
	e = r.path && r.seen ? 0 : -ENOMEM;
	for (uint32_t s = of->stack; !e && s != AIF_NONE; s = p->stacks[s].parent) {
		if (!p->stacks[s].depth || p->stacks[s].depth > r.depth)
			break;
		r.path[p->stacks[s].depth - 1] = s;
	}
	if (!e)
		e = aif_profile_cpu(p, take_rows, &r, &damaged);
	for (size_t i = 0; i <= r.depth && !e; i++)
		all += r.seen[i];
	for (size_t i = r.depth + 1; all > 0 && i-- > 0;) {
		within += r.seen[i];
		if (within >= MOST * all) {
			*ret = i ? r.path[i - 1] : AIF_NONE;
			break;
		}
	}
	free(r.path);
	free(r.seen);
	return e;
}
