/* SPDX-License-Identifier: Apache-2.0 */
#include "names/kernel_names.h"

#include <ctype.h>
#include <string.h>

/*
 * A kernel of a template library is told from its neighbours by template arguments, which for functions
 * of the host are noise more often than not. So its name is made another way: names.c takes away parameters
 * and return type, plain() replaces namespaces and types by short ones, and fit() gives the arguments the
 * room that there is: all of them, as deep as possible, or the first ones, and "..." for what is left out.
 * Arguments that address memory never have room, unless two kernels would be called the same without.
 */

enum { MAX_DEPTH = 6 };

struct name {
	const char *p;
	size_t n;
	uint32_t *close;           /* for each bracket where it closes, 0 = it does not */
	bool with_noise, is_least; /* room: the most, the least */
};

static const char *const unwrapped[] = {
#define AIF_KERNEL_UNWRAP(name) name,
#include "names/kernel_rules.def"
};
static const char *const replaced[][2] = {
#define AIF_KERNEL_REPLACE(text, by) {text, by},
#include "names/kernel_rules.def"
};
static const char *const noise[] = {
#define AIF_KERNEL_NOISE(text) text,
#include "names/kernel_rules.def"
};
static const char *const loops[] = {
#define AIF_KERNEL_ARGUMENT(text) text,
#include "names/kernel_rules.def"
};
static const char *const named_by_last[] = {
#define AIF_KERNEL_LAST(text) text,
#include "names/kernel_rules.def"
};
static const size_t rooms[] = {
#define AIF_KERNEL_ROOM(bytes) bytes,
#include "names/kernel_rules.def"
};
static_assert(AIF_ARRAY_LEN(rooms) == AIF_KERNEL_ROOMS, "the header says how many there are");

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool begins(const char *p, size_t n, const char *with)
{
	size_t len = strlen(with);

	return n >= len && !memcmp(p, with, len);
}

/* The length of what `rule` matches at p, # being letters, digits and '_' up to what follows it. */
static size_t match_len(const char *rule, const char *p, size_t n)
{
	const char *hash = strchr(rule, '#');
	size_t at = hash ? (size_t)(hash - rule) : strlen(rule);

	if (n < at || memcmp(p, rule, at))
		return 0;
	if (!hash)
		return at;
	for (; at < n && is_word(p[at]); at++)
		if (begins(p + at, n - at, hash + 1))
			return at + strlen(hash + 1);
	return 0;
}

/* "f(int)::{lambda()#3}::operator()() const::{lambda(float)#1}" is "f::{lambda(float)}": nobody
 * gave the ones between a name. The length of what is left out at `at`, 0 = nothing. */
static size_t unnamed_len(const struct name *t, size_t at)
{
	static const char call[] = "::operator()", lambda[] = "::{lambda(";
	size_t i = at;

	if (t->p[i] == '(' && t->close[i] && i && (is_word(t->p[i - 1]) || t->p[i - 1] == '>')) {
		i = t->close[i] + 1;
		i += begins(t->p + i, t->n - i, " const") ? strlen(" const") : 0;
		return begins(t->p + i, t->n - i, "::") ? i - at : 0;
	}
	if (!begins(t->p + i, t->n - i, lambda) || !t->close[i + 2])
		return 0;
	i = t->close[i + 2] + 1;
	if (!begins(t->p + i, t->n - i, call))
		return 0;
	i += strlen(call);
	if (i < t->n && t->p[i] == '(' && t->close[i])
		i = t->close[i] + 1;
	i += begins(t->p + i, t->n - i, " const") ? strlen(" const") : 0;
	return begins(t->p + i, t->n - i, "::{") ? i - at : 0;
}

static void plain(const struct name *t, struct aif_buf *ret)
{
	for (size_t at = 0; at < t->n;) {
		size_t skip = t->with_noise ? 0 : unnamed_len(t, at);

		for (size_t i = 0; !skip && i < AIF_ARRAY_LEN(replaced); i++) {
			if (at && is_word(t->p[at - 1]))
				break;
			skip = match_len(replaced[i][0], t->p + at, t->n - at);
			if (skip)
				aif_buf_puts(ret, replaced[i][1]);
		}
		if (!skip && !t->with_noise && t->p[at] == '#' && at && t->p[at - 1] == ')')
			while (at + ++skip < t->n && isdigit((unsigned char)t->p[at + skip]))
				;
		if (!skip) {
			aif_buf_putc(ret, t->p[at]);
			skip = 1;
		}
		at += skip;
	}
}

/* False when memory runs out. */
static bool name_set(struct name *t, const char *p, size_t n)
{
	free(t->close);
	*t = (struct name){.p = p, .n = n, .with_noise = t->with_noise, .is_least = t->is_least};
	t->close = aif_name_closings(p, n);
	return t->close;
}

/* Takes away the template around the kernel. False when memory runs out. */
static bool unwrap(struct name *t)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(unwrapped); i++) {
		size_t n = strlen(unwrapped[i]), end;

		if (!begins(t->p, t->n, unwrapped[i]) || n >= t->n || t->p[n] != '<' ||
		    t->close[n] + 1 != t->n)
			continue;
		end = t->n - 1;
		while (end > n + 1 && t->p[end - 1] == ' ')
			end--;
		return name_set(t, t->p + n + 1, end - n - 1);
	}
	return true;
}

/* True for arguments that are left out, of the template that opens at `open`. */
static bool is_noise(const struct name *t, size_t open, size_t from, size_t to)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(noise) && !t->with_noise; i++)
		if (begins(t->p + from, to - from, noise[i]))
			return true;
	for (size_t i = 0; i < AIF_ARRAY_LEN(named_by_last) && t->is_least; i++) {
		size_t n = strlen(named_by_last[i]);

		if (to < t->close[open] && n <= open + 1 &&
		    !memcmp(t->p + open + 1 - n, named_by_last[i], n))
			return true;
	}
	return false;
}

/* An argument that is a loop around another becomes that one. */
static void argument_unwrap(const struct name *t, size_t *from, size_t *to)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(loops) && !t->with_noise; i++) {
		size_t open = *from + strlen(loops[i]) - 1;

		if (!begins(t->p + *from, *to - *from, loops[i]) || t->close[open] <= open ||
		    t->close[open] >= *to)
			continue;
		*from = open + 1;
		*to = t->close[open];
		return;
	}
}

/* Returns the end of the argument that begins at `at`: a comma, or `end`. */
static size_t argument_end(const struct name *t, size_t at, size_t end)
{
	for (; at < end && t->p[at] != ','; at++)
		if (t->close[at] > at && t->close[at] < end)
			at = t->close[at];
	return at;
}

static bool is_template(const struct name *t, size_t at)
{
	return t->p[at] == '<' && t->close[at] && at && is_word(t->p[at - 1]);
}

/* A template's arguments as they come out. */
struct list {
	struct aif_buf *to;
	bool has_some, ends_with_dots;
};

static void list_next(struct list *l)
{
	aif_buf_puts(l->to, l->has_some ? ", " : "");
	l->has_some = true;
	l->ends_with_dots = false;
}

static void list_leave_out(struct list *l)
{
	if (l->ends_with_dots)
		return;
	list_next(l);
	aif_buf_puts(l->to, "...");
	l->ends_with_dots = true;
}

/* The next argument behind *at of the template that opens at `open`, "..." for those before it that
 * are left out; false at the end. */
static bool argument_next(const struct name *t, size_t open, size_t *at, struct list *l,
			  size_t *ret_from, size_t *ret_to)
{
	size_t end = t->close[open];

	while (++*at < end) {
		*at += t->p[*at] == ' ';
		*ret_from = *at;
		*ret_to = *at = argument_end(t, *at, end);
		if (!is_noise(t, open, *ret_from, *ret_to)) {
			argument_unwrap(t, ret_from, ret_to);
			return true;
		}
		list_leave_out(l);
	}
	return false;
}

/* Appends the text with the arguments of templates `deepest` deep. "A<B<C> >" comes out as
 * "A<B<C>>". */
static void put(const struct name *t, size_t from, size_t to, unsigned deepest, struct aif_buf *ret)
{
	while (to > from && t->p[to - 1] == ' ')
		to--;
	for (size_t at = from; at < to; at++) {
		struct list l = {.to = ret};
		size_t end = t->close[at], next = at, first, last;

		aif_buf_putc(ret, t->p[at]);
		if (!is_template(t, at) || end >= to)
			continue;
		if (!deepest)
			list_leave_out(&l);
		while (deepest && argument_next(t, at, &next, &l, &first, &last)) {
			list_next(&l);
			put(t, first, last, deepest - 1, ret);
		}
		aif_buf_putc(ret, '>');
		at = end;
	}
}

/* The last template between that is not within another, or `to`. */
static size_t last_template(const struct name *t, size_t from, size_t to)
{
	size_t last = to;

	for (size_t at = from; at < to; at++) {
		if (is_template(t, at) && t->close[at] < to)
			last = at;
		at = AIF_MAX(at, (size_t)t->close[at]);
	}
	return last;
}

/* All arguments, as deep as there is room for; or as many of the last template's as there is, the
 * first ones first, and no more than the names of the templates among them. */
static void fit(const struct name *t, size_t from, size_t to, size_t room, unsigned deepest,
		struct aif_buf *ret)
{
	size_t begin = ret->len, at = last_template(t, from, to), next = at, end, first, last;
	struct list l = {.to = ret};

	for (unsigned depth = deepest; depth > 1 || (depth && at == to); depth--) {
		put(t, from, to, depth, ret);
		if (ret->failed || ret->len - begin <= room)
			return;
		ret->len = begin;
	}
	if (at == to || !deepest) {
		put(t, from, to, 0, ret);
		return;
	}
	end = t->close[at];
	room -= AIF_MIN(room, strlen(", ...>") + to - end - 1);
	put(t, from, at, 0, ret);
	aif_buf_putc(ret, '<');
	while (!ret->failed && argument_next(t, at, &next, &l, &first, &last)) {
		struct list before = l;
		size_t len = ret->len, used;

		list_next(&l);
		used = ret->len - begin;
		fit(t, first, last, room - AIF_MIN(room, used), deepest - 1, ret);
		if (ret->len - begin > room) {
			ret->len = len;
			l = before;
			list_leave_out(&l);
			break;
		}
	}
	aif_buf_putc(ret, '>');
	put(t, end + 1, to, 0, ret);
}

/* Bytes that are parsed of a name longer than LONGEST, which no compiler makes: more than is shown of any. */
#define LONGEST    65536
#define PARSED_MAX 8192

void aif_kernel_name(const char *name, size_t n, unsigned room, struct aif_buf *ret)
{
	struct aif_buf bare = {0}, text = {0};
	struct name t = {.with_noise = room + 1 == AIF_KERNEL_ROOMS, .is_least = !room};
	size_t begin = ret->len;

	assert(room < AIF_KERNEL_ROOMS);
	if (n > LONGEST)
		n = PARSED_MAX;
	aif_name_bare(name, n, &bare);
	if (!bare.failed && name_set(&t, (char *)bare.data, bare.len) && unwrap(&t)) {
		plain(&t, &text);
		if (!text.failed && name_set(&t, (char *)text.data, text.len))
			fit(&t, 0, t.n, rooms[room], MAX_DEPTH, ret);
		else
			ret->failed = true;
	} else
		ret->failed = true;
	aif_name_cut(ret, begin, rooms[room] + 96); /* where no template's arguments make it long */
	free(t.close);
	aif_buf_finish(&bare);
	aif_buf_finish(&text);
}

bool aif_kernel_is_itself(const char *function, const char *kernel)
{
	size_t n = strlen(kernel);

	return !strncmp(function, kernel, n) && (!function[n] || !strncmp(function + n, " (", 2));
}

bool aif_kernel_is_wrapper(const char *name, size_t n)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(unwrapped); i++) {
		size_t len = strlen(unwrapped[i]);

		if (n > len && begins(name, n, unwrapped[i]) && name[len] == '<')
			return true;
	}
	return false;
}
