/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/*
 * SQLite opens no file whose full path, symbolic links followed, and "-journal" behind it are
 * longer than its own limit of about 500 bytes, wherever the process stands; nor does it write one
 * whose name leaves no room for that in 255 bytes. It says that the file cannot be opened, by when
 * what was there is moved away.
 */

/* 0, or -ENAMETOOLONG with words, "cannot CANNOT ...; DO THIS": for a file that exists. */
int aif_sqlite_path_check(const char *path, const char *cannot, const char *do_this,
			  struct aif_err *err);
/* For one to be made, or put in place of another, whose name gets `suffix` later. */
int aif_sqlite_path_check_new(const char *path, const char *suffix, const char *do_this,
			      struct aif_err *err);
