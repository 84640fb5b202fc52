/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/demangle.h"

#include "base/demangle_rust.h"

#include <setjmp.h>
#include <string.h>

/*
 * Three limits of libstdc++'s demangler shape this file. (1) A mangled name of 40 bytes a level can
 * stand for text that doubles with each level, so a hostile file could make __cxa_demangle eat all
 * memory and time. Its sister below hands out the text in pieces, and the callback stops it by a
 * long jump: it holds nothing but its stack frames. (2) It refuses names of more than 1024 bytes
 * (measured; protection of the stack), which heavy templates do reach; of those we give the part
 * that can be read without understanding the template arguments. (3) It knows the mangling of its
 * day, and of clang's not all: since version 18 clang writes the declared type of a template's
 * parameter ("Tn" and the type) where the argument alone does not tell it, that is with each
 * std::enable_if_t<..., int> = 0, of which Abseil has hundreds; C++20's constraints are the next.
 * Of those we give what stands before.
 */

enum { MAX_DEMANGLED = 1024, MAX_BEGINNINGS = 64 };

/* In libsupc++; declared in no header that C can read. */
int __gcclibcxx_demangle_callback(const char *mangled, void (*fn)(const char *, size_t, void *),
				  void *arg);

struct sink {
	struct aif_buf *ret;
	size_t left;
	jmp_buf full;
};

static void take_piece(const char *text, size_t n, void *arg)
{
	struct sink *s = arg;
	size_t now = AIF_MIN(n, s->left);

	aif_buf_append(s->ret, text, now);
	s->left -= now;
	if (now < n || s->ret->failed)
		longjmp(s->full, 1);
}

static AIF_NOINLINE bool demangle_whole(const char *name, size_t max, struct aif_buf *ret)
{
	struct sink s = {.ret = ret, .left = max};

	if (setjmp(s.full))
		return true; /* what fits */
	return __gcclibcxx_demangle_callback(name, take_piece, &s) == 0;
}

/* _Z [N qualifiers] (length identifier)+ I...: a::b::c<...>(...) */
static bool demangle_outline(const char *name, struct aif_buf *ret)
{
	const char *p = name + 2;
	size_t parts = 0;
	bool nested = *p == 'N';

	if (nested)
		p += 1 + strspn(p + 1, "rVKRO");
	if (p[0] == 'S' && p[1] == 't') {
		aif_buf_puts(ret, "std");
		p += 2;
		parts++;
	}
	while (p[*p == 'L'] >= '1' && p[*p == 'L'] <= '9') { /* L: of internal linkage */
		size_t n = 0;

		p += *p == 'L';
		while (*p >= '0' && *p <= '9' && n < AIF_NAME_MAX)
			n = n * 10 + (size_t)(*p++ - '0');
		if (strnlen(p, n) < n)
			return false;
		if (parts++)
			aif_buf_puts(ret, "::");
		if (n > 10 && !strncmp(p, "_GLOBAL__N", 10))
			aif_buf_puts(ret, "(anonymous namespace)");
		else
			aif_buf_append(ret, p, n);
		p += n;
		if (!nested)
			break;
	}
	if (!parts)
		return false;
	aif_buf_puts(ret, *p == 'I' ? "<...>(...)" : "(...)");
	return true;
}

static size_t digits(const char *p)
{
	return strspn(p, "0123456789");
}

/* The length of what stands at p, which is no operator or type of one letter: an identifier, a
 * number, or a reference to what came before. 0: none of them. */
static size_t token_len(const char *p)
{
	size_t n = 1 + strspn(p + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"), len = 0;

	if ((*p == 'S' || *p == 'T') && p[n] == '_')
		return n + 1; /* S1_, T0_ */
	if ((*p == 'C' || *p == 'D') && digits(p + 1))
		return 2; /* a constructor */
	if (*p == 'A' && p[1 + digits(p + 1)] == '_')
		return 2 + digits(p + 1); /* an array's length */
	if (*p == 'L' && p[1] >= 'a' && p[1] <= 'z')
		return 2 + digits(p + 2); /* a number as an argument */
	if (!digits(p))
		return 0;
	for (n = 0; n < digits(p) && len < AIF_NAME_MAX; n++)
		len = len * 10 + (size_t)(p[n] - '0');
	return n + strnlen(p + n, len);
}

/* Demangles as much of the name as the demangler reads: up to the arguments of a template, or
 * the parameters, that it does not. A prefix that ends inside of an argument is no name, and
 * refused. */
static bool demangle_beginning(const char *name, size_t max, struct aif_buf *ret)
{
	size_t ends[MAX_BEGINNINGS], n = 0, begin = ret->len;
	bool nested = name[2] == 'N', done = false;
	struct aif_buf prefix = {0};

	for (const char *p = name + 2; *p && n < MAX_BEGINNINGS && p < name + MAX_DEMANGLED;) {
		size_t len = token_len(p);

		if (!len && (*p == 'I' || *p == 'E'))
			ends[n++] = (size_t)(p - name);
		p += AIF_MAX(len, 1);
	}
	while (n-- && !done) {
		const char *text;

		aif_buf_clear(&prefix);
		aif_buf_append(&prefix, name, ends[n]);
		aif_buf_puts(&prefix, nested ? "Ev" : "v");
		ret->len = begin;
		done = !aif_buf_failed(&prefix) && demangle_whole(aif_buf_str(&prefix), max, ret) &&
		       !ret->failed;
		/* the parameters that were added */
		text = done ? memrchr(ret->data + begin, '(', ret->len - begin) : NULL;
		done = text && text != (const char *)ret->data + begin;
		if (!done)
			continue;
		ret->len = (size_t)((const uint8_t *)text - ret->data);
		aif_buf_puts(ret, name[ends[n]] != 'I' ? "(...)"
				  : nested             ? "<...>..."
						       : "<...>(...)");
	}
	aif_buf_finish(&prefix);
	return done;
}

/* The length of `name` without the suffixes of split-off copies. */
static size_t without_suffixes(const char *name, size_t n)
{
	static const char *const suffixes[] = {".cold",     ".part", ".isra",       ".constprop",
					       ".lto_priv", ".llvm", ".localalias", ".clone"};

	for (const char *dot; (dot = memrchr(name, '.', n)) && dot != name;) {
		size_t end = n;

		/* a number, of a suffix before it or standing alone */
		if (digits(dot + 1) == (size_t)(name + n - dot - 1) && dot + 1 < name + n) {
			const char *before = memrchr(name, '.', (size_t)(dot - name));

			end = (size_t)(dot - name);
			if (!before || before == name)
				return n;
			dot = before;
		}
		for (size_t i = 0; i < AIF_ARRAY_LEN(suffixes); i++)
			if (strlen(suffixes[i]) == (size_t)(name + end - dot) &&
			    !strncmp(dot, suffixes[i], (size_t)(name + end - dot)))
				goto found;
		return n;
	found:
		n = (size_t)(dot - name);
	}
	return n;
}

/*
 * nvcc names the host's stub of a kernel after the kernel's mangled name, in the kernel's scope:
 * at::fill(int) has at::__device_stub__ZN2at4fillEi(int). Makes it __device_stub__at::fill(int),
 * from `begin` on. What is no such name stays as it is.
 */
static void demangle_stub(size_t begin, size_t max, struct aif_buf *ret)
{
	static const char stub[] = "__device_stub__";
	const char *text = aif_buf_str(ret), *at;
	struct aif_buf own = {0}, kernel = {0};
	size_t n;

	if (ret->failed || !(at = strstr(text + begin, "__device_stub__Z")))
		return;
	n = strcspn(text + begin, "(<");
	if (text + begin + n < at)
		return; /* in another's arguments */
	at += sizeof(stub) - 1;
	n = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$.");
	aif_buf_putc(&own, '_');
	aif_buf_append(&own, at, n);

	if (!own.failed && demangle_whole(aif_buf_str(&own), max, &kernel) && !kernel.failed) {
		ret->len = begin;
		aif_buf_puts(ret, stub);
		aif_buf_append(ret, kernel.data,
			       AIF_MIN(kernel.len, max - AIF_MIN(max, sizeof(stub) - 1)));
	}
	aif_buf_finish(&kernel);
	aif_buf_finish(&own);
}

bool aif_is_mangled(const char *name, size_t n)
{
	return n > 2 && ((name[0] == '_' && (name[1] == 'Z' || name[1] == 'R')) ||
			 aif_is_printed_rust(name, without_suffixes(name, n)));
}

void aif_demangle(const char *name, struct aif_buf *ret)
{
	aif_demangle_part(name, AIF_NAME_MAX, ret);
}

void aif_demangle_part(const char *name, size_t max, struct aif_buf *ret)
{
	size_t n = strnlen(name, AIF_NAME_MAX), begin = ret->len;
	char *own;

	n = without_suffixes(name, n);
	if (aif_demangle_rust(name, n, max, ret))
		return;
	own = name[0] == '_' && name[1] == 'Z' ? strndup(name, n) : NULL;
	if (own) {
		bool done = demangle_whole(own, max, ret);

		if (!done) {
			ret->len = begin;
			done = n > MAX_DEMANGLED ? demangle_outline(own, ret)
						 : demangle_beginning(own, max, ret);
		}
		free(own);
		if (done) {
			demangle_stub(begin, max, ret);
			return;
		}
		ret->len = begin;
	}
	aif_buf_append(ret, name, AIF_MIN(n, max));
}
