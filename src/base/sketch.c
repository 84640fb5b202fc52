/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sketch.h"

#include "base/duration_bucket.h"

static_assert(AIF_SKETCH_SIZES == AIF_DURATION_BUCKETS, "one size for each bucket");

void aif_sketch_add(struct aif_sketch *s, uint64_t value)
{
	if (s->len >= AIF_SKETCH_FULL) {
		s->len = 0;
		for (unsigned i = 0; i < AIF_SKETCH_SIZES; i++)
			s->len += s->count[i] /= 2;
	}
	s->count[aif_duration_bucket(value)]++;
	s->len++;
}

uint64_t aif_sketch_quantile(const struct aif_sketch *s, double part, uint64_t *ret_most)
{
	double wanted = part * s->len, seen = 0;
	uint64_t least = 0, more = 0;
	unsigned i = 0;

	for (; i < AIF_SKETCH_SIZES && s->len; i++) {
		seen += s->count[i];
		if (s->count[i] && seen >= wanted)
			break;
	}
	if (s->len)
		least = aif_duration_least(i, &more);
	if (ret_most)
		*ret_most = least + more;
	return least + more / 2;
}
