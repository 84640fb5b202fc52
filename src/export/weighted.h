/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/exporter.h"
#include "names/host_stacks.h"

/* A profile as stacks with values: what pprof and OTLP have in place of a time line. Device time comes from the
 * attribution, CPU time and waiting from CPU samples, by thread. */

enum aif_weighted_value {
	AIF_WEIGHTED_DEVICE_TIME, /* ns, shared where several things ran at once: sums to the busy time */
	AIF_WEIGHTED_DURATION, /* ns of executions */
	AIF_WEIGHTED_LAUNCHES,
	AIF_WEIGHTED_SAMPLES, /* that the device took, or that were taken of its threads */
	AIF_WEIGHTED_BYTES,   /* moved */
	AIF_WEIGHTED_CPU,     /* ns on CPUs; of record --wall, of threads whatever they did */
	AIF_WEIGHTED_WAITING, /* ns that threads waited for a device */
	AIF_WEIGHTED_COUNT
};
struct aif_weighted_type {
	const char *type, *unit;
};
extern const struct aif_weighted_type aif_weighted_types[AIF_WEIGHTED_COUNT];
/* Returns the type as it is in this profile: CPU samples may weigh events or wall-clock time. */
struct aif_weighted_type aif_weighted_type(const struct aif_profile *p, unsigned type);

struct aif_weighted {
	uint32_t node;                                                         /* the leaf */
	uint32_t process, thread, device, stream, kernel, kind, frame, reason; /* AIF_NONE: none */
	uint64_t values[AIF_WEIGHTED_COUNT];
};

/* Calls fn for each; fn returns 0, or -errno to stop. 0; -ENODATA when there is nothing; *err is set. */
int aif_weighted_each(const struct aif_export *x, struct aif_host_stacks *h,
		      int (*fn)(void *arg, const struct aif_weighted *w), void *arg,
		      struct aif_err *err);

/* The texts by which viewers group: key and value, at most AIF_WEIGHTED_LABELS. Values are appended to *b, which is
 * cleared first, terminated; 0 or the number of labels. */
#define AIF_WEIGHTED_LABELS 8
struct aif_weighted_label {
	const char *key;
	size_t value; /* offset of the text in the buffer */
};
size_t aif_weighted_labels(const struct aif_export *x, struct aif_host_stacks *h,
			   const struct aif_weighted *w, struct aif_buf *b,
			   struct aif_weighted_label ret[AIF_WEIGHTED_LABELS]);
