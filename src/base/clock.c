/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#define TRIES 5

bool aif_clock_read(bool (*read)(void *arg, uint64_t *ret_value), void *arg,
		    struct aif_clock_reading *ret)
{
	struct aif_clock_reading best = {.after = UINT64_MAX};

	for (unsigned i = 0; i < TRIES; i++) {
		struct aif_clock_reading r = {.before = aif_now_ns()};

		if (!read(arg, &r.value))
			return false;
		r.after = aif_now_ns();
		if (r.after - r.before < best.after - best.before)
			best = r;
	}
	*ret = best;
	return true;
}
