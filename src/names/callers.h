/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* True if code of this Python file may be called the caller, by caller_rules.def: a framework's and the standard library's
 * are not. */
bool aif_caller_is_python(const char *file);
