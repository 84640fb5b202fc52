/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/perf_text.h"

/*
 * Lines of `perf stat`, and of `aiflame stat`: text for people, fields of -x (any separator of one character), and
 * objects of -j; with -I, -r, -A and other aggregations. Layout: perf's own manual (perf-stat, "CSV FORMAT", "JSON
 * FORMAT") and what 6.1 writes.
 */
enum aif_perf_stat_kind {
	AIF_PERF_STAT_PASSED, /* a heading, a comment, a metric of counters: says nothing that is kept */
	AIF_PERF_STAT_BAD, /* no line of perf stat's */
	AIF_PERF_STAT_COMMAND,
	AIF_PERF_STAT_COUNTER,
	AIF_PERF_STAT_ELAPSED, /* .value is s, as of the next two */
	AIF_PERF_STAT_USER,
	AIF_PERF_STAT_SYS,
};
enum aif_perf_stat_form { AIF_PERF_STAT_TEXT, AIF_PERF_STAT_CSV, AIF_PERF_STAT_JSON };

struct aif_perf_stat_line {
	enum aif_perf_stat_kind kind;
	enum aif_perf_stat_form form;
	/* Name the count: an event with its modifiers, of a CPU or socket ("CPU0"; empty: of all); or the command. Lie in
	 * the line. */
	struct aif_perf_text event, unit, place;
	bool is_known, is_supported; /* false: "<not counted>", "<not supported>" */
	double value;                /* scaled by perf; in .unit */
	uint64_t time_ns;            /* of -I: the end of the interval; else 0 */
	uint64_t running_ns;         /* 0: not said */
	double running; /* share of the time in which it was counted; 1 where nothing is said */
};

/* Reads a line without its end. */
void aif_perf_stat_line(struct aif_perf_text line, struct aif_perf_stat_line *ret);
