/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "report/source_lines.h"

/* Appends "lines":[[PLACE,TEXT,N],...] as annotate_json.h has it: the lines, which are in the order of aif_source_lines(), and
 * those around them whose text the profile has; [] stands for lines that are left out between. ret_rows[i]: the number of
 * lines[i] among them. */
void aif_source_json(const struct aif_profile *p, const struct aif_source_line *lines, size_t n,
		     uint32_t *ret_rows, struct aif_buf *json);
