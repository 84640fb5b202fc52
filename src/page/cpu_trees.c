/* SPDX-License-Identifier: Apache-2.0 */
#include "page/trees.h"

#include "analysis/cpu_totals.h"
#include "analysis/no_samples.h"
#include "analysis/traits.h"
#include "flame/build.h"
#include "profile/file.h"

#include <errno.h>
#include <string.h>

struct cpu_tree {
	const struct aif_page_trees *t;
	const struct aif_cpu_totals *cpu;
	struct aif_map groups; /* thread and stack -> index of .cpu->stacks */
	bool by_thread, off_cpu;
	struct aif_page_cells cells;
	struct aif_page_entries entries;
};

static uint64_t key_of(uint32_t thread, uint32_t stack, bool waiting)
{
	return aif_mix64(aif_mix64((uint64_t)thread << 32 | stack) ^ waiting);
}

static int event_add(struct aif_page_event_groups *to, const struct aif_cpu_row *row, int64_t at,
		     uint32_t group)
{
	if (aif_grow(&to->samples, &to->samples_cap, to->samples_len + 1, sizeof(*to->samples)) < 0)
		return -ENOMEM;
	to->samples[to->samples_len++] = (struct aif_page_sample){at, row->thread, group};
	return 0;
}

static int rows_take(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct cpu_tree *c = arg;
	const struct aif_profile *p = c->t->names->p;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct aif_cpu_row *row = &rows[i];
		uint64_t ns = row->waiting ? row->waiting : row->weight, group;
		int64_t at = row->time > p->start_ns ? (int64_t)(row->time - p->start_ns) : 0;

		if (!aif_map_get(&c->groups,
				 key_of(c->by_thread ? row->thread : AIF_NONE, row->stack,
					row->waiting != 0),
				 &group))
			continue;
		if (c->t->events && !c->off_cpu && !row->waiting)
			r = event_add(c->t->events, row, at, (uint32_t)group);
		if (r == 0)
			r = aif_page_cells_add(
				&c->cells, (uint32_t)group, at,
				aif_cpu_has_end(p, row)
					? at + (int64_t)AIF_MIN(ns, (uint64_t)INT64_MAX / 4)
					: at,
				(double)AIF_MAX(ns, 1));
	}
	return r;
}

static int placed(void *arg, const struct aif_flame_placed *s)
{
	struct cpu_tree *c = arg;
	bool has_samples = c->t->names->p->traits.cpu_weights != AIF_CPU_WEIGHTS_SPANS &&
			   !c->t->names->p->traits.samples_unknown;
	int r = aif_page_entry_add(&c->entries, s->node, (uint32_t)s->row, AIF_PAGE_TIME, s->ns);

	if (r == 0 && has_samples)
		r = aif_page_entry_add(&c->entries, s->node, (uint32_t)s->row, AIF_PAGE_SAMPLES,
				       s->samples);
	return r;
}

static int draw(struct cpu_tree *c, struct aif_err *err)
{
	const struct aif_page_trees *t = c->t;
	const char *counts = aif_cpu_counts(t->names->p);
	struct aif_flame_opts o = {.detail = AIF_NAME_NORMAL,
				   .by_thread = c->by_thread,
				   .off_cpu = c->off_cpu,
				   .placed = placed,
				   .placed_arg = c};
	struct aif_tree tree = {0};
	struct aif_page_tree page = {.tree = &tree,
				     .entries = &c->entries,
				     .cells = &c->cells,
				     .groups = (uint32_t)c->cpu->stacks_len,
				     .p = t->names->p,
				     .frames_max = t->frames_max};
	int r = aif_flame_build_cpu(t->names, c->cpu, &o, &tree, err);

	if (r == 0)
		r = aif_page_tree_add(t, c->off_cpu ? "off-cpu" : "cpu", counts ? counts : "ns",
				      &page, err);
	aif_tree_finish(&tree);
	return r;
}

static int tree_make(const struct aif_page_trees *t, const struct aif_cpu_totals *cpu,
		     bool by_thread, bool off_cpu, struct aif_err *err)
{
	struct cpu_tree c = {.t = t, .cpu = cpu, .by_thread = by_thread, .off_cpu = off_cpu};
	int r = 0;

	aif_page_cells_init(&c.cells, t->grid);
	for (size_t i = 0; r == 0 && i < cpu->stacks_len; i++)
		if (cpu->stacks[i].off_cpu == off_cpu)
			r = aif_map_put(&c.groups,
					key_of(cpu->stacks[i].thread, cpu->stacks[i].stack,
					       cpu->stacks[i].waiting),
					i);
	if (r == 0)
		r = aif_profile_cpu(t->names->p, rows_take, &c, NULL);
	if (r < 0)
		r = aif_err_set(err, r, "view: %s", strerror(-r));
	aif_page_cells_seal(&c.cells);
	if (r == 0)
		r = draw(&c, err);
	aif_map_finish(&c.groups);
	aif_page_cells_finish(&c.cells);
	free(c.entries.at);
	return r;
}

static void lack_samples(const struct aif_profile *p, struct aif_buf *lacks)
{
	const char *why = aif_no_cpu_samples(p);
	struct aif_buf text = {0};

	aif_buf_printf(&text, "no CPU samples: %s",
		       why ? why : "there is no picture of threads on CPUs");
	aif_page_lack(lacks, aif_buf_str(&text));
	lacks->failed |= aif_buf_failed(&text);
	aif_buf_finish(&text);
}

int aif_page_cpu_trees(const struct aif_page_trees *t, struct aif_err *err)
{
	const struct aif_profile *p = t->names->p;
	bool by_thread = !p->traits.is_imported;
	struct aif_cpu_totals cpu = {0};
	int r = (by_thread ? aif_cpu_totals_by_thread : aif_cpu_totals)(p, NULL, &cpu, err);

	if (r == 0 && (cpu.weight_ns || cpu.waiting_ns))
		r = tree_make(t, &cpu, by_thread, false, err);
	else if (r == 0)
		lack_samples(p, t->lacks);
	if (r == 0 && cpu.off_cpu_ns)
		r = tree_make(t, &cpu, by_thread, true, err);
	aif_cpu_totals_finish(&cpu);
	return r;
}
