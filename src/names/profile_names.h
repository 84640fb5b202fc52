/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "profile/model.h"

/*
 * The names that views of a profile show: short names of kernels, made once when the profile is opened. A profile
 * itself is not written to by any view.
 */
struct aif_names {
	const struct aif_profile *p; /* must outlive it */
	struct aif_strset strings;
	uint32_t *kernels; /* by kernel: its short name in .strings; NULL: none was made */
};

/* Names as the profile has them, without any that are made: for tests, and where names do not
 * matter. */
#define AIF_NAMES_OF(profile) (&(struct aif_names){.p = (profile)})

/* Makes a short name for each kernel; one that the file has is kept. Kernels with different names
 * get different ones: with more room, or in the end by a mark that is always the same for the same
 * kernel. 0 or -ENOMEM; finished by the caller in any case. */
int aif_names_make(struct aif_names *n, const struct aif_profile *p);
void aif_names_finish(struct aif_names *n); /* a zeroed struct is allowed */

/* Makes one line of each name that was made, as aif_profile_sanitize does with the profile's. 0 or
 * -ENOMEM. */
int aif_names_sanitize(struct aif_names *n);

/* Returns the short name of a kernel, or NULL if it has none. */
const char *aif_names_short(const struct aif_names *n, uint32_t kernel);

/* Returns what `kernel` of `kind` is called: the kernel's short name, else its name. A transfer is called as its trace
 * has it, else as torch.profiler does by its kind, "Memcpy HtoD". */
const char *aif_names_work(const struct aif_names *n, uint32_t kind, uint32_t kernel);
/* Returns the same with the kernel's name in full. */
const char *aif_names_work_full(const struct aif_names *n, uint32_t kind, uint32_t kernel);

/* Appends what a graph of a device (AIF_NONE: not known) is called: "[cuda graph 7]". */
void aif_names_put_graph(const struct aif_profile *p, uint32_t device, uint32_t graph,
			 struct aif_buf *out);

/* Makes the briefest names that still tell the profile's kernels apart: *ret[i] is kernel i's, a
 * string of *strings; without any template arguments where no other kernel is called like that,
 * else its short name. *ret is for free(), *strings is finished by the caller, also after a
 * failure. 0 or -ENOMEM. */
int aif_names_brief(const struct aif_names *n, struct aif_strset *strings, uint32_t **ret);

/* Opens a profile and makes its names; both are finished by the caller in any case. Commands have one that bounds memory
 * and says what a profile lacks. 0 or -errno with *err. */
typedef int aif_profile_opener(const char *path, struct aif_profile *ret, struct aif_names *names,
			       struct aif_err *err);
