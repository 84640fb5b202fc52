/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "probe/doctor_nvidia.h"

/* Drivers, devices and libraries of this machine for Intel's GPUs. Strings are freed by
 * aif_intel_finish; NULL: not there. */
struct aif_intel {
	const char *root;    /* prefix of /proc, /sys and /dev: "", but for tests */
	char release[72];    /* release of the OS kernel */
	bool may_monitor;    /* we have CAP_PERFMON, or CAP_SYS_ADMIN */
	char *loader;        /* path of libze_loader.so.1, with its version */
	bool loader_is_late; /* tracing can be switched on in a process that runs already */
	char *layer;         /* path of libze_tracing_layer.so.1 */
	char *driver;        /* path of libze_intel_gpu.so.1 */
	char *metrics;       /* path of libigdmd.so.1, Metrics Discovery */
	char *library;       /* path of libigdml.so.1, the Metrics Library */
	bool metrics_set;    /* ZET_ENABLE_METRICS is in the environment */
	bool metrics_off;    /* ZET_ENABLE_METRICS is 0 */
	char *iga;           /* path of libiga64 */
};
void aif_intel_init(struct aif_intel *n); /* looks at this machine */
void aif_intel_finish(struct aif_intel *n);

/* True if nothing is missing, which it is not where there is no such GPU. */
bool aif_doctor_intel(const struct aif_intel *n, aif_doctor_say *say);
