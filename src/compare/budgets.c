/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/budgets.h"

#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A file with more is none of budgets. */
#define MOST_BUDGETS 1000

static void budget_finish(struct aif_budget *b)
{
	free(b->text);
	free(b->name);
	aif_regex_finish(&b->re);
	*b = (struct aif_budget){0};
}

void aif_budgets_finish(struct aif_budgets *b)
{
	for (size_t i = 0; i < b->len; i++)
		budget_finish(&b->budget[i]);
	free(b->budget);
	*b = (struct aif_budgets){0};
}

/* Returns how long an expression is, up to the slash that closes it, or to the end: "\\/" closes none. */
static size_t expression_len(const char *s)
{
	size_t len = 0;

	while (s[len] && s[len] != '\n' && s[len] != '/')
		len += 1 + (s[len] == '\\' && s[len + 1] && s[len + 1] != '\n');
	return len;
}

/* Returns how long a line is without its comment: names of kernels have '#', too, as in "{lambda()#1}". */
static size_t line_len(const char *line)
{
	size_t end = strcspn(line, "#\n");
	const char *slash = memmem(line, end, ":/", 2);

	if (slash && line[end] == '#') {
		size_t from = (size_t)(slash + 2 - line);

		from += expression_len(line + from);
		end = AIF_MAX(end, from + strcspn(line + from, "#\n"));
	}
	return end;
}

/* Takes the next word of *s, which ends at a blank, or behind the '/' that closes "kernel:/a b/". NULL: there is none. */
static char *next_word(char **s)
{
	char *word = *s + strspn(*s, " \t\r"), *end;
	char *slash = strstr(word, ":/");

	if (!*word)
		return NULL;
	end = word + strcspn(word, " \t\r");
	if (slash && slash < end) {
		end = slash + 2 + expression_len(slash + 2);
		end += strcspn(end, " \t\r");
	}
	*s = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

/* Reads "20us", "3%", "60"; *ret_unit: '%', 't' for a time in ns, or 0. */
static bool read_number(const char *s, double *ret, char *ret_unit)
{
	static const struct {
		const char *name;
		double factor;
		char unit;
	} units[] = {{"", 1, 0},       {"%", 0.01, '%'},    {"ns", 1, 't'},
		     {"us", 1e3, 't'}, {"ms", 1e6, 't'},    {"s", 1e9, 't'},
		     {"KiB", 1024, 0}, {"MiB", 1048576, 0}, {"GiB", 1073741824, 0}};
	char *end;
	double v;

	if (!isdigit((unsigned char)*s) && *s != '.')
		return false;
	/* No hexadecimal numbers: "+0x10%" is a slip. */
	if (s[strspn(s, "0123456789.")] == 'x')
		return false;
	v = strtod(s, &end);
	for (size_t i = 0; i < AIF_ARRAY_LEN(units); i++) {
		if (strcmp(end, units[i].name) || !isfinite(v))
			continue;
		*ret = v * units[i].factor;
		*ret_unit = units[i].unit;
		return true;
	}
	return false;
}

bool aif_budget_is_by_name(const struct aif_budget *b)
{
	return b->of == AIF_BUDGET_KERNEL || b->of == AIF_BUDGET_STACK ||
	       b->of == AIF_BUDGET_OPERATOR || b->of == AIF_BUDGET_RANGE;
}

bool aif_budget_is_time(const struct aif_budget *b)
{
	return aif_budget_is_by_name(b) ||
	       (b->of == AIF_BUDGET_METRIC && aif_metric_is_ns(b->metric));
}

static int wrong(const char *where, const char *line, const char *why, struct aif_err *err)
{
	return aif_err_set(err, -EINVAL, "%s: budget '%.200s': %s", where, line, why);
}

/* "kernel:/RE/" */
static int read_expression(struct aif_budget *b, const char *from, const char *where,
			   struct aif_err *err)
{
	size_t len = strlen(from);
	char *re;
	int r;

	if (len < 3 || from[0] != '/' || from[len - 1] != '/')
		return wrong(where, b->name, "an expression stands between slashes: kernel:/gemm/",
			     err);
	re = strndup(from + 1, len - 2);
	r = re ? aif_regex_init_strict(&b->re, b->name, re, err) : -ENOMEM;
	free(re);
	return r;
}

static int read_metric(struct aif_budget *b, const char *where, struct aif_err *err)
{
	static const struct {
		const char *prefix;
		enum aif_budget_of of;
	} by_name[] = {{"kernel:", AIF_BUDGET_KERNEL},
		       {"stack:", AIF_BUDGET_STACK},
		       {"op:", AIF_BUDGET_OPERATOR},
		       {"range:", AIF_BUDGET_RANGE}};

	for (size_t i = 0; i < AIF_ARRAY_LEN(by_name); i++) {
		size_t len = strlen(by_name[i].prefix);

		b->of = by_name[i].of;
		if (!strncmp(b->name, by_name[i].prefix, len))
			return read_expression(b, b->name + len, where, err);
	}
	b->of = AIF_BUDGET_VALUE;
	for (unsigned m = 0; m < AIF_METRICS; m++) {
		if (strcmp(b->name, aif_metric_key((enum aif_metric)m)))
			continue;
		b->of = AIF_BUDGET_METRIC;
		b->metric = (enum aif_metric)m;
	}
	if (!strcmp(b->name, "busy"))
		b->of = AIF_BUDGET_BUSY;
	return 0;
}

/* "<= 12ms": the words behind the metric. */
static int read_limit(struct aif_budget *b, const char *op, char **rest, const char *where,
		      struct aif_err *err)
{
	char *value = op[2] ? (char *)op + 2 : next_word(rest);
	/* Values of a program may be below 0, times and shares not. */
	bool is_below = value && *value == '-' && b->of == AIF_BUDGET_VALUE;
	char unit;

	b->kind = *op == '<' ? AIF_BUDGET_AT_MOST : AIF_BUDGET_AT_LEAST;
	if (!value || !read_number(value + is_below, &b->limit, &unit))
		return wrong(where, b->text, "a number is missing behind the sign", err);
	if (is_below)
		b->limit = -b->limit;
	if (aif_budget_is_time(b) != (unit == 't') || (unit == '%') != (b->of == AIF_BUDGET_BUSY))
		return wrong(where, b->text,
			     b->of == AIF_BUDGET_BUSY ? "give a share: busy >= 60%"
			     : aif_budget_is_time(b)  ? "give a time: time <= 12ms"
						      : "give a number without a unit",
			     err);
	if (b->better == (b->kind == AIF_BUDGET_AT_MOST ? AIF_BUDGET_MORE : AIF_BUDGET_LESS))
		return wrong(where, b->text,
			     b->kind == AIF_BUDGET_AT_MOST
				     ? "more of it is better, a <= would pass any loss; give a >="
				     : "less of it is better, a >= would pass any regression; "
				       "give a <=",
			     err);
	if (b->of == AIF_BUDGET_BUSY && b->limit > 1)
		return wrong(where, b->text, "a share is at most 100%", err);
	return 0;
}

/* "+5% +20us", "0", "-2%". */
static int read_changes(struct aif_budget *b, char *word, char **rest, const char *where,
			struct aif_err *err)
{
	enum aif_budget_better signs = AIF_BUDGET_NOT_SAID;
	bool has_part = false, has_amount = false;

	if (b->of == AIF_BUDGET_BUSY)
		return wrong(where, b->text, "give a share: busy >= 60%", err);
	for (; word; word = next_word(rest)) {
		bool is_minus = *word == '-', is_signed = is_minus || *word == '+';
		double v;
		char unit;

		if (!read_number(word + is_signed, &v, &unit) || (!is_signed && v != 0))
			return wrong(where, b->text,
				     "give +3%, -3% where more is better, +20us, 0, <= or >=", err);
		if (is_signed && signs != AIF_BUDGET_NOT_SAID &&
		    signs != (is_minus ? AIF_BUDGET_MORE : AIF_BUDGET_LESS))
			return wrong(where, b->text, "both signs in one budget", err);
		if (unit == 't' && !aif_budget_is_time(b))
			return wrong(where, b->text, "this is no time", err);
		if (aif_budget_is_time(b) && !unit && v != 0)
			return wrong(where, b->text,
				     "a number of times has a unit; give +3%, +3us, +3ms or +3s",
				     err);
		if (is_minus && b->better == AIF_BUDGET_LESS)
			return wrong(where, b->text,
				     "less of it is better, a minus would pass any regression; "
				     "give a plus, as in +3%",
				     err);
		if (is_signed && !is_minus && b->better == AIF_BUDGET_MORE)
			return wrong(where, b->text,
				     "more of it is better, a plus would pass any loss; give a "
				     "minus, as in -3%",
				     err);
		if (unit == '%' ? has_part : has_amount)
			return wrong(where, b->text,
				     unit == '%' ? "two percentages in one budget"
						 : "two amounts in one budget",
				     err);
		has_part |= unit == '%';
		has_amount |= unit != '%';
		if (is_signed)
			signs = is_minus ? AIF_BUDGET_MORE : AIF_BUDGET_LESS;
		if (unit == '%')
			b->part = v;
		else
			b->absolute = v;
	}
	/* A plus does not say it: some write "tok_s +2%" and mean 2 % either way. */
	if (signs == AIF_BUDGET_MORE)
		b->better = AIF_BUDGET_MORE;
	return 0;
}

static int read_budget(struct aif_budget *b, char *line, const char *where, struct aif_err *err)
{
	char *rest = line, *word = next_word(&rest);
	int r;

	b->name = strdup(word);
	if (!b->name)
		return -ENOMEM;
	r = read_metric(b, where, err);
	if (r)
		return r;
	word = next_word(&rest);
	/* Values of the caller's may be better either way. */
	b->better = b->of == AIF_BUDGET_VALUE  ? AIF_BUDGET_NOT_SAID
		    : b->of == AIF_BUDGET_BUSY ? AIF_BUDGET_MORE
					       : AIF_BUDGET_LESS;
	if (word && (!strcmp(word, "higher") || !strcmp(word, "lower"))) {
		if (b->of != AIF_BUDGET_VALUE)
			return wrong(where, b->text, "higher and lower are for values of --metric",
				     err);
		b->better = *word == 'h' ? AIF_BUDGET_MORE : AIF_BUDGET_LESS;
		word = next_word(&rest);
	}
	if (!word)
		return wrong(where, b->text, "how much it may change is missing: +3%", err);
	if ((*word == '<' || *word == '>') && word[1] == '=') {
		r = read_limit(b, word, &rest, where, err);
		return !r && next_word(&rest) ? wrong(where, b->text, "more than a limit", err) : r;
	}
	return read_changes(b, word, &rest, where, err);
}

int aif_budgets_add(struct aif_budgets *b, const char *line, const char *where, struct aif_err *err)
{
	struct aif_budget new = {.text = strndup(line, line_len(line))};
	char *copy = new.text ? strdup(new.text) : NULL;
	size_t len = new.text ? strlen(new.text) : 0;
	int r = 0;

	while (len && isspace((unsigned char)new.text[len - 1]))
		new.text[--len] = '\0';
	if (!copy)
		r = -ENOMEM;
	else if (!len || strspn(new.text, " \t\r") == len)
		goto done;
	else if (b->len == MOST_BUDGETS)
		r = wrong(where, new.text, "more than 1000 budgets", err);
	else
		r = read_budget(&new, copy, where, err);
	if (!r)
		r = aif_grow(&b->budget, &b->cap, b->len + 1, sizeof(*b->budget));
	if (!r) {
		b->budget[b->len++] = new;
		new = (struct aif_budget){0};
	}
done:
	free(copy);
	budget_finish(&new);
	if (r == -ENOMEM)
		aif_memory_fail();
	return r && err && !err->code ? aif_err_set(err, r, "%s: %s", where, strerror(-r)) : r;
}

int aif_budgets_add_text(struct aif_budgets *b, const char *text, const char *where,
			 struct aif_err *err)
{
	char at[256];
	int r = 0;

	for (size_t line = 1; *text && !r; line++) {
		snprintf(at, sizeof(at), "%.200s:%zu", where, line);
		r = aif_budgets_add(b, text, at, err);
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return r;
}
