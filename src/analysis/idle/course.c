/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/course.h"

#include "analysis/idle/blame.h"

#include <errno.h>
#include <stdlib.h>

#define OWN (UINT64_C(1) << 63) /* the course of a row alone; others are numbers of brackets */

uint64_t aif_idle_row_key(const struct aif_idle_row *row)
{
	return (uint64_t)row->device << 37 | (uint64_t)row->is_before << 36 |
	       (uint64_t)row->cause << 32 | row->stack;
}

int aif_idle_course_time(struct aif_idle_course *c, uint64_t course, int64_t from, int64_t to,
			 double weight)
{
	if (!c || from >= to)
		return 0;
	if (aif_grow(&c->times, &c->times_cap, c->times_len + 1, sizeof(*c->times)) < 0)
		return -ENOMEM;
	c->times[c->times_len++] = (struct aif_idle_time){course, from, to, weight};
	return 0;
}

int aif_idle_course_part(struct aif_idle_course *c, uint64_t row, uint64_t course, double ns)
{
	if (!c || !(ns > 0))
		return 0;
	if (aif_grow(&c->parts, &c->parts_cap, c->parts_len + 1, sizeof(*c->parts)) < 0)
		return -ENOMEM;
	c->parts[c->parts_len++] = (struct aif_idle_course_part){row, course, ns};
	return 0;
}

int aif_idle_course_own(struct aif_idle_course *c, uint64_t row, int64_t from, int64_t to,
			double weight)
{
	int r = aif_idle_course_time(c, OWN | row, from, to, weight);

	return r ? r : aif_idle_course_part(c, row, OWN | row, weight * (double)(to - from));
}

void aif_idle_course_finish(struct aif_idle_course *c)
{
	free(c->times);
	free(c->parts);
}
