/* SPDX-License-Identifier: Apache-2.0 */
/* The time of kernels in the window, and what better use of the device would save of it. */
#include "report/why/why.h"

#include <errno.h>

static int by_kernel_time(const void *a, const void *b)
{
	const struct aif_why_kernel *x = a, *y = b;

	if (x->saved_ns != y->saved_ns)
		return x->saved_ns < y->saved_ns ? 1 : -1;
	return AIF_ORDER(x->kernel, y->kernel);
}

uint32_t aif_why_kernel_name(const struct aif_profile *p, uint32_t kernel)
{
	return kernel == AIF_NONE ? AIF_NONE : p->kernels[kernel].name;
}

/* Adds up the time of a kernel's executions by their stack; a kernel has the stack with the most. */
struct by_stack {
	struct aif_map of; /* kernel << 32 | stack -> its time */
	uint64_t *most;    /* by kernel */
	size_t most_cap;
};

static int add_stack(struct by_stack *b, const struct aif_exec_timeline *t,
		     const struct aif_timeline_exec *x, uint64_t ns, uint64_t k,
		     struct aif_why_kernel *to)
{
	uint32_t stack = x->launch == AIF_NONE ? AIF_NONE : t->launches[x->launch].stack;
	uint64_t key = k << 32 | stack, sum = 0;

	(void)aif_map_get(&b->of, key, &sum);
	sum += ns;
	if (sum > b->most[k]) {
		b->most[k] = sum;
		to->stack = stack;
	}
	return aif_map_put(&b->of, key, sum);
}

static void add_opportunity(const struct aif_profile *p, const struct aif_why *w,
			    struct aif_why_kernel *k)
{
	const struct aif_opportunity_kernel *of =
		aif_opportunity_of(&w->work, p, k->kind, k->kernel);

	k->used = -1;
	k->saved_ns = k->ns;
	if (!of || !of->has_roof)
		return;
	k->used = aif_opportunity_used(of);
	k->bound = aif_opportunity_bound(of);
	k->saved_ns = aif_timed_rounded((double)k->ns * (1 - k->used));
}

int aif_why_kernels_add(const struct aif_profile *p, const struct aif_idle_part *part,
			struct aif_why *w)
{
	const struct aif_exec_timeline *t = part->t;
	struct aif_map known = {0};
	struct by_stack stacks = {0};
	double *ns = NULL, *runs = NULL;
	size_t ns_cap = 0, runs_cap = 0;
	int e = 0;

	for (size_t i = 0; i < t->execs_len && !e; i++) {
		const struct aif_timeline_exec *x = &t->execs[i];
		const struct aif_timeline_work *of = aif_timeline_work_of(t, x);
		uint64_t key = (uint64_t)of->kind << 32 | aif_why_kernel_name(p, of->kernel), k,
			 in_part = aif_idle_part_ns(part, x);

		if (!aif_idle_part_has(part, x))
			continue;
		if (!aif_map_get(&known, key, &k)) {
			k = w->kernels_len;
			if (aif_grow(&w->kernels, &w->kernels_cap, k + 1, sizeof(*w->kernels)) <
				    0 ||
			    aif_grow(&ns, &ns_cap, k + 1, sizeof(*ns)) < 0 ||
			    aif_grow(&runs, &runs_cap, k + 1, sizeof(*runs)) < 0 ||
			    aif_grow(&stacks.most, &stacks.most_cap, k + 1, sizeof(*stacks.most)) <
				    0 ||
			    aif_map_put(&known, key, k) < 0) {
				e = -ENOMEM;
				break;
			}
			w->kernels[w->kernels_len++] =
				(struct aif_why_kernel){.kind = of->kind,
							.kernel = of->kernel,
							.stack = AIF_NONE,
							.operator= AIF_STR_NONE,
							.caller = AIF_STR_NONE};
			ns[k] = runs[k] = 0;
			stacks.most[k] = 0;
		}
		ns[k] += aif_exec_timeline_whole(t, x, in_part);
		runs[k] += aif_exec_timeline_whole(t, x, 1);
		e = add_stack(&stacks, t, x, in_part, k, &w->kernels[k]);
	}
	for (size_t k = 0; k < w->kernels_len && !e; k++) {
		w->kernels[k].ns = aif_timed_rounded(ns[k]);
		w->kernels[k].runs = aif_timed_rounded(runs[k]);
		add_opportunity(p, w, &w->kernels[k]);
	}
	if (w->kernels_len)
		qsort(w->kernels, w->kernels_len, sizeof(*w->kernels), by_kernel_time);
	free(ns);
	free(runs);
	free(stacks.most);
	aif_map_finish(&stacks.of);
	aif_map_finish(&known);
	return e;
}
