/* SPDX-License-Identifier: Apache-2.0 */
/* Counters as perf stat writes them: for people, and with -x. */
#include "stat/result.h"

#include "base/human.h"
#include "base/name_sanitize.h"
#include "base/u64_of.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define VALUE_COLUMNS 18
#define NAME_COLUMNS  32

/* The note behind a counter, as perf has it: a value and what it is. False: there is none. */
static bool note_of(const struct aif_stat_result *r, unsigned e, double *ret, const char **ret_unit)
{
	static const struct {
		enum aif_stat_event event;
		enum aif_stat_derived derived;
		bool is_percent;
		const char *unit;
	} notes[] = {
		{AIF_STAT_INSTRUCTIONS, AIF_STAT_IPC, false, "insn per cycle"},
		{AIF_STAT_BRANCH_MISSES, AIF_STAT_BRANCH_MISS_RATE, true, "of all branches"},
		{AIF_STAT_CACHE_MISSES, AIF_STAT_CACHE_MISS_RATE, true, "of all cache refs"},
		{AIF_STAT_DTLB_LOAD_MISSES, AIF_STAT_DTLB_LOAD_MISS_RATE, true,
		 "of all dTLB cache accesses"},
		{AIF_STAT_TD_RETIRING, AIF_STAT_RETIRING, true, "of all slots: retiring"},
		{AIF_STAT_TD_BAD_SPEC, AIF_STAT_BAD_SPECULATION, true,
		 "of all slots: bad speculation"},
		{AIF_STAT_TD_FE_BOUND, AIF_STAT_FRONTEND_BOUND, true,
		 "of all slots: frontend bound"},
		{AIF_STAT_TD_BE_BOUND, AIF_STAT_BACKEND_BOUND, true, "of all slots: backend bound"},
		{AIF_STAT_TD_HEAVY_OPS, AIF_STAT_HEAVY_OPERATIONS, true,
		 "of all slots: heavy operations"},
		{AIF_STAT_TD_BR_MISPREDICT, AIF_STAT_BRANCH_MISPREDICTS, true,
		 "of all slots: branch mispredicts"},
		{AIF_STAT_TD_FETCH_LAT, AIF_STAT_FETCH_LATENCY, true,
		 "of all slots: fetch latency"},
		{AIF_STAT_TD_MEM_BOUND, AIF_STAT_MEMORY_BOUND, true, "of all slots: memory bound"},
	};
	double clock = r->values[AIF_STAT_TASK_CLOCK].median;

	if (e == AIF_STAT_TASK_CLOCK) {
		*ret = r->cpus.median;
		*ret_unit = "CPUs utilized";
		return r->cpus.n;
	}
	for (size_t i = 0; i < AIF_ARRAY_LEN(notes); i++)
		if (notes[i].event == e && r->derived[notes[i].derived].n) {
			*ret = r->derived[notes[i].derived].median *
			       (notes[i].is_percent ? 100 : 1);
			*ret_unit = notes[i].unit;
			return true;
		}
	if (!r->values[e].n || !(clock > 0) || !aif_stat_event_is_software((enum aif_stat_event)e))
		return false;
	*ret = r->values[e].median / (clock / 1e9);
	*ret_unit = "/sec";
	return true;
}

/* Appends "1,234,567". */
static void put_count(double value, struct aif_buf *out)
{
	aif_human_count(out, aif_u64_of(value + 0.5));
}

static void put_value(unsigned e, double value, struct aif_buf *out)
{
	if (e == AIF_STAT_TASK_CLOCK)
		aif_buf_printf(out, "%.2f", value / 1e6);
	else
		put_count(value, out);
}

static void put_spread(const struct aif_stat_result *r, unsigned e, struct aif_buf *out)
{
	if (r->values[e].n < 2)
		return;
	aif_buf_puts(out, "  ( ");
	put_value(e, r->values[e].min, out);
	aif_buf_puts(out, " to ");
	put_value(e, r->values[e].max, out);
	aif_buf_puts(out, " )");
}

static void put_event(const struct aif_stat_result *r, unsigned e, struct aif_buf *out)
{
	struct aif_buf cell = {0};
	const char *unit;
	double note;

	if (!r->values[e].n)
		return; /* put_unavailable() has it */
	put_value(e, r->values[e].median, &cell);
	aif_buf_printf(out, "%*s %s %-*s", VALUE_COLUMNS, aif_buf_str(&cell),
		       e == AIF_STAT_TASK_CLOCK ? "msec" : "    ", NAME_COLUMNS,
		       aif_stat_event_name((enum aif_stat_event)e));
	if (note_of(r, e, &note, &unit)) {
		/* perf's marks: parsers look for them. */
		aif_buf_printf(out, " # %8.3f%s %s", note, !strncmp(unit, "of all", 6) ? "%" : "",
			       unit);
	}
	put_spread(r, e, out);
	if (r->running[e] < 1)
		aif_buf_printf(out, "  (%.2f%%)", 100 * r->running[e]);
	aif_buf_putc(out, '\n');
	out->failed |= aif_buf_failed(&cell);
	aif_buf_finish(&cell);
}

static void put_seconds(const struct aif_stat_result *r, enum aif_stat_usage u, const char *what,
			struct aif_buf *out)
{
	if (!r->usage[u].n)
		return;
	aif_buf_printf(out, "%*.9f seconds %s", VALUE_COLUMNS, r->usage[u].median, what);
	if (r->usage[u].n > 1)
		aif_buf_printf(out, "  ( %.6f to %.6f )", r->usage[u].min, r->usage[u].max);
	aif_buf_putc(out, '\n');
}

static void put_bytes(const struct aif_stat_result *r, enum aif_stat_usage u, const char *what,
		      struct aif_buf *out)
{
	struct aif_buf cell = {0};

	if (!r->usage[u].n)
		return;
	aif_human_bytes(&cell, aif_u64_of(r->usage[u].median));
	aif_buf_printf(out, "%*s %s\n", VALUE_COLUMNS, aif_buf_str(&cell), what);
	out->failed |= aif_buf_failed(&cell);
	aif_buf_finish(&cell);
}

/* Appends a word to lines of at most 100 columns. */
static void put_word(const char *word, struct aif_buf *out, size_t *column)
{
	if (*column + 1 + strlen(word) > 100) {
		aif_buf_puts(out, "\n    ");
		*column = 4;
	}
	aif_buf_printf(out, " %s", word);
	*column += 1 + strlen(word);
}

static void put_words(const char *words, struct aif_buf *out, size_t *column)
{
	char word[64];

	while (*words) {
		size_t len = strcspn(words, " ");

		snprintf(word, sizeof(word), "%.*s", (int)len, words);
		put_word(word, out, column);
		words += len + strspn(words + len, " ");
	}
}

/* Says once for each cause why events are not there. */
static void put_unavailable(const struct aif_stat_result *r, struct aif_buf *out)
{
	uint64_t done = 0;

	for (unsigned e = 0; e < AIF_STAT_EVENTS; e++) {
		int error = r->error[e];
		size_t column = 13;
		unsigned left = 0;

		if (r->values[e].n || !error || !(r->events >> e & 1) || done >> e & 1)
			continue;
		aif_buf_puts(out, "\n not counted:");
		for (unsigned k = e; k < AIF_STAT_EVENTS; k++)
			left += !r->values[k].n && r->error[k] == error && r->events >> k & 1;
		for (unsigned k = e; k < AIF_STAT_EVENTS; k++) {
			char word[64];

			if (r->values[k].n || r->error[k] != error || !(r->events >> k & 1))
				continue;
			snprintf(word, sizeof(word), "%s%c",
				 aif_stat_event_name((enum aif_stat_event)k), --left ? ',' : ':');
			put_word(word, out, &column);
			done |= UINT64_C(1) << k;
		}
		put_words(aif_stat_reason(error), out, &column);
		aif_buf_putc(out, ';');
		put_words(aif_stat_fix(error), out, &column);
		aif_buf_putc(out, '\n');
	}
}

void aif_stat_text(const struct aif_stat_result *r, struct aif_buf *out)
{
	aif_buf_puts(out, "\n Performance counter stats for '");
	/* Words with newlines would be lines of counters. */
	for (char *const *a = r->argv; a && *a; a++) {
		aif_buf_puts(out, a == r->argv ? "" : " ");
		aif_name_sanitize(*a, strlen(*a), out);
	}
	aif_buf_puts(out, "'");
	if (r->len > 1)
		aif_buf_printf(out, " (%zu runs: median, least to most)", r->len);
	aif_buf_puts(out, ":\n\n");
	for (unsigned e = 0; e < AIF_STAT_EVENTS; e++)
		if (r->events >> e & 1)
			put_event(r, e, out);
	aif_buf_putc(out, '\n');
	put_seconds(r, AIF_STAT_ELAPSED, "time elapsed", out);
	aif_buf_putc(out, '\n');
	put_seconds(r, AIF_STAT_USER, "user", out);
	put_seconds(r, AIF_STAT_SYS, "sys", out);
	aif_buf_putc(out, '\n');
	put_bytes(r, AIF_STAT_MAX_RSS, "max resident", out);
	put_bytes(r, AIF_STAT_READ, "read from storage", out);
	put_bytes(r, AIF_STAT_WRITTEN, "written to storage", out);
	put_unavailable(r, out);
	if (r->roofs)
		aif_roofs_text(r->roofs, out);
	aif_buf_putc(out, '\n');
}

/* Runs' standard deviation of the mean in percent, as perf has behind an event's name with -r. */
static double deviation(const struct aif_stat_result *r, unsigned e)
{
	double mean = 0, squares = 0;
	size_t n = 0;

	for (size_t i = 0; i < r->len; i++)
		if (r->runs[i].values[e].is_known) {
			mean += r->runs[i].values[e].value;
			n++;
		}
	if (n < 2 || !(mean > 0))
		return 0;
	mean /= (double)n;
	for (size_t i = 0; i < r->len; i++)
		if (r->runs[i].values[e].is_known)
			squares += pow(r->runs[i].values[e].value - mean, 2);
	return 100 * sqrt(squares / (double)(n - 1) / (double)n) / mean;
}

void aif_stat_csv(const struct aif_stat_result *r, const char *x, struct aif_buf *out)
{
	for (unsigned e = 0; e < AIF_STAT_EVENTS; e++) {
		const struct aif_stat_value *first = r->len ? &r->runs[0].values[e] : NULL;
		const char *name = aif_stat_event_name((enum aif_stat_event)e), *unit = "";
		double note = 0;
		bool has_note = note_of(r, e, &note, &unit);

		if (!(r->events >> e & 1))
			continue;
		if (!r->values[e].n)
			aif_buf_puts(out, "<not supported>");
		else
			aif_buf_printf(out, e == AIF_STAT_TASK_CLOCK ? "%.2f" : "%.0f",
				       e == AIF_STAT_TASK_CLOCK ? r->values[e].median / 1e6
								: r->values[e].median);
		aif_buf_printf(out, "%s%s%s%s", x, e == AIF_STAT_TASK_CLOCK ? "msec" : "", x, name);
		if (r->len > 1)
			aif_buf_printf(out, "%s%.2f%%", x, deviation(r, e));
		aif_buf_printf(out, "%s%" PRIu64 "%s%.2f%s", x,
			       first && !first->is_share ? first->running_ns : 0, x,
			       isnan(r->running[e]) ? 100.0 : 100 * r->running[e], x);
		if (has_note)
			aif_buf_printf(out, "%.3f%s%s", note, x, unit);
		else
			aif_buf_puts(out, x);
		aif_buf_putc(out, '\n');
	}
}
