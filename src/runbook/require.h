/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>

/*
 * Correctness before speed: what --require names must hold, or nothing is judged. It is a shell command that must succeed,
 * or a value of a JSON file, "FILE.json:WAY=VALUE": train.json:.pass_parity=true. "{}" in FILE stands for what is judged.
 */

/* True if "{}" stands in the file of such a value: each of what is judged has its own. */
bool aif_require_is_of_each(const char *arg);
/* Refuses an empty word in a NULL-terminated list. 0; -EINVAL with *err. */
int aif_require_check(const char *who, const char *const *args, struct aif_err *err);
/* Checks the value for `of`, what "{}" stands for, or runs the command, its output going to standard error. Says, as `who`,
 * and in *why (may be NULL) what does not hold. 0 or AIF_EXIT_REQUIRED. */
int aif_require(const char *who, const char *arg, const char *of, aif_say *say,
		struct aif_err *why);
