/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <elfutils/libdw.h>

/* Appends the absolute path of a file that a unit's line table names relative to the directory in which it was compiled:
 * "/src/build" and "../lib/./a.c" are "/src/lib/a.c". False (nothing appended): it is absolute already, or the directory is
 * not known. */
bool aif_dwarf_file_put(Dwarf_Die *unit, const char *file, struct aif_buf *ret);
