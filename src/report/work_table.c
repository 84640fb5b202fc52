/* SPDX-License-Identifier: Apache-2.0 */
#include "report/work_table.h"

#include "base/u64_of.h"

#include <math.h>
#include <string.h>

int aif_work_table_begin(struct aif_report *r, enum aif_name_detail detail, struct aif_err *err)
{
	static const char *const unknown[] = {"launches", "average", "samples", "copies"};
	const struct aif_traits *traits = &r->p->traits;
	struct aif_buf several = {0};

	aif_report_processes(r->p, r->a, &r->processes, &several);
	if (!several.len)
		aif_report_hide(r, "process");
	aif_buf_finish(&several);
	for (size_t i = 0; traits->is_lengths && i < AIF_ARRAY_LEN(unknown); i++)
		if (traits->samples_unknown || strcmp(unknown[i], "samples") != 0)
			aif_report_hide_known(r, unknown[i]);
	return aif_report_name_stacks(r, detail, err);
}

int aif_work_table_sums(struct aif_report *r,
			int (*key)(struct aif_work_sums *, const struct aif_attribution_row *,
				   uint64_t *),
			struct aif_work_sums *ret)
{
	*ret = (struct aif_work_sums){.names = r->names,
				      .a = r->a,
				      .stacks = r->stacks,
				      .only = &r->kernel,
				      .by_process = true,
				      .key = key};
	return aif_work_sums_make(ret);
}

void aif_work_caller_cell(struct aif_report *r, uint32_t stack)
{
	const char *caller = aif_stack_names_caller(r->stacks, stack);

	r->t.failed |= !caller;
	aif_table_text(&r->t, caller ? caller : "");
}

void aif_work_error_cell(struct aif_report *r, double variance)
{
	aif_table_number(&r->t, aif_u64_of(sqrt(variance)));
}

int aif_work_table_end(struct aif_report *r, const struct aif_work_sums *w)
{
	static const char *const timed[] = {"wall_share", "wall", "time", "launches", "average"};
	bool have_errors = false, have_samples = false;

	for (size_t i = 0; i < w->len; i++) {
		have_errors |= w->sums[i].variance > 0;
		have_samples |= w->sums[i].samples > 0;
	}
	if (!have_errors)
		aif_report_hide(r, "error");
	if (aif_table_column(&r->t, "wall") < 0)
		return aif_table_sort(&r->t, aif_table_column(&r->t, "time"));
	if (!have_samples)
		aif_report_hide(r, "samples");
	for (size_t i = 0; w->is_untimed && i < AIF_ARRAY_LEN(timed); i++)
		aif_report_hide_known(r, timed[i]);
	return aif_table_sort(&r->t, aif_table_column(&r->t, w->is_untimed ? "samples" : "wall"));
}
