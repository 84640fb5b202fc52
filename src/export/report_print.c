/* SPDX-License-Identifier: Apache-2.0 */
#include "export/report.h"

#include <errno.h>

static int unknown_column(const struct aif_table *t, const char *name, struct aif_err *err)
{
	struct aif_buf list = {0};

	for (size_t i = 0; i < t->width; i++)
		aif_buf_printf(&list, "%s%s", i ? ", " : "", t->columns[i].name);
	aif_err_set(err, -EINVAL, "report: --sort: no column '%s'; use one of %s", name,
		    aif_buf_str(&list));
	aif_buf_finish(&list);
	return -EINVAL;
}

bool aif_report_is_part(const struct aif_attribution_opts *which)
{
	return which && (which->from_ns || which->to_ns || which->processes || which->threads ||
			 which->devices);
}

int aif_report_sort(struct aif_table *t, const struct aif_report_opts *opts, struct aif_err *err)
{
	int column = opts->sort ? aif_table_column(t, opts->sort) : 0;

	if (!opts->sort)
		return 0;
	return column < 0 ? unknown_column(t, opts->sort, err) : aif_table_sort(t, column);
}

void aif_report_say_part(uint64_t captured, uint64_t left_out, struct aif_buf *out)
{
	aif_buf_puts(out, "of what was captured, ");
	aif_human_share(out, aif_share_ppm(captured, captured + left_out));
	aif_buf_puts(out, " of the launches");
}

int aif_report_left_out(uint64_t left_out, const char *what, struct aif_err *err)
{
	return !left_out ? 0
			 : aif_err_set(err, -ENODATA,
				       "%s: launches were left out in this span (--overhead), and "
				       "none was captured; record with --all-launches",
				       what);
}
