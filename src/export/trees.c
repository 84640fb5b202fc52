/* SPDX-License-Identifier: Apache-2.0 */
#include "export/trees.h"

#include "analysis/traits.h"
#include "flame/build.h"

#include <errno.h>
#include <string.h>

struct trees {
	const struct aif_export *x;
	int (*fn)(void *arg, const char *name, const char *unit, const struct aif_tree *t);
	void *arg;
	size_t given;
	struct aif_buf name;
	const char *unit; /* of the current tree, by a name of speedscope: "nanoseconds", "none" */
};

static struct aif_flame_opts flame_opts(const struct aif_export *x)
{
	return (struct aif_flame_opts){.leaf = AIF_LEAF_INSTRUCTION,
				       .by = AIF_BY_WALL,
				       .detail = x->detail,
				       .kernel = x->kernel,
				       .sel = &x->sel};
}

static int by_device(const void *a, const void *b)
{
	const struct aif_attribution_row *x = a, *y = b;

	return AIF_ORDER(x->device, y->device) ?: AIF_ORDER(x->process, y->process);
}

/* Gives the tree that was built, if one was; that there is nothing to draw is no error here. */
static int give(struct trees *t, int built, struct aif_tree *tree, struct aif_err *err)
{
	if (built == -ENODATA) {
		*err = (struct aif_err){0};
		return 0;
	}
	if (built)
		return built;
	t->given++;
	built = aif_buf_failed(&t->name) ? -ENOMEM
					 : t->fn(t->arg, aif_buf_str(&t->name), t->unit, tree);
	aif_tree_finish(tree);
	return built;
}

static int devices(struct trees *t, struct aif_attribution *a, struct aif_err *err)
{
	const struct aif_profile *p = t->x->profile;
	struct aif_flame_opts o = flame_opts(t->x);
	struct aif_tree tree;
	int r = 0;

	if (a->rows_len)
		qsort(a->rows, a->rows_len, sizeof(*a->rows), by_device);
	for (size_t i = 0, n; i < a->rows_len && !r; i += n) {
		struct aif_attribution part = *a;

		for (n = 1; i + n < a->rows_len && !by_device(&a->rows[i], &a->rows[i + n]); n++)
			;
		part.rows += i;
		part.rows_len = n;
		aif_buf_clear(&t->name);
		t->unit = "nanoseconds";
		aif_export_device_name(p, a->rows[i].device, &t->name);
		aif_buf_puts(&t->name, ": ");
		aif_export_process_name(p, a->rows[i].process, &t->name);
		r = give(t, aif_flame_build(t->x->names, &part, &o, &tree, err), &tree, err);
	}
	return r;
}

static int cpus(struct trees *t, struct aif_err *err)
{
	const struct aif_profile *p = t->x->profile;
	const char *counts = aif_cpu_counts(p);
	struct aif_flame_opts o = flame_opts(t->x);
	struct aif_selection sel = t->x->sel;
	bool *only = calloc(p->processes_len + 1, sizeof(*only));
	uint64_t damaged = 0; /* each time the same */
	int r = only ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < p->processes_len && !r; i++) {
		struct aif_cpu_totals cpu = {0};
		struct aif_tree tree;

		if (t->x->sel.processes && !t->x->sel.processes[i])
			continue;
		only[i] = true;
		sel.processes = only;
		r = aif_cpu_totals(p, &sel, &cpu, err);
		damaged = AIF_MAX(damaged, cpu.damaged);
		aif_buf_clear(&t->name);
		aif_buf_printf(&t->name, "%s: ",
			       counts                                          ? counts
			       : p->traits.cpu_weights == AIF_CPU_WEIGHTS_WALL ? "wall clock"
									       : "CPU");
		t->unit = !counts ? "nanoseconds" : strcmp(counts, "bytes") ? "none" : "bytes";
		aif_export_process_name(p, i, &t->name);
		if (!r)
			r = give(t, aif_flame_build_cpu(t->x->names, &cpu, &o, &tree, err), &tree,
				 err);
		aif_cpu_totals_finish(&cpu);
		only[i] = false;
	}
	aif_export_damaged(t->x, damaged);
	free(only);
	return r;
}

int aif_trees_each(const struct aif_export *x,
		   int (*fn)(void *arg, const char *name, const char *unit,
			     const struct aif_tree *t),
		   void *arg, struct aif_err *err)
{
	struct trees t = {.x = x, .fn = fn, .arg = arg};
	struct aif_attribution a = {0};
	int r = aif_attribution_compute(x->profile, &x->sel, &a, err);

	aif_export_damaged(x, a.conservation.damaged);
	aif_export_rows(x, &a);
	if (!r)
		r = devices(&t, &a, err);
	aif_attribution_finish(&a);
	if (!r && !x->sel.devices && !x->kernel)
		r = cpus(&t, err);
	aif_buf_finish(&t.name);
	if (!r && !t.given)
		return aif_err_set(err, -ENODATA,
				   "export: the profile, or the selected part, is empty; see "
				   "aiflame info");
	if (r < 0 && !err->code)
		aif_err_set(err, r, "export: %s", strerror(-r));
	return r;
}

int aif_trees_device(const struct aif_export *x, struct aif_tree *ret, struct aif_err *err)
{
	struct aif_flame_opts o = flame_opts(x);
	struct aif_attribution a = {0};
	int r = aif_attribution_compute(x->profile, &x->sel, &a, err);

	aif_export_damaged(x, a.conservation.damaged);
	aif_export_rows(x, &a);
	if (!r && aif_is_untimed(x->profile, &a)) { /* as aiflame flame does */
		o.by = AIF_BY_SAMPLES;
		r = aif_attribution_take_unmatched(&a);
	}
	if (!r)
		r = aif_flame_build(x->names, &a, &o, ret, err);
	aif_attribution_finish(&a);
	return r;
}

int aif_trees_cpu(const struct aif_export *x, struct aif_tree *ret, struct aif_err *err)
{
	struct aif_flame_opts o = flame_opts(x);
	struct aif_cpu_totals cpu = {0};
	int r = aif_cpu_totals(x->profile, &x->sel, &cpu, err);

	aif_export_damaged(x, cpu.damaged);
	if (!r)
		r = aif_flame_build_cpu(x->names, &cpu, &o, ret, err);
	aif_cpu_totals_finish(&cpu);
	return r;
}
