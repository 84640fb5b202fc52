/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_text.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void skip_blanks(struct aif_perf_text *t)
{
	while (t->len && aif_perf_blank(*t->p)) {
		t->p++;
		t->len--;
	}
}

static bool word(struct aif_perf_text *t, struct aif_perf_text *ret)
{
	skip_blanks(t);
	*ret = (struct aif_perf_text){t->p, 0};
	while (t->len && !aif_perf_blank(*t->p)) {
		t->p++;
		t->len--;
		ret->len++;
	}
	return ret->len > 0;
}

static bool number(struct aif_perf_text t, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i < t.len; i++)
		if (!is_digit(t.p[i]) || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(t.p[i] - '0'), &v))
			return false;
	*ret = v;
	return t.len > 0;
}

/* "1165.644359:" in ns */
static bool time_of(struct aif_perf_text t, uint64_t *ret)
{
	const char *dot = t.len ? memchr(t.p, '.', t.len) : NULL;
	uint64_t s, part, ns = 1;
	struct aif_perf_text fraction;

	if (!dot || t.p[t.len - 1] != ':')
		return false;
	fraction = (struct aif_perf_text){dot + 1, (size_t)(t.p + t.len - 2 - dot)};
	if (fraction.len < 1 || fraction.len > 9 || !number(fraction, &part) ||
	    !number((struct aif_perf_text){t.p, (size_t)(dot - t.p)}, &s) || s > UINT32_MAX)
		return false;
	for (size_t i = fraction.len; i < 9; i++)
		ns *= 10;
	*ret = s * AIF_NS_PER_S + part * ns;
	return true;
}

/* "4712", "4711/4712" */
static bool ids(struct aif_perf_text t, struct aif_perf_header *h)
{
	const char *slash = t.len ? memchr(t.p, '/', t.len) : NULL;

	h->has_pid = slash != NULL;
	if (!slash)
		return number(t, &h->tid) && h->tid < UINT32_MAX;
	return number((struct aif_perf_text){t.p, (size_t)(slash - t.p)}, &h->pid) &&
	       number((struct aif_perf_text){slash + 1, (size_t)(t.p + t.len - slash - 1)},
		      &h->tid) &&
	       h->tid < UINT32_MAX && h->pid < UINT32_MAX;
}

static bool is_cpu(struct aif_perf_text t)
{
	uint64_t cpu;

	return t.len > 2 && t.p[0] == '[' && t.p[t.len - 1] == ']' &&
	       number((struct aif_perf_text){t.p + 1, t.len - 2}, &cpu);
}

/* "K", "d..2.": what a sample interrupted, between its CPU and its time. */
static bool is_flags(struct aif_perf_text t)
{
	bool has_letter = false;

	for (size_t i = 0; i < t.len; i++) {
		char c = t.p[i] | 0x20;

		has_letter |= c >= 'a' && c <= 'z';
		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '.' && c != '#')
			return false;
	}
	return t.len <= 6 && (has_letter || t.p[0] == '.');
}

bool aif_perf_is(struct aif_perf_text t, const char *text)
{
	return t.len == strlen(text) && !memcmp(t.p, text, t.len);
}

/* Returns the parenthesis before a frame's module, in `text` of a frame that ends with one, or NULL. Both names and paths may
 * have blanks and parentheses. What is sure is a name's offset, "+0x18 (", then where a path begins. */
static const char *module_open(const char *text, size_t len)
{
	const char *at = text, *end = text + len, *path = memmem(text, len, " (/", 3);

	while ((at = memmem(at, (size_t)(end - at), "+0x", 3)) != NULL) {
		at += 3;
		while (at < end && (is_digit(*at) || ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'f')))
			at++;
		if (end - at > 1 && at[0] == ' ' && at[1] == '(')
			return at + 1;
	}
	return path ? path + 1 : memrchr(text, '(', len);
}

bool aif_perf_frame(struct aif_perf_text line, struct aif_perf_frame *ret)
{
	struct aif_perf_text left = line, w, deleted = {" (deleted))", 11};
	const char *open;

	*ret = (struct aif_perf_frame){0};
	if (!word(&left, &w) || w.len > 16)
		return false;
	for (size_t i = 0; i < w.len; i++) {
		char c = w.p[i] | 0x20;

		if (!is_digit(w.p[i]) && !(c >= 'a' && c <= 'f'))
			return false;
		ret->ip = ret->ip << 4 | (uint64_t)(is_digit(c) ? c - '0' : c - 'a' + 10);
	}
	skip_blanks(&left);
	while (left.len && aif_perf_blank(left.p[left.len - 1]))
		left.len--;
	ret->name = left;
	if (left.len > 2 && left.p[left.len - 1] == ')') {
		size_t len = left.len - 1;

		if (left.len > deleted.len &&
		    !memcmp(left.p + left.len - deleted.len, deleted.p, deleted.len))
			len = left.len - deleted.len;
		open = module_open(left.p, len);
		if (open && (open == left.p || open[-1] == ' ')) {
			ret->module =
				(struct aif_perf_text){open + 1, (size_t)(left.p + len - open - 1)};
			ret->name.len = (size_t)(open - left.p) - (open > left.p);
		}
	}
	if (aif_perf_is(ret->module, "[unknown]") || aif_perf_is(ret->module, "inlined"))
		ret->module.len = 0;
	if (aif_perf_is(ret->name, "[unknown]"))
		ret->name.len = 0;
	for (size_t i = ret->name.len; i-- > 2;) { /* name+0x18 */
		char c = ret->name.p[i] | 0x20;

		if (c == 'x' && ret->name.p[i - 1] == '0' && ret->name.p[i - 2] == '+' && i > 2) {
			ret->name.len = i - 2;
			break;
		}
		if (!is_digit(ret->name.p[i]) && !(c >= 'a' && c <= 'f'))
			break;
	}
	return true;
}

/* "cpu_core/cycles/ppp" is "cycles": what there is of each kind of core, and modifiers, do not matter. */
struct aif_perf_text aif_perf_event_base(struct aif_perf_text e)
{
	const char *slash = e.len ? memchr(e.p, '/', e.len) : NULL, *end = e.p + e.len, *colon;

	if (slash && (size_t)(end - slash) > 1) {
		const char *second = memchr(slash + 1, '/', (size_t)(end - slash - 1));

		return (struct aif_perf_text){slash + 1,
					      (size_t)((second ? second : end) - slash - 1)};
	}
	colon = e.len ? memrchr(e.p, ':', e.len) : NULL;
	/* "sched:sched_switch" is a name; "cycles:ppp", "cpu-clock:uhH" are modifiers. */
	if (colon && strspn(colon + 1, "ukhIGHpPSDWe") >= (size_t)(end - colon - 1))
		e.len = (size_t)(colon - e.p);
	return e;
}

static bool is_hex(struct aif_perf_text w)
{
	for (size_t i = 0; i < w.len; i++)
		if (!is_digit(w.p[i]) && !((w.p[i] | 0x20) >= 'a' && (w.p[i] | 0x20) <= 'f'))
			return false;
	return w.len > 0 && w.len <= 16;
}

/* Returns the last column of a memory access, which begins with a bar; an operator's name may have one, too. */
static const char *last_column(const char *op, size_t len)
{
	static const char *const columns[] = {"|OP ", "|LVL ", "|SNP ", "|TLB ", "|LCK ", "|BLK "};
	const char *last = op;

	for (size_t i = 0; i < AIF_ARRAY_LEN(columns); i++) {
		const char *at = memmem(op, len, columns[i], strlen(columns[i]));

		if (at && at > last)
			last = at;
	}
	return last;
}

/* Skips what perf prints of a memory access before the sample's frame: "7ffe1000 5080021 |OP LOAD|...|BLK N/A 45", the address,
 * where the data came from, and the weight; of samples that only have an address, that. */
static struct aif_perf_text skip_access(struct aif_perf_text rest)
{
	struct aif_perf_text left = rest, w, last = {0}, before = {0};
	const char *op = rest.len ? memmem(rest.p, rest.len, "|OP ", 4) : NULL;
	bool has_more = true;

	if (op) { /* its last column has no number */
		const char *bar = last_column(op, (size_t)(rest.p + rest.len - op));

		left = (struct aif_perf_text){bar, (size_t)(rest.p + rest.len - bar)};
		while ((has_more = word(&left, &w)) && !is_hex(w))
			;
	} else {
		has_more = word(&left, &w);
	}
	while (has_more && is_hex(w)) {
		before = last;
		last = w;
		has_more = word(&left, &w);
	}
	if (!has_more) /* without a frame: numbers alone */
		return op ? (struct aif_perf_text){0} : rest;
	if (*w.p == '(' && before.len) /* a function whose name looks like a number */
		last = before;
	if (!last.len)
		return rest;
	return (struct aif_perf_text){last.p, (size_t)(rest.p + rest.len - last.p)};
}

#define RECORD "PERF_RECORD_"

/* Parses what follows the time. Without an event's name nothing else may be there but a period, and
 * a frame. */
static bool parse_event(struct aif_perf_text left, struct aif_perf_header *ret)
{
	struct aif_perf_text all = left, w;
	struct aif_perf_frame f;

	skip_blanks(&all);
	while (all.len && aif_perf_blank(all.p[all.len - 1]))
		all.len--;
	if (!word(&left, &w))
		return true;
	ret->is_record = w.len > strlen(RECORD) && !memcmp(w.p, RECORD, strlen(RECORD));
	ret->has_period = number(w, &ret->period);
	if (ret->has_period && !word(&left, &w))
		return true;
	skip_blanks(&left);
	if (w.p[w.len - 1] == ':' && w.len > 1) {
		ret->event = aif_perf_event_base((struct aif_perf_text){w.p, w.len - 1});
		ret->rest = skip_access(left);
		return ret->event.len;
	}
	if (ret->is_record)
		return true;
	/* Without a period its address may look like one. */
	ret->has_period = false;
	ret->rest = all;
	return all.p[all.len - 1] == ')' && aif_perf_frame(all, &f);
}

/* "java  3244 [001] 1000 cpu-clock:": the command, the first number behind it, the event last. */
static bool header_untimed(struct aif_perf_text line, struct aif_perf_header *ret)
{
	struct aif_perf_text left = line, w, event = {0};
	bool has_id = false;

	*ret = (struct aif_perf_header){.comm = {line.p, 0}};
	if (aif_perf_blank(*line.p) || !word(&left, &w))
		return false;
	while (!has_id) {
		ret->comm.len = (size_t)(w.p + w.len - line.p);
		if (!word(&left, &w))
			return false;
		has_id = ids(w, ret);
	}
	while (word(&left, &w)) {
		if (event.len || ret->has_period)
			event = w;
		else if (is_cpu(w))
			continue;
		else if (!(ret->has_period = number(w, &ret->period)))
			event = w;
		if (event.len)
			break;
	}
	skip_blanks(&left);
	if (left.len || event.len < 2 || event.p[event.len - 1] != ':')
		return false;
	ret->event = aif_perf_event_base((struct aif_perf_text){event.p, event.len - 1});
	return ret->event.len > 0;
}

/* A command's name may hold blanks and numbers: what is sure is the time, and what is before it. */
bool aif_perf_header(struct aif_perf_text line, struct aif_perf_header *ret)
{
	struct aif_perf_text left = line, w, id = {0}, before = {0};

	*ret = (struct aif_perf_header){0};
	if (!line.len || *line.p == '#')
		return false;
	while (word(&left, &w)) {
		if (id.len && time_of(w, &ret->time) && ids(id, ret)) {
			ret->has_time = true;
			break;
		}
		if (!id.len || !(is_cpu(w) || (is_flags(w) && before.len && ids(id, ret)))) {
			before = id;
			id = w;
		}
	}
	if (!ret->has_time)
		return header_untimed(line, ret);
	if (!before.len)
		return false;
	ret->comm = line;
	skip_blanks(&ret->comm);
	ret->comm.len = (size_t)(before.p + before.len - ret->comm.p);
	return parse_event(left, ret);
}
