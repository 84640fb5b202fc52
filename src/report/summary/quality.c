/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/traits.h"
#include "analysis/no_samples.h"
#include "report/summary/summary.h"
#include "text/table.h"

/* Says how much of the work was captured and timed, and has a complete stack: a line of the summary, and of
 * pictures. */

/* Returns the share of time (of samples where there are no times) whose stack is complete, in
 * 1/1,000,000. */
static uint64_t complete_ppm(const struct aif_profile *p, const struct aif_attribution *a)
{
	bool is_untimed = aif_is_untimed(p, a);
	uint64_t whole = 0, complete = 0;

	for (size_t i = 0; i < a->rows_len; i++) {
		const struct aif_attribution_row *row = &a->rows[i];
		uint64_t width = is_untimed ? row->samples : row->time_ns;

		if (row->grade == AIF_GRADE_UNMATCHED) /* of no launch, so of no stack */
			continue;
		whole += width;
		if (row->stack != AIF_NONE && !(p->stacks[row->stack].flags & AIF_STACK_TRUNCATED))
			complete += width;
	}
	return aif_share_ppm(complete, whole);
}

/* Appends the error of the busy time, which is the total of all. */
static void put_total_error(const struct aif_conservation *c, struct aif_buf *out)
{
	if (!c->error_ns)
		return;
	if (c->error_ns > c->busy_ns / 2) {
		aif_buf_puts(out, " (too few blocks to tell totals)");
		return;
	}
	aif_buf_puts(out, " (totals \u00b1");
	aif_human_share(out, aif_share_ppm(c->error_ns, c->busy_ns));
	aif_buf_putc(out, ')');
}

/* Appends the share of launches that were lost and that no captured launch stands for. */
static void put_missing(const struct aif_profile *p, const struct aif_conservation *c,
			struct aif_buf *out)
{
	uint64_t missing = 0;

	for (size_t i = 0; i < p->losses_len; i++)
		if (aif_lack_after(p->losses[i].reason) == AIF_LACK_LAUNCHES)
			missing += p->losses[i].count;
	if (missing < (c->launches + missing) / 1000 || !missing)
		return;
	aif_human_share(out, aif_share_ppm(missing, c->launches + missing));
	aif_buf_puts(out, " of all launches are missing, ");
}

static void put_shares(const struct aif_profile *p, const struct aif_attribution *a,
		       struct aif_buf *out)
{
	const struct aif_conservation *c = &a->conservation;
	uint64_t inside = c->sampled_attributed + c->sampled_unmatched + c->samples_dropped,
		 captured = c->launches - c->uncaptured,
		 /* A part of the recording counts only captured launches as its own. */
		left_out = c->uncaptured ? c->uncaptured : c->left_out;

	if (p->traits.is_lengths && !p->traits.samples_unknown) {
		aif_buf_puts(out, "stacks of ");
		aif_human_counted(out, inside, "sample");
		aif_buf_puts(out, ": when and how often something ran is not known");
		return;
	}
	if (p->traits.is_lengths) {
		aif_buf_puts(out, "stacks with lengths: when and how often is not known");
		return;
	}
	put_missing(p, c, out);
	if (left_out) {
		aif_human_share(out, aif_share_ppm(captured, captured + left_out));
		aif_buf_puts(out, " of launches captured");
		put_total_error(c, out);
		aif_buf_puts(out, ", ");
	}
	if (!c->launches) { /* a trace of a device alone */
		aif_buf_puts(out, "no launches known, so no stacks, ");
	} else {
		aif_human_share(out, aif_share_ppm(c->joined, captured));
		aif_buf_puts(out, left_out ? " of them timed, " : " of launches timed, ");
		aif_human_share(out, complete_ppm(p, a));
		aif_buf_puts(out, " of stacks complete, ");
	}
	if (inside) {
		aif_human_share(out, aif_share_ppm(c->sampled_attributed, inside));
		aif_buf_puts(out, " of ");
		aif_human_counted(out, inside, "sample");
		aif_buf_puts(out, " attributed");
	} else {
		(void)aif_no_samples_say(p, out);
	}
}

void aif_summary_lacks(const struct aif_profile *p, unsigned of, struct aif_buf *out)
{
	struct aif_buf lacks = {0};

	if (aif_lacks_say(&p->traits, of, &lacks))
		aif_buf_printf(out, "%s%s", out->len ? "; " : "", aif_buf_str(&lacks));
	aif_buf_finish(&lacks);
}

/* Shares say what stacks and times lack; of the rest there is no share, nor of samples that were lost. */
void aif_summary_quality(const struct aif_profile *p, const struct aif_attribution *a,
			 struct aif_buf *out)
{
	put_shares(p, a, out);
	aif_summary_lacks(p,
			  AIF_LACK_WORK | AIF_LACK_RECORDS | AIF_LACK_JOINS | AIF_LACK_SAMPLES |
				  AIF_LACK_EVENTS,
			  out);
}
