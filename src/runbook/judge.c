/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets and the decision table. */
#include "runbook/judge.h"

#include "text/values.h"
#include "text/json.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AIF_RUNBOOK_VALUE(id, key, file, way, runs) {key, file, way, runs},
static const struct {
	const char *key, *file, *way, *runs;
} values[] = {
#include "runbook/values.def"
};
#undef AIF_RUNBOOK_VALUE

#define AIF_RUNBOOK_SIGNAL(signal, value, direction, limit, worse, means, action) \
	{signal, AIF_RUNBOOK_##value, direction, false, limit, worse, means, action},
#define AIF_RUNBOOK_RATE(signal, value, limit, means, action) \
	{signal, AIF_RUNBOOK_##value, '>', true, limit, 0, means, action},
static const struct {
	const char *signal;
	enum aif_runbook_value of;
	char direction;
	bool is_rate;
	double limit, worse;
	const char *means, *action;
} rules[] = {
#include "runbook/signals.def"
};
/* The part of its value by which a metric of the project's may get worse, as of throughput in signals.def. */
#define METRIC_WORSE 0.03
enum { RULES = sizeof(rules) / sizeof(*rules) };
static_assert(RULES <= AIF_RUNBOOK_SIGNALS_MAX, "room for all signals");

const char *aif_runbook_value_key(enum aif_runbook_value v)
{
	return values[v].key;
}
const char *aif_runbook_value_file(enum aif_runbook_value v)
{
	return values[v].file;
}
const char *aif_runbook_value_way(enum aif_runbook_value v)
{
	return values[v].way;
}
const char *aif_runbook_value_runs(enum aif_runbook_value v)
{
	return values[v].runs;
}

/* Returns the limit of rule i for a run. base: the run before, NULL for none. */
static double limit_of(size_t i, const struct aif_runbook_values *v,
		       const struct aif_runbook_values *base)
{
	enum aif_runbook_value of = rules[i].of;

	if (!rules[i].is_rate)
		return rules[i].limit;
	/* fmax() leaves out what is not known. */
	return fmax(rules[i].limit * fmax(v->of[AIF_RUNBOOK_ELAPSED], 1),
		    base ? fmax(base->of[of], base->most[of]) : NAN);
}

/* Returns how much a value may be before rule i says that it got worse than it was in `base`. */
static double allowed(size_t i, const struct aif_runbook_values *base)
{
	enum aif_runbook_value of = rules[i].of;
	double before = base->of[of],
	       by = rules[i].worse < 0 ? -rules[i].worse * before : rules[i].worse;

	return rules[i].direction == '<' ? fmin(before - by, base->least[of])
					 : fmax(before + by, base->most[of]);
}

bool aif_runbook_metric_signal(const char *name, size_t name_len, char direction, double before,
			       double value, struct aif_runbook_signal *ret)
{
	double by = METRIC_WORSE * fabs(before),
	       worst = direction == '<' ? before - by : before + by;

	if (!direction || isnan(before) || isnan(value) || before == 0 ||
	    !(direction == '<' ? value < worst : value > worst))
		return false;
	*ret = (struct aif_runbook_signal){
		.signal = "throughput drop",
		.means = "the program's own number is worse than it was",
		.action = "compare the runs' flame graphs: aiflame diff names the stacks that grew",
		.of = AIF_RUNBOOK_VALUES,
		.value = value,
		.threshold = worst,
		.key = name,
		.key_len = name_len};
	return true;
}

static bool is_beyond(size_t i, double value, double limit)
{
	return rules[i].direction == '<' ? value < limit : value > limit;
}

size_t aif_runbook_signals(const struct aif_runbook_values *v,
			   const struct aif_runbook_values *base,
			   struct aif_runbook_signal ret[AIF_RUNBOOK_SIGNALS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < RULES; i++) {
		double value = v->of[rules[i].of], before = base ? base->of[rules[i].of] : NAN;
		const char *key = values[rules[i].of].key;
		struct aif_runbook_signal s = {rules[i].signal,
					       rules[i].means,
					       rules[i].action,
					       rules[i].of,
					       value,
					       limit_of(i, v, base),
					       key,
					       strlen(key)};

		if (isnan(value))
			continue;
		if (!is_beyond(i, value, s.threshold)) {
			if (!rules[i].worse || isnan(before))
				continue;
			s.threshold = allowed(i, base);
			if (!is_beyond(i, value, s.threshold))
				continue;
		}
		ret[n++] = s;
	}
	return n;
}

static void put_number(double v, struct aif_buf *out)
{
	if (isfinite(v))
		aif_buf_printf(out, "%.10g", v);
	else
		aif_buf_puts(out, "null");
}

/* ---- the gate -------------------------------------------------------------------------------- */

static const struct {
	const char *key, *env, *below;
	enum aif_runbook_value of;
	double usual;
	bool is_least;
} budget[AIF_RUNBOOK_BUDGETS] = {
	{"min_decode_tok_s", "MIN_DECODE_TOK_S", "below_threshold", AIF_RUNBOOK_TOK_S, 8, true},
	{"min_ipc", "MIN_IPC", "below_threshold", AIF_RUNBOOK_IPC, 0.6, true},
	{"max_cache_miss_rate", "MAX_CACHE_MISS_RATE", "above_threshold", AIF_RUNBOOK_CACHE, 0.25,
	 false},
	{"max_branch_miss_rate", "MAX_BRANCH_MISS_RATE", "above_threshold", AIF_RUNBOOK_BRANCH,
	 0.08, false},
};

const char *aif_runbook_family(const char *dir)
{
	static const char *const families[] = {"qwen3", "qwen2", "gemma"};
	size_t len = strlen(dir), from;

	while (len && dir[len - 1] == '/')
		len--;
	for (from = len; from && dir[from - 1] != '/';)
		from--;
	for (size_t f = 0; f < 3; f++)
		for (size_t i = from; i + strlen(families[f]) <= len; i++)
			if (!strncasecmp(dir + i, families[f], strlen(families[f])))
				return families[f];
	return "default";
}

static bool take_env(const char *name, double *ret)
{
	const char *text = getenv(name);
	char *end;
	double v;

	if (!text || !*text)
		return false;
	v = strtod(text, &end);
	if (end == text || *end || !isfinite(v))
		return false;
	*ret = v;
	return true;
}

void aif_runbook_budgets(const char *family, double ret[AIF_RUNBOOK_BUDGETS])
{
	for (size_t i = 0; i < AIF_RUNBOOK_BUDGETS; i++) {
		char name[128], all[64];
		size_t n = 0;

		ret[i] = budget[i].usual;
		n += (size_t)snprintf(name, sizeof(name), "CK_V7_PERF_");
		for (const char *f = family; *f && n < 64; f++)
			name[n++] = *f == '.' || *f == '-' ? '_' : (char)toupper((unsigned char)*f);
		snprintf(name + n, sizeof(name) - n, "_%s", budget[i].env);
		snprintf(all, sizeof(all), "CK_V7_PERF_%s", budget[i].env);
		if (!take_env(name, &ret[i]))
			take_env(all, &ret[i]);
	}
}

enum aif_runbook_verdict aif_runbook_judge(const struct aif_runbook_values *v,
					   const double budgets[AIF_RUNBOOK_BUDGETS],
					   struct aif_runbook_check ret[AIF_RUNBOOK_BUDGETS])
{
	enum aif_runbook_verdict all = AIF_RUNBOOK_PASS;

	for (size_t i = 0; i < AIF_RUNBOOK_BUDGETS; i++) {
		double value = v->of[budget[i].of];
		bool keeps = budget[i].is_least ? value >= budgets[i] : value <= budgets[i];

		ret[i] = (struct aif_runbook_check){
			.metric = values[budget[i].of].key,
			.comparison = budget[i].is_least ? ">=" : "<=",
			.value = value,
			.threshold = budgets[i],
			.reason = isnan(value) ? "missing"
				  : keeps      ? "ok"
					       : budget[i].below,
			.verdict = isnan(value) ? AIF_RUNBOOK_CANNOT_TELL
				   : keeps      ? AIF_RUNBOOK_PASS
						: AIF_RUNBOOK_FAIL,
		};
		if (ret[i].verdict == AIF_RUNBOOK_FAIL || all == AIF_RUNBOOK_PASS)
			all = ret[i].verdict;
	}
	return all;
}

const char *aif_runbook_verdict_word(enum aif_runbook_verdict v)
{
	return v == AIF_RUNBOOK_PASS ? "pass" : v == AIF_RUNBOOK_FAIL ? "fail" : "cannot tell";
}

static void put_diagnostics(const struct aif_runbook_values *v, struct aif_buf *out)
{
	if (v->decode_tokens > 0)
		aif_buf_printf(out,
			       "{\"decode_total_us\": %.1f, \"decode_tokens\": %.1f, "
			       "\"decode_tok_s_source\": 1.0}",
			       v->decode_us, v->decode_tokens);
	else if (v->legacy_ms > 0)
		aif_buf_printf(out, "{\"legacy_total_ms\": %.4f, \"decode_tok_s_source\": 0.0}",
			       v->legacy_ms);
	else
		aif_buf_puts(out, "{}");
}

/* Appends the rows of the decision table that fired. */
static void put_signals(const struct aif_runbook_gate *g, struct aif_buf *out)
{
	aif_buf_puts(out, "\"signals\": [");
	for (size_t i = 0; i < g->signals_len; i++) {
		const struct aif_runbook_signal *s = &g->signals[i];

		aif_buf_printf(out, "%s\n    {\"signal\": \"%s\", \"value\": ", i ? "," : "",
			       s->signal);
		put_number(s->value, out);
		aif_buf_puts(out, ", \"threshold\": ");
		put_number(s->threshold, out);
		aif_buf_printf(out,
			       ", \"means\": \"%s\", \"action\": \"%s\", \"evidence\": ", s->means,
			       s->action);
		if (s->of == AIF_RUNBOOK_OUTSIDE)
			aif_out_json_escaped(out, (const char *)g->values->outside.data,
					     g->values->outside.len);
		else
			aif_out_json_escaped(out, s->key, s->key_len);
		aif_buf_putc(out, '}');
	}
	aif_buf_putc(out, ']');
}

static void put_sources(const char *dir, struct aif_buf *out)
{
	struct aif_buf path = {0};

	aif_buf_puts(out, "\"sources\": {\"profile_summary\": ");
	aif_buf_printf(&path, "%s/profile_summary.json", dir);
	aif_out_json_escaped_text(out, aif_buf_str(&path));
	aif_buf_clear(&path);
	aif_buf_printf(&path, "%s/perf_stat_summary.json", dir);
	aif_buf_puts(out, ", \"perf_stat_summary\": ");
	aif_out_json_escaped_text(out, aif_buf_str(&path));
	aif_buf_putc(out, '}');
	aif_buf_finish(&path);
}

/* Appends all checks. Returns true where none of them fails. */
static bool put_checks(const struct aif_runbook_gate *g, struct aif_buf *out)
{
	bool all = true;

	aif_buf_puts(out, "\"checks\": [");
	for (size_t i = 0; i < AIF_RUNBOOK_BUDGETS; i++) {
		const struct aif_runbook_check *c = &g->checks[i];
		bool ok = c->verdict == AIF_RUNBOOK_PASS ||
			  (g->missing_passes && c->verdict == AIF_RUNBOOK_CANNOT_TELL);

		all = all && ok;
		aif_buf_printf(out, "%s\n    {\"metric\": \"%s\", \"value\": ", i ? "," : "",
			       c->metric);
		put_number(c->value, out);
		aif_buf_printf(out,
			       ", \"comparison\": \"%s\", \"threshold\": %.10g, \"passed\": %s, "
			       "\"reason\": \"%s\", \"aiflame\": {\"verdict\": \"%s\"}}",
			       c->comparison, c->threshold, ok ? "true" : "false", c->reason,
			       aif_runbook_verdict_word(c->verdict));
	}
	aif_buf_puts(out, "\n  ]");
	return all;
}

void aif_runbook_gate_json(const struct aif_runbook_gate *g, struct aif_buf *out)
{
	bool all;

	aif_buf_puts(out, "{\n  \"generated_at\": \"");
	aif_iso_time_now(out);
	aif_buf_puts(out, "\",\n  \"model_dir\": ");
	aif_out_json_escaped_text(out, g->dir);
	aif_buf_puts(out, ",\n  \"family\": ");
	aif_out_json_escaped_text(out, g->family);
	aif_buf_puts(out, ",\n  \"budgets\": {");
	for (size_t i = 0; i < AIF_RUNBOOK_BUDGETS; i++)
		aif_buf_printf(out, "%s\"%s\": %.10g", i ? ", " : "", budget[i].key, g->budgets[i]);
	aif_buf_puts(out, "},\n  ");
	put_sources(g->dir, out);
	aif_buf_puts(out, ",\n  \"metrics\": {");
	for (size_t i = 0; i < AIF_RUNBOOK_BUDGETS; i++) {
		aif_buf_printf(out, "\"%s\": ", g->checks[i].metric);
		put_number(g->checks[i].value, out);
		aif_buf_puts(out, ", ");
	}
	aif_buf_puts(out, "\"decode_diagnostics\": ");
	put_diagnostics(g->values, out);
	aif_buf_puts(out, "},\n  ");
	all = put_checks(g, out);
	aif_buf_printf(out, ",\n  \"passed\": %s,\n  \"aiflame\": {\"verdict\": \"%s\", ",
		       all ? "true" : "false", aif_runbook_verdict_word(g->verdict));
	put_signals(g, out);
	aif_buf_puts(out, "}\n}\n");
}
