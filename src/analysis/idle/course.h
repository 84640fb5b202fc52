/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"

/*
 * Times of idle time. A row of the blame (blame.h) has parts, each of a course: a set of times. What follows from the launch
 * that ended a gap, or from a recorded call, has a course of its own, with just its times. What samples, waits and times off CPU
 * explain shares the course of its bracket, the gaps between the same two launches, as it shares the bracket's idle time.
 */
struct aif_idle_time {
	uint64_t course;
	int64_t from, to; /* ns since the recording's start */
	double weight;    /* how many such times it stands for */
};
/* Courses that take turns, which are looked up for each time: few, as a loop launches from few places. */
#define AIF_IDLE_COURSE_LATEST 64
struct aif_idle_course {
	/* Times, of which a long recording has more than launches: read by aif_idle_course_next(). Each is one byte of flags and
	 * numbers of 1, 2, 4 or 8 bytes: its course, by its place in .courses; how far it begins behind the end of the time before; its
	 * length; its weight if it is not that of the time before. */
	struct aif_buf times;
	size_t times_len;
	struct aif_idle_time last;
	uint64_t *courses; /* the number of each course that has times */
	size_t courses_len, courses_cap;
	size_t *own_parts; /* by course: 1 + index in .parts of the part that a row has alone; 0: none */
	size_t own_parts_cap;
	struct aif_map place_of;                 /* index in .courses, by course */
	uint64_t latest[AIF_IDLE_COURSE_LATEST]; /* by a hash: the index looked up last */
	struct aif_idle_course_part {
		uint64_t row; /* aif_idle_row_key() */
		uint64_t course;
		double ns; /* before rounding: a row's parts need not sum to its .ns */
	} * parts;
	size_t parts_len, parts_cap;
};
struct aif_idle_row;
/* Returns a key, less than 2^63, that no other row of the same blame has. */
uint64_t aif_idle_row_key(const struct aif_idle_row *row);

/* Adds a time to a course; or a part of a row. 0 or -ENOMEM; `c` may be NULL. */
int aif_idle_course_time(struct aif_idle_course *c, uint64_t course, int64_t from, int64_t to,
			 double weight);
/* Reads one time after another, in the order in which they were added; from zeros on. False: that was all. */
struct aif_idle_course_reader {
	size_t at;
	size_t place; /* in .courses, of the time that was read last */
	struct aif_idle_time last;
};
bool aif_idle_course_next(const struct aif_idle_course *c, struct aif_idle_course_reader *r,
			  struct aif_idle_time *ret);
int aif_idle_course_part(struct aif_idle_course *c, uint64_t row, uint64_t course, double ns);
/* Adds a time that is a row's alone, and it to the row's one part of that course. */
int aif_idle_course_own(struct aif_idle_course *c, uint64_t row, int64_t from, int64_t to,
			double weight);
/* Returns the memory that it takes. */
size_t aif_idle_course_bytes(const struct aif_idle_course *c);
void aif_idle_course_finish(struct aif_idle_course *c); /* a zeroed struct is allowed */
