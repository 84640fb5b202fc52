/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Executes a command as execvp() does, and returns -errno if it cannot. Where a directory of PATH cannot be searched,
 * execvp() says EACCES of a command that is in none of the others, too: that is -ENOENT here, as nothing was found
 * that could be made executable. */
int aif_command_exec(char *const argv[]);
