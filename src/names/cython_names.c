/* SPDX-License-Identifier: Apache-2.0 */
#include "names/cython_names.h"

#include <ctype.h>
#include <string.h>

/*
 * Cython's names of functions (Cython/Compiler/Naming.py, Symtab.py): "__pyx_", what it is, then the scopes, each
 * with its length before and '_' behind it, then the function. A def function is numbered within its scope: its body is
 * the first to have a number, which is left out if it is 0, the wrapper that Python calls the next, which so always has
 * one. That tells "1__call__", the function __call__, from a scope '_'. Of a body "4load_all" may be both: it is read as
 * a scope, and the tooltip has the name as it is.
 */

static const struct {
	const char *prefix, *behind; /* what it is; what is said of that behind the name */
	bool is_numbered;            /* always */
} kinds[] = {
	{"pw_", "", true},  /* a def function as Python calls it */
	{"pf_", "", false}, /* its body */
	{"gb_", "", true},  /* a generator's body */
	{"f_", "", false},  /* a cdef function */
	{"tp_new_", ".__new__", false},
	{"tp_dealloc_", ".__dealloc__", false},
	{"tp_traverse_", ".tp_traverse", false},
	{"tp_clear_", ".tp_clear", false},
	{"tp_richcompare_", ".tp_richcompare", false},
	{"sq_item_", ".__getitem__", false},
	{"mp_ass_subscript_", ".__setitem__", false},
	{"getprop_", "", false},
	{"setprop_", "", false},
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Reads the number at the beginning of the text; *ret_len is its digits, 0 if there is none. */
static size_t number(const char *p, size_t n, size_t *ret_len)
{
	size_t value = 0, i = 0;

	for (; i < n && isdigit((unsigned char)p[i]) && value < 100000; i++)
		value = value * 10 + (size_t)(p[i] - '0');
	*ret_len = i;
	return value;
}

/* Moves *p behind the kind at its beginning; returns its index in kinds[], or -1. */
static int kind_skip(const char **p, size_t *n)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(kinds); i++) {
		size_t len = strlen(kinds[i].prefix);

		if (*n < len || memcmp(*p, kinds[i].prefix, len))
			continue;
		*p += len;
		*n -= len;
		return (int)i;
	}
	return -1;
}

/* "__pyx_fuse_1" of a function that is made for several types. */
static void fuse_skip(const char **p, size_t *n)
{
	static const char fuse[] = "fuse_", again[] = "__pyx_";
	size_t at = sizeof(fuse) - 1, digits;

	if (*n < at || memcmp(*p, fuse, at))
		return;
	number(*p + at, *n - at, &digits);
	at += digits;
	if (!digits || *n - at < sizeof(again) - 1 || memcmp(*p + at, again, sizeof(again) - 1))
		return;
	at += sizeof(again) - 1;
	*p += at;
	*n -= at;
}

bool aif_cython_name(const char *name, size_t n, struct aif_buf *ret)
{
	static const char pyx[] = "__pyx_";
	size_t words = 0, begin = ret->len, scopes = 0;
	const char *p = name;
	int kind;

	while (words < n && is_word(name[words]))
		words++;
	/* Names of code compiled as C++ end with parameters. */
	if (words <= sizeof(pyx) - 1 || memcmp(name, pyx, sizeof(pyx) - 1) ||
	    (words < n && name[words] != '('))
		return false;
	p += sizeof(pyx) - 1;
	n = words - (sizeof(pyx) - 1);
	fuse_skip(&p, &n);
	kind = kind_skip(&p, &n);
	if (kind < 0)
		return false;
	for (;;) {
		size_t digits, len = number(p, n, &digits);

		if (!digits)
			break;
		p += digits;
		n -= digits;
		if (!len || n < len + 2 || p[len] != '_' ||
		    (kinds[kind].is_numbered && !isdigit((unsigned char)p[len + 1])))
			break; /* it was the function's number */
		if (scopes++)
			aif_buf_putc(ret, '.');
		aif_buf_append(ret, p, len);
		p += len + 1;
		n -= len + 1;
	}
	if (!scopes || !n) {
		ret->len = begin;
		return false;
	}
	aif_buf_putc(ret, '.');
	aif_buf_append(ret, p, n);
	aif_buf_puts(ret, kinds[kind].behind);
	return true;
}
