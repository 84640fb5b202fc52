/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/attribution.h"

/* The first screen, at most 18 lines: how it ended if that was by a signal, what ran, how busy the
 * devices were, the top kernels, how far the picture can be trusted, what it cost, what did not
 * work and how to mend it, what to do next. `path` is the profile's, for its size and the commands
 * that are proposed. */
void aif_summary_write(const struct aif_profile *p, const struct aif_attribution *a,
		       const char *path, struct aif_buf *out);

/* The same of a part of the recording, without what is known of the whole only: what it cost, what did not work. */
void aif_summary_part(const struct aif_profile *p, const struct aif_attribution *a,
		      const struct aif_attribution_opts *part, const char *path,
		      struct aif_buf *out);

/* "99.0 % of the time from the first to the last device work (kernels 2.0 s, copies alone 3 ms), idle 20 ms; start-up
 * 3.1 s; tail 1 ms", with standard errors where launches were left out. */
void aif_summary_busy(const struct aif_conservation *c, struct aif_buf *out);
/* " ±20 ms": how far an estimate may be off: its standard error in the unit of `of`, which has `time` of its own;
 * nothing where it is exact. As much as half of it is no estimate any more. */
void aif_summary_error(double variance, uint64_t time, uint64_t of, struct aif_buf *out);

/* How the program ended if a signal ended it, and what to do about it: lines before all others, or
 * none. Returns how many. */
unsigned aif_summary_end(const struct aif_profile *p, struct aif_buf *out);
/* What did not work, or was lost, a line each: what was refused first, then the greatest. `has_told`: that the driver gave
 * no times is told elsewhere. */
void aif_summary_trouble(const struct aif_profile *p, bool has_told, const char *path,
			 struct aif_buf *out);
/* A command to type next, about this file. */
void aif_summary_command(struct aif_buf *out, const char *command, const char *path);

/* A line about processes that used no device, where they had a twentieth of all CPU time. */
void aif_summary_others(const struct aif_profile *p, struct aif_buf *out);

/* One line about quality, for a picture's subtitle: what is missing, or what all is there. */
void aif_summary_quality(const struct aif_profile *p, const struct aif_attribution *a,
			 struct aif_buf *out);
