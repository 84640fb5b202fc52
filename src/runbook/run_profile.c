/* SPDX-License-Identifier: Apache-2.0 */
/* Reads profile_summary.json. */
#include "runbook/run_profile.h"

#include "base/open_regular.h"
#include "text/json_reader.h"
#include "text/json_value.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Functions outside the expected classes that are named as evidence. */
enum { OUTSIDE_NAMED = 5, OUTSIDE_KEPT = 256 };

struct outside {
	char name[120];
	double us;
};
/* Time inside and outside of the expected classes. */
struct sums {
	struct outside outside[OUTSIDE_KEPT];
	size_t len;
	double all_us, outside_us;
};
struct reader {
	struct aif_json j;
	const char *expect;
	struct aif_runbook_values *to;
	struct sums by_name, by_path;
	bool has_entries;
	long long last_token, last_step;
	double train_us, train_steps;
};
/* An entry, or a path. */
struct row {
	char mode[64], kernel[120], op[64], token[32], us[48];
	bool is_within; /* a frame of its path is expected */
};

static bool is_expected(const char *expect, const char *op, size_t n)
{
	for (const char *at = expect; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, op, n) && (!at[n] || at[n] == ','))
			return true;
	return false;
}

static void add(struct sums *s, const char *kernel, double us, bool is_inside)
{
	size_t i = 0;

	s->all_us += us;
	if (is_inside)
		return;
	s->outside_us += us;
	while (i < s->len && strcmp(s->outside[i].name, kernel))
		i++;
	if (i == OUTSIDE_KEPT)
		return;
	if (i == s->len) {
		snprintf(s->outside[i].name, sizeof(s->outside[i].name), "%s", kernel);
		s->outside[i].us = 0;
		s->len++;
	}
	s->outside[i].us += us;
}

/* Adds an entry's time and, where it is the first of its token or step, that. */
static void count_turn(const char *token, double us, long long *last, double *all_us, double *turns)
{
	char *end;
	long long id = strtoll(token, &end, 10);

	*all_us += us;
	if (end != token && id > *last) {
		(*turns)++;
		*last = id;
	}
}

/* Cuts the quotes of a string that was read. */
static const char *unquoted(const struct aif_json *j, size_t *ret_len)
{
	const char *text = (const char *)j->text;
	bool has_quotes = j->len && *text == '"';

	*ret_len = j->len - (has_quotes ? 2 : 0);
	return text + has_quotes;
}

/* Reads the classes of a path, whose '[' was read. */
static bool read_within(struct reader *r, struct row *row)
{
	enum aif_json_token t;

	while ((t = aif_json_next(&r->j)) == AIF_JSON_STRING)
		row->is_within |= is_expected(r->expect, (const char *)r->j.text, r->j.len);
	return t == AIF_JSON_CLOSE;
}

/* Reads the members of an object whose '{' was read. */
static bool read_row(struct reader *r, struct row *row)
{
	const struct {
		const char *key;
		char *to;
		size_t size;
	} fields[] = {{"mode", row->mode, sizeof(row->mode)},
		      {"kernel", row->kernel, sizeof(row->kernel)},
		      {"op", row->op, sizeof(row->op)},
		      {"token_id", row->token, sizeof(row->token)},
		      {"time_us", row->us, sizeof(row->us)}};
	enum aif_json_token t;

	*row = (struct row){0};
	while ((t = aif_json_next(&r->j)) == AIF_JSON_KEY) {
		bool is_within = r->j.len == 6 && !memcmp(r->j.text, "within", 6);
		size_t f = 0;

		while (f < AIF_ARRAY_LEN(fields) && (strlen(fields[f].key) != r->j.len ||
						     memcmp(fields[f].key, r->j.text, r->j.len)))
			f++;
		t = is_within                   ? aif_json_next(&r->j)
		    : f < AIF_ARRAY_LEN(fields) ? aif_json_raw(&r->j)
						: aif_json_skip(&r->j);
		if (t == AIF_JSON_ERROR || t == AIF_JSON_END)
			return false;
		if (is_within) {
			if (t != AIF_JSON_ARRAY || !read_within(r, row))
				return false;
		} else if (f < AIF_ARRAY_LEN(fields) &&
			   (t == AIF_JSON_STRING || t == AIF_JSON_NUMBER)) {
			size_t n;
			const char *text = unquoted(&r->j, &n);

			n = AIF_MIN(n, fields[f].size - 1);
			memcpy(fields[f].to, text, n);
			fields[f].to[n] = '\0';
		}
	}
	return t == AIF_JSON_CLOSE;
}

/* Returns the time of a row, NAN where it has none that can be. */
static double time_of(const struct row *row)
{
	char *end;
	double us = strtod(row->us, &end);

	return end == row->us || !(us >= 0) || isinf(us) ? NAN : us;
}

/* Reads an entry whose '{' was read. Tokens of a mode come in order. */
static bool read_entry(struct reader *r)
{
	struct row row;
	double us;

	if (!read_row(r, &row))
		return false;
	us = time_of(&row);
	if (isnan(us))
		return true;
	r->has_entries = true;
	if (strcmp(row.op, "none"))
		add(&r->by_name, row.kernel, us, is_expected(r->expect, row.op, strlen(row.op)));
	if (!strcmp(row.mode, "decode"))
		count_turn(row.token, us, &r->last_token, &r->to->decode_us, &r->to->decode_tokens);
	if (!strcmp(row.mode, "train"))
		count_turn(row.token, us, &r->last_step, &r->train_us, &r->train_steps);
	return true;
}

/* Reads a path whose '{' was read. */
static bool read_path(struct reader *r)
{
	struct row row;
	double us;

	if (!read_row(r, &row))
		return false;
	us = time_of(&row);
	if (!isnan(us) && strcmp(row.op, "none"))
		add(&r->by_path, row.kernel, us,
		    row.is_within || is_expected(r->expect, row.op, strlen(row.op)));
	return true;
}

/* Reads the rows of an array, which comes next. */
static bool read_rows(struct reader *r, bool (*read)(struct reader *r))
{
	enum aif_json_token t;

	if (aif_json_next(&r->j) != AIF_JSON_ARRAY)
		return false;
	while ((t = aif_json_next(&r->j)) == AIF_JSON_OBJECT)
		if (!read(r))
			return false;
	return t == AIF_JSON_CLOSE;
}

/* Reads the members of an object, which comes next: the values of `key`, or of all where that is NULL, by read(). */
static bool read_members(struct reader *r, const char *key, bool (*read)(struct reader *r))
{
	enum aif_json_token t = aif_json_next(&r->j);

	if (t != AIF_JSON_OBJECT)
		return false;
	while ((t = aif_json_next(&r->j)) == AIF_JSON_KEY) {
		bool is_it = !key || (r->j.len == strlen(key) && !memcmp(key, r->j.text, r->j.len));

		if (is_it ? !read(r) : aif_json_skip(&r->j) == AIF_JSON_ERROR)
			return false;
	}
	return t == AIF_JSON_CLOSE;
}

static bool read_paths_of_mode(struct reader *r)
{
	return read_rows(r, read_path);
}

static bool read_modes(struct reader *r)
{
	return read_members(r, NULL, read_paths_of_mode);
}

static bool read_all(struct reader *r)
{
	enum aif_json_token t = aif_json_next(&r->j);

	if (t != AIF_JSON_OBJECT)
		return false;
	while ((t = aif_json_next(&r->j)) == AIF_JSON_KEY) {
		bool ok;

		if (r->j.len == 7 && !memcmp(r->j.text, "entries", 7))
			ok = read_rows(r, read_entry);
		else if (r->j.len == 7 && !memcmp(r->j.text, "aiflame", 7))
			ok = read_members(r, "paths", read_modes);
		else
			ok = aif_json_skip(&r->j) != AIF_JSON_ERROR;
		if (!ok)
			return false;
	}
	return t == AIF_JSON_CLOSE;
}

static int most_first(const void *pa, const void *pb)
{
	const struct outside *a = pa, *b = pb;

	return AIF_ORDER(b->us, a->us);
}

static void conclude(struct reader *r, double total_ms)
{
	struct aif_runbook_values *v = r->to;
	struct sums *s = r->by_path.all_us > 0 ? &r->by_path : &r->by_name;

	if (v->decode_tokens > 0 && v->decode_us > 0)
		v->of[AIF_RUNBOOK_TOK_S] = v->decode_tokens * 1e6 / v->decode_us;
	else if (total_ms > 0 && !r->has_entries) {
		/* A file of nothing but a sum is one token's, by v7's rule. */
		v->legacy_ms = total_ms;
		v->of[AIF_RUNBOOK_TOK_S] = 1e3 / total_ms;
	}
	if (r->train_steps > 0 && r->train_us > 0)
		v->of[AIF_RUNBOOK_STEPS_S] = r->train_steps * 1e6 / r->train_us;
	if (s->all_us <= 0)
		return;
	v->of[AIF_RUNBOOK_OUTSIDE] = s->outside_us / s->all_us;
	qsort(s->outside, s->len, sizeof(*s->outside), most_first);
	for (size_t i = 0; i < s->len && i < OUTSIDE_NAMED; i++)
		aif_buf_printf(&v->outside, "%s%s %.1f %%", i ? ", " : "", s->outside[i].name,
			       100 * s->outside[i].us / s->all_us);
}

int aif_runbook_profile_read(const char *path, const char *expect, struct aif_runbook_values *ret,
			     struct aif_err *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	int fd = aif_open_regular(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW), e = 0;
	double total_ms = 0;

	if (!r || fd < 0) {
		e = r ? fd : -ENOMEM;
		aif_err_set(err, e, "%s: %s; make it with aiflame runbook run", path,
			    e == -EINVAL || e == -ELOOP ? "is a link or no file" : strerror(-e));
	} else {
		struct aif_err none = {0};

		r->j = (struct aif_json){.read = aif_json_read_fd, .arg = &fd};
		r->to = ret;
		r->expect = expect;
		r->last_token = r->last_step = -1;
		aif_json_value(path, ".total_ms", &total_ms, &none);
		e = aif_json_init(&r->j);
		if (!e && !read_all(r))
			e = aif_err_set(err, -EINVAL, "%s: at byte %" PRIu64 ": %s", path,
					r->j.why_at, r->j.why ? r->j.why : "not as expected");
		if (!e)
			conclude(r, total_ms);
		aif_json_finish(&r->j);
	}
	if (fd >= 0)
		close(fd);
	free(r);
	return e;
}
