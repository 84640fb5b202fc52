/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/state.h"
#include "record/cupti_crashes.h"

/* Prints a line and returns `ok`: what was looked for, what was found, and what to do unless ok. */
typedef bool aif_doctor_say(bool ok, const char *what, const char *found, const char *fix);

/* Drivers, devices and libraries of this machine for NVIDIA's GPUs. Strings are freed by
 * aif_nvidia_finish. */
struct aif_nvidia {
	const char *root; /* of /proc and /dev: "", but for tests */
	bool libcuda;     /* the loader finds libcuda.so.1 */
	bool admin;       /* we have CAP_SYS_ADMIN */
	char *libcupti;   /* all that there are, ", " between them; NULL: none */
	char *faults;     /* known of their versions, a line each; NULL: none */
	char *nvdisasm;   /* NULL: none */
	char *nvml;       /* what NVML gives, or why it gives nothing; NULL: not tried */
	bool has_nvml;
	/* Builds of CUPTI that ended a recorded program, and the file that remembers them. */
	struct aif_cupti_crash crashes[AIF_SHM_CUPTI_CRASHES];
	size_t crashes_len;
	struct aif_state_file crashes_file;
};
void aif_nvidia_init(struct aif_nvidia *n); /* looks at this machine */
void aif_nvidia_finish(struct aif_nvidia *n);

/* True if nothing is missing, which it is not where there is no such GPU. */
bool aif_doctor_nvidia(const struct aif_nvidia *n, aif_doctor_say *say);
