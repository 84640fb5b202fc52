/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "report/source_lines.h"

/* Appends "lines":[[PLACE,TEXT,N],...] (annotate_json.h): the lines, in the order of
 * aif_source_lines(), and those around them whose text the profile has; [] stands for lines left out
 * in between. ret_rows[i]: index of lines[i] in the list. */
void aif_source_json(const struct aif_profile *p, const struct aif_source_line *lines, size_t n,
		     uint32_t *ret_rows, struct aif_buf *json);
