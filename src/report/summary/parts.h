/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "names/profile_names.h"

/* The lines of the summary, for summary.c. */

/* Appends "99.0 % of the time from the first to the last device work (kernels 2.0 s, copies
 * alone 3 ms), idle 20 ms; before the first work 3.1 s; after the last 1 ms", with standard errors
 * where launches were left out. */
void aif_summary_busy(const struct aif_conservation *c, struct aif_buf *out);
/* Appends " ±20 ms", the standard error of an estimate in the unit of `of`, which has `time` of its
 * own; nothing where it is exact. Appends that too few blocks were measured where it is more than
 * half of the estimate. */
void aif_summary_error(double variance, uint64_t time, uint64_t of, struct aif_buf *out);

/* Appends the lines of the kernels with the most time, at most `most`. */
void aif_summary_kernels(const struct aif_names *names, const struct aif_attribution *a,
			 const struct aif_selection *part, size_t most, struct aif_buf *out);

/* Appends how the program ended if a signal ended it, and what to do about that. Returns the number
 * of lines. */
unsigned aif_summary_end(const struct aif_profile *p, struct aif_buf *out);

/* Appends which faults are known of the version of CUPTI that was in use. Returns the number of lines. */
unsigned aif_summary_cupti(const struct aif_profile *p, struct aif_buf *out);

/* Appends what there was where nothing ran on a device, or nothing is left of it, and the likely
 * reason. */
void aif_summary_empty(const struct aif_profile *p, struct aif_buf *out);

/* Appends the functions with the most CPU time of a recording of CPU programs (record --cpu, or a job of MPI) and how
 * complete their stacks are. False, and nothing, where it is none or has no samples. */
bool aif_summary_functions(const struct aif_names *names, size_t most, struct aif_buf *out);
/* Appends what recording it cost. */
void aif_summary_cpu_cost(const struct aif_profile *p, struct aif_buf *out);

/* Appends the line of processes that used no device, where they had a twentieth of all CPU time. */
void aif_summary_others(const struct aif_profile *p, struct aif_buf *out);

/* Appends the line of what recording cost. */
void aif_summary_cost(const struct aif_profile *p, const struct aif_attribution *a,
		      struct aif_buf *out);

/* Appends what did not work, or was lost, a line each: what was refused first, then the greatest
 * loss. `shows_untimed`: the summary has a line of launches without times already. */
void aif_summary_trouble(const struct aif_profile *p, bool shows_untimed, const char *path,
			 struct aif_buf *out);

/* Kinds of data that a profile has, for which there are commands. */
struct aif_summary_content {
	bool kernels, device, untimed, cpu, off_cpu;
	bool functions; /* a program without a device: its functions were shown */
};
#define AIF_SUMMARY_OF_CPU     "aiflame flame --of cpu"
#define AIF_SUMMARY_OF_OFF_CPU "aiflame flame --of off-cpu"

/* Appends a command to type next, about this file. */
void aif_summary_command(struct aif_buf *out, const char *command, const char *path);
/* Appends the commands that have something to show. */
void aif_summary_next(const struct aif_names *names, const struct aif_attribution *a,
		      const struct aif_summary_content *has, const char *path, struct aif_buf *out);
