/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution/counted.h"
#include "analysis/gaps.h"
#include "analysis/launch_index.h"
#include "analysis/weights.h"

/*
 * Load: the launches and samples of the file, and when it was not collected. Executions are not
 * kept, as classify.c needs each of them once.
 */

/* A launch without its time: programs launch a few things over and over. */
struct aif_loaded_call {
	uint64_t bytes;
	uint32_t thread, stack, kernel, stream, kind;
	uint32_t unused; /* 0: the struct is compared by its bytes */
};

struct aif_loaded_launch {
	uint64_t time; /* CLOCK_MONOTONIC */
	struct aif_loaded_call call;
};

struct aif_loaded {
	const struct aif_timeline *timeline;
	struct aif_weights *weights; /* NULL: everything was captured */
	struct aif_gaps gaps;
	/* Launches: 12 bytes each, 16 with the index. aif_loaded_launch() puts one together. */
	uint64_t *times;
	uint32_t *calls; /* numbers of .distinct_calls */
	size_t launches_len, times_cap, calls_cap;
	struct aif_strset distinct_calls;   /* each a struct aif_loaded_call */
	struct aif_launch_index by_launch;  /* launch -> index */
	AIF_TABLE(aif_sample_row, samples); /* those with a time, in its order */
	struct aif_counted counted;         /* those without */
	uint64_t samples_count;             /* both, in the time asked for */
	uint64_t outside;                   /* launches seen from outside (ebpf_launches.h) */
	uint64_t damaged;                   /* chunks */
};

/* 0 or -errno. *ret, which is zeroed, is finished by aif_loaded_finish() in any case. */
int aif_load(const struct aif_scope *s, struct aif_loaded *ret);
void aif_loaded_finish(struct aif_loaded *l);
struct aif_loaded_launch aif_loaded_launch(const struct aif_loaded *l, size_t i);

/* Each stage lets go of what the next ones do not need: a profile of 3 million launches takes a
 * third less. */
void aif_loaded_drop_launches(struct aif_loaded *l);
void aif_loaded_drop_samples(struct aif_loaded *l);
