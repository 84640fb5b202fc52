/* SPDX-License-Identifier: Apache-2.0 */
#include "names/filter.h"

#include "names/frame_labels.h"
#include "names/kernel_names.h"
#include "names/names.h"
#include "base/glob.h"
#include "base/demangle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Begins with a word of ours as it is printed, "[write]", which as an expression is one of its
 * letters. */
static bool is_mark(const char *text)
{
	static const char *const patterns[] = {"[[]backward]",       "[[]waiting]",
					       "[[]waiting: *]",     "[[]unknown kernel]",
					       "[[]unknown shader]", "[[]* graph [0-9]*]"};
	const char *end = *text == '[' ? strchr(text, ']') : NULL;
	size_t len = end ? (size_t)(end - text) + 1 : 0;
	char kind[64];

	if (!len || (text[len] && text[len] != ' '))
		return false;
	for (size_t i = 0; i < AIF_ARRAY_LEN(patterns); i++)
		if (aif_glob(patterns[i], text, len, NULL))
			return true;
	for (unsigned i = 0; i < AIF_STACK_FLAVOURS; i++)
		if (aif_stack_mark(i) && !strncmp(text, aif_stack_mark(i), len))
			return true;
	for (uint32_t i = 0; i < AIF_LAUNCH_KIND_COUNT; i++) {
		snprintf(kind, sizeof(kind), "[%s]", aif_launch_kind_name(i));
		if (!strncmp(text, kind, len))
			return true;
	}
	return !strncmp(text, AIF_STACK_UNKNOWN, len);
}

/* Longer expressions, and ones that repeat more, take regcomp() gigabytes or its stack. */
#define MOST_CHARACTERS 10000
#define MOST_REPEATS    10000

#define MOST_GROUPS 100

#define DEMANGLED_MAX 8192 /* bytes: more than any view prints */

/* Returns the last character of a bracket expression, "[^]a-z[:alpha:]]", which begins at `s`. */
static const char *end_of_brackets(const char *s)
{
	s += s[1] == '^' ? 2 : 1;
	for (s += *s == ']'; *s && *s != ']'; s++) {
		const char *end =
			*s == '[' && s[1] && strchr(":.=", s[1]) ? strchr(s + 2, s[1]) : NULL;

		if (end && end[1] == ']')
			s = end + 1;
	}
	return *s ? s : s - 1;
}

/* Returns how often a repetition that begins at `s` has regcomp() copy what it repeats; of what may be empty it makes 4.4 times as
 * much of each plus. */
static unsigned long copies_of(const char *s, bool may_be_empty)
{
	char *end;
	unsigned long n;

	if (*s != '{')
		return may_be_empty ? 5 : 2;
	n = strtoul(s + 1, &end, 10);
	if (*end == ',')
		n = AIF_MAX(n, strtoul(end + 1, NULL, 10));
	return AIF_MIN(AIF_MAX(n, 1UL), 100000UL);
}

/* True for expressions such as "a{1,255}{1,255}{1,255}", which stand for 255^3 characters, or "((a+)+)+", each plus of which
 * doubles what is in it, or makes it five times as much if a part may be empty: "a*+++". */
static bool repeats_too_often(const char *text)
{
	unsigned long most[MOST_GROUPS] = {1},
		      last = 1; /* copies in each open group, of the last item */
	bool has_empty = false; /* something so far may be */
	size_t depth = 0;

	for (const char *s = text; *s; s++) {
		switch (*s) {
		case '+':
		case '{':
			has_empty |= !strncmp(s, "{0", 2) || !strncmp(s, "{,", 2);
			last *= copies_of(s, has_empty);
			s += *s == '{' ? strspn(s + 1, "0123456789,") : 0;
			break;
		case '*':
		case '?':
			has_empty = true;
			break;
		case '(':
			has_empty |= s[1] == '|' || s[1] == ')';
			if (++depth == MOST_GROUPS)
				return true;
			most[depth] = last = 1;
			break;
		case ')':
			last = most[depth];
			depth -= depth > 0;
			break;
		case '}': /* ends a repetition */
			break;
		case '[':
			s = end_of_brackets(s);
			last = 1;
			break;
		default:
			has_empty |= *s == '^' || *s == '$' ||
				     (*s == '|' && (!s[1] || s[1] == '|' || s[1] == ')')) ||
				     (*s == '\\' && s[1] && strchr("bB<>`'", s[1]));
			s += *s == '\\' && s[1];
			last = 1;
		}
		most[depth] = AIF_MAX(most[depth], last);
		if (last > MOST_REPEATS)
			return true;
	}
	return false;
}

/* The sign for what tables leave out of a long name (text/elide.h). */
#define ELLIPSIS "\u2026"

/* Returns true if a table may have cut `name` to `text`: all parts of it stand in the name, in order, the first at its
 * beginning, the last at its end. */
static bool is_cut_of(const char *text, const char *name)
{
	const char *at = name, *end = name + strlen(name), *part = text, *next;

	for (; (next = strstr(part, ELLIPSIS)) != NULL; part = next + strlen(ELLIPSIS)) {
		size_t len = (size_t)(next - part);
		const char *found = len ? memmem(at, (size_t)(end - at), part, len) : at;

		if (!found || (part == text && found != name))
			return false;
		at = found + len;
	}
	return (size_t)(end - at) >= strlen(part) && !strcmp(end - strlen(part), part);
}

static int init(struct aif_regex *r, const char *option, const char *text, bool is_strict,
		struct aif_err *err)
{
	char why[128], *mark = NULL;
	int e;

	*r = (struct aif_regex){0};
	if (!text)
		return 0;
	if (strnlen(text, MOST_CHARACTERS + 1) > MOST_CHARACTERS || repeats_too_often(text))
		return aif_err_set(
			err, -EINVAL,
			"%s '%.100s...': a regular expression that is too long, or repeats too often",
			option, text);
	if (is_mark(text) && asprintf(&mark, "\\%s", text) < 0)
		return aif_err_set(err, -ENOMEM, "out of memory");
	e = regcomp(&r->re, mark ? mark : text, REG_EXTENDED | REG_NOSUB);
	free(mark);
	if (e == REG_ESPACE)
		return aif_err_set(err, -ENOMEM, "out of memory");
	if (e != 0 && is_strict) {
		regerror(e, &r->re, why, sizeof(why));
		return aif_err_set(err, -EINVAL,
				   "%s '%s': %s; it takes a POSIX extended regular expression",
				   option, text, why);
	}
	r->is_name = e != 0;
	r->is_cut = strstr(text, ELLIPSIS) != NULL;
	r->is_function = strpbrk(text, "<({:") != NULL || r->is_cut;
	r->is_set = true;
	r->text = strdup(text);
	if (!r->text) {
		aif_regex_finish(r);
		return aif_err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

int aif_regex_init(struct aif_regex *r, const char *option, const char *text, struct aif_err *err)
{
	return init(r, option, text, false, err);
}

int aif_regex_init_strict(struct aif_regex *r, const char *option, const char *text,
			  struct aif_err *err)
{
	return init(r, option, text, true, err);
}

bool aif_regex_is_name(const char *text, char *why, size_t why_size)
{
	struct aif_err err = {0};
	struct aif_regex r;
	regex_t re;
	int e;

	if (aif_regex_init(&r, "", text, &err) < 0 || !r.is_name) {
		aif_regex_finish(&r);
		return false;
	}
	aif_regex_finish(&r);
	e = regcomp(&re, text, REG_EXTENDED | REG_NOSUB);
	regerror(e, &re, why, why_size);
	if (!e)
		regfree(&re);
	return e != 0;
}

void aif_regex_finish(struct aif_regex *r)
{
	if (r->is_set && !r->is_name)
		regfree(&r->re);
	free(r->text);
	r->text = NULL;
	r->is_set = false;
}

bool aif_regex_matches(const struct aif_regex *r, const char *text)
{
	return r->is_set && ((!r->is_name && regexec(&r->re, text, 0, NULL, 0) == 0) ||
			     !strcmp(text, r->text) || (r->is_cut && is_cut_of(r->text, text)));
}

/* Returns true if `shown` is how a view may print the function, or cut it. */
static bool is_shown_as(const struct aif_regex *r, struct aif_buf *shown)
{
	const char *text = aif_buf_str(shown);
	bool is = shown->len && (!strcmp(r->text, text) || (r->is_cut && is_cut_of(r->text, text)));

	aif_buf_clear(shown);
	return is;
}

bool aif_regex_matches_function(const struct aif_regex *r, const char *name)
{
	struct aif_buf shown = {0}, plain = {0};
	bool is = aif_regex_matches(r, name);
	size_t len;

	if (is || !r->is_set || !r->is_function)
		return is;
	/* Some traces have names as the linker has them. */
	if (aif_is_mangled(name, strlen(name)))
		aif_demangle_part(name, DEMANGLED_MAX, &plain);
	if (plain.len && !aif_buf_failed(&plain)) {
		name = aif_buf_str(&plain);
		is = aif_regex_matches(r, name);
	}
	len = strlen(name);
	for (unsigned d = AIF_NAME_BRIEF; d <= AIF_NAME_NORMAL && !is; d++) {
		aif_name_short(name, len, (enum aif_name_detail)d, &shown);
		is = is_shown_as(r, &shown);
	}
	if (!is) {
		aif_name_bare(name, len, &shown);
		is = is_shown_as(r, &shown);
	}
	for (unsigned room = 0; room < AIF_KERNEL_ROOMS && !is; room++) {
		aif_kernel_name(name, len, room, &shown);
		is = is_shown_as(r, &shown);
	}
	aif_buf_finish(&shown);
	aif_buf_finish(&plain);
	return is;
}

bool aif_filter_kernel(const struct aif_regex *r, const struct aif_names *names, uint32_t kind,
		       uint32_t kernel)
{
	const char *name;
	char mark[64];

	if (kind == AIF_LAUNCH_KERNEL && kernel >= names->p->kernels_len)
		return false;
	if (kind == AIF_LAUNCH_KERNEL) {
		name = aif_names_short(names, kernel);
	} else {
		snprintf(mark, sizeof(mark), "[%s]", aif_launch_kind_name(kind));
		name = mark;
	}
	return aif_regex_matches_function(r, aif_names_work_full(names, kind, kernel)) ||
	       (name && aif_regex_matches(r, name));
}

int aif_filter_init(struct aif_filter *f, const char *focus, const char *ignore,
		    struct aif_err *err)
{
	int r = aif_regex_init(&f->focus, "--focus", focus, err);

	f->ignore = (struct aif_regex){0};
	if (r == 0)
		r = aif_regex_init(&f->ignore, "--ignore", ignore, err);
	if (r < 0)
		aif_filter_finish(f);
	return r;
}

void aif_filter_finish(struct aif_filter *f)
{
	aif_regex_finish(&f->focus);
	aif_regex_finish(&f->ignore);
}

unsigned aif_filter_hits(const struct aif_filter *f, const char *text)
{
	return (aif_regex_matches_function(&f->focus, text) ? AIF_HIT_FOCUS : 0) |
	       (aif_regex_matches_function(&f->ignore, text) ? AIF_HIT_IGNORE : 0);
}

int aif_filter_tree(const struct aif_filter *f, struct aif_tree *t)
{
	uint8_t *names, *nodes;
	size_t len;
	int r = -ENOMEM;

	assert(!t->sealed);
	if (!aif_filter_is_set(f))
		return 0;
	names = calloc(t->names.len, 1);
	nodes = calloc(t->len, 1);
	if (!names || !nodes)
		goto done;
	/* Name 0 is the root's, which is in no stack. */
	for (uint32_t i = 1; i < t->names.len; i++)
		names[i] = (uint8_t)aif_filter_hits(f, aif_tree_text(t, i, &len));
	for (uint32_t n = 0; n < t->len; n++) {
		nodes[n] = names[t->nodes[n].name] | (n ? nodes[t->nodes[n].parent] : 0);
		if (!aif_filter_keeps(f, nodes[n]))
			t->nodes[n].self = 0;
	}
	r = 0;
done:
	free(names);
	free(nodes);
	return r;
}
