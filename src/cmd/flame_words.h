/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cmd/opts.h"
#include "profile/model.h"

/* Texts of the pictures of `aiflame flame`. */

/* Appends command, host and date of the recording. */
void aif_flame_subtitle(const struct aif_profile *p, struct aif_buf *b);
/* Returns the legend's word for the colour of C++: a trace's operators, native functions, or both. */
const char *aif_flame_cxx_word(const struct aif_profile *p);
/* Appends "--time 1.00 s,2.00 s". */
void aif_flame_time_say(const struct aif_opt_span *time, struct aif_buf *b);
