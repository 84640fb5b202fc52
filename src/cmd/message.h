/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Prints a line on standard error behind "aiflame: "; names in it are made safe for a terminal
 * (base/name_sanitize.h). */
void aif_message(const char *fmt, ...) AIF_PRINTF(1, 2);
