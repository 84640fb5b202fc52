/* SPDX-License-Identifier: Apache-2.0 */
#include "export/stalls.h"

#include "export/imported.h"
#include "export/report.h"
#include "export/stall_rules.h"

#include <errno.h>
#include <string.h>

/* What fewer of a kernel's samples have is one line together. */
#define SMALL_PPM 10000

/* ---- summing up ---------------------------------------------------------------------------------- */

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

	if (a->wall_ns != b->wall_ns)
		return a->wall_ns > b->wall_ns ? -1 : 1;
	return a->kernel < b->kernel ? -1 : a->kernel > b->kernel;
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
	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return a->reason < b->reason ? -1 : a->reason > b->reason;
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
	/* Of kernels with reasons all time, also what has no samples. */
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

/* ---- saying it ----------------------------------------------------------------------------------- */

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

/* True: exposed and hidden ones are told apart. */
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

/* The ones that are few together, from `i` on. */
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

static void print_kernel(const struct aif_stall_kernel *k, const struct aif_stalls *s,
			 const struct aif_attribution *a, enum aif_name_detail detail,
			 struct aif_buf *out)
{
	char space[64];

	aif_buf_puts(out, (detail == AIF_NAME_FULL ? aif_report_kernel : aif_report_kernel_short)(
				  s->p, AIF_LAUNCH_KERNEL, k->kernel, space));
	aif_buf_puts(out, ": ");
	if (!aif_is_untimed(s->p, a)) {
		aif_human_share(out, aif_share_ppm(k->wall_ns, a->conservation.busy_ns));
		aif_buf_puts(out, " of busy time, ");
		aif_human_ns(out, k->wall_ns);
		aif_buf_puts(out, ", ");
	}
	aif_human_counted(out, k->samples, "sample");
	aif_buf_putc(out, '\n');
}

/* Each reason that was shown, once. */
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

static bool is_asked(const struct aif_stalls *s, const struct aif_regex *re, uint32_t kernel)
{
	return !re->is_set || aif_filter_kernel(re, s->p, AIF_LAUNCH_KERNEL, kernel);
}

void aif_stalls_print(const struct aif_stalls *s, const struct aif_attribution *a,
		      const struct aif_regex *kernel, uint32_t limit, enum aif_name_detail detail,
		      struct aif_buf *out)
{
	struct aif_map shown = {0};
	size_t kernels = 0, left = 0;
	bool has_pairs = false;

	for (size_t i = 0; i < s->kernels_len; i++) {
		const struct aif_stall_kernel *k = &s->kernels[i];
		size_t at = 0;

		if (!is_asked(s, kernel, k->kernel))
			continue;
		if (limit && kernels == limit) {
			left++;
			continue;
		}
		kernels++;
		print_kernel(k, s, a, detail, out);
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
	print_meanings(s, &shown, out);
	aif_map_finish(&shown);
}

static const struct aif_table_column columns[] = {
	{"share", AIF_TABLE_SHARE},   {"exposed", AIF_TABLE_SHARE}, {"hidden", AIF_TABLE_SHARE},
	{"samples", AIF_TABLE_COUNT}, {"class", AIF_TABLE_TEXT},    {"reason", AIF_TABLE_TEXT},
	{"meaning", AIF_TABLE_TEXT},  {"helps", AIF_TABLE_TEXT},    {"kernel", AIF_TABLE_TEXT},
};

void aif_stalls_table(const struct aif_stalls *s, const struct aif_regex *kernel, uint32_t limit,
		      bool full_names, struct aif_table *t)
{
	uint32_t kernels = 0;
	char space[64];

	aif_table_init(t, columns, AIF_ARRAY_LEN(columns));
	/* they would take all of a line */
	t->hidden = UINT64_C(1) << aif_table_column(t, "meaning") |
		    UINT64_C(1) << aif_table_column(t, "helps");
	for (size_t i = 0; i < s->kernels_len; i++) {
		const struct aif_stall_kernel *k = &s->kernels[i];

		if (!is_asked(s, kernel, k->kernel))
			continue;
		if (limit && kernels++ == limit)
			break;
		for (size_t j = k->first; j < k->first + k->len; j++) {
			const struct aif_stall_sum *sum = &s->sums[j];
			const struct aif_stall *rule;
			const char *text = reason_text(s, sum, &rule);

			aif_table_number(t, aif_share_ppm(sum->samples, k->samples));
			aif_table_number(t, aif_share_ppm(sum->exposed, k->samples));
			aif_table_number(t, rule->pairs ? aif_share_ppm(sum->samples - sum->exposed,
									k->samples)
							: 0);
			aif_table_number(t, sum->samples);
			aif_table_text(t, aif_stall_class_name(rule->of));
			aif_table_text(t, text);
			aif_table_text(t, rule->meaning);
			aif_table_text(t, rule->helps);
			aif_table_text(t,
				       (full_names ? aif_report_kernel : aif_report_kernel_short)(
					       s->p, AIF_LAUNCH_KERNEL, k->kernel, space));
		}
	}
}
