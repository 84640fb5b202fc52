/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* May a view be written there? Over what aiflame wrote before, of whichever format, over an
 * empty file, and into what is no regular file. Whatever else lies there is somebody's,
 * recordings too. 0; -EEXIST or another error with *err. */
int aif_output_check(const char *path, struct aif_err *err);
