/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "record/opts.h"

/* What became of a recording. */
struct aif_record_result {
	int exit_code;   /* for `record` to end with: the command's, 128 + signal, or 125 to 127 */
	char path[4096]; /* of the profile, "" if none was written */
	bool have_profile; /* the file is complete and can be opened */
};

/*
 * Runs the command under the profiler until it ends, the duration is over, or a second Ctrl-C.
 * Prints only the live line (stderr, when it is a terminal and stdout is not). Returns 0 when there
 * is a result, even if the command failed; else -errno with *err and ret->exit_code (125, 126, 127).
 */
int aif_record_run(const struct aif_record_opts *opts, struct aif_record_result *ret,
		   struct aif_err *err);
