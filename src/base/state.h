/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Files that one run of aiflame leaves for the next:
 * ${XDG_STATE_HOME:-$HOME/.local/state}/aiflame/NAME. A path is made here and nothing else; the
 * file may be missing.
 */
#define AIF_STATE_PATH 4096

struct aif_state_file {
	char path[AIF_STATE_PATH];
	size_t base_len; /* of $XDG_STATE_HOME or $HOME, with which the path begins */
	bool is_xdg;     /* it is $XDG_STATE_HOME, which may have to be made, as $HOME may not */
};

/* The file in which the recorder remembers builds of CUPTI that ended programs. */
#define AIF_STATE_CUPTI_CRASHES "cupti-crashes"

/* False: neither variable names an absolute path, or one is too long. */
bool aif_state_file(struct aif_state_file *ret, const char *name);
