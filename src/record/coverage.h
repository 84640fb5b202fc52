/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Can the agent be loaded into this command? Follows PATH and one `#!` line. Returns 0, or the
 * reason why not (AIF_REASON_NOT_COVERED_...) with the file that it is about in `file`.
 */
int aif_coverage_check(const char *command, char *file, size_t size);
