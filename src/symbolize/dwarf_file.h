/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <elfutils/libdw.h>

/* Appends the absolute path of a file that the unit's line table names relative to DW_AT_comp_dir:
 * "/src/build" and "../lib/./a.c" make "/src/lib/a.c". False, with nothing appended: the path is
 * absolute already, or the directory is not known. */
bool aif_dwarf_file_put(Dwarf_Die *unit, const char *file, struct aif_buf *ret);
