/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "names/profile_names.h"

/* Appends the summary of a profile, at most 18 lines: how the program ended if that was by a
 * signal, what ran, how busy the devices were, the kernels with the most time, how far the profile
 * can be trusted, what recording cost, what did not work and how to mend it, what to do next.
 * `path` is the profile's, for its size and the proposed commands. */
void aif_summary_write(const struct aif_names *names, const struct aif_attribution *a,
		       const char *path, struct aif_buf *out);

/* Memory that the summary of a recording may take where `record` prints it: what programs are recorded on may have no more
 * to spare. About 20 million launches. */
#define AIF_SUMMARY_MEMORY ((uint64_t)1 << 30)

/* Computes the attribution and appends the summary of a profile; where that would take more than `most` bytes of memory,
 * leaves out what needs it, and names the command that shows it. 0 or -errno with *err. */
int aif_summary_within(const struct aif_names *names, uint64_t most, const char *path,
		       struct aif_buf *out, struct aif_err *err);

/* Appends the summary of a part of the recording, without what is known of the whole only: costs
 * and troubles. */
void aif_summary_part(const struct aif_names *names, const struct aif_attribution *a,
		      const struct aif_selection *part, const char *path, struct aif_buf *out);

/* Appends a line about the quality of the data, also for a picture's subtitle: what is missing, or
 * that nothing is. */
void aif_summary_quality(const struct aif_profile *p, const struct aif_attribution *a,
			 struct aif_buf *out);
/* Appends "; incomplete: device work" of what the profile lacks of `of` (enum aif_lack), or nothing. */
void aif_summary_lacks(const struct aif_profile *p, unsigned of, struct aif_buf *out);

/* Calls fn for each way in which something was lost or could not be had: "7 records dropped because a ring was full", with
 * its place and what helps, at most `most` of them and one line that says how many more there are. */
void aif_summary_losses(const struct aif_profile *p, size_t most,
			void (*fn)(void *arg, const char *text), void *arg);
