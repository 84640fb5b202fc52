/* SPDX-License-Identifier: Apache-2.0 */
#include "report/launch_counters.h"

#include "profile/file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the counter's index, or AIF_LAUNCH_COUNTERS_MAX: there are too many. */
static size_t index_of(struct aif_launch_counters *c, uint32_t name)
{
	size_t i = 0;

	while (i < c->len && c->names[i] != name)
		i++;
	if (i == c->len && i < AIF_LAUNCH_COUNTERS_MAX)
		c->names[c->len++] = name;
	return i;
}

static int take_row(struct aif_launch_counters *c, const struct aif_counter_row *row)
{
	size_t i = index_of(c, row->name);
	uint64_t at;

	if (i == AIF_LAUNCH_COUNTERS_MAX)
		return 0;
	if (!aif_map_get(&c->launches, row->launch - 1, &at)) {
		at = c->sums_len;
		if (aif_grow(&c->sums, &c->sums_cap, at + 1, sizeof(*c->sums)) < 0 ||
		    aif_map_put(&c->launches, row->launch - 1, at) < 0)
			return -ENOMEM;
		memset(c->sums[c->sums_len++], 0, sizeof(*c->sums));
	}
	c->sums[at][i].sum += row->value;
	c->sums[at][i].values++;
	return 0;
}

static int take(void *arg, const struct aif_counter_row *rows, size_t n)
{
	int e = 0;

	for (size_t i = 0; i < n && !e; i++)
		if (rows[i].launch && rows[i].name != AIF_NONE && isfinite(rows[i].value))
			e = take_row(arg, &rows[i]);
	return e;
}

int aif_launch_counters_read(const struct aif_profile *p, struct aif_launch_counters *ret)
{
	*ret = (struct aif_launch_counters){0};
	return aif_profile_counters(p, take, ret, NULL);
}

void aif_launch_counters_finish(struct aif_launch_counters *c)
{
	aif_map_finish(&c->launches);
	free(c->sums);
}

bool aif_launch_counter(const struct aif_launch_counters *c, uint64_t launch, size_t i, double *ret)
{
	uint64_t at;

	if (!aif_map_get(&c->launches, launch, &at) || !c->sums[at][i].values)
		return false;
	*ret = c->sums[at][i].sum / (double)c->sums[at][i].values;
	return true;
}
