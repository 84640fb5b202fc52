/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "stat/result.h"

/* Holds what `perf stat` or `aiflame stat` wrote, in any of their forms, as one run. */
struct aif_stat_file {
	struct aif_stat_run run;
	aif_stat_events events; /* those that the file has, counted or not */
	struct aif_buf command; /* "" where the form does not say it */
	struct aif_buf others;  /* events that aiflame stat does not know: "a, b" */
	uint64_t others_len, bad_lines;
};

/* Reads a file, - for standard input; packed ones, too. Intervals, CPUs and the PMUs of a hybrid CPU are summed up.
 * 0 or -errno with *err; -ENODATA: no counter that is known is in it. */
int aif_stat_file_read(struct aif_stat_file *f, const char *path, struct aif_err *err);
void aif_stat_file_finish(struct aif_stat_file *f);
