/* SPDX-License-Identifier: Apache-2.0 */
#include "report/kernel_uses.h"

#include "base/human.h"
#include "base/u64_of.h"

/* Adds a cell with a rate, in billions a second; 0: none is known. */
static void rate_cell(struct aif_report *r, double amount, double ns, bool *have)
{
	*have |= amount > 0;
	aif_table_number(&r->t, amount > 0 ? (uint64_t)(amount / ns + 0.5) : AIF_TABLE_NO_VALUE);
}

/* Sets *ret to the share of a kernel's samples in which something was issued. False: samples do not tell. */
static bool issue_share(const struct aif_stalls *s, const struct aif_work_sum *of, double *ret)
{
	uint64_t exposed = 0, k;

	if (of->kind != AIF_LAUNCH_KERNEL || of->kernel == AIF_NONE ||
	    !aif_map_get(&s->by_name, s->p->kernels[of->kernel].name, &k) || !s->kernels[k].samples)
		return false;
	for (size_t i = s->kernels[k].first; i < s->kernels[k].first + s->kernels[k].len; i++)
		exposed += s->sums[i].exposed;
	*ret = 1 - (double)AIF_MIN(exposed, s->kernels[k].samples) / (double)s->kernels[k].samples;
	return exposed > 0;
}

int aif_kernel_uses_make(struct aif_kernel_uses *u, struct aif_report *r)
{
	int e = aif_stalls_init(&u->stalls, r->p, r->a);

	if (e || r->p->traits.is_lengths)
		return e;
	return aif_opportunity_make(r->p, r->o->sel, r->timeline, NULL, NULL, &u->work);
}

void aif_kernel_uses_cells(struct aif_kernel_uses *u, struct aif_report *r,
			   const struct aif_work_sum *s)
{
	const struct aif_opportunity_kernel *k =
		aif_opportunity_of(&u->work, r->p, s->kind, s->kernel);
	bool is_work = k && k->is_known, is_used = is_work && k->has_roof, is_issue = false;
	double used = 0;

	if (is_used)
		used = aif_opportunity_used(k);
	else
		is_issue = issue_share(&u->stalls, s, &used);
	u->have_any |= is_used || is_issue;
	u->no_work += s->kind == AIF_LAUNCH_KERNEL && s->wall && !is_work;
	aif_table_number(&r->t, is_used || is_issue ? aif_u64_of(used * 1e6) : AIF_TABLE_NO_VALUE);
	aif_table_text(&r->t, is_used ? aif_opportunity_bound(k) : is_issue ? "issue" : "");
	aif_table_number(&r->t, is_used || is_issue ? aif_u64_of((double)s->wall * (1 - used))
						    : AIF_TABLE_NO_VALUE);
	rate_cell(r, is_work ? k->flops : 0, is_work ? k->known_ns : 1, &u->have_flops);
	rate_cell(r, is_work ? k->bytes : 0, is_work ? k->known_ns : 1, &u->have_bytes);
}

static void say_what_is_not_known(const struct aif_kernel_uses *u, struct aif_report *r)
{
	struct aif_buf *b = &r->after;
	size_t len = b->len;

	aif_opportunity_say_precision(&u->work, r->p, b);
	if (b->len > len)
		aif_buf_putc(b, '\n');
	if (!u->have_flops && !u->have_bytes)
		return;
	if (u->work.without_roof != AIF_NONE)
		aif_buf_printf(
			b,
			"used: the peaks of %s are not listed, and it did not report its clocks: "
			"docs/analysis.md says how to add it\n",
			aif_profile_str(r->p, u->work.without_roof));
	if (u->no_work) {
		aif_human_counted(b, u->no_work, "kernel");
		aif_buf_puts(
			b,
			" without gflop_s and gb_s: no operator with known shapes says how much they compute and move\n");
	}
}

void aif_kernel_uses_end(const struct aif_kernel_uses *u, struct aif_report *r)
{
	static const char *const columns[] = {"used", "of", "opportunity"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(columns) && !u->have_any; i++)
		aif_report_hide(r, columns[i]);
	if (!u->have_flops)
		aif_report_hide(r, "gflop_s");
	if (!u->have_bytes)
		aif_report_hide(r, "gb_s");
	if (r->o->format == AIF_TABLE_PLAIN)
		say_what_is_not_known(u, r);
}

void aif_kernel_uses_finish(struct aif_kernel_uses *u)
{
	aif_opportunity_finish(&u->work);
	aif_stalls_finish(&u->stalls);
}
