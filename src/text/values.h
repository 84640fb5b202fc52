/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <sched.h>

/* Values as people write them: on the command line, and in the words that name a run. */

/* A part of a run that only its profile has times of. */
enum aif_part {
	AIF_PART_NONE,
	AIF_PART_STARTUP,
	AIF_PART_LOOP,
	AIF_PART_TAIL,
	AIF_PART_STEPS,
	AIF_PART_ALL
};

struct aif_run_part {
	uint64_t from_ns, to_ns; /* to 0: the end */
	enum aif_part part;      /* in place of these */
	uint32_t first, last;    /* of AIF_PART_STEPS, from 1 on */
};

/* Read one value. 0, or -EINVAL with *ret untouched. */
int aif_parse_time(const char *s, uint64_t *ret_ns);
int aif_parse_bytes(const char *s, uint64_t *ret);
int aif_parse_count(const char *s, uint32_t *ret);
int aif_parse_percent(const char *s, uint32_t *ret_ppm); /* 0 to 100 */
/* Returns -ERANGE for a span that ends before it begins. */
int aif_parse_span(const char *s, struct aif_run_part *ret);
/* Parses a list of CPUs, "0-3,8". 0 or -EINVAL with *err, which begins with `who`. */
int aif_parse_cpus(const char *who, const char *list, cpu_set_t *ret, struct aif_err *err);

/* Appends the time of day after ISO 8601, in UTC: "2026-02-13T13:30:07.815063+00:00". */
void aif_iso_time_now(struct aif_buf *out);
