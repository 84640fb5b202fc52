/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of devices over time, and their memory, as rows of cells. */
#include "page/strips.h"

#include "analysis/counters.h"
#include "text/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Adds the value of [from, to) to the cells that it lies in: sums of value * ns, and ns. */
static void value_add(const struct aif_page_grid *g, int64_t from, int64_t to, double value,
		      double *sum, double *ns)
{
	uint64_t at = (uint64_t)AIF_MAX(from, 0),
		 end = AIF_MIN((uint64_t)AIF_MAX(to, 0), g->end_ns);

	while (at < end) {
		uint64_t cell = at / g->cell_ns, next = AIF_MIN((cell + 1) * g->cell_ns, end);

		if (cell >= g->cells)
			return;
		sum[cell] += value * (double)(next - at);
		ns[cell] += (double)(next - at);
		at = next;
	}
}

/* Writes the column of a counter; returns what its greatest number stands for. */
static double counter_write(const struct aif_counters *all, const struct aif_counter *c,
			    const struct aif_page_grid *g, const char *name, double *sum,
			    double *ns, uint16_t *cells, struct aif_page_columns *columns)
{
	double most = 0;

	for (uint32_t i = 0; i < g->cells; i++)
		sum[i] = ns[i] = 0;
	for (size_t i = 0; i < c->len; i++) {
		const struct aif_counter_value *v = &all->values[c->first + i];

		value_add(g, aif_counter_since(all, c, i), v->at, fmax(v->value, 0), sum, ns);
	}
	for (uint32_t i = 0; i < g->cells; i++) {
		sum[i] = ns[i] > 0 ? sum[i] / ns[i] : 0;
		most = fmax(most, sum[i]);
	}
	for (uint32_t i = 0; i < g->cells; i++)
		cells[i] = (uint16_t)(most > 0 ? sum[i] / most * UINT16_MAX + 0.5 : 0);
	aif_page_u16(columns, name, cells, g->cells);
	return most;
}

static void name_write(const struct aif_profile *p, const struct aif_counter *c, double most,
		       struct aif_buf *json)
{
	struct aif_buf name = {0};

	aif_counter_name(p, c, &name);
	aif_buf_puts(json, "{\"name\":");
	aif_out_json_text(json, aif_buf_str(&name));
	aif_buf_puts(json, ",\"unit\":");
	aif_out_json_text(json, c->unit == AIF_NONE ? "" : aif_profile_str(p, c->unit));
	aif_buf_puts(json, ",\"device\":");
	aif_out_json_text(json, c->device < p->devices_len
					? aif_profile_str(p, p->devices[c->device].name)
					: "");
	aif_buf_printf(json, ",\"most\":%.6g}", most);
	json->failed |= aif_buf_failed(&name);
	aif_buf_finish(&name);
}

int aif_page_counters_write(const struct aif_profile *p, const struct aif_page_grid *g,
			    struct aif_page_columns *columns, struct aif_buf *json)
{
	struct aif_counters all = {0};
	double *sum = calloc(g->cells, sizeof(*sum)), *ns = calloc(g->cells, sizeof(*ns));
	uint16_t *cells = calloc(g->cells, sizeof(*cells));
	int r = sum && ns && cells ? aif_counters_read(p, NULL, &all) : -ENOMEM;
	size_t n = AIF_MIN(all.len, (size_t)AIF_PAGE_COUNTERS_MAX);
	char name[16];

	aif_buf_printf(json, "\"counters_left_out\":%zu,\"counters\":[", all.len - n);
	for (size_t i = 0; !r && i < n; i++) {
		double most;

		snprintf(name, sizeof(name), "c%zu", i);
		most = counter_write(&all, &all.at[i], g, name, sum, ns, cells, columns);
		if (i)
			aif_buf_putc(json, ',');
		name_write(p, &all.at[i], most, json);
	}
	if (!r)
		r = aif_page_memory_write(p, g, n, columns, json);
	aif_buf_putc(json, ']');
	aif_counters_finish(&all);
	free(sum);
	free(ns);
	free(cells);
	return r;
}
