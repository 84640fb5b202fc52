/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/active.h"

#include <errno.h>

static uint64_t end_of(const struct aif_active *a, size_t i)
{
	return a->at[i].run->end;
}

int aif_active_push(struct aif_active *a, const struct aif_active_run *run)
{
	size_t i = a->len;

	if (aif_grow(&a->at, &a->cap, a->len + 1, sizeof(*a->at)) < 0)
		return -ENOMEM;
	for (a->len++; i && end_of(a, (i - 1) / 2) > run->run->end; i = (i - 1) / 2)
		a->at[i] = a->at[(i - 1) / 2];
	a->at[i] = *run;
	a->kernels += run->is_kernel;
	return 0;
}

struct aif_active_run aif_active_pop(struct aif_active *a)
{
	struct aif_active_run top = a->at[0], last = a->at[--a->len];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < a->len; i = child) {
		if (child + 1 < a->len && end_of(a, child + 1) < end_of(a, child))
			child++;
		if (end_of(a, child) >= last.run->end)
			break;
		a->at[i] = a->at[child];
	}
	a->at[i] = last;
	a->kernels -= top.is_kernel;
	return top;
}

void aif_active_finish(struct aif_active *a)
{
	free(a->at);
	*a = (struct aif_active){0};
}
