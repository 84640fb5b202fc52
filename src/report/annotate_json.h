/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "report/annotate.h"

/*
 * Listings as JSON, for the page. A kernel or function:
 *
 *   {"head":[TEXT,...], "all":N, "unit":"samples"|"ns", "functions":[{"head":[TEXT,...],
 *     "lines":[[PLACE,TEXT,N] or [] for a gap,...],
 *     "code":[[OFFSET,TEXT,N,LINE,WAITS,OFFSET OF WHAT IS WAITED FOR],...]},...]}
 *
 * LINE is a number of a line in "lines", or -1; the last two are there where something is known to be waited for.
 */

/*
 * A page chooses a listing by its name, so names are unique: `used` has those of all calls so far. A
 * function whose name is taken gets its file or "CPU time" behind it.
 */

/* Appends the `most` kernels with the most time that have samples: their names as flame graphs have them, and their
 * listings, both without brackets. Of `o`, only the disassembler is used. 0 or -ENOMEM. */
int aif_annotate_json(const struct aif_names *names, const struct aif_attribution *a,
		      const struct aif_annotate_opts *o, size_t most, struct aif_strset *used,
		      struct aif_buf *kernels, struct aif_buf *json);
/* The same of functions on CPUs with the most time of their own of which lines or instructions are known; behind what is
 * there already. 0 or -errno. */
int aif_annotate_cpu_json(const struct aif_names *names, size_t most, struct aif_strset *used,
			  struct aif_buf *functions, struct aif_buf *json);
/* The same of the host functions that launched the most device time, the application's first, among
 * those with known lines. */
int aif_annotate_host_json(const struct aif_names *names, const struct aif_attribution *a,
			   size_t most, struct aif_strset *used, struct aif_buf *functions,
			   struct aif_buf *json);
/* Appends the name to a JSON list of names; if it is taken, with ", MORE" behind it. */
void aif_annotate_json_name(struct aif_buf *functions, struct aif_strset *used, const char *name,
			    const char *more);
/* Appends a text's lines, but empty ones, as a list of texts. */
void aif_annotate_json_lines(struct aif_buf *json, const struct aif_buf *text);
