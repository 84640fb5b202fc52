/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a run directory that a project names: numbers of files, and lengths of ranges. */
#include "runbook/run_plan.h"

#include "query/query.h"
#include "text/json_value.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RANGE "range:"

/* Words behind a metric, as those of budgets of gate. */
static const struct {
	const char *word;
	char direction;
} words[] = {{" higher", '<'}, {" lower", '>'}};

/* Ends of names of which everybody knows which way is better: what of a second is more, what lasts is less. */
static const struct {
	const char *end;
	char direction;
} known[] = {
	{"tok_s", '<'},      {"toks_s", '<'},     {"tokens_s", '<'}, {"samples_s", '<'},
	{"steps_s", '<'},    {"images_s", '<'},   {"per_s", '<'},    {"per_sec", '<'},
	{"per_second", '<'}, {"throughput", '<'}, {"tps", '<'},      {"qps", '<'},
	{"fps", '<'},        {"gflops", '<'},     {"tflops", '<'},   {"gb_s", '<'},
	{"ms", '>'},         {"us", '>'},         {"ns", '>'},       {"seconds", '>'},
	{"latency", '>'},    {"ttft", '>'},       {"tpot", '>'},     {"step_time", '>'},
};

/* Returns how much of a metric is in front of its direction, and that direction. */
static size_t without_word(const char *metric, char *ret_direction)
{
	size_t len = strlen(metric);

	*ret_direction = 0;
	for (size_t i = 0; i < AIF_ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i].word);

		if (len > n && !strcmp(metric + len - n, words[i].word)) {
			*ret_direction = words[i].direction;
			return len - n;
		}
	}
	return len;
}

/* True if a name of `len` bytes is `end`, or ends with it as a word of its own. */
static bool ends_with_word(const char *name, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && !strncasecmp(name + len - n, end, n) &&
	       (len == n || !isalnum((unsigned char)name[len - n - 1]));
}

/* Returns the name behind "NAME=range:", NULL: it is no such metric. */
static const char *range_of(const char *metric)
{
	const char *is = strchr(metric, '=');

	return is && !strncmp(is + 1, RANGE, strlen(RANGE)) && is[1 + strlen(RANGE)]
		       ? is + 1 + strlen(RANGE)
		       : NULL;
}

char aif_runbook_metric_direction(const char *metric)
{
	size_t len = strcspn(metric, "=");
	char direction;

	without_word(metric, &direction);
	if (!direction && range_of(metric))
		direction = '>';
	for (size_t i = 0; i < AIF_ARRAY_LEN(known) && !direction; i++)
		if (ends_with_word(metric, len, known[i].end))
			direction = known[i].direction;
	return direction;
}

bool aif_runbook_is_metric(const char *text)
{
	const char *is = strchr(text, '='), *way = is ? strrchr(is, ':') : NULL;

	return is && is > text &&
	       (range_of(text) || (way && way > is + 1 && (way[1] == '.' || way[1] == '[')));
}

int aif_runbook_plan_set_metrics(struct aif_runbook_plan *p, const char *const *metrics,
				 struct aif_err *err)
{
	for (size_t i = 0; metrics[i] && !i; i++)
		while (p->metrics.len)
			free(p->metrics.at[--p->metrics.len]);
	for (size_t i = 0; metrics[i]; i++) {
		if (!aif_runbook_is_metric(metrics[i]))
			return aif_err_set(err, -EINVAL,
					   "runbook: --metric '%s': give NAME=FILE:.WAY, as in "
					   "loss={}/train.json:.loss, or NAME=range:RANGE; "
					   "'higher' or 'lower' behind it says which is better",
					   metrics[i]);
		p->metrics.at[p->metrics.len] = strdup(metrics[i]);
		if (!p->metrics.at[p->metrics.len++])
			return aif_err_set(err, -ENOMEM, "runbook: out of memory");
	}
	return 0;
}

/* Appends the path of the directory's recording. The manifest may be somebody else's: of its path the name alone is taken. */
static bool put_recording(const char *dir, struct aif_buf *out)
{
	struct aif_buf manifest = {0}, data = {0};
	struct aif_err none = {0};
	bool is_number, ok;

	aif_buf_printf(&manifest, "%s/flamegraph_manifest.json", dir);
	ok = aif_json_scalar(aif_buf_str(&manifest), ".perf_data_path", &data, &is_number, &none) ==
		     0 &&
	     !is_number;
	if (ok) {
		const char *slash = strrchr(aif_buf_str(&data), '/');

		aif_buf_printf(out, "%s/%s", dir, slash ? slash + 1 : aif_buf_str(&data));
	}
	aif_buf_finish(&manifest);
	aif_buf_finish(&data);
	return ok;
}

/* Measures the mean length of the ranges of a name, ms. */
static double range_ms(const struct aif_names *names, const char *range)
{
	static const char sql[] =
		"SELECT avg(dur_ns) / 1e6 FROM ops WHERE kind = 'range' AND name = ?1";
	struct aif_query *q = NULL;
	struct aif_err none = {0};
	sqlite3_stmt *st = NULL;
	double ms = NAN;

	if (aif_query_new(names, &q, &none) == 0 &&
	    sqlite3_prepare_v2(aif_query_db(q), sql, -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_text(st, 1, range, -1, SQLITE_STATIC);
		if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL)
			ms = sqlite3_column_double(st, 0);
	}
	sqlite3_finalize(st);
	aif_query_free(q);
	return ms;
}

static double range_of_dir(const struct aif_runbook_plan *plan, const char *dir, const char *range)
{
	struct aif_profile p = {0};
	struct aif_names names = {0};
	struct aif_err none = {0};
	struct aif_buf path = {0};
	double ms = NAN;

	if (put_recording(dir, &path) && plan->open &&
	    plan->open(aif_buf_str(&path), &p, &names, &none) == 0)
		ms = range_ms(&names, range);
	aif_names_finish(&names);
	aif_profile_finish(&p);
	aif_buf_finish(&path);
	return ms;
}

double aif_runbook_plan_metric(const struct aif_runbook_plan *p, size_t i, const char *dir,
			       size_t *ret_name_len)
{
	char direction, *metric, *file, *way;
	struct aif_buf path = {0};
	struct aif_err none = {0};
	double value = NAN;

	*ret_name_len = strcspn(p->metrics.at[i], "=");
	metric = strndup(p->metrics.at[i], without_word(p->metrics.at[i], &direction));
	if (!metric)
		return NAN;
	file = metric + *ret_name_len + 1;
	if (range_of(metric)) {
		value = range_of_dir(p, dir, range_of(metric));
	} else {
		way = strrchr(file, ':');
		aif_json_path(file, (size_t)(way - file), dir, strlen(dir), &path);
		if (aif_json_value(aif_buf_str(&path), way + 1, &value, &none) < 0)
			value = NAN;
	}
	aif_buf_finish(&path);
	free(metric);
	return value;
}
