/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/step_sums.h"

#include "analysis/utilization.h"
#include "base/sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

void aif_step_sums_finish(struct aif_step_sums *s)
{
	free(s->places);
	free(s->rows);
	aif_map_finish(&s->known);
	*s = (struct aif_step_sums){.thread = AIF_NONE};
}

/* ---- places --------------------------------------------------------------------------------------- */

static bool is_same(const struct aif_step_sum_row *a, const struct aif_step_sum_row *b)
{
	return a->sum == b->sum && a->device == b->device && a->stack == b->stack &&
	       a->kind == b->kind && a->kernel == b->kernel;
}

/* Makes a place one that stands for more of them, the less is told of it the higher the level. */
static void forget(struct aif_step_sum_row *of, unsigned level)
{
	if (level == 1)
		of->stack = AIF_NONE;
	if (level == 2)
		of->kernel = AIF_NONE;
	if (level == 3) {
		of->device = AIF_NONE;
		of->kind = AIF_LAUNCH_KERNEL;
	}
}

/* Returns a place, which is made if there is none, with nothing in the steps before; NULL: no memory. */
static struct aif_step_place *find(struct aif_step_sums *s, struct aif_step_sum_row of)
{
	/* Bounds all levels but the last, which has a place for each kind of sum. */
	static const size_t most[] = {AIF_STEP_SUMS_PLACES,
				      AIF_STEP_SUMS_PLACES + AIF_STEP_SUMS_PLACES / 4,
				      AIF_STEP_SUMS_PLACES + AIF_STEP_SUMS_PLACES / 2, SIZE_MAX};
	uint64_t key, at;

	for (unsigned level = 0;; level++) {
		forget(&of, level);
		key = aif_mix64(aif_mix64((uint64_t)of.stack << 32 | of.kernel) ^
				aif_mix64((uint64_t)of.device << 32 | of.kind << 2 | of.sum));
		for (; aif_map_get(&s->known, key, &at); key++)
			if (is_same(&s->places[at].of, &of))
				return &s->places[at];
		if (s->places_len < most[level])
			break;
	}
	if (aif_grow(&s->places, &s->places_cap, s->places_len + 1, sizeof(*s->places)) < 0 ||
	    aif_map_put(&s->known, key, s->places_len) < 0)
		return NULL;
	s->places[s->places_len] = (struct aif_step_place){
		.of = of, .at = {.start = s->start, .end = s->end, .first = 1, .steps = s->steps}};
	return &s->places[s->places_len++];
}

int aif_step_sums_add(struct aif_step_sums *s, const struct aif_step_sum_row *of, uint64_t ns)
{
	struct aif_step_place *to = find(s, *of);

	if (!to)
		return -ENOMEM;
	to->ns += ns;
	to->executions++;
	return 0;
}

int aif_step_sums_exec(struct aif_step_sums *s, const struct aif_step_exec *x)
{
	struct aif_step_sum_row of = {.sum = x->is_idle ? AIF_STEP_SUM_IDLE : AIF_STEP_SUM_WORK,
				      .device = x->device,
				      .stack = x->stack,
				      .kind = x->is_idle ? AIF_LAUNCH_KERNEL : x->kind,
				      .kernel = x->is_idle ? AIF_NONE : x->kernel};
	int e = aif_step_sums_add(s, &of, x->ns);

	of.kind = AIF_LAUNCH_KERNEL;
	of.kernel = AIF_NONE;
	if (!e && x->computes && !x->is_idle) {
		of.sum = AIF_STEP_SUM_COMPUTE;
		of.stack = AIF_NONE;
		e = aif_step_sums_add(s, &of, x->ns);
	}
	return e;
}

bool aif_step_sums_computes(const struct aif_profile *p, struct aif_map *known, uint32_t kind,
			    uint32_t kernel)
{
	uint64_t is;

	if (kind != AIF_LAUNCH_KERNEL || kernel >= p->kernels_len)
		return false;
	if (!aif_map_get(known, kernel, &is)) {
		is = aif_work_class_of(aif_profile_str(p, p->kernels[kernel].name)) ==
		     AIF_WORK_COMPUTE;
		/* Without memory the next one of this kernel looks again. */
		(void)aif_map_put(known, kernel, is);
	}
	return is;
}

/* ---- stretches ------------------------------------------------------------------------------------ */

/* Adds the steps of `more` to a stretch. */
static void join(struct aif_step_stretch *to, const struct aif_step_stretch *more)
{
	double n = to->steps, k = more->steps, off = more->mean - to->mean;

	if (!more->steps)
		return;
	if (!to->steps) {
		*to = *more;
		return;
	}
	to->end = AIF_MAX(to->end, more->end);
	to->ns += more->ns;
	to->executions += more->executions;
	to->steps += more->steps;
	to->mean += off * k / (n + k);
	to->m2 += more->m2 + off * off * n * k / (n + k);
}

static int make_row(struct aif_step_sums *s, struct aif_step_place *p,
		    const struct aif_step_stretch *of)
{
	struct aif_step_sum_row row = p->of;

	if (aif_grow(&s->rows, &s->rows_cap, s->rows_len + 1, sizeof(row)) < 0)
		return -ENOMEM;
	row.start = of->start;
	row.end = of->end;
	row.ns = of->ns;
	row.deviation = of->steps > 1 ? (uint64_t)sqrt(of->m2 / (of->steps - 1)) : 0;
	row.executions = of->executions;
	row.first = of->first;
	row.steps = of->steps;
	row.thread = s->thread;
	s->rows[s->rows_len++] = row;
	p->rows++;
	return 0;
}

static bool may_have_more(const struct aif_step_sums *s, const struct aif_step_place *p)
{
	return p->rows < AIF_STEP_SUMS_ROWS + s->steps / 16 && s->rows_len < AIF_STEP_SUMS_ALL_ROWS;
}

static bool is_like(const struct aif_step_sums *s, const struct aif_step_stretch *at, double ns)
{
	double most = AIF_MAX(AIF_STEP_SUMS_LIKE * at->mean, AIF_STEP_SUMS_LEAST * s->step_ns);

	if (at->steps > 2)
		most = AIF_MAX(most, 4 * sqrt(at->m2 / (at->steps - 1)));
	return fabs(ns - at->mean) <= most;
}

/* Ends the steps that differ: they were too few, and have a row if they differ by much. */
static int settle(struct aif_step_sums *s, struct aif_step_place *p)
{
	bool is_odd = p->other.steps && p->at.steps >= 2 * AIF_STEP_SUMS_SURE &&
		      fabs(p->other.mean - p->at.mean) >= AIF_STEP_SUMS_ODD * s->step_ns &&
		      may_have_more(s, p);
	int e = is_odd ? make_row(s, p, &p->other) : 0;

	if (!is_odd)
		join(&p->at, &p->other);
	p->other = (struct aif_step_stretch){0};
	return e;
}

static int take_step(struct aif_step_sums *s, struct aif_step_place *p,
		     const struct aif_step_stretch *step)
{
	bool is_alike = !p->at.steps || is_like(s, &p->at, step->mean),
	     is_back = p->other.steps && (p->other.mean > p->at.mean) != (step->mean > p->at.mean);
	int e = is_alike || is_back ? settle(s, p) : 0;

	if (e || is_alike) {
		join(&p->at, step);
		return e;
	}
	join(&p->other, step);
	if (p->other.steps < AIF_STEP_SUMS_SURE)
		return 0;
	if (!may_have_more(s, p))
		return settle(s, p);
	e = make_row(s, p, &p->at);
	p->at = p->other;
	p->other = (struct aif_step_stretch){0};
	return e;
}

int aif_step_sums_step(struct aif_step_sums *s, uint64_t start, uint64_t end)
{
	int e = 0;

	end = AIF_MAX(start, end);
	s->step_ns += ((double)(end - start) - s->step_ns) / (s->steps + 1.0);
	for (size_t i = 0; i < s->places_len && !e; i++) {
		struct aif_step_place *p = &s->places[i];
		struct aif_step_stretch step = {.start = start,
						.end = end,
						.ns = p->ns,
						.executions = p->executions,
						.first = s->steps + 1,
						.steps = 1,
						.mean = (double)p->ns};

		e = take_step(s, p, &step);
		p->ns = p->executions = 0;
	}
	s->start = s->steps ? s->start : start;
	s->end = end;
	s->steps++;
	return e;
}

static int by_place(const void *a, const void *b)
{
	const struct aif_step_sum_row *x = a, *y = b;
	const uint32_t keys[][2] = {{x->sum, y->sum},       {x->device, y->device},
				    {x->stack, y->stack},   {x->kind, y->kind},
				    {x->kernel, y->kernel}, {x->first, y->first}};

	for (size_t i = 0; i < AIF_ARRAY_LEN(keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

int aif_step_sums_end(struct aif_step_sums *s)
{
	int e = 0;

	for (size_t i = 0; i < s->places_len && !e; i++) {
		struct aif_step_place *p = &s->places[i];

		e = settle(s, p);
		if (!e && p->at.steps)
			e = make_row(s, p, &p->at);
	}
	if (!e)
		aif_sort(s->rows, s->rows_len, sizeof(*s->rows), by_place);
	return e;
}
