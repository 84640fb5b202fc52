/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/course.h"

#include "analysis/idle/blame.h"
#include "analysis/packed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OWN (UINT64_C(1) << 63) /* the course of a row alone; others are numbers of brackets */

uint64_t aif_idle_row_key(const struct aif_idle_row *row)
{
	return (uint64_t)row->device << 37 | (uint64_t)row->is_before << 36 |
	       (uint64_t)row->cause << 32 | row->stack;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* A time begins with a byte of flags: whether there is a weight, and how long its numbers are. */
enum { HAS_WEIGHT = 1, PLACE_SHIFT = 1, FROM_SHIFT = 3, LENGTH_SHIFT = 5 };
enum { TIME_MAX_BYTES = 1 + 3 * AIF_PACKED_MAX + sizeof(double) };

static int place_get(struct aif_idle_course *c, uint64_t course, uint64_t *ret)
{
	uint64_t *place = &c->latest[aif_mix64(course) % AIF_IDLE_COURSE_LATEST];

	if (*place < c->courses_len && c->courses[*place] == course) {
		*ret = *place;
		return 0;
	}
	if (aif_map_get(&c->place_of, course, ret)) {
		*place = *ret;
		return 0;
	}
	*ret = c->courses_len;
	if (aif_grow(&c->courses, &c->courses_cap, c->courses_len + 1, sizeof(*c->courses)) < 0 ||
	    aif_grow(&c->own_parts, &c->own_parts_cap, c->courses_len + 1, sizeof(*c->own_parts)) <
		    0 ||
	    aif_map_put(&c->place_of, course, *ret) < 0)
		return -ENOMEM;
	c->own_parts[c->courses_len] = 0;
	c->courses[c->courses_len++] = course;
	return 0;
}

int aif_idle_course_time(struct aif_idle_course *c, uint64_t course, int64_t from, int64_t to,
			 double weight)
{
	uint64_t place;
	uint8_t *first, *at, flags = 0;

	if (!c || from >= to)
		return 0;
	if (place_get(c, course, &place) < 0)
		return -ENOMEM;
	first = aif_buf_reserve(&c->times, TIME_MAX_BYTES);
	if (!first)
		return -ENOMEM;
	at = aif_packed_put(first + 1, place, PLACE_SHIFT, &flags);
	at = aif_packed_put(at, aif_to_zigzag((uint64_t)from - (uint64_t)c->last.to), FROM_SHIFT,
			    &flags);
	at = aif_packed_put(at, (uint64_t)to - (uint64_t)from, LENGTH_SHIFT, &flags);
	if (memcmp(&weight, &c->last.weight, sizeof(weight))) {
		flags |= HAS_WEIGHT;
		memcpy(at, &weight, sizeof(weight));
		at += sizeof(weight);
	}
	*first = flags;
	c->times.len += (size_t)(at - first);
	c->times_len++;
	c->last = (struct aif_idle_time){course, from, to, weight};
	return 0;
}

bool aif_idle_course_next(const struct aif_idle_course *c, struct aif_idle_course_reader *r,
			  struct aif_idle_time *ret)
{
	const uint8_t *at;
	uint8_t flags;

	if (r->at >= c->times.len)
		return false;
	at = c->times.data + r->at;
	flags = *at++;
	r->place = aif_packed_take(&at, PLACE_SHIFT, flags);
	r->last.course = c->courses[r->place];
	r->last.from = (int64_t)((uint64_t)r->last.to +
				 aif_from_zigzag(aif_packed_take(&at, FROM_SHIFT, flags)));
	r->last.to = (int64_t)((uint64_t)r->last.from + aif_packed_take(&at, LENGTH_SHIFT, flags));
	if (flags & HAS_WEIGHT) {
		memcpy(&r->last.weight, at, sizeof(r->last.weight));
		at += sizeof(r->last.weight);
	}
	r->at = (size_t)(at - c->times.data);
	*ret = r->last;
	return true;
}

/* ---- parts ----------------------------------------------------------------------------------- */

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
	double ns = weight * (double)(to - from);
	uint64_t place;
	int r = aif_idle_course_time(c, OWN | row, from, to, weight);

	if (r || !c || !(ns > 0))
		return r;
	r = place_get(c, OWN | row, &place);
	if (r == 0 && c->own_parts[place]) {
		c->parts[c->own_parts[place] - 1].ns += ns;
		return 0;
	}
	if (r == 0)
		r = aif_idle_course_part(c, row, OWN | row, ns);
	if (r == 0)
		c->own_parts[place] = c->parts_len;
	return r;
}

size_t aif_idle_course_bytes(const struct aif_idle_course *c)
{
	return c->times.cap + c->courses_cap * (sizeof(*c->courses) + sizeof(*c->own_parts)) +
	       c->parts_cap * sizeof(*c->parts);
}

void aif_idle_course_finish(struct aif_idle_course *c)
{
	aif_buf_finish(&c->times);
	free(c->courses);
	free(c->own_parts);
	free(c->parts);
	aif_map_finish(&c->place_of);
}
