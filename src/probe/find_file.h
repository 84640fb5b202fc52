/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files of others that lie here or there: tools, libraries. What is found is freed by the caller;
 * NULL: nothing.
 */

/* The first that `pattern` (of glob(7)) means below an absolute directory, and that access(2)
 * allows `mode`. */
char *aif_find_file(const char *dir, const char *pattern, int mode);

/* The same in each directory of $PATH, until something is found. */
char *aif_find_file_in_path(const char *pattern, int mode);
