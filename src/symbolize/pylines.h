/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* The line that an instruction of a Python code object stands on, from the code object's line
 * table. Pure; the table may be of any bytes. */

#define AIF_PYLINES_NONE (-1)

/* `minor`: of the version 3.minor that wrote the table (3.8 to 3.14). `lasti`: the instruction,
 * in bytes into the bytecode; negative: none yet, which is on the first line. AIF_PYLINES_NONE
 * for an instruction without line, one beyond the table (which may have been cut), and an
 * unknown version. */
int32_t aif_pylines_find(unsigned minor, const uint8_t *table, size_t len, int32_t first_line,
			 int32_t lasti);
