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

/* The directory of baselines that is taken if none is named: in the directory where one works. */
#define AIF_BASELINES       "aiflame.baselines"
#define AIF_BASELINE_SUFFIX ".run"
#define AIF_BASELINES_OPT(at)                                            \
	{                                                                \
		0, "baselines", "DIR", AIF_OPT_STRING, at, 0,            \
			"the directory of baselines (" AIF_BASELINES ")" \
	}

#define AIF_UNIT_OPT(at)                                                                           \
	{                                                                                          \
		0, "unit", "auto|step|token|range:NAME|launch|second|run|cycles", AIF_OPT_STRING,  \
			at, 0,                                                                     \
			"what values are given by (auto: a step where all runs have them, else a " \
			"run; range:NAME: the program's ranges of that name, whatever number "     \
			"they end in; token: range:token; launch: of kernels by their own; "       \
			"cycles: as auto, with times as cycles of the device's clock)"             \
	}
/* Sets the unit of *ret by its word; NULL: auto. The name of a range is `word`'s. 0; -EINVAL with *err. */
int aif_unit_arg(const char *word, struct aif_compare_opts *ret, struct aif_err *err);

/* Returns a baseline's directory, for free(); NULL with *err. */
char *aif_baseline_path(const char *baselines, const char *name, struct aif_err *err);

/* Reads a side. `baselines`: their directory, or NULL. *ret is finished by the caller, also after a failure. 0; -ENODATA
 * where a run has nothing to compare, another -errno; *err is set. */
int aif_side_arg(const char *spec, const char *baselines, struct aif_side *ret,
		 struct aif_err *err);

/* Reads the runs of a side again that are the loop alone: all of each. 0; -ENODATA where there is no more, another -errno; *err
 * is set. */
int aif_side_read_whole(struct aif_side *s, struct aif_err *err);

/* Two sides and how they compare. */
struct aif_sides {
	struct aif_side a, b;
	struct aif_comparison c; /* of the above */
};
/* Reads the sides that `words` name and compares them. As aif_side_arg(). */
int aif_sides_compare(char **words, const char *baselines, const struct aif_compare_opts *o,
		      struct aif_sides *ret, struct aif_err *err);
void aif_sides_finish(struct aif_sides *s);
