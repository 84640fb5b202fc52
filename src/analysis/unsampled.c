/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/unsampled.h"

#include "analysis/traits.h"
#include "base/human.h"
#include "text/table.h"

#include <errno.h>
#include <stdlib.h>

static bool has_samples(const struct aif_conservation *c)
{
	return c->sampled_attributed + c->sampled_unmatched + c->samples_dropped > 0;
}

/* Sets *ret to the place of a row's kernel among the sums. 0; -ENOENT: it is of none; -ENOMEM. */
static int place_of(struct aif_map *names, const struct aif_profile *p,
		    const struct aif_attribution_row *row, uint64_t *ret)
{
	uint32_t name;

	*ret = names->len;
	if (row->kind != AIF_LAUNCH_KERNEL || row->kernel == AIF_NONE)
		return -ENOENT;
	name = p->kernels[row->kernel].name;
	return aif_map_get(names, name, ret) ? 0 : aif_map_put(names, name, *ret);
}

struct unsampled {
	uint64_t kernels, launches; /* kernels of one name are one */
	uint64_t wall_ns;           /* their part of the busy time */
};

/* Sums them; none in a profile without samples, or of samples alone. 0 or -ENOMEM. */
static int sum_up(const struct aif_profile *p, const struct aif_attribution *a,
		  struct unsampled *ret)
{
	struct aif_map names = {0};
	struct sum {
		uint64_t samples, launches, wall_ns;
	} * sums;
	int r = 0;

	*ret = (struct unsampled){0};
	if (!has_samples(&a->conservation) || p->traits.is_lengths || aif_is_untimed(p, a))
		return 0;
	sums = calloc(p->kernels_len + 1, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < a->rows_len && r != -ENOMEM; i++) {
		const struct aif_attribution_row *row = &a->rows[i];
		uint64_t at;

		r = place_of(&names, p, row, &at);
		if (r)
			continue;
		sums[at].samples += row->samples;
		sums[at].launches += row->launches;
		sums[at].wall_ns += row->wall_ns;
	}
	for (size_t i = 0; i < names.len; i++) {
		if (sums[i].samples || !sums[i].launches)
			continue;
		ret->kernels++;
		ret->launches += sums[i].launches;
		ret->wall_ns += sums[i].wall_ns;
	}
	aif_map_finish(&names);
	free(sums);
	return r == -ENOMEM ? r : 0;
}

void aif_unsampled_say(const struct aif_profile *p, const struct aif_attribution *a,
		       struct aif_buf *out)
{
	struct unsampled u;

	if (sum_up(p, a, &u) < 0)
		out->failed = true;
	if (!u.kernels)
		return;
	aif_human_counted(out, u.kernels, "kernel");
	aif_buf_puts(out, " without a sample: ");
	aif_human_counted(out, u.launches, "launch");
	aif_buf_puts(out, ", ");
	aif_human_share(out, aif_share_ppm(u.wall_ns, a->conservation.busy_ns));
	aif_buf_puts(out, " of the busy time");
}
