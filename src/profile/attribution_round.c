/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/attribution_internal.h"

#include <errno.h>

struct rest {
	uint64_t fraction;
	size_t i;
};

static int by_rest(const void *a, const void *b)
{
	const struct rest *x = a, *y = b;

	if (x->fraction != y->fraction)
		return x->fraction > y->fraction ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

int aif_attribution_round(const aif_fraction *fractions, size_t n, uint64_t total, uint64_t *ret)
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
