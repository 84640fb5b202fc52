/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution.h"

#include <inttypes.h>

/* left = the sum of right[0..n)? */
static bool equal(struct aif_buf *ret, const char *what, uint64_t left, const uint64_t *right,
		  int n)
{
	unsigned __int128 sum = 0;

	for (int i = 0; i < n; i++)
		sum += right[i];
	if (sum == left)
		return true;
	if (ret)
		aif_buf_printf(ret, "%s: %" PRIu64 " on the left, %" PRIu64 " on the right", what,
			       left, (uint64_t)sum);
	return false;
}

bool aif_conservation_check(const struct aif_conservation *c, struct aif_buf *ret_text)
{
	const uint64_t time[] = {c->before_ns, c->busy_ns, c->idle_ns, c->uncollected_ns,
				 c->after_ns},
		       durations[] = {c->busy_ns, c->overlap_ns},
		       samples[] = {c->sampled_attributed, c->sampled_unmatched,
				    c->samples_dropped,    c->samples_outside,
				    c->samples_off,        c->samples_in_flight},
		       launches[] = {c->joined, c->unfinished, c->unread, c->unreported,
				     c->lost,   c->uncaptured, c->outside},
		       busy[] = {c->busy_kernel_ns, c->busy_copy_ns};

	if (c->started_before_launch) {
		if (ret_text)
			aif_buf_printf(ret_text,
				       "%" PRIu64
				       " executions start before their launch: a clock was "
				       "mapped wrongly",
				       c->started_before_launch);
		return false;
	}
	if (c->damaged) {
		if (ret_text)
			aif_buf_printf(ret_text,
				       "%" PRIu64
				       " parts of the file are damaged: what they held is "
				       "missing here",
				       c->damaged);
		return false;
	}
	return equal(ret_text, "elapsed x devices = before + busy + idle + not collected + after",
		     c->elapsed_ns * c->devices, time, 5) &&
	       equal(ret_text, "busy = kernels + copies", c->busy_ns, busy, 2) &&
	       equal(ret_text, "durations = busy + overlap", c->durations_ns, durations, 2) &&
	       equal(ret_text,
		     "samples = attributed + unmatched + dropped + outside + off + in flight",
		     c->samples, samples, 6) &&
	       equal(ret_text,
		     "launches = joined + in flight + unread + untold + lost + uncaptured + "
		     "seen from outside",
		     c->launches, launches, 7);
}
