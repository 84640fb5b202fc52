/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "analysis/attribution.h"
#include "names/profile_names.h"

/* The listing of a kernel: its source lines and instructions with their samples, and what they wait
 * for. */

struct aif_annotate_opts {
	const char *kernel; /* expression: the kernels, by their names in full or in short */
	uint32_t
		min_ppm; /* instructions with less of their kernel's samples are left out; 0: none */
	uint32_t columns; /* of the terminal; 0: no end */
	/* Appends what a disassembler says of a GPU's function (sass_text.h), or nothing. NULL:
	 * there is none. */
	void (*disassemble)(void *arg, const struct aif_code *code, const char *arch,
			    struct aif_buf *ret);
	void *arg;
};

/* Appends the kernels that match, most time first. 0; -EINVAL for what is no expression, -ENODATA
 * when no kernel matches, both with *err; -ENOMEM. */
int aif_annotate_write(const struct aif_names *names, const struct aif_attribution *a,
		       const struct aif_annotate_opts *o, struct aif_buf *out, struct aif_err *err);

/* The same of functions on CPUs, by their names as views show them: those that match, most CPU time of their own
 * first. Of those whose time is below them also their lines with what these call. -ENODATA where there is none, with *err. */
int aif_annotate_cpu_write(const struct aif_names *names, const struct aif_annotate_opts *o,
			   struct aif_buf *out, struct aif_err *err);
/* The same of functions that launched device work, with the device time of each line and of what it calls. */
int aif_annotate_host_write(const struct aif_names *names, const struct aif_attribution *a,
			    const struct aif_annotate_opts *o, struct aif_buf *out,
			    struct aif_err *err);
