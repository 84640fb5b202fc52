/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "flame/build.h"
#include "profile/model.h"
#include "text/values.h"

/* Texts of the pictures of `aiflame flame`. */

/* Appends command, host and date of the recording. */
void aif_flame_subtitle(const struct aif_profile *p, struct aif_buf *b);
/* Returns the legend's word for the colour of C++: a trace's operators, native functions, or both. */
const char *aif_flame_cxx_word(const struct aif_profile *p);
/* Appends "--time 1.00 s,2.00 s". */
void aif_flame_time_say(const struct aif_run_part *time, struct aif_buf *b);

/* Refuses a unit that a file of stacks with lengths does not have. 0 or -ENODATA with *err. */
int aif_flame_check_lengths(const struct aif_profile *p, const struct aif_flame_opts *o,
			    struct aif_err *err);
/* Returns true if threads are drawn apart. Imported stacks begin as in the tool that wrote
 * them, and those of a whole machine with the program's name: it has thousands of threads. */
bool aif_flame_threads_are_apart(const struct aif_profile *p);
