/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/unmatched.h"

#include <errno.h>

int aif_unmatched_add(struct aif_unmatched *u, const struct aif_sample_row *row)
{
	if (aif_grow(&u->samples, &u->samples_cap, u->samples_len + 1, sizeof(*row)) < 0)
		return -ENOMEM;
	u->samples[u->samples_len++] = *row;
	return 0;
}

static int by_owner(const void *a, const void *b)
{
	const struct aif_sample_row *x = a, *y = b;

	return AIF_ORDER(x->process, y->process) ?: AIF_ORDER(x->device, y->device)
	       ?: AIF_ORDER(x->frame, y->frame) ?: AIF_ORDER(x->reason, y->reason);
}

int aif_unmatched_make_rows(struct aif_unmatched *u, const struct aif_scope *s)
{
	if (u->samples_len)
		qsort(u->samples, u->samples_len, sizeof(*u->samples), by_owner);
	for (size_t i = 0; i < u->samples_len; i++) {
		const struct aif_sample_row *row = &u->samples[i];

		if (i && !by_owner(row - 1, row)) {
			u->rows[u->rows_len - 1].samples += row->count;
			continue;
		}
		if (aif_grow(&u->rows, &u->rows_cap, u->rows_len + 1, sizeof(*u->rows)) < 0)
			return -ENOMEM;
		u->rows[u->rows_len++] =
			(struct aif_attribution_row){.process = row->process,
						     .device = row->device,
						     .stream = AIF_NONE,
						     .kind = AIF_LAUNCH_KERNEL,
						     .kernel = aif_scope_kernel_at(s, row->frame),
						     .stack = AIF_NONE,
						     .capture = AIF_NONE,
						     .frame = row->frame,
						     .reason = row->reason,
						     .grade = AIF_GRADE_UNMATCHED,
						     .samples = row->count};
	}
	return 0;
}

void aif_unmatched_finish(struct aif_unmatched *u)
{
	free(u->samples);
	free(u->rows);
	*u = (struct aif_unmatched){0};
}
