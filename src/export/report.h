/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/table.h"
#include "profile/attribution.h"

enum aif_report_kind {
	AIF_REPORT_KERNELS,
	AIF_REPORT_STACKS,
	AIF_REPORT_COPIES,
	AIF_REPORT_LAUNCHES,
};
struct aif_report_opts {
	enum aif_report_kind kind;
	enum aif_table_format format;
	const char *sort; /* a column's name; NULL: the table's own order */
	uint32_t limit;   /* 0 = all */
};

/* Appends the table. 0; -EINVAL with *err for an unknown column; -ENOMEM. */
int aif_report_write(const struct aif_profile *p, const struct aif_attribution *a,
		     const struct aif_report_opts *opts, struct aif_buf *out, struct aif_err *err);

/* The name of a frame as tables show it: its innermost function, or [module+0xADDRESS]. */
void aif_report_frame(const struct aif_profile *p, uint32_t frame, struct aif_buf *b);

/* The application's function that launched from `stack`: the innermost frame that is not in an
 * accelerator runtime's library. "" if none. */
void aif_report_caller(const struct aif_profile *p, uint32_t stack, struct aif_buf *b);

/* What `kernel` of `kind` is called: the kernel's name, or "[read]". */
const char *aif_report_kernel(const struct aif_profile *p, uint32_t kind, uint32_t kernel,
			      char space[64]);
