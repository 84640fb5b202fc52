/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* One line on standard error behind "aiflame: ", whatever names are in it (base/name_sanitize.h). */
void aif_tell(const char *fmt, ...) AIF_PRINTF(1, 2);
