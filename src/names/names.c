/* SPDX-License-Identifier: Apache-2.0 */
#include "names/names.h"

#include "base/memory.h"

#include "names/cython_names.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

/*
 * Three passes over a demangled name, each linear in its length:
 * replace() for the literal rules, drop_parameters() for what surrounds the function's own name, and
 * collapse() for template arguments, tried from deep to flat until the name fits.
 *
 * None of them understands C++. They know brackets, and the few places where a bracket is none:
 * "operator<", "->", and comparisons, which demanglers write in parentheses.
 */

/* Template arguments deeper than this are never shown. */
enum { MAX_DEPTH = 6 };

struct text {
	const char *p;
	size_t n;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool begins(struct text t, size_t at, const char *with)
{
	size_t n = strlen(with);

	return t.n - at >= n && !memcmp(t.p + at, with, n);
}

/* The length of "operator" with its symbol at `at`, 0 if there is none. */
static size_t operator_len(struct text t, size_t at)
{
	static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
					      ">>", "<=", ">=",  "->",  "<",   ">"};
	size_t n = strlen("operator");

	if (!begins(t, at, "operator") || (at && is_word(t.p[at - 1])))
		return 0;
	if (at + n < t.n && is_word(t.p[at + n]))
		return 0;
	for (size_t i = 0; i < AIF_ARRAY_LEN(symbols); i++)
		if (begins(t, at + n, symbols[i])) {
			n += strlen(symbols[i]);
			/* demanglers part "operator<" from "<int>" by a space */
			return n + begins(t, at + n, " <");
		}
	return n + (at + n < t.n && t.p[at + n] == ' '); /* operator new, operator bool */
}

static char opener_of(char close)
{
	return close == ')' ? '(' : close == '}' ? '{' : close == ']' ? '[' : '<';
}

/* Finds for each bracket where it closes, 0 = it does not; for free(), NULL when memory runs out.
 * One pass, whatever the name: a closing bracket closes the nearest opening one of its kind, except
 * that '>' does not reach out of parentheses (where it may compare), and '<'s left open count for
 * nothing. */
static uint32_t *find_closings(struct text t)
{
	uint32_t *close = calloc(t.n + 1, sizeof(*close)), *open = calloc(t.n + 1, sizeof(*open));
	size_t depth = 0, of_kind[UCHAR_MAX + 1] = {0}, skip;

	if (!close || !open) {
		aif_memory_fail();
		goto fail;
	}
	for (size_t i = 0; i < t.n; i++) {
		char c = t.p[i], opener;

		if ((skip = operator_len(t, i)) != 0) {
			i += skip - 1;
			continue;
		}
		if (c && strchr("(<{[", c)) {
			open[depth++] = (uint32_t)i;
			of_kind[(unsigned char)c]++;
			continue;
		}
		if (!c || !strchr(")>}]", c) || (c == '>' && i && t.p[i - 1] == '-'))
			continue;
		opener = opener_of(c);
		if (!of_kind[(unsigned char)opener] || (c == '>' && t.p[open[depth - 1]] != '<'))
			continue;
		while (t.p[open[depth - 1]] != opener)
			of_kind[(unsigned char)t.p[open[--depth]]]--;
		close[open[--depth]] = (uint32_t)i;
		of_kind[(unsigned char)opener]--;
	}
	free(open);
	return close;
fail:
	free(close);
	free(open);
	return NULL;
}

/* The length of what `pattern` matches at `at`, 0 if it does not. */
static size_t match_len(const char *pattern, struct text t, size_t at)
{
	size_t i = at;

	for (; *pattern; pattern++) {
		size_t from = i;

		switch (*pattern) {
		case '#':
			while (i < t.n && isdigit((unsigned char)t.p[i]))
				i++;
			break;
		case '~':
			while (i < t.n && t.p[i] && strchr("0123456789cde", t.p[i]))
				i++;
			break;
		case '*':
			while (i < t.n && !strchr("[](){}<>", t.p[i]))
				i++;
			continue; /* may be nothing */
		case '@':
			i += i < t.n && isxdigit((unsigned char)t.p[i]);
			break;
		default:
			i += i < t.n && t.p[i] == *pattern;
		}
		if (i == from)
			return 0;
	}
	return i - at;
}

static const char *const prefixes[] = {
#define AIF_NAME_PREFIX(text) text,
#include "names/name_rules.def"
};
static const char *const replaced[][2] = {
#define AIF_NAME_REPLACE(text, by) {text, by},
#include "names/name_rules.def"
};
static const char *const dropped[] = {
#define AIF_NAME_DROP(pattern) pattern,
#include "names/name_rules.def"
};
static const char *const suffixes[] = {
#define AIF_NAME_SUFFIX(pattern) pattern,
#include "names/name_rules.def"
};
static const struct {
	size_t templates, all;
} limits[] = {
#define AIF_NAME_LIMIT(detail, templates, all) [AIF_NAME_##detail] = {templates, all},
#include "names/name_rules.def"
};

/* Returns the length without suffixes: they begin with one of few characters, near the end. */
static size_t without_suffixes(struct text t)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(suffixes); i++)
		for (size_t back = 1; back < 64 && back < t.n; back++)
			if (match_len(suffixes[i], t, t.n - back) == back) {
				t.n -= back;
				i = SIZE_MAX; /* there may be several: again from the first */
				break;
			}
	return t.n;
}

static void replace(struct text t, struct aif_buf *ret)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(prefixes); i++)
		if (begins(t, 0, prefixes[i])) {
			t.p += strlen(prefixes[i]);
			t.n -= strlen(prefixes[i]);
		}
	t.n = without_suffixes(t);
	for (size_t at = 0; at < t.n;) {
		size_t begin = ret->len, skip = 0;

		for (size_t i = 0; i < AIF_ARRAY_LEN(dropped) && !skip; i++)
			skip = match_len(dropped[i], t, at);
		if (!skip) {
			aif_buf_putc(ret, t.p[at]);
			skip = 1;
		}
		at += skip;
		/* Replace at the end of the output, so that rules see what earlier ones left. */
		for (size_t i = 0; i < AIF_ARRAY_LEN(replaced) && ret->len > begin; i++) {
			size_t n = strlen(replaced[i][0]);

			if (ret->len < n || ret->data[ret->len - 1] != replaced[i][0][n - 1] ||
			    memcmp(ret->data + ret->len - n, replaced[i][0], n))
				continue;
			ret->len -= n;
			aif_buf_puts(ret, replaced[i][1]);
		}
	}
}

/* Returns the number of bytes after a parameter list that belong to it; *ret_is_list is false if
 * they show that it is none. */
static size_t qualifiers_len(struct text t, size_t at, bool *ret_is_list)
{
	static const char *const words[] = {" const", " volatile", " &&", " &", " noexcept"};
	size_t begin = at;

	for (size_t i = 0; i < AIF_ARRAY_LEN(words); i++)
		if (begins(t, at, words[i])) {
			at += strlen(words[i]);
			i = SIZE_MAX;
		}
	*ret_is_list = at == t.n || begins(t, at, "::");
	return at - begin;
}

static void drop_parameters(struct text t, const uint32_t *close, struct aif_buf *ret)
{
	size_t begin = ret->len, name = begin, skip;
	bool had_list = false, is_cut = false;

	for (size_t at = 0; at < t.n && !ret->failed;) {
		char c = t.p[at];
		size_t end;

		if ((skip = operator_len(t, at)) != 0) {
			aif_buf_append(ret, t.p + at, skip);
			at += skip;
			continue;
		}
		if ((end = close[at]) == 0) {
			aif_buf_putc(ret, c);
			at++;
			/* The text before a blank may be a return type; behind a bracket that was
			 * cut off it may be anything. */
			is_cut |= c && strchr("(<{[", c);
			if (c == ' ' && !had_list && !is_cut)
				name = ret->len;
			continue;
		}
		if (c == '{' && begins(t, at, "{lambda(")) {
			aif_buf_puts(ret, "{lambda}");
			at = end + 1;
			continue;
		}
		if (c == '(' && at && t.p[at - 1] != ' ' && t.p[at - 1] != ':') {
			bool is_list;
			size_t after = qualifiers_len(t, end + 1, &is_list);

			if (is_list) {
				if (!had_list && name > begin) {
					memmove(ret->data + begin, ret->data + name,
						ret->len - name);
					ret->len -= name - begin;
				}
				had_list = true;
				at = end + 1 + after;
				continue;
			}
		}
		aif_buf_append(ret, t.p + at, end + 1 - at);
		at = end + 1;
	}
}

/* Appends the text with the arguments of templates more than `deepest` deep as <...>. */
static void collapse(struct text t, const uint32_t *close, size_t deepest, struct aif_buf *ret)
{
	static const char dots[] = "<...>";
	size_t ends[MAX_DEPTH + 8], depth = 0, skip;

	for (size_t at = 0; at < t.n; at++) {
		char c = t.p[at];

		if ((skip = operator_len(t, at)) != 0) {
			aif_buf_append(ret, t.p + at, skip);
			at += skip - 1;
			continue;
		}
		/* After a word only: "<T as Trait>::f", "<lambda>" are names. */
		if (c == '<' && at && (is_word(t.p[at - 1]) || t.p[at - 1] == ' ')) {
			size_t end = close[at];

			if (end && depth == deepest && end - at >= sizeof(dots) - 1) {
				aif_buf_puts(ret, dots);
				at = end;
				continue;
			}
			if (end && depth < AIF_ARRAY_LEN(ends))
				ends[depth++] = end;
		} else if (depth && at == ends[depth - 1])
			depth--;
		aif_buf_putc(ret, c);
	}
}

void aif_name_cut(struct aif_buf *b, size_t begin, size_t max)
{
	size_t keep = begin + max - 3;

	if (b->len - begin <= max)
		return;
	while (keep > begin && (b->data[keep] & 0xc0) == 0x80)
		keep--;
	b->len = keep;
	aif_buf_puts(b, "...");
}

uint32_t *aif_name_closings(const char *name, size_t n)
{
	return find_closings((struct text){name, n});
}

void aif_name_bare(const char *name, size_t n, struct aif_buf *ret)
{
	struct aif_buf plain = {0};
	struct text t = {name, n};
	uint32_t *close;

	replace(t, &plain);
	t = (struct text){(char *)plain.data, plain.len};
	/* "[libfoo.so+0x10]" and the like are no functions. */
	if (n && name[0] == '[') {
		aif_buf_append(ret, t.p, t.n);
	} else {
		close = find_closings(t);
		if (close)
			drop_parameters(t, close, ret);
		ret->failed |= plain.failed || !close;
		free(close);
	}
	aif_buf_finish(&plain);
}

/* Bytes that are parsed of a name longer than LONGEST, which no compiler makes: more than is shown of any. */
#define LONGEST    65536
#define PARSED_MAX 8192

void aif_name_short(const char *name, size_t n, enum aif_name_detail detail, struct aif_buf *ret)
{
	struct aif_buf bare = {0};
	size_t begin = ret->len;
	struct text t;
	uint32_t *close;

	if (detail != AIF_NAME_BRIEF && detail != AIF_NAME_NORMAL) {
		aif_buf_append(ret, name, n);
		return;
	}
	if (n > LONGEST)
		n = PARSED_MAX;
	if (!aif_cython_name(name, n, &bare))
		aif_name_bare(name, n, &bare);
	t = (struct text){(char *)bare.data, bare.len};
	close = find_closings(t);
	if (close && !bare.failed) {
		for (size_t deepest = MAX_DEPTH;; deepest--) {
			ret->len = begin;
			collapse(t, close, deepest, ret);
			if (ret->failed || ret->len - begin <= limits[detail].templates ||
			    deepest == 0)
				break;
		}
		aif_name_cut(ret, begin, limits[detail].all);
	} else
		ret->failed = true;
	free(close);
	aif_buf_finish(&bare);
}
