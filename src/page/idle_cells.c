/* SPDX-License-Identifier: Apache-2.0 */
#include "page/idle_cells.h"

#include <errno.h>
#include <stdlib.h>

/* Shares of groups in the times of a course. */
struct mix {
	size_t device;
	double of[AIF_PAGE_IDLE_GROUPS], sum;
};
struct mixes {
	struct mix *at;
	size_t len, cap;
	struct aif_map by_course;
};

static struct mix *mix_get(struct mixes *m, uint64_t course, size_t device)
{
	uint64_t i;

	if (!aif_map_get(&m->by_course, course, &i)) {
		i = m->len;
		if (aif_grow(&m->at, &m->cap, i + 1, sizeof(*m->at)) < 0 ||
		    aif_map_put(&m->by_course, course, i) < 0)
			return NULL;
		m->at[m->len++] = (struct mix){.device = device};
	}
	return &m->at[i];
}

static void mix_add(struct mix *m, enum aif_why_group group, double ns)
{
	m->of[group - AIF_PAGE_IDLE_FIRST] += ns;
	m->sum += ns;
}

static int mixes_make(struct mixes *m, const struct aif_idle_blame *blame,
		      const struct aif_idle_course *c)
{
	struct aif_map row_of = {0};
	uint64_t at;
	int r = 0;

	for (size_t i = 0; r == 0 && i < blame->len; i++)
		r = aif_map_put(&row_of, aif_idle_row_key(&blame->rows[i]), i);
	for (size_t i = 0; r == 0 && i < c->parts_len; i++) {
		const struct aif_idle_row *row;
		struct mix *mix;

		if (!aif_map_get(&row_of, c->parts[i].row, &at))
			continue;
		row = &blame->rows[at];
		mix = mix_get(m, c->parts[i].course, row->device);
		if (!mix) {
			r = -ENOMEM;
			break;
		}
		mix_add(mix, aif_why_group_of(row->cause), c->parts[i].ns);
	}
	aif_map_finish(&row_of);
	return r < 0 ? -ENOMEM : 0;
}

static int time_add(struct aif_page_idle_cells *to, const struct aif_page_grid *grid,
		    const struct mix *m, const struct aif_idle_time *t)
{
	uint64_t from = (uint64_t)AIF_MAX(t->from, 0), end = (uint64_t)AIF_MAX(t->to, 0);

	for (unsigned g = 0; g < AIF_PAGE_IDLE_GROUPS; g++) {
		float **column = &to->of[m->device][g];

		if (!(m->of[g] > 0))
			continue;
		if (!*column)
			*column = calloc(grid->cells, sizeof(**column));
		if (!*column)
			return -ENOMEM;
		for (uint64_t at = from, next; at < end && at / grid->cell_ns < grid->cells;
		     at = next) {
			next = AIF_MIN((at / grid->cell_ns + 1) * grid->cell_ns, end);
			(*column)[at / grid->cell_ns] +=
				(float)(t->weight * (double)(next - at) * m->of[g] / m->sum);
		}
	}
	return 0;
}

int aif_page_idle_cells_make(const struct aif_idle_part *idle, const struct aif_page_grid *grid,
			     const bool *is_shown, struct aif_page_idle_cells *ret)
{
	struct mixes m = {0};
	struct aif_idle_course_reader times = {0};
	struct aif_idle_time time;
	uint64_t at;
	int r;

	*ret = (struct aif_page_idle_cells){.devices = idle->u->len,
					    .of = calloc(idle->u->len + 1, sizeof(*ret->of))};
	r = ret->of ? mixes_make(&m, &idle->blame, &idle->course) : -ENOMEM;
	while (r == 0 && aif_idle_course_next(&idle->course, &times, &time))
		if (aif_map_get(&m.by_course, time.course, &at) && m.at[at].device < ret->devices &&
		    is_shown[m.at[at].device])
			r = time_add(ret, grid, &m.at[at], &time);
	aif_map_finish(&m.by_course);
	free(m.at);
	return r;
}

void aif_page_idle_cells_finish(struct aif_page_idle_cells *c)
{
	for (size_t d = 0; c->of && d < c->devices; d++)
		for (unsigned g = 0; g < AIF_PAGE_IDLE_GROUPS; g++)
			free(c->of[d][g]);
	free(c->of);
	*c = (struct aif_page_idle_cells){0};
}
