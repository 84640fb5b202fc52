/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "page/columns.h"
#include "text/out.h"

/* Kinds of pages, whose scripts are made of different modules of viewer/page. */
enum aif_page_of { AIF_PAGE_OF_PROFILE, AIF_PAGE_OF_SIDES };

/* Appends "palette":[...], the colours of kinds of frames. */
void aif_page_palette_write(struct aif_buf *json, bool has_operators);

/*
 * Writes a page: its frame, its style and its script, and a JSON object with columns of numbers, packed by gzip, in base64.
 * The caller has seen that neither has failed. `later` (NULL: there is none) is unpacked behind the first picture. 0 or -errno; what goes wrong in writing is told by the commit of `out`.
 */
struct aif_page_data {
	const struct aif_buf *json;
	const struct aif_page_columns *columns;
};
int aif_page_file_write(enum aif_page_of of, const char *title, const struct aif_page_data *data,
			const struct aif_page_data *later, struct aif_out *out);
