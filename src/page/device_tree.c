/* SPDX-License-Identifier: Apache-2.0 */
#include "page/trees.h"

#include "analysis/traits.h"
#include "analysis/untimed.h"
#include "flame/build.h"

#include <errno.h>
#include <string.h>

struct device_tree {
	const struct aif_page_trees *t;
	const struct aif_attribution *a;
	struct aif_map groups; /* key -> group */
	uint32_t *group;       /* by row */
	uint32_t groups_len;
	bool *has_cells; /* by group */
	struct aif_page_cells cells;
	struct aif_page_entries entries;
};

static uint64_t key_of(uint32_t process, uint32_t device, uint32_t kind, uint32_t kernel,
		       uint32_t stack, bool is_narrow)
{
	uint64_t h = aif_mix64((uint64_t)device << 32 | kernel);

	h = aif_mix64(h ^ ((uint64_t)kind << 1 | is_narrow));
	return is_narrow ? aif_mix64(h ^ ((uint64_t)process << 32 | stack)) : h;
}

static uint64_t row_key(const struct aif_attribution_row *row, bool is_narrow)
{
	return key_of(row->process, row->device, row->kind, row->kernel, row->stack, is_narrow);
}

static int row_group(struct device_tree *d, size_t i, bool is_narrow)
{
	uint64_t key = row_key(&d->a->rows[i], is_narrow), found;

	if (!aif_map_get(&d->groups, key, &found)) {
		found = d->groups_len++;
		if (aif_map_put(&d->groups, key, found) < 0)
			return -ENOMEM;
	}
	d->group[i] = (uint32_t)found;
	return 0;
}

/* Gives groups of that kind the times of their executions. */
static int cells_fill(struct device_tree *d, bool is_narrow)
{
	const struct aif_exec_timeline *t = &d->t->idle->t;
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->execs_len; i++) {
		const struct aif_timeline_exec *x = &t->execs[i];
		uint32_t stack = x->launch == AIF_NONE ? AIF_NONE : t->launches[x->launch].stack;
		uint64_t group;

		if (!aif_map_get(
			    &d->groups,
			    key_of(x->process, x->device, x->kind, x->kernel, stack, is_narrow),
			    &group))
			continue;
		d->has_cells[group] = true;
		r = aif_page_cells_add(&d->cells, (uint32_t)group, x->start, x->end,
				       aif_exec_timeline_whole(x, AIF_MAX(aif_timed_ns(x), 1)));
	}
	return r;
}

/* Rows share the course in time of their stack and kernel; where nothing has just these (work of a replayed graph), of
 * their kernel. */
static int groups_make(struct device_tree *d)
{
	size_t n = d->a->rows_len;
	bool is_missing = false;
	int r = 0;

	d->group = malloc((n + 1) * sizeof(*d->group));
	d->has_cells = calloc(2 * n + 1, sizeof(*d->has_cells));
	if (!d->group || !d->has_cells)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = row_group(d, i, true);
	if (r == 0)
		r = cells_fill(d, true);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (!d->has_cells[d->group[i]]) {
			is_missing = true;
			r = row_group(d, i, false);
		}
	return r == 0 && is_missing ? cells_fill(d, false) : r;
}

static int placed(void *arg, const struct aif_flame_placed *s)
{
	struct device_tree *d = arg;
	struct aif_page_entries *e = &d->entries;
	uint32_t group;
	int r;

	if (!s->kernel_node)
		return aif_page_entry_add(e, s->node, AIF_NONE, AIF_PAGE_IDLE, s->ns);
	group = d->group[s->row];
	if (!d->has_cells[group])
		group = AIF_NONE;
	r = aif_page_entry_add(e, s->node, group, AIF_PAGE_TIME, s->ns);
	if (r == 0)
		r = aif_page_entry_add(e, s->node, group, AIF_PAGE_SAMPLES,
				       d->t->names->p->traits.samples_unknown ? 0 : s->samples);
	if (r == 0)
		r = aif_page_entry_add(e, s->kernel_node, group, AIF_PAGE_LAUNCHES,
				       d->t->names->p->traits.is_lengths ? 0 : s->launches);
	return r;
}

/* Returns the worst grade of each frame's time, for free(). */
static uint8_t *grades_of(const struct aif_tree *t)
{
	uint8_t *ret = malloc(t->len + 1);

	for (size_t i = 0; ret && i < t->len; i++) {
		ret[i] = AIF_PAGE_MARK_NONE;
		for (unsigned g = 0; t->details && g <= AIF_GRADE_SAMPLED; g++)
			if (t->details[i].grades >> g & 1)
				ret[i] = (uint8_t)g;
	}
	return ret;
}

static int draw(struct device_tree *d, enum aif_flame_by by, struct aif_err *err)
{
	const struct aif_page_trees *t = d->t;
	struct aif_flame_opts o = {.leaf = AIF_LEAF_STALL,
				   .by = by,
				   .detail = AIF_NAME_NORMAL,
				   .idle = &t->idle->blame,
				   .placed = placed,
				   .placed_arg = d};
	struct aif_tree tree = {0};
	struct aif_page_tree page = {.tree = &tree,
				     .entries = &d->entries,
				     .cells = &d->cells,
				     .p = t->names->p,
				     .frames_max = t->frames_max};
	uint8_t *marks = NULL;
	int r = aif_flame_build(t->names, d->a, &o, &tree, err);

	if (r == 0) {
		page.marks = marks = grades_of(&tree);
		if (!marks)
			r = aif_err_set(err, -ENOMEM, "view: out of memory");
	}

	if (r == 0) {
		page.groups = d->groups_len;
		r = aif_page_tree_add(t, "device", "ns", &page, err);
	}
	aif_tree_finish(&tree);
	free(marks);
	return r;
}

int aif_page_device_tree(const struct aif_page_trees *t, struct aif_err *err)
{
	const struct aif_profile *p = t->names->p;
	struct device_tree d = {.t = t, .a = t->a};
	enum aif_flame_by by = aif_is_untimed(p, t->a) ? AIF_BY_SAMPLES : AIF_BY_WALL;
	int r;

	aif_page_cells_init(&d.cells, t->grid);
	r = groups_make(&d);
	if (r < 0)
		r = aif_err_set(err, r, "view: %s", strerror(-r));
	aif_page_cells_seal(&d.cells);
	if (!r)
		r = draw(&d, by, err);
	aif_page_cells_finish(&d.cells);
	aif_map_finish(&d.groups);
	free(d.group);
	free(d.has_cells);
	free(d.entries.at);
	return r;
}
