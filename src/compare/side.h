/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "compare/compare.h"
#include "names/profile_names.h"

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

/* Sets the unit of *ret by its word; NULL: auto. The name of a range is `word`'s. 0; -EINVAL with *err. */
int aif_unit_arg(const char *word, struct aif_compare_opts *ret, struct aif_err *err);

/* Returns a baseline's directory, for free(); NULL with *err. */
char *aif_baseline_path(const char *baselines, const char *name, struct aif_err *err);

struct aif_side_opts {
	const char *baselines;    /* their directory; NULL: AIF_BASELINES */
	aif_profile_opener *open; /* of profiles, whose names are then shown to people */
};

/* Reads a side. *ret is finished by the caller, also after a failure. 0; -ENODATA where a run has nothing to compare,
 * another -errno; *err is set. */
int aif_side_arg(const char *spec, const struct aif_side_opts *o, struct aif_side *ret,
		 struct aif_err *err);

/* Reads the runs of a side again that are the loop alone: all of each. 0; -ENODATA where there is no more, another -errno; *err
 * is set. */
int aif_side_read_whole(struct aif_side *s, struct aif_err *err);
/* The same of those that are a part of a profile: the whole steps in it. */
int aif_side_read_steps(struct aif_side *s, struct aif_err *err);
/* True if a run of the side is a file that has no more than the loop. */
bool aif_side_has_loops_alone(const struct aif_side *s);
/* Reduces a whole profile again, whose path is the word that it was named by. */
aif_run_again aif_side_reduce_again;

/* Two sides and how they compare. */
struct aif_sides {
	struct aif_side a, b;
	struct aif_comparison c; /* of the above */
};
/* Reads the sides that `words` name and compares them. As aif_side_arg(). */
int aif_sides_compare(char **words, const struct aif_side_opts *from,
		      const struct aif_compare_opts *o, struct aif_sides *ret, struct aif_err *err);
void aif_sides_finish(struct aif_sides *s);
