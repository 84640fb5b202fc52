/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/round.h"

#include <errno.h>

/*
 * Two ways to round. Times of groups: by largest remainders, as each is large and stands for
 * itself.
 *
 * Samples: a place of 3 samples that 500 stacks share has 500 small remainders, which would all
 * lose against one of 0.5 elsewhere, and its kernel with them. So what a place has stays there:
 * its fractions are laid end to end, and each gets the whole numbers that it covers, counted
 * from where the place's own number falls (systematic sampling; Cochran, Sampling Techniques,
 * chapter 8). No stack is favoured.
 */

struct rest {
	uint64_t fraction;
	size_t i;
};

static int by_rest(const void *a, const void *b)
{
	const struct rest *x = a, *y = b;

	return AIF_ORDER(y->fraction, x->fraction) ?: AIF_ORDER(x->i, y->i);
}

int aif_round(const aif_fraction *fractions, size_t n, uint64_t total, uint64_t *ret)
{
	struct rest *rests = malloc(AIF_MAX(n, 1) * sizeof(*rests));
	uint64_t sum = 0;

	if (!rests)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		ret[i] = (uint64_t)(fractions[i] >> AIF_FRACTION_BITS);
		rests[i].fraction = (uint64_t)fractions[i] & ((1u << AIF_FRACTION_BITS) - 1);
		rests[i].i = i;
		sum += ret[i];
	}
	qsort(rests, n, sizeof(*rests), by_rest);
	if (n && sum < total) {
		uint64_t each = (total - sum) / n, more = (total - sum) % n;

		for (size_t i = 0; i < n; i++)
			ret[rests[i].i] += each + (i < more);
		sum = total;
	}
	/* Fractions that were rounded upwards before they came here may sum to a little too much;
	 * those of a hostile file to anything. */
	for (size_t i = n; i-- > 0 && sum > total;)
		if (ret[rests[i].i]) {
			ret[rests[i].i]--;
			sum--;
		}
	for (size_t i = n; i-- > 0 && sum > total;) {
		uint64_t less = AIF_MIN(ret[rests[i].i], sum - total);

		ret[rests[i].i] -= less;
		sum -= less;
	}
	free(rests);
	return 0;
}

int aif_round_samples(const struct aif_insides *insides, const struct aif_groups *groups,
		      uint64_t *ret)
{
	struct aif_map covered = {0}; /* place -> the fraction that lies before the next inside */
	int r = 0;

	for (size_t i = 0; i < insides->len && !r; i++) {
		const struct aif_inside *in = &insides->at[i];
		uint32_t place[3] = {groups->at[in->group].process, in->frame, in->reason};
		uint64_t key = aif_hash_bytes(place, sizeof(place)), before;
		aif_fraction end;

		if (!aif_map_get(&covered, key, &before))
			before = aif_mix64(key) & ((1u << AIF_FRACTION_BITS) - 1);
		end = before + in->samples;
		ret[i] = (uint64_t)(end >> AIF_FRACTION_BITS);
		r = aif_map_put(&covered, key, (uint64_t)end & ((1u << AIF_FRACTION_BITS) - 1));
	}
	aif_map_finish(&covered);
	return r;
}
