/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Times of idle time. A row of the blame (blame.h) has parts, each of a course: a set of times. What follows from the launch
 * that ended a gap, or from a recorded call, has a course of its own, with just its times. What samples, waits and times off CPU
 * explain shares the course of its bracket, the gaps between the same two launches, as it shares the bracket's idle time.
 */
struct aif_idle_course {
	struct aif_idle_time {
		uint64_t course;
		int64_t from, to; /* ns since the recording's start */
		double weight;    /* how many such times it stands for */
	} * times;
	size_t times_len, times_cap;
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
int aif_idle_course_part(struct aif_idle_course *c, uint64_t row, uint64_t course, double ns);
/* Adds a time that is a row's alone. */
int aif_idle_course_own(struct aif_idle_course *c, uint64_t row, int64_t from, int64_t to,
			double weight);
void aif_idle_course_finish(struct aif_idle_course *c); /* a zeroed struct is allowed */
