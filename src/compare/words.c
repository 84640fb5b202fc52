/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/words.h"

#include "base/human.h"

#include <math.h>
#include <string.h>

static void put_number(double v, struct aif_buf *b)
{
	if (v < 1e6 && fabs(v - rint(v)) > 1e-9)
		aif_buf_printf(b, "%.*f", v < 10 ? 2 : 1, v);
	else
		aif_human_count(b, (uint64_t)(v + 0.5));
}

static void put_cycles(double v, struct aif_buf *b)
{
	static const char *const units[] = {"cycles", "kcycles", "Mcycles", "Gcycles"};
	unsigned i = 0;

	for (; v >= 1000 && i < AIF_ARRAY_LEN(units) - 1; i++)
		v /= 1000;
	aif_buf_printf(b, "%.3g %s", v, units[i]);
}

void aif_words_ns(const struct aif_comparison *c, double ns, struct aif_buf *b)
{
	if (ns < 0)
		aif_buf_putc(b, '-');
	ns = fabs(ns);
	if (c && c->by_share)
		aif_buf_printf(b, "%.1f %%", ns / 1e4);
	else if (c && aif_compare_run(c, 0)->is_counts)
		put_number(ns, b);
	else if (c && aif_compare_run(c, 0)->in_cycles)
		put_cycles(ns, b);
	else if (ns > 0 && ns < 10)
		aif_buf_printf(b, "%.1f ns", ns);
	else
		aif_human_ns(b, ns < 1e18 ? (uint64_t)(ns + 0.5) : UINT64_MAX);
}

void aif_words_signed_ns(const struct aif_comparison *c, double ns, struct aif_buf *b)
{
	if (ns >= 0)
		aif_buf_putc(b, '+');
	aif_words_ns(c, ns, b);
}

void aif_words_value(const struct aif_comparison *c, enum aif_metric m, double value,
		     struct aif_buf *b)
{
	if (aif_metric_is_ns(m))
		aif_words_ns(c && aif_compare_run(c, 0)->in_cycles ? c : NULL, value, b);
	else if (m == AIF_METRIC_BYTES || m == AIF_METRIC_MEMORY)
		aif_human_bytes(b, (uint64_t)(value + 0.5));
	else
		put_number(value, b);
}

static void put_percent(double part, struct aif_buf *b)
{
	double percent = 100 * part;

	if (fabs(percent) < 0.05)
		aif_buf_puts(b, "0");
	else
		aif_buf_printf(b, "%+.*f", fabs(percent) < 100 ? 1 : 0, percent);
}

void aif_words_change(const struct aif_change *c, struct aif_buf *b)
{
	if (!c->is_ratio && c->a == 0 && c->b > 0) {
		aif_buf_puts(b, "new");
		return;
	}
	/* Parts of nothing, or of less, mean nothing. */
	if (!c->is_ratio) {
		aif_buf_printf(b, c->b == c->a ? "0 %%" : "%+.6g", c->b - c->a);
		return;
	}
	if (c->a > 0 && !(c->b > 0)) {
		aif_buf_puts(b, "gone");
		return;
	}
	put_percent(c->estimate, b);
	aif_buf_puts(b, " %");
	if (!c->has_interval || c->low == c->high)
		return;
	aif_buf_puts(b, " (");
	put_percent(c->low, b);
	aif_buf_puts(b, " to ");
	put_percent(c->high, b);
	aif_buf_puts(b, " %)");
}

const char *aif_words_answer(enum aif_change_answer a, bool is_time)
{
	switch (a) {
	case AIF_CHANGE_SAME:
		return "the same";
	case AIF_CHANGE_UP:
		return is_time ? "slower" : "more";
	case AIF_CHANGE_DOWN:
		return is_time ? "faster" : "less";
	case AIF_CHANGE_UNKNOWN:
		break;
	}
	return "cannot tell";
}

static bool has_counts(const struct aif_comparison *c)
{
	bool has = false;

	for (size_t i = 0; i < c->a->len + c->b->len; i++)
		has |= aif_compare_run(c, i)->is_counts;
	return has;
}

const char *aif_words_part(const struct aif_comparison *c, enum aif_change_answer a)
{
	if ((a == AIF_CHANGE_UP || a == AIF_CHANGE_DOWN) && !has_counts(c))
		return a == AIF_CHANGE_UP ? "more time" : "less time";
	return aif_words_answer(a, false);
}

void aif_words_verdict(const struct aif_comparison *c, enum aif_metric m, struct aif_buf *b)
{
	const struct aif_compared *of = &c->metric[m];
	size_t needed;

	if (!c->decides)
		return;
	aif_buf_puts(b, aif_words_answer(of->answer, m == AIF_METRIC_TIME));
	if (of->answer != AIF_CHANGE_UNKNOWN)
		return;
	needed = aif_change_needed(&of->change);
	if (!needed)
		aif_buf_printf(b, " (%d runs a side would not)", AIF_CHANGE_RUNS_MAX);
	else if (needed > AIF_MIN(of->change.a_len, of->change.b_len))
		aif_buf_printf(b, " (about %zu runs a side would)", needed);
}

static void put_moves(const struct aif_comparison *c, const struct aif_finding *f,
		      struct aif_buf *b)
{
	for (unsigned up = 0; up < 2; up++) {
		bool any = false;

		for (size_t i = f->moves; i < f->moves + f->moves_len; i++) {
			const struct aif_move *m = &c->moves[i];
			size_t len;
			const char *text =
				aif_tree_text(&c->tree, c->tree.nodes[m->node].name, &len);

			if ((m->delta > 0) != up)
				continue;
			aif_buf_puts(b, any ? ", " : up ? (b->len ? " to " : "to ") : "from ");
			aif_buf_append(b, text, len);
			aif_buf_puts(b, " (");
			aif_words_signed_ns(c, m->delta, b);
			aif_buf_putc(b, ')');
			any = true;
		}
	}
}

void aif_words_how(const struct aif_comparison *c, const struct aif_finding *f, struct aif_buf *b)
{
	bool longer = fabs(f->longer) >= 0.2 * fabs(f->delta),
	     often = fabs(f->often) >= 0.2 * fabs(f->delta);

	switch (f->kind) {
	case AIF_FINDING_NEW:
		aif_buf_puts(b, f->is_idle ? "idle only in B" : "only in B");
		return;
	case AIF_FINDING_GONE:
		aif_buf_puts(b, f->is_idle ? "idle only in A" : "only in A");
		return;
	case AIF_FINDING_MOVED:
		put_moves(c, f, b);
		return;
	case AIF_FINDING_STEPS:
		aif_buf_puts(b, f->often > 0 ? "more and smaller steps: "
					     : "fewer and larger steps: ");
		put_number(f->a_launches, b);
		aif_buf_puts(b, " -> ");
		put_number(f->b_launches, b);
		aif_buf_puts(b, " a run, ");
		aif_words_ns(c, f->time.change.a / f->a_launches, b);
		aif_buf_puts(b, " -> ");
		aif_words_ns(c, f->time.change.b / f->b_launches, b);
		aif_buf_puts(b, " each");
		return;
	case AIF_FINDING_CHANGED:
		break;
	}
	if (f->is_idle) {
		aif_buf_puts(b, f->delta > 0 ? "waits longer: " : "waits less: ");
		aif_words_ns(c, f->time.change.a, b);
		aif_buf_puts(b, " -> ");
		aif_words_ns(c, f->time.change.b, b);
		return;
	}
	if (aif_compare_run(c, 0)->is_cpu) {
		aif_buf_puts(b, f->delta > 0 ? "more CPU time: " : "less CPU time: ");
		aif_words_ns(c, f->time.change.a, b);
		aif_buf_puts(b, " -> ");
		aif_words_ns(c, f->time.change.b, b);
		return;
	}
	if (often && f->a_launches > 0) {
		aif_buf_puts(b, f->often > 0 ? "called more often: " : "called less often: ");
		put_number(f->a_launches, b);
		aif_buf_puts(b, " -> ");
		put_number(f->b_launches, b);
	}
	if ((longer || !often) && f->a_launches > 0 && f->b_launches > 0) {
		aif_buf_puts(b, often ? "; " : "");
		aif_buf_puts(b, f->longer > 0 ? "takes longer: " : "takes less: ");
		aif_words_ns(c, f->time.change.a / f->a_launches, b);
		aif_buf_puts(b, " -> ");
		aif_words_ns(c, f->time.change.b / f->b_launches, b);
		aif_buf_puts(b, " each");
	}
}

const char *aif_words_kernel(const struct aif_comparison *c, const struct aif_compared_kernel *k)
{
	if (k->time.answer != AIF_CHANGE_UNKNOWN || k->launches == AIF_CHANGE_UNKNOWN)
		return aif_words_part(c, k->time.answer);
	return k->launches == AIF_CHANGE_UP ? "more launches" : "fewer launches";
}

const char *aif_words_no_stacks(const struct aif_comparison *c)
{
	return c->decides ? "None, as far as can be told." : "None beyond the margin.";
}

static void put_units(const struct aif_comparison *c, const struct aif_side *s, struct aif_buf *b)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < s->len; i++) {
		double n = aif_compare_units_of(c, &s->runs[i]);

		least = AIF_MIN(least, n);
		most = AIF_MAX(most, n);
	}
	put_number(least, b);
	if (most > least) {
		aif_buf_puts(b, " to ");
		put_number(most, b);
	}
}

void aif_words_unit(const struct aif_comparison *c, struct aif_buf *b)
{
	const struct aif_run *first = aif_compare_run(c, 0);

	switch (c->unit) {
	case AIF_UNIT_RUN:
		aif_buf_puts(b, c->by_share ? "shares of each side's whole, without idle time"
				: first->is_counts ? "counts"
				: first->is_loop   ? "all of the loop"
				: first->is_part   ? "all of the part"
				: c->is_whole      ? "a whole run"
						   : "from the first to the last work");
		return;
	case AIF_UNIT_SECOND:
		aif_buf_puts(b, "per second");
		return;
	default:
		break;
	}
	aif_buf_printf(b, "per %s: ", aif_compare_unit_name(c));
	put_units(c, c->a, b);
	aif_buf_puts(b, " in A, ");
	put_units(c, c->b, b);
	aif_buf_puts(b, " in B");
	if (c->unit == AIF_UNIT_RANGE)
		aif_buf_puts(b, ", a range that the program marked");
	if (c->unit == AIF_UNIT_STEP)
		aif_buf_puts(b, first->steps_from == AIF_PHASES_MARKS
					? ", marked by the program"
					: ", turns of the loop that was found");
}

void aif_words_side(const struct aif_side *s, char letter, struct aif_buf *b)
{
	size_t len;
	const char *command = aif_run_command(&s->runs[0], &len);

	aif_buf_printf(b, "%c  %s, ", letter, s->name);
	aif_human_counted(b, s->len, "run");
	if (len) {
		aif_buf_puts(b, " of ");
		aif_buf_append(b, command, len);
	}
}

/* ---- one line that sums up ------------------------------------------------------------------- */

/* Returns the innermost frame of a stack that is the program's own, or the device's: neither a call of a runtime, nor a range or a word of ours. */
static uint32_t named_node(const struct aif_comparison *c, uint32_t node)
{
	for (uint32_t n = node; n; n = c->tree.nodes[n].parent) {
		enum aif_tree_type type =
			aif_tree_base_type(aif_tree_type_of(&c->tree, c->tree.nodes[n].name));

		if (type != AIF_TREE_API && type != AIF_TREE_SYNTHETIC && type != AIF_TREE_RANGE)
			return n;
	}
	return node;
}

/* Names the stack with at least half of a change of `delta` ns a unit, if there is one. */
static void put_most(const struct aif_comparison *c, double delta, struct aif_buf *b)
{
	for (size_t i = 0; i < c->findings_len; i++) {
		const struct aif_finding *f = &c->findings[i];
		bool is_more = f->delta > 0;
		const char *name;
		size_t len;

		if (!f->is_change || is_more != (delta > 0) || fabs(f->delta) < fabs(delta) / 2)
			continue;
		name = aif_tree_text(&c->tree, c->tree.nodes[named_node(c, f->node)].name, &len);
		aif_buf_puts(b, ", most of it ");
		aif_buf_append(b, name, len);
		if (f->kind == AIF_FINDING_NEW || f->kind == AIF_FINDING_GONE)
			aif_buf_printf(b, ", which %s only in %c", f->is_idle ? "waits" : "is",
				       f->kind == AIF_FINDING_NEW ? 'B' : 'A');
		else if (f->is_idle)
			aif_buf_printf(b, ", which waits %s", is_more ? "longer" : "less");
		else if (f->kind == AIF_FINDING_STEPS)
			aif_buf_printf(b, ", which has %s steps",
				       f->often > 0 ? "more and smaller" : "fewer and larger");
		else if (f->kind == AIF_FINDING_CHANGED && fabs(f->often) > fabs(f->longer))
			aif_buf_printf(b, ", which is called %s often", is_more ? "more" : "less");
		else
			aif_buf_printf(b, ", which takes %s", is_more ? "longer" : "less");
		return;
	}
}

/* True if more runs are what a verdict needs first. A shared run, and counts, stand first among the problems: more runs would not
 * tell. */
static bool needs_runs(const struct aif_comparison *c)
{
	return AIF_MIN(c->recordings[0], c->recordings[1]) < AIF_CHANGE_RUNS_MIN && !c->is_shared &&
	       !has_counts(c);
}

bool aif_words_summary_has_problem(const struct aif_comparison *c)
{
	return !c->decides && !needs_runs(c);
}

static void put_undecided(const struct aif_comparison *c, struct aif_buf *b)
{
	size_t fewest = AIF_MIN(c->recordings[0], c->recordings[1]);

	aif_buf_puts(b, "cannot tell: ");
	if (needs_runs(c)) {
		aif_human_counted(b, fewest, "run");
		aif_buf_printf(b, " %s; %d are needed",
			       c->recordings[0] == c->recordings[1] ? "a side" : "on a side",
			       AIF_CHANGE_RUNS_MIN);
		return;
	}
	for (size_t i = 0; i < c->problems.len && c->problems.data[i] != '\n'; i++)
		aif_buf_putc(b, (char)c->problems.data[i]);
}

/* Returns the kernel whose launches changed the most that way (UNKNOWN: either), of those that are counted; NULL where there is none. */
static const struct aif_compared_kernel *most_launches(const struct aif_comparison *c,
						       enum aif_change_answer way)
{
	const struct aif_compared_kernel *most = NULL;

	for (size_t i = 0; i < c->kernels_len; i++) {
		const struct aif_compared_kernel *k = &c->kernels[i];

		if (k->launches != AIF_CHANGE_UNKNOWN && !k->is_copy &&
		    (way == AIF_CHANGE_UNKNOWN || k->launches == way) &&
		    (!most || fabs(k->b_launches - k->a_launches) >
				      fabs(most->b_launches - most->a_launches)))
			most = k;
	}
	return most;
}

static void put_from_to(double from, double to, struct aif_buf *b)
{
	put_number(from, b);
	aif_buf_puts(b, " -> ");
	put_number(to, b);
}

/* Says how many kernels were launched where that is another number, and names the one that has most of it. */
static void put_launches(const struct aif_comparison *c, struct aif_buf *b)
{
	const struct aif_compared *all = &c->metric[AIF_METRIC_LAUNCHES];
	bool differ = all->answer == AIF_CHANGE_UP || all->answer == AIF_CHANGE_DOWN;
	const struct aif_compared_kernel *most =
		most_launches(c, differ ? all->answer : AIF_CHANGE_UNKNOWN);

	if (!differ && !most)
		return;
	aif_buf_printf(b, "; launches a %s: ", aif_compare_unit_name(c));
	if (differ)
		put_from_to(all->change.a, all->change.b, b);
	if (!most)
		return;
	aif_buf_printf(b, "%s%s ", differ ? ", of " : "", most->b ? most->b : most->a);
	put_from_to(most->a_launches, most->b_launches, b);
}

/* Says what is known of the device's time where nobody can tell of the whole. */
static void put_known(const struct aif_comparison *c, struct aif_buf *b)
{
	const struct aif_compared *of = &c->metric[AIF_METRIC_DEVICE];

	if (!c->has_metric[AIF_METRIC_DEVICE] ||
	    (of->answer != AIF_CHANGE_UP && of->answer != AIF_CHANGE_DOWN))
		return;
	aif_buf_printf(b, "; it has %s device time: ", aif_words_answer(of->answer, false));
	aif_words_change(&of->change, b);
}

static void put_time(const struct aif_comparison *c, struct aif_buf *b)
{
	bool by_time = c->has_metric[AIF_METRIC_TIME];
	const struct aif_compared *of = &c->metric[by_time ? AIF_METRIC_TIME : AIF_METRIC_DEVICE];
	const char *what = by_time ? "time" : "device time";

	switch (of->answer) {
	case AIF_CHANGE_SAME:
		aif_buf_printf(b, "the %s is the same within %.3g %%", what, 100 * c->margin);
		return;
	case AIF_CHANGE_UNKNOWN:
		aif_buf_printf(b, "cannot tell whether the %s changed: ", what);
		break;
	case AIF_CHANGE_UP:
	case AIF_CHANGE_DOWN:
		if (by_time)
			aif_buf_printf(b, "B is %s: ", aif_words_answer(of->answer, true));
		else
			aif_buf_printf(
				b, "B has %s device time: ", aif_words_answer(of->answer, false));
		break;
	}
	aif_words_change(&of->change, b);
	aif_buf_printf(b, " a %s", aif_compare_unit_name(c));
	if (of->answer != AIF_CHANGE_UNKNOWN)
		put_most(c, of->change.b - of->change.a, b);
	else if (by_time)
		put_known(c, b);
}

void aif_words_summary(const struct aif_comparison *c, struct aif_buf *b)
{
	if (!c->decides) {
		put_undecided(c, b);
		return;
	}
	put_time(c, b);
	put_launches(c, b);
}

/* ---- Markdown --------------------------------------------------------------------------------------- */

void aif_compare_markdown(const void *text, size_t len, struct aif_buf *out)
{
	const char *at = text;

	for (size_t i = 0; i < len; i++) {
		if (at[i] == '@') { /* which mentions somebody, backslash or not */
			aif_buf_puts(out, "&#64;");
			continue;
		}
		if (at[i] && strchr("|*_`<>\\[]()!#&~", at[i]))
			aif_buf_putc(out, '\\');
		aif_buf_putc(out, at[i] == '\n' || at[i] == '\r' ? ' ' : at[i]);
	}
}

void aif_compare_markdown_lines(const struct aif_buf *lines, struct aif_buf *out)
{
	for (size_t at = 0, to; at < lines->len; at = to + 1) {
		for (to = at; to < lines->len && lines->data[to] != '\n'; to++)
			;
		aif_compare_markdown(lines->data + at, to - at, out);
		aif_buf_puts(out, "  \n");
	}
}

void aif_words_lines(const struct aif_buf *lines, const char *before, struct aif_buf *out)
{
	for (size_t at = 0, end; at < lines->len; at = end + 1) {
		for (end = at; end < lines->len && lines->data[end] != '\n'; end++)
			;
		aif_buf_puts(out, before);
		aif_buf_append(out, lines->data + at, end - at);
		aif_buf_putc(out, '\n');
	}
}
