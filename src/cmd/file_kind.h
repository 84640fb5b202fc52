/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Returns what a file looks like that is no profile, by how it begins: "a program or library (ELF)"; NULL: nothing known. *ret_is_text:
 * it may be text. */
const char *aif_file_kind(const char *path, bool *ret_is_text);
