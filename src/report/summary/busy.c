/* SPDX-License-Identifier: Apache-2.0 */
/* The summary's line of how busy the devices were. */
#include "report/summary/parts.h"
#include "base/u64_of.h"
#include "text/table.h"

#include <math.h>

void aif_summary_error(double variance, uint64_t time, uint64_t of, struct aif_buf *out)
{
	double part = time ? sqrt(variance) / (double)time : 0;

	if (part <= 0)
		return;
	aif_buf_puts(out, " \u00b1");
	aif_human_ns(out, aif_u64_of(part * (double)of));
	if (part > 0.5)
		aif_buf_puts(out, " (too few blocks to tell)");
}

static void put_ns(struct aif_buf *out, const char *before, uint64_t ns)
{
	if (!ns)
		return;
	aif_buf_puts(out, before);
	aif_human_ns(out, ns);
}

/* Returns the standard error of busy / (busy + idle), ppm. The error of their sum is the part of
 * idle's that busy does not have. */
static uint64_t share_error(const struct aif_conservation *c)
{
	double busy = (double)c->busy_ns, known = busy + (double)c->idle_ns,
	       error = (double)c->error_ns, idle_error = (double)c->idle_error_ns,
	       known_error = sqrt(AIF_MAX(idle_error * idle_error - error * error, 0));

	return known > 0 ? aif_u64_of(1e6 * hypot(error, known_error * busy / known) / known) : 0;
}

void aif_summary_busy(const struct aif_conservation *c, struct aif_buf *out)
{
	uint64_t known = c->busy_ns + c->idle_ns;

	aif_human_share(out, aif_share_ppm(c->busy_ns, known));
	if (c->error_ns || c->idle_error_ns) {
		aif_buf_puts(out, " \u00b1");
		aif_human_share(out, share_error(c));
	}
	aif_buf_puts(out, c->uncollected_ns ? " of the time that was collected" : " of the time");
	aif_buf_puts(out, c->devices > 1 ? " from each device's first to its last work"
					 : " from the first to the last device work");
	aif_buf_puts(out, " (kernels ");
	aif_human_ns(out, c->busy_kernel_ns);
	aif_buf_puts(out, ", copies alone ");
	aif_human_ns(out, c->busy_copy_ns);
	aif_buf_puts(out, "), idle ");
	aif_human_ns(out, c->idle_ns);
	put_ns(out, " \u00b1", c->idle_error_ns);
	put_ns(out, "; not collected ", c->uncollected_ns);
	put_ns(out, "; before the first work ", c->before_ns);
	put_ns(out, "; after the last ", c->after_ns);
	put_ns(out, "; overlapping ", c->overlap_ns);
}
