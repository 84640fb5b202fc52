/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

struct aif_profile;

/* The units of the weights of CPU samples. */
enum aif_cpu_weights {
	AIF_CPU_WEIGHTS_TIME,
	AIF_CPU_WEIGHTS_WALL,
	AIF_CPU_WEIGHTS_SPANS, /* time of a clock, in what a trace says that a thread was in */
	AIF_CPU_WEIGHTS_COUNTS /* no time at all: page faults, switches */
};

/* Names what a profile may lack: bits of .lacks. */
enum aif_lack_number {
#define AIF_LACK(id, words) AIF_LACK_NUMBER_##id,
#include "profile/lacks.def"
	AIF_LACK_COUNT
};
enum aif_lack {
#define AIF_LACK(id, words) AIF_LACK_##id = 1 << AIF_LACK_NUMBER_##id,
#include "profile/lacks.def"
};

/*
 * Traits of a profile's rows. Rows that import made of another profiler's file lack some of
 * what a recording's have. A zeroed struct is a recording's.
 */
struct aif_traits {
	bool is_imported;
	/* Rows of devices and CPUs are stacks with lengths: nobody knows how many launches one
	 * stands for, nor when that was. */
	bool is_lengths;
	/* The number of samples that a length stands for is not known. False where the lengths are numbers of
	 * samples, as in iaprof's text. */
	bool samples_unknown;
	/* The lengths are numbers of samples, and nobody has said how long one stands for
	 * (import --count). */
	bool times_unknown;
	/* Processes without CPU samples used so little CPU time that nothing is incomplete for that. */
	bool has_minor_cpu_losses;
	/* enum aif_lack, by the profile's losses. WORK, too, where so many launches have no execution that the end of a
	 * trace does not explain it. */
	unsigned lacks;
	enum aif_cpu_weights cpu_weights;
};

/* Reads them from the profile's meta and losses: p->traits of a profile that was opened or imported has
 * them. */
struct aif_traits aif_traits_of(const struct aif_profile *p);

/* Returns what a reason leaves incomplete, an enum aif_lack; 0: nothing, or the number is not known. */
unsigned aif_lack_after(uint32_t reason);
/* Returns true for the reason of a loss that is listed (aiflame info) and makes nothing incomplete: .has_minor_cpu_losses. */
bool aif_loss_is_minor(const struct aif_traits *t, uint32_t reason);
/* Appends "incomplete: device work, stacks" of what the profile lacks of `of` (enum aif_lack), or nothing. Returns true if it
 * lacks some of it. */
bool aif_lacks_say(const struct aif_traits *t, unsigned of, struct aif_buf *out);
