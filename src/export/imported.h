/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/attribution.h"

/* What a profile's rows are that import made of another profiler's file: they do not know all that a recording does. */

bool aif_is_imported(const struct aif_profile *p);

/* Its rows of devices and CPUs are stacks with lengths: nobody knows how many launches one stands for, nor when that was. */
bool aif_is_lengths(const struct aif_profile *p);
/* And of samples? Where the lengths are numbers of samples, as in iaprof's text, and where there are no such rows. */
bool aif_has_sample_numbers(const struct aif_profile *p);
/* Is its device time no time? Drivers that give none (aif_attribution_is_untimed), and such rows of samples of which
 * nobody has said how long one stands for (import --count): views go by samples. */
bool aif_is_untimed(const struct aif_profile *p, const struct aif_attribution *a);

/* What the weights of its CPU samples are. */
enum aif_cpu_weights {
	AIF_CPU_WEIGHTS_TIME,
	AIF_CPU_WEIGHTS_WALL,
	AIF_CPU_WEIGHTS_SPANS, /* time of a clock, in what a trace says that a thread was in */
	AIF_CPU_WEIGHTS_COUNTS /* no time at all: page faults, switches */
};
enum aif_cpu_weights aif_cpu_weights(const struct aif_profile *p);
/* "page-faults": what they count; NULL: they are times. */
const char *aif_cpu_counts(const struct aif_profile *p);
