/* SPDX-License-Identifier: Apache-2.0 */
#include "report/stalls.h"

#include "analysis/traits.h"
#include "analysis/no_samples.h"
#include "analysis/unsampled.h"
#include "report/report_table.h"
#include "names/stall_rules.h"

#include <errno.h>
#include <string.h>

/* Reasons with a smaller share of a kernel's samples are one line together. */
#define SMALL_PPM 10000

/* ---- summing up ------------------------------------------------------------------------------ */

static bool has_reason(const struct aif_attribution_row *row)
{
	return row->kind == AIF_LAUNCH_KERNEL && row->kernel != AIF_NONE &&
	       row->reason != AIF_NONE && row->samples;
}

static struct aif_stall_kernel *kernel_get(struct aif_stalls *s, uint32_t kernel, bool make)
{
	uint64_t name = s->p->kernels[kernel].name, at;

	if (aif_map_get(&s->by_name, name, &at))
		return &s->kernels[at];
	if (!make ||
	    aif_grow(&s->kernels, &s->kernels_cap, s->kernels_len + 1, sizeof(*s->kernels)) < 0 ||
	    aif_map_put(&s->by_name, name, s->kernels_len) < 0)
		return NULL;
	s->kernels[s->kernels_len] = (struct aif_stall_kernel){.kernel = kernel};
	return &s->kernels[s->kernels_len++];
}

static int row_add(struct aif_stalls *s, struct aif_map *sums,
		   const struct aif_attribution_row *row)
{
	struct aif_stall_kernel *k = kernel_get(s, row->kernel, true);
	const char *text = aif_profile_str(s->p, row->reason);
	bool is_exposed;
	size_t len = aif_stall_base(text, strlen(text), &is_exposed);
	uint32_t reason = aif_strset_put(&s->reasons, text, len);
	uint64_t at;

	if (!k || reason == AIF_STR_NONE)
		return -ENOMEM;
	if (!aif_map_get(sums, (uint64_t)k->kernel << 32 | reason, &at)) {
		at = s->sums_len;
		if (aif_grow(&s->sums, &s->sums_cap, at + 1, sizeof(*s->sums)) < 0 ||
		    aif_map_put(sums, (uint64_t)k->kernel << 32 | reason, at) < 0)
			return -ENOMEM;
		s->sums[s->sums_len++] =
			(struct aif_stall_sum){.kernel = k->kernel, .reason = reason};
		k->len++;
	}
	k->samples += row->samples;
	s->sums[at].samples += row->samples;
	s->sums[at].exposed += is_exposed ? row->samples : 0;
	return 0;
}

static int by_wall(const void *pa, const void *pb)
{
	const struct aif_stall_kernel *a = pa, *b = pb;

	return AIF_ORDER(b->wall_ns, a->wall_ns) ?: AIF_ORDER(a->kernel, b->kernel);
}

static int by_kernel(const void *pa, const void *pb, void *arg)
{
	const struct aif_stalls *s = arg;
	const struct aif_stall_sum *a = pa, *b = pb;
	uint64_t x = 0, y = 0;

	if (a->kernel != b->kernel) {
		aif_map_get(&s->by_name, s->p->kernels[a->kernel].name, &x);
		aif_map_get(&s->by_name, s->p->kernels[b->kernel].name, &y);
		return x < y ? -1 : 1;
	}
	return AIF_ORDER(b->samples, a->samples) ?: AIF_ORDER(a->reason, b->reason);
}

static int order(struct aif_stalls *s)
{
	size_t first = 0;

	if (!s->kernels_len)
		return 0;
	qsort(s->kernels, s->kernels_len, sizeof(*s->kernels), by_wall);
	for (size_t i = 0; i < s->kernels_len; i++) {
		if (aif_map_put(&s->by_name, s->p->kernels[s->kernels[i].kernel].name, i) < 0)
			return -ENOMEM;
		s->kernels[i].first = first;
		first += s->kernels[i].len;
	}
	qsort_r(s->sums, s->sums_len, sizeof(*s->sums), by_kernel, s);
	return 0;
}

int aif_stalls_init(struct aif_stalls *s, const struct aif_profile *p,
		    const struct aif_attribution *a)
{
	struct aif_map sums = {0};
	int r = 0;

	*s = (struct aif_stalls){.p = p};
	for (size_t i = 0; r == 0 && i < a->rows_len; i++)
		if (has_reason(&a->rows[i]))
			r = row_add(s, &sums, &a->rows[i]);
	/* Kernels with reasons get all of their time, also that without samples. */
	for (size_t i = 0; r == 0 && i < a->rows_len; i++) {
		struct aif_stall_kernel *k;

		if (a->rows[i].kind != AIF_LAUNCH_KERNEL || a->rows[i].kernel == AIF_NONE)
			continue;
		k = kernel_get(s, a->rows[i].kernel, false);
		if (k)
			k->wall_ns += a->rows[i].wall_ns;
	}
	if (r == 0)
		r = order(s);
	aif_map_finish(&sums);
	if (r < 0)
		aif_stalls_finish(s);
	return r;
}

void aif_stalls_finish(struct aif_stalls *s)
{
	aif_strset_finish(&s->reasons);
	aif_map_finish(&s->by_name);
	free(s->kernels);
	free(s->sums);
	*s = (struct aif_stalls){0};
}

/* ---- printing -------------------------------------------------------------------------------- */

static const char *reason_text(const struct aif_stalls *s, const struct aif_stall_sum *sum,
			       const struct aif_stall **ret_rule)
{
	size_t len;
	const char *text = aif_strset_get(&s->reasons, sum->reason, &len);

	*ret_rule = aif_stall_find(text, len);
	return text;
}

void aif_stalls_top(const struct aif_stalls *s, uint32_t kernel, struct aif_buf *out)
{
	const struct aif_stall *rule;
	uint64_t at;

	if (kernel >= s->p->kernels_len ||
	    !aif_map_get(&s->by_name, s->p->kernels[kernel].name, &at))
		return;
	for (size_t i = 0; i < s->kernels[at].len; i++) {
		const struct aif_stall_sum *sum = &s->sums[s->kernels[at].first + i];
		const char *text = reason_text(s, sum, &rule);

		if (rule->of == AIF_STALL_ISSUE)
			continue;
		aif_buf_printf(out, "%s ", text);
		aif_human_share(out, aif_share_ppm(sum->samples, s->kernels[at].samples));
		return;
	}
}

static void share_cell(struct aif_buf *out, uint64_t part, uint64_t whole, bool is_known)
{
	struct aif_buf cell = {0};

	if (is_known)
		aif_human_share(&cell, aif_share_ppm(part, whole));
	else
		aif_buf_putc(&cell, '-');
	aif_buf_printf(out, "%8s  ", aif_buf_str(&cell));
	aif_buf_finish(&cell);
}

/* Prints a reason's line. True if exposed and hidden samples are distinguished. */
static bool print_sum(const struct aif_stalls *s, const struct aif_stall_kernel *k,
		      const struct aif_stall_sum *sum, struct aif_buf *out)
{
	const struct aif_stall *rule;
	const char *text = reason_text(s, sum, &rule);

	share_cell(out, sum->samples, k->samples, true);
	share_cell(out, sum->exposed, k->samples, rule->pairs);
	share_cell(out, sum->samples - sum->exposed, k->samples, rule->pairs);
	aif_buf_printf(out, "%-9s  %s\n", aif_stall_class_name(rule->of), text);
	return rule->pairs;
}

/* Prints one line of the reasons from `i` on, which have few samples. */
static void print_rest(const struct aif_stalls *s, const struct aif_stall_kernel *k, size_t i,
		       struct aif_buf *out)
{
	size_t n = k->len - i;
	uint64_t samples = 0;

	if (!n)
		return;
	for (; i < k->len; i++)
		samples += s->sums[k->first + i].samples;
	share_cell(out, samples, k->samples, true);
	aif_buf_printf(out, "%-20s%-9s  %zu more\n", "", "", n);
}

static void print_kernel(const struct aif_report *r, const struct aif_stall_kernel *k)
{
	bool is_full = r->o->detail == AIF_NAME_FULL;
	struct aif_buf *out = r->out;

	aif_buf_puts(out, (is_full ? aif_names_work_full
				   : aif_names_work)(r->names, AIF_LAUNCH_KERNEL, k->kernel));
	aif_buf_puts(out, ": ");
	if (!aif_is_untimed(r->p, r->a)) {
		aif_human_share(out, aif_share_ppm(k->wall_ns, r->a->conservation.busy_ns));
		aif_buf_puts(out, " of busy time, ");
		aif_human_ns(out, k->wall_ns);
		aif_buf_puts(out, ", ");
	}
	aif_human_counted(out, k->samples, "sample");
	aif_buf_putc(out, '\n');
}

/* Prints the meaning of each reason that was shown, once. */
static void print_meanings(const struct aif_stalls *s, const struct aif_map *shown,
			   struct aif_buf *out)
{
	uint64_t one;

	for (uint32_t i = 0; i < s->reasons.len; i++) {
		size_t len;
		const char *text = aif_strset_get(&s->reasons, i, &len);
		const struct aif_stall *rule = aif_stall_find(text, len);

		if (!aif_map_get(shown, i, &one) || !*rule->meaning)
			continue;
		aif_buf_printf(out, "%-18s %s\n", text, rule->meaning);
		if (*rule->helps && rule->of != AIF_STALL_ISSUE)
			aif_buf_printf(out, "%-18s   helps: %s\n", "", rule->helps);
	}
}

/* Prints how much the kernels take that have no samples, and so no stalls. */
static void print_unsampled(const struct aif_report *r, struct aif_buf *out)
{
	struct aif_buf said = {0};

	if (!r->kernel.is_set)
		aif_unsampled_say(r->p, r->a, &said);
	if (said.len)
		aif_buf_printf(out, "%s\n\n", aif_buf_str(&said));
	out->failed |= aif_buf_failed(&said);
	aif_buf_finish(&said);
}

/* Prints the stalls of at most r->o->limit kernels, 0 = all, and what their reasons mean. */
static void print_kernels(const struct aif_report *r, const struct aif_stalls *s)
{
	uint32_t limit = r->o->limit;
	struct aif_buf *out = r->out;
	struct aif_map shown = {0};
	size_t kernels = 0, left = 0;
	bool has_pairs = false;

	for (size_t i = 0; i < s->kernels_len; i++) {
		const struct aif_stall_kernel *k = &s->kernels[i];
		size_t at = 0;

		if (!aif_report_has_kernel(r, AIF_LAUNCH_KERNEL, k->kernel))
			continue;
		if (limit && kernels == limit) {
			left++;
			continue;
		}
		kernels++;
		print_kernel(r, k);
		aif_buf_printf(out, "%8s  %8s  %8s  %-9s  %s\n", "share", "exposed", "hidden",
			       "class", "reason");
		for (; at < k->len; at++) {
			const struct aif_stall_sum *sum = &s->sums[k->first + at];

			if (at && aif_share_ppm(sum->samples, k->samples) < SMALL_PPM)
				break;
			has_pairs |= print_sum(s, k, sum, out);
			out->failed |= aif_map_put(&shown, sum->reason, 1) < 0;
		}
		print_rest(s, k, at, out);
		aif_buf_putc(out, '\n');
	}
	if (left) {
		aif_buf_puts(out, "and ");
		aif_human_counted(out, left, "more kernel");
		aif_buf_puts(out, ": --limit 0 shows all\n\n");
	}
	if (has_pairs)
		aif_buf_puts(out, "exposed: nothing else was issued meanwhile; hidden: another "
				  "warp was\n\n");
	print_unsampled(r, out);
	print_meanings(s, &shown, out);
	aif_map_finish(&shown);
}

/* ---- --stalls -------------------------------------------------------------------------------- */

static const struct aif_table_column columns[] = {
	{"share", AIF_TABLE_SHARE},   {"exposed", AIF_TABLE_SHARE}, {"hidden", AIF_TABLE_SHARE},
	{"samples", AIF_TABLE_COUNT}, {"class", AIF_TABLE_TEXT},    {"reason", AIF_TABLE_TEXT},
	{"meaning", AIF_TABLE_TEXT},  {"helps", AIF_TABLE_TEXT},    {"kernel", AIF_TABLE_TEXT},
};

static void put_rows(struct aif_report *r, const struct aif_stalls *s,
		     const struct aif_stall_kernel *k)
{
	for (size_t i = k->first; i < k->first + k->len; i++) {
		const struct aif_stall_sum *sum = &s->sums[i];
		uint64_t hidden = sum->samples - sum->exposed;
		const struct aif_stall *rule;
		const char *text = reason_text(s, sum, &rule);

		aif_table_number(&r->t, aif_share_ppm(sum->samples, k->samples));
		aif_table_number(&r->t, aif_share_ppm(sum->exposed, k->samples));
		aif_table_number(&r->t, rule->pairs ? aif_share_ppm(hidden, k->samples) : 0);
		aif_table_number(&r->t, sum->samples);
		aif_table_text(&r->t, aif_stall_class_name(rule->of));
		aif_table_text(&r->t, text);
		aif_table_text(&r->t, rule->meaning);
		aif_table_text(&r->t, rule->helps);
		aif_report_kernel_cell(r, AIF_LAUNCH_KERNEL, k->kernel);
	}
}

/* Makes rows of at most `limit` kernels, 0 = all: for programs, and for other orders. */
static void make_table(struct aif_report *r, const struct aif_stalls *s, uint32_t limit)
{
	uint32_t kernels = 0;

	aif_table_init(&r->t, columns, AIF_ARRAY_LEN(columns));
	/* Hides columns whose texts would take all of a line. */
	aif_report_hide(r, "meaning");
	aif_report_hide(r, "helps");
	for (size_t i = 0; i < s->kernels_len; i++) {
		if (!aif_report_has_kernel(r, AIF_LAUNCH_KERNEL, s->kernels[i].kernel))
			continue;
		if (limit && kernels++ == limit)
			break;
		put_rows(r, s, &s->kernels[i]);
	}
}

/* Explains why the profile has no stall reasons at all. */
static int no_stalls(const struct aif_report *r, struct aif_err *err)
{
	struct aif_buf why = {0};

	if (aif_selection_is_part(r->o->sel))
		return aif_err_set(err, -ENODATA,
				   "report: no stall reasons matching " AIF_REPORT_CHOOSES
				   "; widen the selection, or see aiflame info");
	aif_no_samples_because(r->p, &why);
	aif_err_set(err, -ENODATA,
		    "report: no stall reasons in this profile: they come with a GPU's "
		    "instruction samples%s",
		    aif_buf_str(&why));
	aif_buf_finish(&why);
	return -ENODATA;
}

/* Prints kernel by kernel where people read in the kernels' order, else makes a table. */
static int fill(struct aif_report *r, struct aif_err *err)
{
	bool is_table = r->o->format != AIF_TABLE_PLAIN || r->o->sort;
	size_t before = r->out->len;
	struct aif_stalls s;
	int e = aif_stalls_init(&s, r->p, r->a);

	if (e)
		return e;
	if (!s.kernels_len) {
		e = aif_left_out_error(aif_report_left_out_rows(r), "report", err);
		e = e ? e : no_stalls(r, err);
	} else if (!is_table) {
		print_kernels(r, &s);
	}
	/* In another order rows of kernels are no longer together, and the limit is of rows. */
	if (!e && (is_table || r->out->len == before))
		make_table(r, &s, r->o->sort ? 0 : r->o->limit);
	if (!r->o->sort)
		r->limit = 0;
	aif_stalls_finish(&s);
	return e;
}

const struct aif_report_table aif_report_table_stalls = {
	.lacks = AIF_LACK_SAMPLES,
	.needs = AIF_REPORT_NEEDS_ATTRIBUTION,
	.rows = "kernels with stall reasons",
	.fill = fill,
};
