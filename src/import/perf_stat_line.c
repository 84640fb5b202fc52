/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_stat_line.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 16
#define WORDS_MAX  8

static struct aif_perf_text after(struct aif_perf_text t, size_t n)
{
	return (struct aif_perf_text){t.p + n, t.len - n};
}

static struct aif_perf_text trimmed(struct aif_perf_text t)
{
	while (t.len && aif_perf_blank(*t.p))
		t = after(t, 1);
	while (t.len && aif_perf_blank(t.p[t.len - 1]))
		t.len--;
	return t;
}

static bool begins(struct aif_perf_text t, const char *with)
{
	return t.len >= strlen(with) && !memcmp(t.p, with, strlen(with));
}

/* Reads a decimal number, with commas between thousands. False: it is something else. */
static bool number(struct aif_perf_text t, double *ret)
{
	char digits[64], *end;
	size_t n = 0;

	for (size_t i = 0; i < t.len; i++) {
		if (t.p[i] == ',' && i)
			continue;
		if (n == sizeof(digits) - 1 ||
		    !(isdigit((unsigned char)t.p[i]) || t.p[i] == '.' || (t.p[i] == '-' && !i)))
			return false;
		digits[n++] = t.p[i];
	}
	digits[n] = '\0';
	*ret = strtod(digits, &end);
	return n && end == digits + n && isfinite(*ret);
}

static uint64_t ns_of(double value, double unit)
{
	return value > 0 && value * unit < 0x1p60 ? (uint64_t)(value * unit + 0.5) : 0;
}

/* Reads what stands where a count does. False: it is none. */
static bool count(struct aif_perf_text t, struct aif_perf_stat_line *l)
{
	l->is_known = number(t, &l->value);
	l->is_supported = !aif_perf_is(t, "<not supported>");
	return l->is_known || !l->is_supported || aif_perf_is(t, "<not counted>");
}

static void set_running(struct aif_perf_stat_line *l, double runtime, double percent)
{
	l->running_ns = ns_of(runtime, 1);
	l->running = percent >= 0 && percent < 100 ? percent / 100 : 1;
}

/* ---- for people ---------------------------------------------------------------------------------- */

/* Takes a count or a word off *t; empty at its end. */
static struct aif_perf_text word(struct aif_perf_text *t)
{
	struct aif_perf_text w;

	*t = trimmed(*t);
	w = *t;
	w.len = 0;
	if (begins(*t, "<not supported>") || begins(*t, "<not counted>"))
		w.len = (size_t)((const char *)memchr(t->p, '>', t->len) - t->p) + 1;
	else
		while (w.len < t->len && !aif_perf_blank(t->p[w.len]))
			w.len++;
	*t = after(*t, w.len);
	return w;
}

/* Is it the time that -I puts first? It has nine decimals. */
static bool interval(struct aif_perf_text t, struct aif_perf_stat_line *l)
{
	double s;

	if (t.len < 11 || t.p[t.len - 10] != '.' || !number(t, &s))
		return false;
	l->time_ns = ns_of(s, 1e9);
	return true;
}

/* Finds "(45.00%)" behind a counter. */
static double percent_behind(struct aif_perf_text t)
{
	double percent = 100;

	for (size_t i = 0; i + 1 < t.len; i++) {
		const char *end = memchr(t.p + i, '%', t.len - i);

		if (t.p[i] == '(' && end && isdigit((unsigned char)t.p[i + 1]))
			(void)number(
				(struct aif_perf_text){t.p + i + 1, (size_t)(end - t.p) - i - 1},
				&percent);
	}
	return percent;
}

static enum aif_perf_stat_kind seconds(const struct aif_perf_text *words, size_t n)
{
	if (n == 3 && aif_perf_is(words[1], "time") && aif_perf_is(words[2], "elapsed"))
		return AIF_PERF_STAT_ELAPSED;
	return n != 2                          ? AIF_PERF_STAT_PASSED
	       : aif_perf_is(words[1], "user") ? AIF_PERF_STAT_USER
	       : aif_perf_is(words[1], "sys")  ? AIF_PERF_STAT_SYS
					       : AIF_PERF_STAT_PASSED;
}

static void heading(struct aif_perf_text line, struct aif_perf_stat_line *l)
{
	static const char before[] = "Performance counter stats for ";
	struct aif_perf_text t = trimmed(line);
	const char *end;

	l->kind = AIF_PERF_STAT_PASSED;
	if (!begins(t, before)) {
		if (t.len && !aif_perf_blank(*line.p) && !begins(t, "Some events weren't counted"))
			l->kind = AIF_PERF_STAT_BAD;
		return;
	}
	l->event = after(t, strlen(before));
	if (!begins(l->event, "'"))
		return;
	l->event = after(l->event, 1);
	end = memrchr(l->event.p, '\'', l->event.len);
	if (end)
		l->event.len = (size_t)(end - l->event.p);
	l->kind = AIF_PERF_STAT_COMMAND;
}

static void text_line(struct aif_perf_text line, struct aif_perf_stat_line *l)
{
	struct aif_perf_text rest = line, first = word(&rest), words[WORDS_MAX], w;
	double unused;
	size_t n = 0;

	if (!aif_perf_blank(*line.p)) {
		l->place = first;
		first = word(&rest);
	}
	w = rest;
	/* The time of -I, or after a socket the number of its CPUs. */
	if ((interval(first, l) || (l->place.len && number(first, &unused))) &&
	    count(word(&w), l)) {
		rest = w;
	} else if (!count(first, l)) {
		heading(line, l);
		return;
	}
	while (n < WORDS_MAX && (w = word(&rest)).len && *w.p != '#' && *w.p != '(')
		words[n++] = w;
	/* "+- 0.001" of several runs. */
	if (n > 2 && aif_perf_is(words[0], "+-")) {
		n -= 2;
		memmove(words, words + 2, n * sizeof(*words));
	}
	l->kind = AIF_PERF_STAT_PASSED;
	if (n && aif_perf_is(words[0], "seconds")) {
		l->time_ns = 0;
		l->kind = l->is_known ? seconds(words, n) : AIF_PERF_STAT_PASSED;
	} else if (n == 1 || n == 2) {
		l->kind = AIF_PERF_STAT_COUNTER;
		l->unit = n == 2 ? words[0] : (struct aif_perf_text){0};
		l->event = words[n - 1];
		set_running(l, 0, percent_behind(line));
	}
}

/* ---- -x ------------------------------------------------------------------------------------------ */

/* Returns the separator: what stands behind the first field; 0: this is no line of fields. */
static char separator(struct aif_perf_text t)
{
	size_t n = 0;

	if (t.len && *t.p == '<')
		while (n < t.len && t.p[n++] != '>')
			;
	else
		while (n < t.len &&
		       (isalnum((unsigned char)t.p[n]) || strchr("._-/", t.p[n]) != NULL))
			n++;
	return n && n < t.len && (ispunct((unsigned char)t.p[n]) || t.p[n] == '\t') ? t.p[n] : 0;
}

static bool csv_line(struct aif_perf_text line, struct aif_perf_stat_line *l)
{
	struct aif_perf_text t = trimmed(line), f[FIELDS_MAX];
	char sep = separator(t);
	double percent = 100, runtime = 0, unused;
	size_t n = 0, at = 0;

	for (const char *end; sep && n < FIELDS_MAX; n++) {
		end = memchr(t.p, sep, t.len);
		f[n] = (struct aif_perf_text){t.p, end ? (size_t)(end - t.p) : t.len};
		if (!end) {
			n++;
			break;
		}
		t = after(t, f[n].len + 1);
	}
	/* A blank before the first field is there with an interval only. */
	if (n < 4 || (interval(f[0], l) ? at++, false : aif_perf_blank(*line.p)))
		return false;
	if (!count(f[at], l)) {
		l->place = f[at++];
		/* "S0,2,": of so many CPUs. */
		if (at + 1 < n && number(f[at], &unused) && count(f[at + 1], l))
			at++;
	}
	if (at + 2 >= n || !count(f[at], l) || !f[at + 2].len || number(f[at + 2], &unused))
		return false;
	l->unit = f[at + 1];
	l->event = f[at + 2];
	at += 3;
	if (at < n && f[at].len && f[at].p[f[at].len - 1] == '%') /* of -r */
		at++;
	if (at + 1 < n && number(f[at], &runtime) && number(f[at + 1], &percent))
		set_running(l, runtime, percent);
	l->kind = AIF_PERF_STAT_COUNTER;
	l->form = AIF_PERF_STAT_CSV;
	return true;
}

/* ---- -j ------------------------------------------------------------------------------------------ */

/* Takes a string, without its quotes, or a bare value off *t. False: there is none. perf escapes nothing. */
static bool json_value(struct aif_perf_text *t, struct aif_perf_text *ret)
{
	const char *end;

	*t = trimmed(*t);
	if (t->len && *t->p == '"') {
		end = memchr(t->p + 1, '"', t->len - 1);
		if (!end)
			return false;
		*ret = (struct aif_perf_text){t->p + 1, (size_t)(end - t->p) - 1};
		*t = after(*t, ret->len + 2);
		return true;
	}
	*ret = *t;
	ret->len = 0;
	while (ret->len < t->len && !strchr(",} \t", t->p[ret->len]))
		ret->len++;
	*t = after(*t, ret->len);
	return ret->len;
}

static void json_line(struct aif_perf_text t, struct aif_perf_stat_line *l)
{
	struct aif_perf_text key, value;
	double runtime = 0, percent = 100, s;
	bool has_count = false;

	l->form = AIF_PERF_STAT_JSON;
	l->kind = AIF_PERF_STAT_BAD;
	do {
		t = after(t, 1);
		if (!json_value(&t, &key) || !(t = trimmed(t)).len || *t.p != ':')
			return;
		t = after(t, 1);
		if (!json_value(&t, &value))
			return;
		if (aif_perf_is(key, "counter-value"))
			has_count = count(value, l);
		else if (aif_perf_is(key, "event"))
			l->event = value;
		else if (aif_perf_is(key, "unit"))
			l->unit = value;
		else if (aif_perf_is(key, "interval") && number(value, &s))
			l->time_ns = ns_of(s, 1e9);
		else if (aif_perf_is(key, "event-runtime"))
			(void)number(value, &runtime);
		else if (aif_perf_is(key, "pcnt-running"))
			(void)number(value, &percent);
		else if (aif_perf_is(key, "cpu") || aif_perf_is(key, "socket") ||
			 aif_perf_is(key, "die") || aif_perf_is(key, "core") ||
			 aif_perf_is(key, "node") || aif_perf_is(key, "thread"))
			l->place = value;
		t = trimmed(t);
	} while (t.len && *t.p == ',');
	if (!t.len || *t.p != '}')
		return;
	set_running(l, runtime, percent);
	/* Metrics stand in objects of their own. */
	l->kind = has_count && l->event.len ? AIF_PERF_STAT_COUNTER : AIF_PERF_STAT_PASSED;
}

void aif_perf_stat_line(struct aif_perf_text line, struct aif_perf_stat_line *ret)
{
	struct aif_perf_text t = trimmed(line);

	*ret = (struct aif_perf_stat_line){.running = 1};
	if (!t.len || *t.p == '#')
		return;
	if (*t.p == '{')
		json_line(t, ret);
	else if (!csv_line(line, ret)) {
		*ret = (struct aif_perf_stat_line){.running = 1};
		text_line(line, ret);
	}
}
