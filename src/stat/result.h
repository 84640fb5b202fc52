/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "stat/roofs.h"
#include "stat/run.h"
#include "stats/spread.h"

/*
 * Counts of several runs of a command. A run is one value: ratios are taken within a run, then their median.
 *
 *   ipc                   instructions / cycles
 *   cache_miss_rate       cache-misses / cache-references
 *   branch_miss_rate      branch-misses / branches
 *   dtlb_*_miss_rate      dTLB-*-misses / dTLB-*; dtlb_miss_rate: of loads and stores together
 *   *_per_kinst           1000 x events / instructions
 *   page_walks, stlb_hits sums of loads, stores and code
 *   retiring, ...         topdown: slots that ended so / the slots of the four of level 1
 *
 * One whose terms were not all counted is not known, never 0.
 */
#define AIF_STAT_DERIVED(id, key, above, minus, below, factor) AIF_STAT_##id,
enum aif_stat_derived {
#include "stat/derived.def"
	AIF_STAT_DERIVED_LEN
};
#undef AIF_STAT_DERIVED

struct aif_stat_result {
	char *const *argv;
	aif_stat_events events;
	struct aif_stat_run *runs;
	size_t len;
	bool is_foreign; /* not counted here: this machine's CPUs say nothing about it */
	const struct aif_roofs *roofs; /* of this machine; NULL: not measured */
	const char *device; /* JSON of what devices did, for aif_stat_json(); "" or NULL: nothing */
	struct aif_spread values[AIF_STAT_EVENTS], usage[AIF_STAT_USAGES],
		derived[AIF_STAT_DERIVED_LEN];
	double running
		[AIF_STAT_EVENTS]; /* least part of the time in which it was counted; NAN: not by perf */
	int error[AIF_STAT_EVENTS]; /* of events that are not known */
	struct aif_spread cpus;     /* task-clock / elapsed */
};

/* Fills the rest from .runs. 0 or -ENOMEM. */
int aif_stat_result_make(struct aif_stat_result *r);

const char *aif_stat_derived_key(enum aif_stat_derived d);

/* Appends perf stat's layout for people, CSV of perf stat -x SEPARATOR, or an object of the keys of perf_stat_summary.json
 * (docs/stat.md). `source` is the text's file, "" for none. */
void aif_stat_text(const struct aif_stat_result *r, struct aif_buf *out);
void aif_stat_csv(const struct aif_stat_result *r, const char *separator, struct aif_buf *out);
void aif_stat_json(const struct aif_stat_result *r, const char *source, struct aif_buf *out);
