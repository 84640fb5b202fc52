/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution.h"

#include <errno.h>
#include <string.h>

const char *aif_grade_name(enum aif_grade grade)
{
	static const char *const names[] = {"exact", "apportioned", "mixed", "sampled",
					    "unmatched"};

	return (unsigned)grade < AIF_ARRAY_LEN(names) ? names[grade] : "?";
}

int aif_attribution_take_unmatched(struct aif_attribution *a)
{
	size_t cap = a->rows_len; /* Spare room behind computed rows is not known: assumes none. */

	if (!a->unmatched_len)
		return 0;
	if (aif_grow(&a->rows, &cap, a->rows_len + a->unmatched_len, sizeof(*a->rows)) < 0)
		return -ENOMEM;
	memcpy(a->rows + a->rows_len, a->unmatched, a->unmatched_len * sizeof(*a->rows));
	a->rows_len += a->unmatched_len;
	a->unmatched_len = 0;
	return 0;
}

bool aif_attribution_is_untimed(const struct aif_attribution *a)
{
	bool has_samples = a->unmatched_len;

	for (size_t i = 0; i < a->rows_len; i++) {
		if (a->rows[i].wall_ns || a->rows[i].time_ns)
			return false;
		has_samples |= a->rows[i].samples;
	}
	return has_samples;
}

void aif_attribution_finish(struct aif_attribution *a)
{
	free(a->rows);
	free(a->unmatched);
	free(a->devices);
	*a = (struct aif_attribution){0};
}
