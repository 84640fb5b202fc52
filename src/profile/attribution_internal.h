/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/attribution.h"
#include "profile/estimate.h"
#include "profile/in_flight.h"
#include "profile/time.h"
#include "profile/weights.h"

/* The parts of attribution.c. Fractions of a ns or of a sample are kept in units of 2^-20 until all
 * is summed up; only then are they rounded, so that sums stay exact. */
#define AIF_FRACTION_BITS 20
typedef unsigned __int128 aif_fraction;

struct aif_run { /* one execution, in ns since the recording's start, clipped to what was asked for */
	uint64_t start, end;
	uint32_t group, process, device, kernel_name; /* name: string, AIF_NONE for copies */
	uint64_t weight; /* executions that it stands for, in AIF_WEIGHT_ONE */
	uint32_t cycle;  /* of the overhead budget; AIF_NONE: it stands for itself */
	aif_fraction with_kernel, copies_only; /* of struct active, when it began */
};
struct aif_group { /* executions of one kernel from one stack, in one graph or none, on one stream */
	uint32_t process, device, stream, kind, kernel, stack, graph;
	aif_fraction wall, more_wall; /* more: of executions that were not captured */
	aif_fraction launches;        /* in AIF_WEIGHT_ONE */
	uint64_t time, bytes, error;
	uint64_t seen, executions; /* of these: the time and number of those that were captured */
	uint64_t untimed;          /* launches without times, where none of the kernel has any */
	bool sampled;              /* some of it is estimated */
};
struct aif_cycle_sum { /* weighted time of a group in a cycle of the overhead budget */
	uint32_t group, cycle;
	double ns;
};
struct aif_device_sum { /* what is known of a device's time */
	struct aif_device_time t;
	aif_fraction more_kernel, more_copy; /* unions, as the groups' more_wall */
	struct aif_estimate busy;
	double fits; /* so much of what is estimated has room */
	bool is_used;
};
struct aif_inside { /* where the samples of a group were */
	uint32_t group, frame, reason;
	bool shared; /* some of its samples were split over several groups */
	bool mixed;  /* which could not be told apart */
	aif_fraction samples;
};

struct aif_counted_window {          /* of a device that counts its samples; ns since the start */
	uint64_t start, end, before; /* before: of the windows before it in its track */
	uint32_t id, process, device;
	uint32_t track;    /* index of the first window of the same process and device */
	bool is_ambiguous; /* perhaps its samples are another process's */
};

struct aif_attribution_work {
	const struct aif_profile *p;
	const struct aif_attribution_opts *opts;
	uint64_t from, to; /* ns since the start */
	struct aif_run *runs;
	size_t runs_len, runs_cap;
	struct aif_group *groups;
	size_t groups_len, groups_cap;
	struct aif_inside *insides;
	size_t insides_len, insides_cap;
	struct aif_sample_row *samples;
	size_t samples_len, samples_cap;
	struct aif_sample_row *counted; /* those without a time of their own */
	size_t counted_len, counted_cap;
	struct aif_counted_window *windows;
	size_t windows_len, windows_cap;
	struct aif_map group_ids, inside_ids;
	struct aif_weights *weights; /* NULL: everything was captured */
	struct aif_gaps gaps;
	struct aif_in_flight in_flight;
	struct aif_map in_cycle; /* group and cycle -> index of cycle_sums */
	struct aif_cycle_sum *cycle_sums;
	size_t cycle_sums_len, cycle_sums_cap;
	struct aif_attribution_row *unmatched;
	size_t unmatched_len, unmatched_cap;
	struct aif_device_sum *devices; /* by id */
	struct aif_conservation c;
};

/* attribution_weights.c: an execution of `run->group` whose launch was made by `thread` at `time`: its
 * weight, and its share in the group's totals, which it is added to. 0 or -ENOMEM. */
int aif_attribution_weigh(struct aif_attribution_work *w, struct aif_run *run, uint32_t thread,
			  uint64_t time, uint64_t bytes);
/* After the sweep: what was estimated joins what was seen, and gets its standard errors. 0 or -ENOMEM. */
int aif_attribution_settle(struct aif_attribution_work *w);
/* Gives the result the times of its devices, and the first and the last of all. 0 or -ENOMEM. */
int aif_attribution_emit_devices(const struct aif_attribution_work *w, struct aif_attribution *a);

/* Walks all runs and samples of each device in order of time: wall time to groups, samples to
 * insides, unions to the conservation report. Sorts runs and samples. 0 or -ENOMEM. */
int aif_attribution_sweep(struct aif_attribution_work *w);

/* The name of the kernel whose code the frame is, or AIF_NONE: what a kernel calls elsewhere. */
uint32_t aif_attribution_sampled_kernel(const struct aif_profile *p, uint32_t frame);
/* Another one, also of a group, frame and reason that has some already: emitting puts them together. */
int aif_attribution_append_inside(struct aif_attribution_work *w, const struct aif_inside *inside);
/* The same, but finds those. 0 or -ENOMEM, both. */
int aif_attribution_add_inside(struct aif_attribution_work *w, uint32_t group, uint32_t frame,
			       uint32_t reason, aif_fraction samples, bool shared, bool mixed);

/* attribution_exposure.c, attribution_windows.c: samples that a device has counted, without a time of their
 * own, and the windows that they were counted in. */
bool aif_attribution_is_counted(const struct aif_profile *p, const struct aif_sample_row *s);
/* Also drops what of the samples is not of the time asked for, and counts the others. */
int aif_attribution_windows_load(struct aif_attribution_work *w, struct aif_timeline *timeline,
				 uint64_t *ret_bad);
/* After the sweep: they become insides, too. 0 or -ENOMEM. */
int aif_attribution_windows(struct aif_attribution_work *w);

/* Rounds `n` fractions, of which each is at ret_stride bytes after the one before, to whole numbers
 * that sum to `total`: the largest remainders are rounded up, first come first in a tie. The
 * fractions' own sum must round to `total` within n. 0 or -ENOMEM. */
int aif_attribution_round(const aif_fraction *fractions, size_t n, uint64_t total, uint64_t *ret);
/* Rounds the samples of all insides so that those of each place (process, frame, reason) sum to what was counted
 * there. 0 or -ENOMEM. */
int aif_attribution_round_samples(const struct aif_attribution_work *w, uint64_t *ret);
