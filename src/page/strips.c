/* SPDX-License-Identifier: Apache-2.0 */
#include "page/strips.h"

#include "profile/file.h"
#include "text/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { COMPUTE, COMMUNICATION, MEMORY, HOST, KERNEL, IDLE, OFF, CLASSES };
#define WHOLE 10000

struct strip {
	const struct aif_page_grid *grid;
	uint16_t *of[CLASSES];
	uint64_t *gap[2]; /* ns of HOST, KERNEL by cell */
};

static uint16_t part(const struct aif_page_grid *g, uint64_t ns)
{
	return (uint16_t)AIF_MIN(((unsigned __int128)ns * WHOLE + g->cell_ns / 2) / g->cell_ns,
				 (unsigned __int128)WHOLE);
}

static void gap_add(struct strip *s, unsigned which, int64_t from, int64_t to)
{
	uint64_t cell_ns = s->grid->cell_ns;

	for (uint64_t at = (uint64_t)AIF_MAX(from, 0); to > 0 && at < (uint64_t)to;) {
		uint64_t cell = at / cell_ns, next = AIF_MIN((cell + 1) * cell_ns, (uint64_t)to);

		if (cell >= s->grid->cells)
			break;
		s->gap[which][cell] += next - at;
		at = next;
	}
}

static void gaps_find(struct strip *s, const struct aif_exec_timeline *t,
		      const struct aif_utilization *u, const struct aif_device_utilization *d)
{
	int64_t end = 0;

	for (size_t i = d->first; i < d->end; i++) {
		const struct aif_timeline_exec *x = &t->execs[u->order[i]];

		if (i > d->first && x->start > end) {
			struct aif_utilization_gap gap = aif_utilization_gap(t, d, end, x);

			if (!gap.is_cut &&
			    (gap.cause == AIF_IDLE_HOST || gap.cause == AIF_IDLE_KERNEL))
				gap_add(s, gap.cause == AIF_IDLE_KERNEL, end, x->start);
		}
		end = i == d->first ? x->end : AIF_MAX(end, x->end);
	}
}

static void strip_fill(struct strip *s, const struct aif_device_utilization *d)
{
	const struct aif_page_grid *g = s->grid;

	for (uint32_t i = 0; i < g->cells; i++) {
		int64_t from = (int64_t)(i * g->cell_ns), to = from + (int64_t)g->cell_ns;
		struct aif_utilization_parts parts = {0};
		uint64_t host, kernel;

		from = AIF_MAX(from, d->from);
		to = AIF_MIN(to, d->to);
		if (from < to)
			parts = aif_utilization_parts(d, from, to);
		host = AIF_MIN(s->gap[0][i], parts.idle);
		kernel = AIF_MIN(s->gap[1][i], parts.idle - host);
		s->of[COMPUTE][i] = part(g, parts.compute);
		s->of[COMMUNICATION][i] = part(g, parts.communication_alone);
		s->of[MEMORY][i] = part(g, parts.memory_alone);
		s->of[HOST][i] = part(g, host);
		s->of[KERNEL][i] = part(g, kernel);
		s->of[IDLE][i] = part(g, parts.idle - host - kernel);
		s->of[OFF][i] = part(g, parts.not_collected);
	}
}

static int strip_write(const struct aif_exec_timeline *t, const struct aif_utilization *u,
		       const struct aif_device_utilization *d, const struct aif_page_grid *grid,
		       unsigned number, struct aif_page_columns *c)
{
	static const char *const names[CLASSES] = {"compute", "comm", "copy", "host",
						   "kernel",  "idle", "off"};
	struct strip s = {.grid = grid};
	char name[32];
	int r = 0;

	for (unsigned i = 0; i < 2; i++) {
		s.gap[i] = calloc(grid->cells, sizeof(**s.gap));
		r = s.gap[i] ? r : -ENOMEM;
	}
	for (unsigned i = 0; i < CLASSES; i++) {
		s.of[i] = calloc(grid->cells, sizeof(**s.of));
		r = s.of[i] ? r : -ENOMEM;
	}
	if (!r) {
		gaps_find(&s, t, u, d);
		strip_fill(&s, d);
	}
	for (unsigned i = 0; !r && i < CLASSES; i++) {
		snprintf(name, sizeof(name), "s%u_%s", number, names[i]);
		aif_page_u16(c, name, s.of[i], grid->cells);
	}
	for (unsigned i = 0; i < CLASSES; i++)
		free(s.of[i]);
	free(s.gap[0]);
	free(s.gap[1]);
	return r;
}

static int busiest(const void *pa, const void *pb, void *arg)
{
	const struct aif_utilization *u = arg;
	uint64_t a = aif_spans_total(&u->devices[*(const uint32_t *)pa].busy),
		 b = aif_spans_total(&u->devices[*(const uint32_t *)pb].busy);

	return a != b ? (a < b ? 1 : -1) : *(const uint32_t *)pa < *(const uint32_t *)pb ? -1 : 1;
}

static int by_number(const void *a, const void *b)
{
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
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

int aif_page_strips_write(const struct aif_profile *p, const struct aif_exec_timeline *t,
			  const struct aif_utilization *u, const struct aif_page_grid *grid,
			  struct aif_page_columns *c, struct aif_buf *json)
{
	uint32_t *shown = malloc((u->len + 1) * sizeof(*shown)),
		 n = (uint32_t)AIF_MIN(u->len, (size_t)AIF_PAGE_STRIPS_MAX);
	int r = shown ? 0 : -ENOMEM;

	for (uint32_t i = 0; shown && i < u->len; i++)
		shown[i] = i;
	if (!r && u->len) {
		qsort_r(shown, u->len, sizeof(*shown), busiest, (void *)u);
		qsort(shown, n, sizeof(*shown), by_number);
	}
	aif_buf_puts(json, "\"strips\":[");
	for (uint32_t i = 0; !r && i < n; i++) {
		const struct aif_device_utilization *d = &u->devices[shown[i]];

		aif_buf_puts(json, i ? ",{\"device\":" : "{\"device\":");
		aif_out_json_text(json, d->device == AIF_NONE
						? "device"
						: aif_profile_str(p, p->devices[d->device].name));
		aif_buf_puts(json, ",\"pid\":");
		aif_out_json_u64(json, d->process == AIF_NONE ? 0 : p->processes[d->process].pid);
		aif_buf_putc(json, '}');
		r = strip_write(t, u, d, grid, i, c);
	}
	aif_buf_printf(json, "],\"strips_left_out\":%zu", u->len - n);
	free(shown);
	return r ? r : counts_write(p, grid, c);
}
