/* SPDX-License-Identifier: Apache-2.0 */
#include "page/strips.h"

#include "base/u64_of.h"
#include "profile/file.h"
#include "text/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	COMPUTE,
	COMMUNICATION,
	MEMORY,
	OFF,
	BUSY_AND_OFF,
	CLASSES = BUSY_AND_OFF + AIF_PAGE_IDLE_GROUPS
};
#define WHOLE 10000

struct strip {
	const struct aif_page_grid *grid;
	uint16_t *of[CLASSES];
	bool has[CLASSES];
};

static uint16_t part(const struct aif_page_grid *g, uint64_t ns)
{
	return (uint16_t)AIF_MIN(((unsigned __int128)ns * WHOLE + g->cell_ns / 2) / g->cell_ns,
				 (unsigned __int128)WHOLE);
}

static void put(struct strip *s, unsigned class, uint32_t cell, uint64_t ns)
{
	s->of[class][cell] = part(s->grid, ns);
	s->has[class] |= ns > 0;
}

/* Divides a cell's idle time as its gaps are. */
static void idle_fill(struct strip *s, float *const gaps[AIF_PAGE_IDLE_GROUPS], uint32_t cell,
		      uint64_t idle)
{
	double sum = 0;

	for (unsigned g = 0; g < AIF_PAGE_IDLE_GROUPS; g++)
		sum += gaps[g] ? (double)gaps[g][cell] : 0;
	for (unsigned g = 0; idle && g < AIF_PAGE_IDLE_GROUPS; g++) {
		double of = gaps[g] ? (double)gaps[g][cell] : 0;

		if (!(sum > 0))
			of = g + AIF_PAGE_IDLE_FIRST == AIF_WHY_UNKNOWN;
		put(s, BUSY_AND_OFF + g, cell,
		    aif_u64_of((double)idle * (sum > 0 ? of / sum : of)));
	}
}

static void strip_fill(struct strip *s, const struct aif_device_utilization *d,
		       float *const gaps[AIF_PAGE_IDLE_GROUPS])
{
	const struct aif_page_grid *g = s->grid;

	for (uint32_t i = 0; i < g->cells; i++) {
		int64_t from = (int64_t)(i * g->cell_ns), to = from + (int64_t)g->cell_ns;
		struct aif_utilization_parts parts = {0};

		from = AIF_MAX(from, d->from);
		to = AIF_MIN(to, d->to);
		if (from < to)
			parts = aif_utilization_parts(d, from, to);
		put(s, COMPUTE, i, parts.compute);
		put(s, COMMUNICATION, i, parts.communication_alone);
		put(s, MEMORY, i, parts.memory_alone);
		put(s, OFF, i, parts.not_collected);
		idle_fill(s, gaps, i, parts.idle);
	}
}

static int strip_write(const struct aif_device_utilization *d,
		       float *const gaps[AIF_PAGE_IDLE_GROUPS], const struct aif_page_grid *grid,
		       unsigned number, struct aif_page_columns *c)
{
	static const char *const names[BUSY_AND_OFF] = {"compute", "communication", "copies",
							"off"};
	struct strip s = {.grid = grid};
	char name[32];
	int r = 0;

	for (unsigned i = 0; i < CLASSES; i++) {
		s.of[i] = calloc(grid->cells, sizeof(**s.of));
		r = s.of[i] ? r : -ENOMEM;
	}
	if (!r)
		strip_fill(&s, d, gaps);
	for (unsigned i = 0; !r && i < CLASSES; i++) {
		unsigned group = i - BUSY_AND_OFF + AIF_PAGE_IDLE_FIRST;

		snprintf(name, sizeof(name), "s%u_%s", number,
			 i < BUSY_AND_OFF ? names[i] : aif_why_group_key(group));
		if (s.has[i])
			aif_page_u16(c, name, s.of[i], grid->cells);
	}
	for (unsigned i = 0; i < CLASSES; i++)
		free(s.of[i]);
	return r;
}

/* ---- samples ------------------------------------------------------------------------------------- */

struct counts {
	const struct aif_profile *p;
	const struct aif_page_grid *grid;
	uint32_t *at;
	bool has;
};

static void count_add(struct counts *c, uint64_t time, uint64_t n)
{
	uint64_t cell = time > c->p->start_ns ? (time - c->p->start_ns) / c->grid->cell_ns : 0;

	cell = AIF_MIN(cell, (uint64_t)c->grid->cells - 1);
	c->at[cell] = (uint32_t)AIF_MIN(c->at[cell] + n, (uint64_t)UINT32_MAX);
	c->has = true;
}

static int samples_take(void *arg, const struct aif_sample_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		count_add(arg, rows[i].time, AIF_MIN(rows[i].count, (uint64_t)UINT32_MAX));
	return 0;
}

static int cpu_take(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!rows[i].waiting)
			count_add(arg, rows[i].time, 1);
	return 0;
}

static int counts_write(const struct aif_profile *p, const struct aif_page_grid *grid,
			struct aif_page_columns *c)
{
	struct counts n = {.p = p, .grid = grid, .at = calloc(grid->cells, sizeof(*n.at))};
	int r = n.at ? aif_profile_samples(p, samples_take, &n, NULL) : -ENOMEM;

	if (!r && n.has)
		aif_page_u32(c, "n_device", n.at, grid->cells);
	for (uint32_t i = 0; n.at && i < grid->cells; i++)
		n.at[i] = 0;
	n.has = false;
	if (!r && !p->traits.is_lengths && p->traits.cpu_weights != AIF_CPU_WEIGHTS_SPANS)
		r = aif_profile_cpu(p, cpu_take, &n, NULL);
	if (!r && n.has)
		aif_page_u32(c, "n_cpu", n.at, grid->cells);
	free(n.at);
	return r;
}

/* Appends what a strip is of. */
static void strip_say(const struct aif_profile *p, const struct aif_utilization *u,
		      const struct aif_page_alike *alike, size_t i, struct aif_buf *json)
{
	const struct aif_device_utilization *d = &u->devices[i];
	struct aif_buf whose = {0};
	size_t many = aif_page_alike_many(alike, i);

	aif_buf_puts(json, "{\"device\":");
	aif_out_json_text(json, d->device == AIF_NONE
					? "device"
					: aif_profile_str(p, p->devices[d->device].name));
	aif_buf_puts(json, ",\"pid\":");
	aif_out_json_u64(json, d->process == AIF_NONE ? 0 : p->processes[d->process].pid);
	if (d->process != AIF_NONE && p->processes[d->process].rank)
		aif_buf_printf(json, ",\"rank\":%u", p->processes[d->process].rank - 1);
	if (many > 1) {
		aif_page_alike_say(alike, p, u, i, &whose);
		aif_buf_printf(json, ",\"many\":%zu,\"whose\":", many);
		aif_out_json_text(json, aif_buf_str(&whose));
		json->failed |= aif_buf_failed(&whose);
		aif_buf_finish(&whose);
	}
	aif_buf_putc(json, '}');
}

int aif_page_strips_write(const struct aif_profile *p, const struct aif_idle_part *idle,
			  const struct aif_page_alike *alike, const struct aif_page_grid *grid,
			  struct aif_page_columns *c, struct aif_buf *json)
{
	const struct aif_utilization *u = idle->u;
	bool *is_shown = calloc(u->len + 1, sizeof(*is_shown));
	struct aif_page_idle_cells gaps = {0};
	int r = is_shown ? 0 : -ENOMEM;
	unsigned n = 0;

	for (size_t i = 0; is_shown && i < u->len; i++)
		is_shown[i] = aif_page_is_drawn(alike, i);
	if (!r && u->len)
		r = aif_page_idle_cells_make(idle, grid, is_shown, &gaps);
	aif_buf_puts(json, "\"strips\":[");
	for (size_t i = 0; !r && i < u->len; i++) {
		if (!is_shown[i])
			continue;
		aif_buf_puts(json, n ? "," : "");
		strip_say(p, u, alike, i, json);
		r = strip_write(&u->devices[i], gaps.of[i], grid, n++, c);
	}
	aif_buf_puts(json, "]");
	aif_page_idle_cells_finish(&gaps);
	free(is_shown);
	return r ? r : counts_write(p, grid, c);
}
