/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "names/profile_names.h"
#include "report/annotate.h"
#include "text/out.h"

/*
 * `aiflame view`: a whole profile as one HTML file with everything in it. The file is a JSON object and columns of numbers,
 * packed by gzip, in base64; the viewer (viewer/page) unpacks and draws it. What the profile lacks, and what was joined so
 * that the page stays small, is said in the page.
 */
struct aif_page_opts {
	const char *path;    /* the profile's, as people are shown it */
	const char *title;   /* NULL: the recorded command */
	const char *first;   /* the view that it opens with: "overview", "flame", "scope" */
	bool is_scope;       /* the flame scope and its flame graph alone */
	uint32_t frames_max; /* of each tree; 0: AIF_PAGE_FRAMES_MAX */
	/* Disassembles kernels (report/annotate.h); .disassemble NULL: nobody does. */
	struct aif_annotate_opts annotate;
};

/* Writes the page. 0 or -errno with *err. */
int aif_page_write(const struct aif_names *names, const struct aif_page_opts *o,
		   struct aif_out *out, struct aif_err *err);
