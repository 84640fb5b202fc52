/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: who holds it at its peak, as a tree; how much of it is held over time, as rows of cells beside counters. */
#include "page/strips.h"
#include "page/trees.h"

#include "analysis/memory.h"
#include "flame/build.h"
#include "text/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tree ------------------------------------------------------------------------------------ */

static int placed(void *arg, const struct aif_flame_placed *s)
{
	return aif_page_entry_add(arg, s->node, AIF_NONE, AIF_PAGE_TIME, s->ns);
}

int aif_page_memory_tree(const struct aif_page_trees *t, struct aif_err *err)
{
	struct aif_page_entries entries = {0};
	struct aif_flame_opts o = {
		.detail = AIF_NAME_NORMAL, .placed = placed, .placed_arg = &entries};
	struct aif_tree tree = {0};
	struct aif_page_tree page = {
		.tree = &tree, .entries = &entries, .p = t->names->p, .frames_max = t->frames_max};
	struct aif_memory m = {0};
	int r = aif_memory_read(t->names->p, NULL, &m);

	if (r < 0)
		r = aif_err_set(err, r, "view: %s", strerror(-r));
	else
		r = aif_flame_build_memory(t->names, &m, &o, &tree, err);
	if (r == 0)
		r = aif_page_tree_add(t, "memory", "bytes", &page, err);
	aif_tree_finish(&tree);
	aif_memory_finish(&m);
	free(entries.at);
	return r;
}

/* ---- strips -------------------------------------------------------------------------------------- */

struct held {
	const struct aif_page_grid *g;
	double *most; /* by cell: bytes, the most that were held in it */
	double now;
	uint32_t cell; /* of the last event */
};

/* Goes to a moment: what is held now was held in all cells on the way. */
static void held_until(struct held *h, int64_t at)
{
	uint64_t end = (uint64_t)AIF_MAX(at, 0) / h->g->cell_ns;

	for (; h->cell < h->g->cells && h->cell < end; h->cell++) {
		h->most[h->cell] = AIF_MAX(h->most[h->cell], h->now);
		if (h->cell + 1 < h->g->cells)
			h->most[h->cell + 1] = h->now;
	}
}

/* Writes the row of a device: what is held, with what was allocated before the recording began. */
static double held_write(const struct aif_memory *m, const struct aif_memory_device *d,
			 struct held *h, uint16_t *cells, const char *name,
			 struct aif_page_columns *columns)
{
	double most = 0;

	memset(h->most, 0, h->g->cells * sizeof(*h->most));
	h->now = h->most[0] = (double)d->before;
	h->cell = 0;
	for (size_t i = 0; i < m->events_len; i++) {
		const struct aif_memory_event *e = &m->events[i];
		const struct aif_memory_block *b = &m->blocks[e->block];

		if (b->device != d->device)
			continue;
		held_until(h, e->at);
		h->now += e->is_release ? -(double)b->bytes : (double)b->bytes;
		h->now = AIF_MAX(h->now, 0.0);
		if (h->cell < h->g->cells)
			h->most[h->cell] = AIF_MAX(h->most[h->cell], h->now);
	}
	held_until(h, INT64_MAX);
	for (uint32_t i = 0; i < h->g->cells; i++)
		most = AIF_MAX(most, h->most[i]);
	for (uint32_t i = 0; i < h->g->cells; i++)
		cells[i] = (uint16_t)(most > 0 ? h->most[i] / most * UINT16_MAX + 0.5 : 0);
	aif_page_u16(columns, name, cells, h->g->cells);
	return most;
}

int aif_page_memory_write(const struct aif_profile *p, const struct aif_page_grid *g, size_t first,
			  struct aif_page_columns *columns, struct aif_buf *json)
{
	struct aif_memory m = {0};
	struct held h = {.g = g, .most = calloc(g->cells, sizeof(*h.most))};
	uint16_t *cells = calloc(g->cells, sizeof(*cells));
	int r = h.most && cells ? aif_memory_read(p, NULL, &m) : -ENOMEM;
	char name[16];

	for (size_t i = 0; r == 0 && i < m.devices_len && i < AIF_PAGE_COUNTERS_MAX; i++) {
		const struct aif_memory_device *d = &m.devices[i];
		double most;

		if (!d->peak)
			continue;
		snprintf(name, sizeof(name), "c%zu", first);
		most = held_write(&m, d, &h, cells, name, columns);
		aif_buf_printf(json, "%s{\"name\":\"memory allocated\",\"unit\":\"B\",\"device\":",
			       first++ ? "," : "");
		aif_out_json_text(json, d->device < p->devices_len
						? aif_profile_str(p, p->devices[d->device].name)
						: "host");
		aif_buf_printf(json, ",\"most\":%.15g}", most);
	}
	aif_memory_finish(&m);
	free(h.most);
	free(cells);
	return r;
}
