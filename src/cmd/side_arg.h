/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "compare/compare.h"

/*
 * A side of a comparison as it is written on the command line: one or several of these, between commas
 *
 *   FILE           a profile, folded text, or a reduced run of a baseline
 *   FILE@PART      a part of a profile, as --time takes it: run.data@steps:10-50, run.data@1.5,2
 *   DIRECTORY      all profiles and reduced runs in it
 *   baseline:NAME  the runs of a baseline
 */

/* Reads a side. `baselines`: the directory of baselines. *ret is finished by the caller, also after a failure. 0; -ENODATA
 * where a run has nothing to compare, another -errno; *err is set. */
int aif_side_arg(const char *spec, const char *baselines, struct aif_side *ret,
		 struct aif_err *err);
