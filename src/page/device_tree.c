/* SPDX-License-Identifier: Apache-2.0 */
#include "page/trees.h"

#include "base/u64_of.h"
#include "analysis/power/power.h"
#include "analysis/traits.h"
#include "flame/build.h"
#include "page/roots.h"
#include "report/why/owners.h"
#include "text/json.h"

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
	struct aif_page_roots roots;
	struct aif_power_rates rates; /* .len 0: no energy is known */
	struct idle_part *idle;       /* by row */
	size_t idle_len, idle_cap;
	struct aif_strset owners;
	uint32_t *owner; /* by row of idle time: a string of .owners; NULL: nobody asks */
};

/* A part of a row of idle time; groups of idle time follow those of work. */
struct idle_part {
	uint32_t row, group;
	double ns;
};

static uint64_t key_of(const struct aif_timeline_work *of, uint32_t stack, bool is_narrow)
{
	uint64_t h = aif_mix64((uint64_t)of->device << 32 | of->kernel);

	h = aif_mix64(h ^ ((uint64_t)of->kind << 1 | is_narrow));
	return is_narrow ? aif_mix64(h ^ ((uint64_t)of->process << 32 | stack)) : h;
}

static uint64_t row_key(const struct aif_attribution_row *row, bool is_narrow)
{
	struct aif_timeline_work of = {.process = row->process,
				       .device = row->device,
				       .kernel = row->kernel,
				       .kind = row->kind};

	return key_of(&of, row->stack, is_narrow);
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
	const struct aif_exec_timeline *t = d->t->idle->t;
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->execs_len; i++) {
		const struct aif_timeline_exec *x = &t->execs[i];
		const struct aif_timeline_work *of = aif_timeline_work_of(t, x);
		uint32_t stack = x->launch == AIF_NONE ? AIF_NONE : t->launches[x->launch].stack;
		uint64_t group;

		if (!aif_map_get(&d->groups, key_of(of, stack, is_narrow), &group))
			continue;
		d->has_cells[group] = true;
		if (x->launch != AIF_NONE)
			r = aif_page_roots_part(
				&d->roots, (uint32_t)group, aif_timeline_thread_of(t, x->launch),
				aif_exec_timeline_whole(t, x, AIF_MAX(aif_timed_ns(x), 1)));
		if (r == 0)
			r = aif_page_cells_add(
				&d->cells, (uint32_t)group, x->start, x->end,
				aif_exec_timeline_whole(t, x, AIF_MAX(aif_timed_ns(x), 1)));
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

/* Fills in the group of each execution: its own, or its kernel's. */
static int events_fill(struct device_tree *d)
{
	const struct aif_exec_timeline *t = d->t->idle->t;
	struct aif_page_event_groups *to = d->t->events;

	to->execs = malloc((t->execs_len + 1) * sizeof(*to->execs));
	if (!to->execs)
		return -ENOMEM;
	for (size_t i = 0; i < t->execs_len; i++) {
		const struct aif_timeline_exec *x = &t->execs[i];
		const struct aif_timeline_work *of = aif_timeline_work_of(t, x);
		uint32_t stack = x->launch == AIF_NONE ? AIF_NONE : t->launches[x->launch].stack;
		uint64_t group = AIF_NONE;

		for (unsigned wide = 0; wide < 2 && group == AIF_NONE; wide++)
			if (!aif_map_get(&d->groups, key_of(of, stack, !wide), &group))
				group = AIF_NONE;
		to->execs[i] = (uint32_t)group;
	}
	return 0;
}

/* ---- idle time: groups are courses (analysis/idle/course.h) -------------------------------------- */

static int by_row_group(const void *pa, const void *pb)
{
	const struct idle_part *a = pa, *b = pb;

	return AIF_ORDER(a->row, b->row) ?: AIF_ORDER(a->group, b->group);
}

static int idle_cells_fill(struct device_tree *d, struct aif_map *of_course)
{
	const struct aif_idle_course *c = &d->t->idle->course;
	struct aif_page_event_groups *events = d->t->events;
	struct aif_idle_course_reader times = {0};
	struct aif_idle_time at;
	int r = 0;

	if (events) {
		events->idle = malloc((c->courses_len + 1) * sizeof(*events->idle));
		if (!events->idle)
			return -ENOMEM;
	}
	while (r == 0 && aif_idle_course_next(c, &times, &at)) {
		uint64_t group;

		if (!aif_map_get(of_course, at.course, &group)) {
			group = d->groups_len++;
			r = aif_map_put(of_course, at.course, group);
		}
		if (events)
			events->idle[times.place] = (uint32_t)group;
		if (r == 0)
			r = aif_page_cells_add(&d->cells, (uint32_t)group, at.from, at.to,
					       at.weight * (double)(at.to - at.from));
	}
	return r;
}

static int idle_parts_make(struct device_tree *d)
{
	const struct aif_idle_blame *blame = &d->t->idle->blame;
	const struct aif_idle_course *c = &d->t->idle->course;
	struct aif_map of_course = {0}, row_of = {0};
	uint64_t group, row;
	size_t n = 0;
	int r = idle_cells_fill(d, &of_course);

	for (size_t i = 0; r == 0 && i < blame->len; i++)
		r = aif_map_put(&row_of, aif_idle_row_key(&blame->rows[i]), i);
	for (size_t i = 0; r == 0 && i < c->parts_len; i++) {
		if (!aif_map_get(&of_course, c->parts[i].course, &group) ||
		    !aif_map_get(&row_of, c->parts[i].row, &row))
			continue;
		r = aif_grow(&d->idle, &d->idle_cap, d->idle_len + 1, sizeof(*d->idle));
		if (r == 0)
			d->idle[d->idle_len++] =
				(struct idle_part){(uint32_t)row, (uint32_t)group, c->parts[i].ns};
	}
	if (d->idle_len)
		qsort(d->idle, d->idle_len, sizeof(*d->idle), by_row_group);
	for (size_t i = 0; i < d->idle_len; i++)
		if (n && by_row_group(&d->idle[n - 1], &d->idle[i]) == 0)
			d->idle[n - 1].ns += d->idle[i].ns;
		else
			d->idle[n++] = d->idle[i];
	d->idle_len = n;
	aif_map_finish(&of_course);
	aif_map_finish(&row_of);
	return r < 0 ? -ENOMEM : 0;
}

/* Finds the owner of each row. */
static int owners_make(struct device_tree *d)
{
	const struct aif_idle_blame *blame = &d->t->idle->blame;
	size_t len;
	int r;

	if (!d->t->owners || !blame->len)
		return 0;
	d->owner = malloc(blame->len * sizeof(*d->owner));
	if (!d->owner)
		return -ENOMEM;
	r = aif_why_owners_of(d->t->names, blame, &d->owners, d->owner);
	for (uint32_t i = 0; i < d->owners.len && !r; i++) {
		const char *text = aif_strset_get(&d->owners, i, &len);

		if (i)
			aif_buf_putc(d->t->owners, ',');
		aif_out_json_string(d->t->owners, text, len);
	}
	return r;
}

/* Divides a row's time among its parts, so that these sum to it. */
static int idle_placed(struct device_tree *d, const struct aif_flame_placed *s)
{
	double sum = 0, so_far = 0;
	size_t first, end;
	uint64_t given = 0;
	int r = 0;

	first = end = AIF_BISECT(mid, 0, d->idle_len, d->idle[mid].row < s->row);
	for (; end < d->idle_len && d->idle[end].row == s->row; end++)
		sum += d->idle[end].ns;
	if (first == end)
		return aif_page_entry_add(&d->entries, s->node, AIF_NONE, AIF_PAGE_IDLE, s->ns);
	for (size_t i = first; r == 0 && i < end; i++) {
		uint64_t until;

		so_far += d->idle[i].ns;
		until = i + 1 == end
				? s->ns
				: AIF_MIN(aif_timed_rounded((double)s->ns * (so_far / sum)), s->ns);
		until = AIF_MAX(until, given);
		r = aif_page_entry_add(&d->entries, s->node, d->idle[i].group, AIF_PAGE_IDLE,
				       until - given);
		given = until;
	}
	return r;
}

/* Adds a value of a row of device work, to each thread that launched it. */
static int work_add(struct device_tree *d, const struct aif_attribution_row *row, uint32_t group,
		    uint32_t node, enum aif_page_metric metric, uint64_t value)
{
	struct aif_page_root_share share = aif_page_roots_of(&d->roots, group, row->process);
	uint32_t timed = d->has_cells[group] ? group : AIF_NONE;
	uint64_t part;
	int r = 0;

	while (r == 0 && aif_page_root_next(&d->roots, &share, value, &d->entries.root, &part))
		r = aif_page_entry_add(&d->entries, node, timed, metric, part);
	return r ? r : d->roots.failed ? -ENOMEM : 0;
}

static int placed(void *arg, const struct aif_flame_placed *s)
{
	struct device_tree *d = arg;
	const struct aif_profile *p = d->t->names->p;
	const struct aif_attribution_row *row;
	uint32_t group;
	int r;

	if (!s->kernel_node) {
		const struct aif_idle_row *idle = &d->t->idle->blame.rows[s->row];

		d->entries.root = aif_page_root(&d->roots, idle->process, idle->thread);
		d->entries.owner = d->owner ? d->owner[s->row] + 1 : 0;
		r = d->roots.failed ? -ENOMEM : idle_placed(d, s);
		d->entries.owner = 0;
		return r;
	}
	row = &d->a->rows[s->row];
	group = d->group[s->row];
	r = work_add(d, row, group, s->node, AIF_PAGE_TIME, s->ns);
	if (r == 0 && row->device < d->rates.len)
		r = work_add(
			d, row, group, s->node, AIF_PAGE_ENERGY,
			aif_u64_of(1e3 * (double)s->ns * d->rates.uj_per_ns[row->device] + 0.5));
	if (r == 0 && !p->traits.samples_unknown)
		r = work_add(d, row, group, s->node, AIF_PAGE_SAMPLES, s->samples);
	if (r == 0 && !p->traits.is_lengths)
		r = work_add(d, row, group, s->kernel_node, AIF_PAGE_LAUNCHES, s->launches);
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
		page.has_owners = d->owner != NULL;
		r = aif_page_roots_put(&d->roots, t->texts, t->roots, &page.has_roots);
		if (r < 0)
			aif_err_set(err, r, "view: %s", strerror(-r));
	}
	if (r == 0) {
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
	struct aif_err none = {0};
	int r;

	aif_page_cells_init(&d.cells, t->grid);
	d.roots.p = p;
	r = groups_make(&d);
	aif_page_roots_seal(&d.roots);
	if (r == 0 && t->events)
		r = events_fill(&d);
	if (r == 0)
		r = idle_parts_make(&d);
	if (r == 0)
		r = owners_make(&d);
	if (r == 0 && by == AIF_BY_WALL) {
		r = aif_power_rates_make(p, NULL, &d.rates, &none);
		if (r == -ENODATA)
			r = 0;
	}
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
	free(d.idle);
	free(d.owner);
	aif_strset_finish(&d.owners);
	aif_page_roots_finish(&d.roots);
	aif_power_rates_finish(&d.rates);
	return r;
}
