/* SPDX-License-Identifier: Apache-2.0 */
#include "base/demangle_rust.h"

#include "base/utf8.h"

#include <string.h>

/*
 * Rust's two manglings. Legacy: the shape of a nested C++ name whose last part is a hash, with $..$ for what C++ has no
 * letters for. v0 (RFC 2603): a grammar in which a part may refer back to another (B), so that a short name may stand for
 * a text without end: what is written, followed and nested is bounded. Identifiers beyond ASCII stay in punycode, and names
 * with constants other than numbers, bool and char as they are.
 */

#define DEPTH_MAX 200
#define STEPS_MAX 20000

struct reader {
	const char *in; /* behind _R, where references count from */
	size_t at, len;
	struct aif_buf *out;
	size_t left;
	unsigned depth, steps;
	uint64_t lifetimes; /* bound at this place */
	bool is_silent, has_failed;
};

static void put(struct reader *r, const char *text, size_t n)
{
	size_t now = AIF_MIN(n, r->left);

	if (r->is_silent || r->has_failed)
		return;
	aif_buf_append(r->out, text, now);
	r->left -= now;
}

static void puts_(struct reader *r, const char *text)
{
	put(r, text, strlen(text));
}

static void put_number(struct reader *r, uint64_t n)
{
	char text[24], *at = text + sizeof(text);

	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	put(r, at, (size_t)(text + sizeof(text) - at));
}

static void put_utf8(struct reader *r, uint64_t c)
{
	struct aif_buf text = {0};

	aif_utf8_put_char(&text, (uint32_t)c);
	put(r, (const char *)text.data, text.len);
	aif_buf_finish(&text);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ---- legacy ---------------------------------------------------------------------------------- */

/* Returns how many bytes the escape at `p` has, 0: it is none. */
static size_t put_escape(struct reader *r, const char *p, size_t n)
{
	static const struct {
		const char *name, *text;
	} escapes[] = {{"SP", "@"}, {"BP", "*"}, {"RF", "&"}, {"LT", "<"},
		       {"GT", ">"}, {"LP", "("}, {"RP", ")"}, {"C", ","}};
	const char *end = n > 1 ? memchr(p + 1, '$', n - 1) : NULL;
	size_t len = end ? (size_t)(end - p - 1) : 0;
	uint64_t c = 0;

	for (size_t i = 0; len && i < AIF_ARRAY_LEN(escapes); i++)
		if (strlen(escapes[i].name) == len && !memcmp(p + 1, escapes[i].name, len)) {
			puts_(r, escapes[i].text);
			return len + 2;
		}
	if (len < 2 || len > 7 || p[1] != 'u')
		return 0;
	for (size_t i = 2; i <= len; i++) {
		if (hex_digit(p[i]) < 0)
			return 0;
		c = c << 4 | (unsigned)hex_digit(p[i]);
	}
	if (c < 0x20 || c == 0x7f || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	put_utf8(r, c);
	return len + 2;
}

static void put_part(struct reader *r, const char *p, size_t n)
{
	size_t i = n > 1 && p[0] == '_' && p[1] == '$';

	while (i < n) {
		size_t len = p[i] == '$' ? put_escape(r, p + i, n - i) : 0;

		if (len) {
			i += len;
		} else if (p[i] == '.' && i + 1 < n && p[i + 1] == '.') {
			puts_(r, "::");
			i += 2;
		} else {
			put(r, p + i++, 1);
		}
	}
}

/* Returns the length of the part whose digits begin at *at, which moves behind them; 0: there is none. */
static size_t part_len(const char *name, size_t n, size_t *at)
{
	size_t len = 0;

	while (*at < n && name[*at] >= '0' && name[*at] <= '9' && len < n)
		len = len * 10 + (size_t)(name[(*at)++] - '0');
	return len <= n - *at ? len : 0;
}

static bool is_hash(const char *p, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (hex_digit(p[i]) < 0)
			return false;
	return n == 17 && p[0] == 'h';
}

static bool demangle_legacy(struct reader *r, const char *name, size_t n)
{
	size_t at, len, last = 0, parts = 0;

	if (n < 4 || memcmp(name, "_ZN", 3) != 0 || name[n - 1] != 'E')
		return false;
	for (at = 3; at < n - 1; at += len, parts++) {
		len = part_len(name, n - 1, &at);
		if (!len)
			return false;
		last = at;
	}
	if (parts < 2 || !is_hash(name + last, n - 1 - last))
		return false;
	at = 3;
	for (size_t i = 0; i + 1 < parts; i++, at += len) {
		len = part_len(name, n - 1, &at);
		if (i)
			puts_(r, "::");
		put_part(r, name + at, len);
	}
	return true;
}

bool aif_is_printed_rust(const char *name, size_t n)
{
	return n > 20 && !memcmp(name + n - 19, "::", 2) && is_hash(name + n - 17, 17);
}

static bool demangle_printed(struct reader *r, const char *name, size_t n)
{
	const char *at = name, *end = name + n - 19, *part_end;

	if (!aif_is_printed_rust(name, n))
		return false;
	for (; at < end; at = part_end + 2) {
		part_end = memmem(at, (size_t)(end - at), "::", 2);
		if (!part_end)
			part_end = end;
		if (at != name)
			puts_(r, "::");
		put_part(r, at, (size_t)(part_end - at));
	}
	return true;
}

/* ---- v0 -------------------------------------------------------------------------------------- */

static char peek(const struct reader *r)
{
	return r->at < r->len ? r->in[r->at] : '\0';
}

static bool eat(struct reader *r, char c)
{
	bool is = !r->has_failed && peek(r) == c && c;

	r->at += is;
	return is;
}

static char next(struct reader *r)
{
	char c = peek(r);

	if (!c || r->steps++ > STEPS_MAX)
		r->has_failed = true;
	r->at += c != '\0';
	return r->has_failed ? '\0' : c;
}

/* "_" is 0, "0_" is 1. */
static uint64_t base62(struct reader *r)
{
	uint64_t n = 0;

	if (eat(r, '_'))
		return 0;
	while (!eat(r, '_')) {
		char c = next(r);
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
				 : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36
							: 62;

		if (digit == 62 || __builtin_mul_overflow(n, 62, &n) ||
		    __builtin_add_overflow(n, digit, &n)) {
			r->has_failed = true;
			return 0;
		}
	}
	return n + 1;
}

static uint64_t tagged(struct reader *r, char tag)
{
	return eat(r, tag) ? base62(r) + 1 : 0;
}

struct ident {
	const char *text;
	size_t len;
	bool is_punycode;
};

static struct ident ident(struct reader *r)
{
	struct ident i = {.is_punycode = eat(r, 'u')};

	if (!(peek(r) >= '0' && peek(r) <= '9'))
		r->has_failed = true;
	/* Digits behind a 0 are of what comes next. */
	if (!eat(r, '0'))
		while (!r->has_failed && peek(r) >= '0' && peek(r) <= '9' && i.len <= r->len)
			i.len = i.len * 10 + (size_t)(next(r) - '0');
	eat(r, '_');
	if (r->has_failed || i.len > r->len - r->at) {
		r->has_failed = true;
		return (struct ident){.len = 0};
	}
	i.text = r->in + r->at;
	r->at += i.len;
	return i;
}

static void put_ident(struct reader *r, const struct ident *i)
{
	if (i->is_punycode)
		puts_(r, "punycode{");
	put(r, i->text, i->len);
	if (i->is_punycode)
		puts_(r, "}");
}

static bool path(struct reader *r, bool in_value);
static void type(struct reader *r);
static void constant(struct reader *r);

static bool enter(struct reader *r)
{
	if (++r->depth > DEPTH_MAX || r->steps++ > STEPS_MAX)
		r->has_failed = true;
	return !r->has_failed;
}

enum what { A_PATH, A_VALUE, A_TYPE, A_CONSTANT, AN_OPEN_PATH };

static bool open_path(struct reader *r);

/* Reads what lies at another place; false but for an open path. */
static bool back(struct reader *r, enum what what)
{
	size_t from = r->at - 1, to = (size_t)base62(r), at = r->at;
	bool open = false;

	if (r->has_failed || to >= from) {
		r->has_failed = true;
		return false;
	}
	if (r->is_silent)
		return false;
	r->at = to;
	if (what == A_TYPE)
		type(r);
	else if (what == A_CONSTANT)
		constant(r);
	else if (what == AN_OPEN_PATH)
		open = open_path(r);
	else
		path(r, what == A_VALUE);
	r->at = at;
	return open;
}

static void lifetime(struct reader *r, uint64_t n)
{
	if (!n) {
		puts_(r, "'_");
	} else if (n > r->lifetimes) {
		r->has_failed = true;
	} else if (r->lifetimes - n < 26) {
		puts_(r, "'");
		put(r, &"abcdefghijklmnopqrstuvwxyz"[r->lifetimes - n], 1);
	} else {
		puts_(r, "'_");
		put_number(r, r->lifetimes - n);
	}
}

/* Binds lifetimes; returns how many. */
static uint64_t bind(struct reader *r)
{
	uint64_t n = tagged(r, 'G');

	if (n > 64)
		r->has_failed = true;
	for (uint64_t i = 0; i < n && !r->has_failed; i++) {
		puts_(r, i ? ", " : "for<");
		r->lifetimes++;
		lifetime(r, 1);
	}
	if (n)
		puts_(r, "> ");
	return n;
}

static void arguments(struct reader *r)
{
	for (unsigned i = 0; !r->has_failed && !eat(r, 'E'); i++) {
		if (i)
			puts_(r, ", ");
		if (eat(r, 'L'))
			lifetime(r, base62(r));
		else if (eat(r, 'K'))
			constant(r);
		else
			type(r);
	}
}

static void nested(struct reader *r, bool in_value)
{
	char space = next(r);
	struct ident i;
	uint64_t number;

	path(r, in_value);
	number = tagged(r, 's');
	i = ident(r);
	if (space >= 'a' && space <= 'z') {
		if (i.len)
			puts_(r, "::");
		put_ident(r, &i);
		return;
	}
	puts_(r, "::{");
	if (space == 'C')
		puts_(r, "closure");
	else if (space == 'S')
		puts_(r, "shim");
	else
		put(r, &space, 1);
	if (i.len)
		puts_(r, ":");
	put_ident(r, &i);
	puts_(r, "#");
	put_number(r, number);
	puts_(r, "}");
}

/* Reads the path of an impl, which is not shown: its type is. */
static void skip_path(struct reader *r)
{
	bool was_silent = r->is_silent;

	tagged(r, 's');
	r->is_silent = true;
	path(r, false);
	r->is_silent = was_silent;
}

/* Always false. */
static bool path(struct reader *r, bool in_value)
{
	struct ident i;
	char tag;

	if (!enter(r))
		return false;
	tag = next(r);
	switch (tag) {
	case 'C':
		tagged(r, 's');
		i = ident(r);
		put_ident(r, &i);
		break;
	case 'N':
		nested(r, in_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		if (tag != 'Y')
			skip_path(r);
		puts_(r, "<");
		type(r);
		if (tag != 'M') {
			puts_(r, " as ");
			path(r, false);
		}
		puts_(r, ">");
		break;
	case 'I':
		path(r, in_value);
		puts_(r, in_value ? "::<" : "<");
		arguments(r);
		puts_(r, ">");
		break;
	case 'B':
		back(r, in_value ? A_VALUE : A_PATH);
		break;
	default:
		r->has_failed = true;
	}
	r->depth--;
	return false;
}

/* Reads a path and, of one with arguments, not the end of these: true. */
static bool open_path(struct reader *r)
{
	bool open = false;

	if (!enter(r))
		return false;
	if (eat(r, 'B')) {
		open = back(r, AN_OPEN_PATH);
	} else if (eat(r, 'I')) {
		path(r, false);
		puts_(r, "<");
		arguments(r);
		open = true;
	} else {
		path(r, false);
	}
	r->depth--;
	return open;
}

static void dyn_trait(struct reader *r)
{
	bool open = open_path(r);

	while (eat(r, 'p')) {
		struct ident i = ident(r);

		puts_(r, open ? ", " : "<");
		open = true;
		put_ident(r, &i);
		puts_(r, " = ");
		type(r);
	}
	if (open)
		puts_(r, ">");
}

static void dyn(struct reader *r)
{
	uint64_t bound, n;

	puts_(r, "dyn ");
	bound = bind(r);
	for (unsigned i = 0; !r->has_failed && !eat(r, 'E'); i++) {
		if (i)
			puts_(r, " + ");
		dyn_trait(r);
	}
	r->lifetimes -= r->has_failed ? 0 : bound;
	if (!eat(r, 'L')) {
		r->has_failed = true;
		return;
	}
	n = base62(r);
	if (n) {
		puts_(r, " + ");
		lifetime(r, n);
	}
}

static void function(struct reader *r)
{
	uint64_t bound = bind(r);

	if (eat(r, 'U'))
		puts_(r, "unsafe ");
	if (eat(r, 'K')) {
		puts_(r, "extern \"");
		if (eat(r, 'C')) {
			puts_(r, "C");
		} else {
			struct ident i = ident(r);

			for (size_t k = 0; k < i.len; k++)
				put(r, i.text[k] == '_' ? "-" : i.text + k, 1);
		}
		puts_(r, "\" ");
	}
	puts_(r, "fn(");
	for (unsigned i = 0; !r->has_failed && !eat(r, 'E'); i++) {
		if (i)
			puts_(r, ", ");
		type(r);
	}
	puts_(r, ")");
	if (!eat(r, 'u')) {
		puts_(r, " -> ");
		type(r);
	}
	r->lifetimes -= r->has_failed ? 0 : bound;
}

static void tuple(struct reader *r)
{
	unsigned n = 0;

	puts_(r, "(");
	for (; !r->has_failed && !eat(r, 'E'); n++) {
		if (n)
			puts_(r, ", ");
		type(r);
	}
	puts_(r, n == 1 ? ",)" : ")");
}

static const char *basic_type(char tag)
{
	static const char *const names[26] = {"i8",   "bool",  "char",  "f64", "str", "f32", NULL,
					      "u8",   "isize", "usize", NULL,  "i32", "u32", "i128",
					      "u128", "_",     NULL,    NULL,  "i16", "u16", "()",
					      "...",  NULL,    "i64",   "u64", "!"};

	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

static void reference(struct reader *r, bool is_mutable)
{
	uint64_t n = eat(r, 'L') ? base62(r) : 0;

	puts_(r, "&");
	if (n) {
		lifetime(r, n);
		puts_(r, " ");
	}
	if (is_mutable)
		puts_(r, "mut ");
	type(r);
}

static void type(struct reader *r)
{
	char tag;

	if (!enter(r))
		return;
	tag = next(r);
	if (basic_type(tag)) {
		puts_(r, basic_type(tag));
		r->depth--;
		return;
	}
	switch (tag) {
	case 'R':
	case 'Q':
		reference(r, tag == 'Q');
		break;
	case 'P':
	case 'O':
		puts_(r, tag == 'P' ? "*const " : "*mut ");
		type(r);
		break;
	case 'A':
	case 'S':
		puts_(r, "[");
		type(r);
		if (tag == 'A') {
			puts_(r, "; ");
			constant(r);
		}
		puts_(r, "]");
		break;
	case 'T':
		tuple(r);
		break;
	case 'F':
		function(r);
		break;
	case 'D':
		dyn(r);
		break;
	case 'B':
		back(r, A_TYPE);
		break;
	default:
		r->at -= !r->has_failed;
		path(r, false);
	}
	r->depth--;
}

/* Hexadecimal digits up to "_". */
static void number(struct reader *r, char tag)
{
	size_t begin = r->at, digits = 0;
	uint64_t n = 0;

	for (; !r->has_failed && !eat(r, '_'); digits++) {
		int digit = hex_digit(next(r));

		if (digit < 0)
			r->has_failed = true;
		n = n << 4 | (unsigned)digit;
	}
	if (r->has_failed)
		return;
	if (digits > 16) {
		puts_(r, "0x");
		put(r, r->in + begin, digits);
	} else if (tag == 'b') {
		puts_(r, n ? "true" : "false");
	} else if (tag == 'c') {
		puts_(r, "'");
		put_utf8(r, n < 0x20 || n > 0x10ffff || (n >= 0xd800 && n < 0xe000) ? '?' : n);
		puts_(r, "'");
	} else {
		put_number(r, n);
	}
}

static void constant(struct reader *r)
{
	char tag;

	if (!enter(r))
		return;
	tag = next(r);
	if (tag == 'p') {
		puts_(r, "_");
	} else if (tag == 'B') {
		back(r, A_CONSTANT);
	} else if (tag && strchr("htmyojbc", tag)) {
		number(r, tag);
	} else if (tag && strchr("aslxni", tag)) {
		if (eat(r, 'n'))
			puts_(r, "-");
		number(r, tag);
	} else {
		r->has_failed = true;
	}
	r->depth--;
}

static bool demangle_v0(struct reader *r, const char *name, size_t n)
{
	if (n < 3 || name[0] != '_' || name[1] != 'R' || !(name[2] >= 'A' && name[2] <= 'Z'))
		return false;
	r->in = name + 2;
	r->len = n - 2;
	path(r, true);
	if (!r->has_failed && peek(r) >= 'A' && peek(r) <= 'Z') {
		r->is_silent = true; /* the crate that the code was made in */
		path(r, false);
	}
	return !r->has_failed && (r->at == r->len || peek(r) == '.' || peek(r) == '$');
}

bool aif_demangle_rust(const char *name, size_t n, size_t max, struct aif_buf *ret)
{
	struct reader r = {.out = ret, .left = max};
	size_t begin = ret->len;

	if (demangle_legacy(&r, name, n) || demangle_printed(&r, name, n) ||
	    demangle_v0(&r, name, n))
		return true;
	ret->len = begin;
	return false;
}
