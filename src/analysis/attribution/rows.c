/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/rows.h"
#include "analysis/attribution/round.h"

#include <errno.h>

struct split {
	aif_fraction *fractions;
	uint64_t *whole;
};

/* Divides a group's total over its insides, in proportion to their samples. */
static int split_total(uint64_t total, const struct aif_inside *in, size_t n, struct split *s)
{
	aif_fraction samples = 0;

	for (size_t i = 0; i < n; i++)
		samples += in[i].samples;
	for (size_t i = 0; i < n; i++) { /* total < 2^64, samples of one recording < 2^63 in all */
		double share = samples ? (double)in[i].samples / (double)samples : 1 / (double)n;

		s->fractions[i] =
			(aif_fraction)((double)total * share * (double)(1u << AIF_FRACTION_BITS));
	}
	return aif_round(s->fractions, n, total, s->whole);
}

static struct aif_attribution_row group_row(const struct aif_group *g)
{
	return (struct aif_attribution_row){.process = g->process,
					    .device = g->device,
					    .stream = g->stream,
					    .kind = g->kind,
					    .kernel = g->kernel,
					    .stack = g->stack,
					    .graph = g->graph,
					    .range = g->range,
					    .capture = g->capture,
					    .capture_range = g->capture_range,
					    .frame = AIF_NONE,
					    .reason = AIF_NONE,
					    .grade = g->sampled ? AIF_GRADE_SAMPLED
								: AIF_GRADE_EXACT};
}

/* Adds a row for each inside of a group, one row where it has none. */
static int add_group(struct aif_attribution *a, const struct aif_group *g,
		     const struct aif_extrapolated_group *x, uint64_t wall,
		     const struct aif_inside *in, const uint64_t *samples, size_t n,
		     struct split *s)
{
	struct aif_attribution_row *row = a->rows + a->rows_len;
	int r = 0;

	if (!n) {
		*row = group_row(g);
		row->wall_ns = wall;
		row->time_ns = x->time;
		a->rows_len++;
	} else {
		r = split_total(wall, in, n, s);
		for (size_t i = 0; i < n && !r; i++) {
			row[i] = group_row(g);
			row[i].frame = in[i].frame;
			row[i].reason = in[i].reason;
			if (in[i].shared && !g->sampled)
				row[i].grade =
					in[i].mixed ? AIF_GRADE_MIXED : AIF_GRADE_APPORTIONED;
			row[i].samples = samples[i];
			row[i].wall_ns = s->whole[i];
		}
		if (!r)
			r = split_total(x->time, in, n, s);
		for (size_t i = 0; i < n && !r; i++)
			row[i].time_ns = s->whole[i];
		a->rows_len += n;
	}
	row->launches = (uint64_t)((g->launches + AIF_WEIGHT_ONE / 2) / AIF_WEIGHT_ONE);
	row->bytes = g->bytes;
	row->error_ns = x->error;
	return r;
}

int aif_rows_make(const struct aif_groups *groups, const struct aif_extrapolated *x,
		  struct aif_insides *insides, struct aif_attribution *a)
{
	size_t n, at = 0;
	struct split s;
	uint64_t *wall, *samples;
	int r = -ENOMEM;

	aif_insides_sort(insides);
	n = AIF_MAX(groups->len, insides->len) + 1;
	s = (struct split){.fractions = calloc(n, sizeof(*s.fractions)),
			   .whole = calloc(n, sizeof(*s.whole))};
	wall = calloc(n, sizeof(*wall));
	samples = calloc(n, sizeof(*samples));
	a->rows = calloc(groups->len + insides->len + 1, sizeof(*a->rows));
	if (!s.fractions || !s.whole || !wall || !samples || !a->rows)
		goto out;
	for (size_t i = 0; i < groups->len; i++)
		s.fractions[i] = x->groups[i].wall;
	r = aif_round(s.fractions, groups->len, x->busy_ns, wall);
	if (!r)
		r = aif_round_samples(insides, groups, samples);
	for (size_t g = 0; g < groups->len && !r; g++) {
		size_t first = at;

		while (at < insides->len && insides->at[at].group == g)
			at++;
		/* Without samples there are no insides, and to NULL nothing may be added. */
		r = add_group(a, &groups->at[g], &x->groups[g], wall[g],
			      insides->at ? insides->at + first : NULL, samples + first, at - first,
			      &s);
	}
out:
	free(s.fractions);
	free(s.whole);
	free(wall);
	free(samples);
	return r;
}

int aif_rows_make_devices(const struct aif_scope *s, const struct aif_swept *swept,
			  const struct aif_extrapolated *x, struct aif_attribution *a)
{
	a->devices = calloc(s->p->devices_len + 1, sizeof(*a->devices));
	if (!a->devices)
		return -ENOMEM;
	for (size_t i = 0; i < s->p->devices_len; i++)
		if (swept->devices[i].is_used)
			a->devices[a->devices_len++] = x->devices[i];
	return 0;
}
