/* SPDX-License-Identifier: Apache-2.0 */
/* --kernels: device time by kernel, and who launched most of it. */
#include "report/work_table.h"

#include "analysis/unsampled.h"
#include "base/duration_bucket.h"
#include "base/sort.h"
#include "report/kernel_uses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct aif_table_column columns[] = {
	{"wall_share", AIF_TABLE_SHARE}, {"wall", AIF_TABLE_NS},
	{"time", AIF_TABLE_NS},          {"error", AIF_TABLE_NS},
	{"launches", AIF_TABLE_COUNT},   {"average", AIF_TABLE_NS},
	{"min", AIF_TABLE_NS},           {"p50", AIF_TABLE_NS},
	{"p99", AIF_TABLE_NS},           {"max", AIF_TABLE_NS},
	{"samples", AIF_TABLE_COUNT},    {"used", AIF_TABLE_SHARE},
	{"of", AIF_TABLE_TEXT},          {"opportunity", AIF_TABLE_NS},
	{"gflop_s", AIF_TABLE_COUNT},    {"gb_s", AIF_TABLE_COUNT},
	{"process", AIF_TABLE_ID},       {"kernel", AIF_TABLE_TEXT},
	{"operator", AIF_TABLE_TEXT},    {"caller", AIF_TABLE_TEXT},
};

/* Durations of executions by sum: those of sum i are [first[i], first[i + 1]). */
struct durations {
	uint64_t *ns, *count; /* count: of each; NULL: one */
	size_t *first;
	bool any;      /* one of them took some time */
	bool *counted; /* by process: of all executions (base/duration_bucket.h), not of those that are kept; NULL: of none */
};

static struct aif_work_sum *sum_of(struct aif_work_sums *w, const struct durations *d,
				   const struct aif_exec_timeline *t,
				   const struct aif_timeline_exec *x)
{
	const struct aif_timeline_work *of = aif_timeline_work_of(t, x);

	if (d->counted && of->process != AIF_NONE && d->counted[of->process])
		return NULL;
	return aif_work_sums_find(w, of->kind, of->kernel, of->process);
}

/* Finds the sum of a row of counts that are of all that is shown. */
static struct aif_work_sum *sum_of_counts(struct aif_work_sums *w, const struct durations *d,
					  const struct aif_duration *of)
{
	return d->counted && of->process != AIF_NONE && d->counted[of->process]
		       ? aif_work_sums_find(w, of->kind, of->kernel, of->process)
		       : NULL;
}

/* Finds processes whose executions were counted before launches were left out. Counts are of the whole run: a part of it has the
 * executions that are kept. */
static int find_counted(const struct aif_report *r, struct durations *d)
{
	const struct aif_selection *sel = r->o->sel;

	if (!r->p->durations_len)
		return 0;
	if (sel && (sel->from_ns || sel->to_ns || sel->threads || sel->devices || sel->in_ranges))
		return 0;
	d->counted = calloc(r->p->processes_len + 1, sizeof(*d->counted));
	for (size_t i = 0; d->counted && i < r->p->durations_len; i++)
		if (r->p->durations[i].process != AIF_NONE)
			d->counted[r->p->durations[i].process] = true;
	return d->counted ? 0 : -ENOMEM;
}

/* 0 or -ENOMEM; d is freed by the caller in any case. */
static int durations_make(const struct aif_report *r, struct aif_work_sums *w, struct durations *d)
{
	const struct aif_exec_timeline *t = r->timeline;
	size_t n = t->execs_len, counts = r->p->durations_len, at;
	struct aif_work_sum *s;

	if (r->p->traits.is_lengths) /* imported: no times of executions */
		n = counts = 0;
	d->first = calloc(w->len + 2, sizeof(*d->first));
	d->ns = malloc((n + counts + 1) * sizeof(*d->ns));
	d->count = counts ? malloc((n + counts) * sizeof(*d->count)) : NULL;
	if (!d->first || !d->ns || (counts && !d->count) || find_counted(r, d))
		return -ENOMEM;
	for (size_t i = 0; i < n + counts; i++) {
		s = i < n ? sum_of(w, d, t, &t->execs[i])
			  : sum_of_counts(w, d, &r->p->durations[i - n]);
		if (s)
			d->first[s - w->sums + 2]++;
	}
	for (size_t i = 2; i < w->len + 2; i++)
		d->first[i] += d->first[i - 1];
	/* first[i + 1] is where the next one of sum i goes. */
	for (size_t i = 0; i < n + counts; i++) {
		const struct aif_duration *of = i < n ? NULL : &r->p->durations[i - n];

		s = of ? sum_of_counts(w, d, of) : sum_of(w, d, t, &t->execs[i]);
		if (!s)
			continue;
		at = d->first[s - w->sums + 1]++;
		d->ns[at] = of ? aif_duration_of(of->bucket) : aif_timed_ns(&t->execs[i]);
		if (d->count)
			d->count[at] = of ? of->count : 1;
	}
	for (size_t i = 0; i < d->first[w->len]; i++)
		d->any |= d->ns[i] > 0;
	return 0;
}

static void durations_free(struct durations *d)
{
	free(d->ns);
	free(d->count);
	free(d->first);
	free(d->counted);
}

/* Returns the rank of what `percent` of a hundred do not exceed. */
static uint64_t rank_of(uint64_t all, unsigned percent)
{
	uint64_t rank = all / 100 * percent + (all % 100 * percent + 99) / 100;

	return rank ? rank - 1 : 0;
}

/* The shortest, what half and 99 of 100 do not exceed, and the longest. */
static void spread_cells(struct aif_report *r, const struct durations *d, size_t sum)
{
	const uint64_t *ns = d->ns + d->first[sum],
		       *count = d->count ? d->count + d->first[sum] : NULL;
	size_t n = d->first[sum + 1] - d->first[sum];
	uint64_t all = 0, least = n ? ns[0] : 0, most = least;

	for (size_t i = 0; i < n; i++) {
		all += count ? count[i] : 1;
		least = AIF_MIN(least, ns[i]);
		most = AIF_MAX(most, ns[i]);
	}
	aif_table_number(&r->t, least);
	aif_table_number(&r->t, aif_ranked(ns, count, n, rank_of(all, 50)));
	aif_table_number(&r->t, aif_ranked(ns, count, n, rank_of(all, 99)));
	aif_table_number(&r->t, most);
}

static void say_counted(struct aif_report *r, const struct aif_work_sums *w,
			const struct durations *d)
{
	size_t counted = 0;

	for (size_t i = 0; i < w->len; i++)
		counted += w->sums[i].process != AIF_NONE && d->counted[w->sums[i].process];
	if (!counted)
		return;
	aif_buf_puts(
		&r->before,
		"min, p50, p99 and max are of all executions, also of those that were left out, "
		"to 1.6 %");
	if (counted < w->len)
		aif_buf_puts(&r->before, ", but for processes whose executions were not counted");
	aif_buf_puts(&r->before, "\n");
}

/* Says which columns of launching functions have something to show. */
struct launchers {
	struct aif_buf text;
	bool have_operators;
	bool have_callers; /* other ones than the operators */
};

static void operator_cell(struct aif_report *r, struct launchers *l, uint32_t stack)
{
	const char *name = aif_stack_names_operator(r->stacks, stack);

	r->t.failed |= !name;
	l->have_operators |= name && *name;
	aif_table_text(&r->t, name ? name : "");
}

/* Adds a cell with the caller; in plain tables only if it is not the operator, which stands beside
 * it. */
static void caller_cell(struct aif_report *r, struct launchers *l, uint32_t stack)
{
	const char *caller = aif_stack_names_caller(r->stacks, stack), *op;
	bool is_other;

	/* The operator may be written where the caller is. */
	aif_buf_clear(&l->text);
	aif_buf_puts(&l->text, caller ? caller : "");
	op = aif_stack_names_operator(r->stacks, stack);
	is_other = !caller || !op || strcmp(aif_buf_str(&l->text), op) != 0;
	l->have_callers |= is_other;
	if (is_other || r->o->format != AIF_TABLE_PLAIN)
		aif_work_caller_cell(r, stack);
	else
		aif_table_text(&r->t, "");
}

static void put_row(struct aif_report *r, struct launchers *l, const struct aif_work_sums *w,
		    const struct durations *d, struct aif_kernel_uses *u, size_t i)
{
	const struct aif_work_sum *s = &w->sums[i];

	aif_table_number(&r->t, aif_share_ppm(s->wall, r->a->conservation.busy_ns));
	aif_table_number(&r->t, s->wall);
	aif_table_number(&r->t, s->time);
	aif_work_error_cell(r, s->variance);
	aif_table_number(&r->t, s->launches);
	aif_table_number(&r->t, s->launches ? s->time / s->launches : 0);
	spread_cells(r, d, i);
	aif_table_number(&r->t, s->samples);
	aif_kernel_uses_cells(u, r, s);
	aif_report_process_cell(r, s->process);
	aif_report_kernel_cell(r, s->kind, s->kernel);
	operator_cell(r, l, s->stack);
	caller_cell(r, l, s->stack);
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	struct aif_work_sums w = {0};
	struct launchers l = {0};
	struct durations d = {0};
	struct aif_kernel_uses u = {0};
	int e = aif_work_table_begin(r, AIF_NAME_NORMAL, err);

	if (!e)
		e = aif_work_table_sums(r, aif_work_kernel_key, &w);
	if (!e)
		e = durations_make(r, &w, &d);
	if (!e)
		e = aif_kernel_uses_make(&u, r);
	if (!e && !r->kernel.is_set) {
		aif_unsampled_say(r->p, r->a, &r->after);
		aif_buf_puts(&r->after, r->after.len ? "\n" : "");
	}
	for (size_t i = 0; i < w.len && !e; i++)
		put_row(r, &l, &w, &d, &u, i);
	if (!e)
		aif_kernel_uses_end(&u, r);
	aif_report_hide(r, "min");
	if (!d.counted)
		aif_report_hide(r, "p50");
	else if (!e)
		say_counted(r, &w, &d);
	aif_report_hide(r, "max");
	if (!d.any)
		aif_report_hide(r, "p99");
	if (!l.have_callers)
		aif_report_hide(r, "caller");
	if (!l.have_operators)
		aif_report_hide(r, "operator");
	if (!e)
		e = aif_work_table_end(r, &w);
	aif_work_sums_finish(&w);
	aif_kernel_uses_finish(&u);
	aif_buf_finish(&l.text);
	durations_free(&d);
	return e;
}

const struct aif_report_table aif_report_table_kernels = {
	.lacks = AIF_LACK_WORK | AIF_LACK_EXECUTIONS | AIF_LACK_LAUNCHES | AIF_LACK_RECORDS |
		 AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_ATTRIBUTION | AIF_REPORT_NEEDS_TIMELINE,
	.rows = "device activity",
	.wants_times = true,
	.left_out = aif_report_left_out_rows,
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
