/* SPDX-License-Identifier: Apache-2.0 */
#include "report/change_text.h"

#include "analysis/exec_timeline.h"
#include "base/human.h"

#include <inttypes.h>
#include <math.h>

static void put_ns(struct aif_buf *out, double ns)
{
	aif_human_ns(out, aif_timed_rounded(ns));
}

void aif_change_say(const struct aif_names *names, const struct aif_step_change *c,
		    const char *place, struct aif_buf *out)
{
	const struct aif_process *of = &names->p->processes[c->process];

	if (of->rank)
		aif_buf_printf(out, "rank %" PRIu32 ", ", of->rank - 1);
	aif_buf_puts(out, c->first == c->last ? "step " : c->goes_on ? "from step " : "steps ");
	aif_human_count(out, c->first);
	if (c->first != c->last && c->goes_on) {
		aif_buf_puts(out, " on");
	} else if (c->first != c->last) {
		aif_buf_puts(out, " to ");
		aif_human_count(out, c->last);
	}
	aif_buf_puts(out, ": ");
	put_ns(out, fabs(c->ns - c->usual_ns));
	aif_buf_printf(out, " a step %s ", c->ns < c->usual_ns ? "shorter" : "longer");
	if (c->of.sum == AIF_STEP_SUM_IDLE)
		aif_buf_printf(out, "idle before %s", *place ? place : "a place that is not known");
	else if (c->of.sum == AIF_STEP_SUM_COMPUTE)
		aif_buf_puts(out, "in all kernels together");
	else
		aif_buf_printf(out, "in %s%s%s", aif_names_work(names, c->of.kind, c->of.kernel),
			       *place ? " of " : "", place);
	aif_buf_puts(out, " (");
	put_ns(out, c->ns);
	aif_buf_puts(out, ", else ");
	put_ns(out, c->usual_ns);
	aif_buf_putc(out, ')');
}
