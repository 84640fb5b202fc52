/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/selection.h"
#include "profile/model.h"

/*
 * Attribution: widths from execution durations, insides from samples (attribution/pipeline.c
 * opens with the essay). One pass over the executions and samples of a profile gives rows, each
 * a device's time under one launch stack, kernel and (when sampled) device instruction, and the
 * conservation report.
 */

/* Change when the rules change: cached attributions of other versions are computed anew. */
#define AIF_ATTRIBUTION_VERSION 18

enum aif_grade {
	AIF_GRADE_EXACT =
		0, /* each sample lies in one execution only; or a total without insides */
	AIF_GRADE_APPORTIONED = 1, /* samples shared over executions that ran at the same time */
	AIF_GRADE_MIXED = 2,   /* several stacks that could not be told apart share their insides */
	AIF_GRADE_SAMPLED = 3, /* totals themselves come from samples */
	AIF_GRADE_UNMATCHED = 4, /* samples that no launch explains: rows of .unmatched only */
};
const char *aif_grade_name(enum aif_grade grade);

struct aif_attribution_row {
	uint32_t process, device, stream, kind, kernel, stack; /* kind: enum aif_launch_kind */
	uint32_t frame, reason; /* AIF_NONE: this part of the time has no sample to say where */
	uint32_t grade;
	uint32_t graph; /* the process's number of what replayed it; 0 = none */
	/* The stack that made the graph's node, AIF_NONE = not known, and as .range the ranges that it was made in. */
	uint32_t capture, capture_range;
	uint32_t range;    /* by_range: 1 + the chain of its launch's ranges; 0 = none */
	uint64_t wall_ns;  /* each ns of a device shared among what ran in it: sums to busy time */
	uint64_t time_ns;  /* share of the executions' own durations */
	uint64_t samples;  /* 0 when frame is AIF_NONE */
	uint64_t launches; /* executions; one row of each (stack, kernel) has them, the others 0 */
	uint64_t bytes;    /* of copies, like launches */
	/* Standard error of the time of this (stack, kernel), like launches; 0: it is exact. */
	uint64_t error_ns;
};

/* Time of a device from the first to the last moment that was asked for: before + busy + idle
 * + not collected + after. Busy and idle are those of [first_ns, last_ns), from the beginning of
 * its first work to the end of its last; blocks next to it in which launches were left out
 * belong to it (weights.h). */
struct aif_device_time {
	uint64_t device;
	uint64_t first_ns, last_ns;   /* since the recording's start */
	uint64_t before_ns, after_ns; /* before the first, after the last work */
	uint64_t busy_ns, idle_ns, uncollected_ns;
	uint64_t kernel_ns, copy_ns; /* of busy: with a kernel; with copies only */
	/* Standard errors of busy and idle; 0: exact. That of idle also knows how well .last_ns
	 * is known. */
	uint64_t error_ns, idle_error_ns;
};

/* Everything in ns or counts. The four equalities of DESIGN section 4 are checked by
 * aif_conservation_check(). */
struct aif_conservation {
	/* elapsed x devices = before + busy + idle + not collected + after: sums of struct
	 * aif_device_time. Not collected: nothing is known to have run on the device, but a
	 * process that uses it was not collected then (gaps.h), whenever that was. */
	uint64_t elapsed_ns, devices, before_ns, busy_ns, idle_ns, uncollected_ns, after_ns;
	uint64_t error_ns, idle_error_ns;  /* standard errors of busy and idle, of all devices */
	uint64_t durations_ns, overlap_ns; /* durations = busy + overlap */
	uint64_t samples, sampled_attributed, sampled_unmatched, samples_dropped, samples_outside;
	/* samples = attributed + unmatched + dropped + outside + off + in flight. Outside: on a
	 * device's threads while nothing was executing there. Off: in executions that were not
	 * captured. In flight: in those that had begun before collection did, or had not ended
	 * when it stopped. */
	uint64_t samples_off, samples_in_flight;
	uint64_t launches, joined, unfinished, unread, unreported, lost, uncaptured, outside;
	/* launches = joined + unfinished + unread + unreported + lost + uncaptured (by the overhead
	 * budget) + outside (ebpf_launches.h). Unfinished: in flight when collection stopped.
	 * Unread: their process ended while it was collected, before the agent had read their
	 * times. Unreported: later ones of the same in-order queue have ended, but of these nothing
	 * was heard. */
	uint64_t executions_unjoined;          /* executions whose launch was lost */
	uint64_t started_before_launch;        /* must be 0: a clock was mapped wrongly */
	uint64_t busy_kernel_ns, busy_copy_ns; /* unions; copy only where no kernel runs */
	/* Since the recording's start: of executions, and of blocks in which launches were left
	 * out. */
	uint64_t first_start_ns, last_end_ns;
	/* Launches of the time, processes and threads asked for that the overhead budget left
	 * out: by what is counted for whole blocks. 0 where devices are asked for. */
	uint64_t left_out;
	uint64_t damaged; /* must be 0: chunks of the file that can't be decoded */
};

struct aif_attribution {
	struct aif_attribution_row *rows;
	size_t rows_len;
	/* Samples that a device has counted and no launch explains: of code that was not
	 * reported, or whose launch was not seen. The rows have no time, launches and stack;
	 * process, kernel and frame where they are known. They sum to what of .sampled_unmatched
	 * was counted so, but for a selection of threads, which has none. */
	struct aif_attribution_row *unmatched;
	size_t unmatched_len;
	struct aif_device_time *devices; /* those that executed something, by id */
	size_t devices_len;
	struct aif_conservation conservation;
	/* Durations of what other threads launched for the ranges asked for (sole_threads.h). */
	uint64_t for_others_ns;
};

/* Computes (or, of a whole profile, takes from the file's cache when its version is current). 0 or
 * -errno with *err. *ret is finished by aif_attribution_finish. */
int aif_attribution_compute(const struct aif_profile *p, const struct aif_selection *opts,
			    struct aif_attribution *ret, struct aif_err *err);
/* Returns about how many bytes of memory the attribution of a whole profile takes at its peak, by the rows that the file's
 * index counts. Measured: 40 MB for each million launches with an execution; 868 MB in all for 20 million launches of
 * 1,000 stacks, 20 kernels and 4 streams. */
uint64_t aif_attribution_memory(const struct aif_profile *p);
void aif_attribution_finish(struct aif_attribution *a);
/* For views that count samples: .unmatched become rows among the others. 0 or -ENOMEM. */
int aif_attribution_take_unmatched(struct aif_attribution *a);
/* Samples, and no time at all: drivers that give none, and samples that no launch explains.
 * Views go by samples then. */
bool aif_attribution_is_untimed(const struct aif_attribution *a);

/* True if all equalities hold; else *ret_text names the first that does not, with its numbers. */
bool aif_conservation_check(const struct aif_conservation *c, struct aif_buf *ret_text);
