/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "top/session.h"

/* The live screen of `aiflame top`. */

/* Checks that there is a terminal which can be used. 0, or -ENOTTY with *err: standard output is a file, TERM is dumb. */
int aif_top_can_live(struct aif_err *err);
/* Shows the screen until the user leaves it; an exit status. */
int aif_top_live(struct aif_top_session *s, struct aif_err *err);
