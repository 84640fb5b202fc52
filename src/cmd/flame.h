/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* Draws a profile as `aiflame flame -i profile -o output` does: .svg, or .folded and .txt. 0, or -1 with *err. */
int aif_flame_draw(const char *profile, const char *output, struct aif_err *err);
