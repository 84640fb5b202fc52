/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/utilization.h"

#include "base/sort.h"
#include "base/glob.h"
#include "analysis/gaps.h"

#include <errno.h>
#include <string.h>

/* Longer names are compared by their beginning. */
#define NAME_MAX_LEN 512

enum aif_work_class aif_work_class_of(const char *kernel)
{
	static const struct {
		enum aif_work_class of;
		const char *pattern;
	} rules[] = {
#define AIF_WORK(class, pattern) {AIF_WORK_##class, pattern},
#include "analysis/utilization_rules.def"
	};
	char lower[NAME_MAX_LEN];
	size_t len = strnlen(kernel, sizeof(lower));

	for (size_t i = 0; i < len; i++)
		lower[i] = kernel[i] >= 'A' && kernel[i] <= 'Z' ? (char)(kernel[i] - 'A' + 'a')
								: kernel[i];
	for (size_t i = 0; i < AIF_ARRAY_LEN(rules); i++)
		if (aif_glob(rules[i].pattern, lower, len, NULL))
			return rules[i].of;
	return AIF_WORK_COMPUTE;
}

const char *aif_idle_name(enum aif_idle cause)
{
	static const char *const names[AIF_IDLE_COUNT] = {"host wait", "kernel wait", "other",
							  "not known"};

	return names[cause];
}

/* Each kernel is looked at once. */
static int classify(const struct aif_profile *p, const struct aif_exec_timeline *t,
		    struct aif_utilization *w)
{
	enum { NOT_YET = UINT8_MAX };
	uint8_t *kernels = malloc(p->kernels_len + 1);
	uint8_t *classes = malloc(t->execs_len + 1);

	w->classes = classes;
	if (!kernels || !classes) {
		free(kernels);
		return -ENOMEM;
	}
	memset(kernels, NOT_YET, p->kernels_len + 1);
	for (size_t i = 0; i < t->execs_len; i++) {
		const struct aif_timeline_work *of = aif_timeline_work_of(t, &t->execs[i]);

		if (of->kind != AIF_LAUNCH_KERNEL) {
			classes[i] = AIF_WORK_MEMORY;
			continue;
		}
		classes[i] = AIF_WORK_COMPUTE;
		if (of->kernel == AIF_NONE)
			continue;
		if (kernels[of->kernel] == NOT_YET)
			kernels[of->kernel] = (uint8_t)aif_work_class_of(
				aif_profile_str(p, p->kernels[of->kernel].name));
		classes[i] = kernels[of->kernel];
	}
	free(kernels);
	return 0;
}

static int by_start(const void *a, const void *b, void *arg)
{
	const struct aif_exec_timeline *t = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct aif_timeline_exec *x = &t->execs[i], *y = &t->execs[j];
	const struct aif_timeline_work *of = aif_timeline_work_of(t, x),
				       *other = aif_timeline_work_of(t, y);

	return AIF_ORDER(of->process, other->process) ?: AIF_ORDER(of->device, other->device)
	       ?: AIF_ORDER(x->start, y->start) ?: AIF_ORDER(i, j);
}

static int64_t stamp(uint64_t ns)
{
	return (int64_t)AIF_MIN(ns, (uint64_t)INT64_MAX);
}

/* The gaps of its process but for what was busy there all the same. Both are in order. */
static int add_gaps(const struct aif_gaps *g, const struct aif_device_utilization *d,
		    struct aif_spans *to)
{
	const struct aif_spans *busy = &d->busy;
	size_t lo = AIF_BISECT(mid, 0, g->len, g->at[mid].process < d->process), next = 0;
	int r = 0;

	for (; lo < g->len && g->at[lo].process == d->process && !r; lo++) {
		int64_t from = stamp(g->at[lo].start), end = stamp(g->at[lo].end);

		while (next < busy->len && busy->at[next].end <= from)
			next++;
		for (; !r && next < busy->len && busy->at[next].start < end; next++) {
			r = aif_spans_add(to, from, busy->at[next].start);
			from = AIF_MAX(from, busy->at[next].end);
			if (busy->at[next].end > end)
				break; /* the next gap may begin in it */
		}
		if (!r)
			r = aif_spans_add(to, from, end);
	}
	return r;
}

/* Makes the unions of a device's executions; those that are the same are made once. */
static int add_execs(const struct aif_exec_timeline *t, const struct aif_utilization *w,
		     struct aif_device_utilization *d)
{
	size_t of_class[3] = {0};
	bool is_either, is_busy;
	int r = 0;

	for (size_t i = d->first; i < d->end; i++)
		of_class[w->classes[w->order[i]]]++;
	is_either = of_class[AIF_WORK_COMPUTE] && of_class[AIF_WORK_COMMUNICATION];
	is_busy = of_class[AIF_WORK_MEMORY];
	for (size_t i = d->first; i < d->end && !r; i++) {
		const struct aif_timeline_exec *x = &t->execs[w->order[i]];
		enum aif_work_class of = w->classes[w->order[i]];

		d->from = AIF_MIN(d->from, x->start);
		d->to = AIF_MAX(d->to, x->end);
		if (is_busy)
			r = aif_spans_add(&d->busy, x->start, x->end);
		if (!r && is_either && of != AIF_WORK_MEMORY)
			r = aif_spans_add(&d->either, x->start, x->end);
		if (!r && of != AIF_WORK_MEMORY)
			r = aif_spans_add(of == AIF_WORK_COMPUTE ? &d->compute : &d->communication,
					  x->start, x->end);
	}
	if (!is_either)
		d->either = of_class[AIF_WORK_COMPUTE] ? d->compute : d->communication;
	if (!is_busy)
		d->busy = d->either;
	return r;
}

static int make(const struct aif_profile *p, const struct aif_fact_of *of, void *value,
		struct aif_err *err)
{
	const struct aif_exec_timeline *t = of->base;
	struct aif_utilization *ret = value;
	struct aif_device_utilization *devices = NULL, *d = NULL;
	uint32_t *order = malloc((t->execs_len + 1) * sizeof(*order));
	struct aif_gaps gaps = {0}, pauses = {0};
	int r;

	(void)err;
	ret->order = order;
	if (t->execs_len >= AIF_NONE)
		return -ENOMEM;
	r = order ? aif_gaps_init_with_off(&gaps, p) : -ENOMEM;
	if (!r)
		r = aif_gaps_init(&pauses, p);
	if (!r)
		r = classify(p, t, ret);
	for (uint32_t i = 0; i < t->execs_len && !r; i++)
		order[i] = i;
	if (!r)
		aif_sort_r(order, t->execs_len, sizeof(*order), by_start, (void *)t);
	for (size_t i = 0; i < t->execs_len && !r; i++) {
		const struct aif_timeline_exec *x = &t->execs[order[i]];
		const struct aif_timeline_work *work = aif_timeline_work_of(t, x);

		if (!d || d->process != work->process || d->device != work->device) {
			if (aif_grow(&devices, &ret->cap, ret->len + 1, sizeof(*devices)) < 0) {
				r = -ENOMEM;
				break;
			}
			ret->devices = devices;
			d = &devices[ret->len++];
			*d = (struct aif_device_utilization){.process = work->process,
							     .device = work->device,
							     .first = i,
							     .from = x->start,
							     .to = x->end};
		}
		d->end = i + 1;
	}
	for (size_t i = 0; i < ret->len && !r; i++) {
		d = &devices[i];
		r = add_execs(t, ret, d);
		if (!r)
			r = add_gaps(&gaps, d, &d->not_collected);
		if (!r)
			r = add_gaps(&pauses, d, &d->paused);
		if (!r)
			r = aif_utilization_whole(p, t, ret, d);
	}
	aif_gaps_finish(&gaps);
	aif_gaps_finish(&pauses);
	return r;
}

enum { UNIONS = 6 };

/* Returns a union with memory of its own, or NULL for one that has that of an earlier one. */
static struct aif_spans *spans_of(const struct aif_device_utilization *d, size_t i)
{
	const struct aif_spans *const of[UNIONS] = {&d->compute, &d->communication,
						    &d->either,  &d->busy,
						    &d->paused,  &d->not_collected};

	for (size_t k = 0; k < i; k++)
		if (of[k]->at == of[i]->at)
			return NULL;
	return (struct aif_spans *)(uintptr_t)of[i];
}

static void finish(void *value)
{
	struct aif_utilization *w = value;

	for (size_t i = 0; i < w->len; i++)
		for (size_t k = UNIONS; k-- > 0;)
			if (spans_of(&w->devices[i], k))
				aif_spans_finish(spans_of(&w->devices[i], k));
	free((void *)(uintptr_t)w->devices);
	free((void *)(uintptr_t)w->order);
	free((void *)(uintptr_t)w->classes);
}

static size_t bytes_of(const void *value)
{
	const struct aif_utilization *w = value;
	size_t bytes = w->len * sizeof(*w->devices);

	for (size_t i = 0; i < w->len; i++) {
		bytes += (w->devices[i].end - w->devices[i].first) *
			 (sizeof(*w->order) + sizeof(*w->classes));
		for (size_t k = 0; k < UNIONS; k++)
			if (spans_of(&w->devices[i], k))
				bytes += aif_spans_bytes(spans_of(&w->devices[i], k));
	}
	return bytes;
}

int aif_utilization_get(const struct aif_profile *p, const struct aif_exec_timeline *t,
			const struct aif_utilization **ret)
{
	static const struct aif_fact_kind kind = {.name = "utilization of devices",
						  .size = sizeof(struct aif_utilization),
						  .make = make,
						  .finish = finish,
						  .bytes = bytes_of};
	const void *fact;
	int e = aif_facts_get(p, &kind, (struct aif_fact_of){.base = t}, &fact, NULL);

	*ret = fact;
	return e;
}
