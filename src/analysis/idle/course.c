/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/course.h"

#include "analysis/idle/blame.h"

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

/* A byte says whether there is a weight, and in 1 << n bytes each how long the numbers are: so they are read without a branch, of
 * which a byte with a bit for each more would take one. */
enum { HAS_WEIGHT = 1, PLACE_SHIFT = 1, FROM_SHIFT = 3, LENGTH_SHIFT = 5 };
enum { TIME_MAX_BYTES = 1 + 3 * 8 + sizeof(double) };

/* Writes a number, and its length into *flags. */
static uint8_t *put_number(uint8_t *at, uint64_t n, unsigned shift, uint8_t *flags)
{
	unsigned size = n <= UINT8_MAX ? 0 : n <= UINT16_MAX ? 1 : n <= UINT32_MAX ? 2 : 3;

	*flags |= (uint8_t)(size << shift);
	for (unsigned i = 0; i < 1u << size; i++)
		*at++ = (uint8_t)(n >> 8 * i);
	return at;
}

/* Reads eight bytes, of which those behind the number are other numbers or none: a time has room for the most. */
static uint64_t take_number(const uint8_t **at, unsigned shift, uint8_t flags)
{
	unsigned size = 1u << (flags >> shift & 3);
	uint64_t n;

	memcpy(&n, *at, sizeof(n));
	*at += size;
	n = AIF_IS_BIG ? __builtin_bswap64(n) : n;
	return n & UINT64_MAX >> (64 - 8 * size);
}

/* Makes small numbers of differences with either sign. */
static uint64_t to_zigzag(uint64_t n)
{
	return n << 1 ^ (n >> 63 ? UINT64_MAX : 0);
}

static uint64_t from_zigzag(uint64_t n)
{
	return n >> 1 ^ (n & 1 ? UINT64_MAX : 0);
}

static int place_get(struct aif_idle_course *c, uint64_t course, uint64_t *ret)
{
	if (aif_map_get(&c->place_of, course, ret))
		return 0;
	*ret = c->courses_len;
	if (aif_grow(&c->courses, &c->courses_cap, c->courses_len + 1, sizeof(*c->courses)) < 0 ||
	    aif_map_put(&c->place_of, course, *ret) < 0)
		return -ENOMEM;
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
	at = put_number(first + 1, place, PLACE_SHIFT, &flags);
	at = put_number(at, to_zigzag((uint64_t)from - (uint64_t)c->last.to), FROM_SHIFT, &flags);
	at = put_number(at, (uint64_t)to - (uint64_t)from, LENGTH_SHIFT, &flags);
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
	r->place = take_number(&at, PLACE_SHIFT, flags);
	r->last.course = c->courses[r->place];
	r->last.from =
		(int64_t)((uint64_t)r->last.to + from_zigzag(take_number(&at, FROM_SHIFT, flags)));
	r->last.to = (int64_t)((uint64_t)r->last.from + take_number(&at, LENGTH_SHIFT, flags));
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
	uint64_t part;
	int r = aif_idle_course_time(c, OWN | row, from, to, weight);

	if (r || !c || !(ns > 0))
		return r;
	if (aif_map_get(&c->own_part_of, row, &part)) {
		c->parts[part].ns += ns;
		return 0;
	}
	r = aif_idle_course_part(c, row, OWN | row, ns);
	return r ? r : aif_map_put(&c->own_part_of, row, c->parts_len - 1);
}

size_t aif_idle_course_bytes(const struct aif_idle_course *c)
{
	return c->times.cap + c->courses_cap * sizeof(*c->courses) +
	       c->parts_cap * sizeof(*c->parts);
}

void aif_idle_course_finish(struct aif_idle_course *c)
{
	aif_buf_finish(&c->times);
	free(c->courses);
	free(c->parts);
	aif_map_finish(&c->place_of);
	aif_map_finish(&c->own_part_of);
}
