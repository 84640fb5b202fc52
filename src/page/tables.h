/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "base/err.h"
#include "page/columns.h"
#include "report/annotate.h"

/* Rows that a page has of a table, by the table's own order; how many there are more is said. */
#define AIF_PAGE_ROWS_MAX 2000
/* Kernels with a listing, and functions on CPUs: those with the most time. */
#define AIF_PAGE_LISTINGS_MAX 20

/* Rows and listings are columns of JSON, which the page reads when it shows them: they are most of its texts. */

/* Appends "tables":{NAME:{"types":{COLUMN:TYPE}} or {"none":WHY}}; columns rows_NAME. 0 or -ENOMEM with *err. */
int aif_page_tables_write(const struct aif_names *names, const struct aif_attribution *a,
			  struct aif_page_columns *columns, struct aif_buf *json,
			  struct aif_err *err);
/* Appends "code_of":[NAME,...]; column "code": a listing for each (report/annotate_json.h). 0 or -errno with *err. */
int aif_page_listings_write(const struct aif_names *names, const struct aif_attribution *a,
			    const struct aif_annotate_opts *o, struct aif_page_columns *columns,
			    struct aif_buf *json, struct aif_err *err);
