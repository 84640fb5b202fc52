/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/hash.h"
#include "text/json_fast.h"
#include "text/json_reader.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#ifdef AIF_HAVE_YAJL
#include <yajl/yajl_parse.h>
#endif

#include <cmocka.h>

/* The JSON reader against yajl, on texts that are changed at random and read in parts of any size; and by itself. */

struct text {
	const char *at;
	size_t len, part; /* as many bytes at once */
};

static ssize_t text_read(void *arg, void *buf, size_t n, struct aif_err *err)
{
	struct text *t = arg;

	(void)err;
	n = AIF_MIN(n, AIF_MIN(t->len, t->part));
	memcpy(buf, t->at, n);
	t->at += n;
	t->len -= n;
	return (ssize_t)n;
}

static void json_init(struct aif_json *j, struct text *t, bool strict)
{
	*j = (struct aif_json){.read = text_read, .arg = t, .strict = strict};
	assert_int_equal(aif_json_init(j), 0);
}

static void put_text(struct aif_buf *b, char mark, const void *p, size_t n)
{
	aif_buf_putc(b, mark);
	aif_buf_append(b, p, n);
	aif_buf_putc(b, '\n');
}

/* yajl takes a string that does not end for nothing where nothing may be. */
static bool is_behind_end;

/* All tokens, a line each; false if the text is wrong. fast: keys and their values by json_fast.h. */
static bool read_all(const char *at, size_t len, size_t part, bool strict, bool fast,
		     struct aif_buf *ret)
{
	struct text t = {at, len, part};
	struct aif_json j;
	struct aif_buf text = {0};
	enum aif_json_token token, before = AIF_JSON_NULL;
	bool kinds[AIF_JSON_DEPTH_MAX + 1];
	unsigned depth = 0;

	json_init(&j, &t, strict);
	for (;;) {
		token = fast && before == AIF_JSON_KEY ? aif_json_value(&j)
			: fast && depth && before != AIF_JSON_KEY && !kinds[depth]
				? aif_json_key(&j)
				: aif_json_next(&j);
		before = token;
		if (token == AIF_JSON_END || token == AIF_JSON_ERROR)
			break;
		aif_buf_clear(&text);
		switch (token) {
		case AIF_JSON_OBJECT:
		case AIF_JSON_ARRAY:
			kinds[++depth] = token == AIF_JSON_ARRAY;
			put_text(ret, token == AIF_JSON_ARRAY ? '[' : '{', "", 0);
			break;
		case AIF_JSON_CLOSE:
			put_text(ret, kinds[depth--] ? ']' : '}', "", 0);
			break;
		case AIF_JSON_KEY:
		case AIF_JSON_STRING:
			aif_json_text(&j, &text);
			put_text(ret, token == AIF_JSON_KEY ? 'k' : 's', text.data, text.len);
			break;
		case AIF_JSON_NUMBER:
			put_text(ret, 'n', j.text, j.len);
			break;
		default:
			put_text(ret,
				 token == AIF_JSON_TRUE    ? 't'
				 : token == AIF_JSON_FALSE ? 'f'
							   : '0',
				 "", 0);
			break;
		}
		assert_int_equal(aif_json_depth(&j), depth);
	}
	is_behind_end = false;
	if (token == AIF_JSON_ERROR) {
		is_behind_end = !strcmp(j.why, "data behind the end");
		assert_non_null(j.why);
		assert_true(j.why_at <= len);
	}
	aif_json_finish(&j);
	aif_buf_finish(&text);
	return token == AIF_JSON_END;
}

#ifdef AIF_HAVE_YAJL
static int on_null(void *b)
{
	put_text(b, '0', "", 0);
	return 1;
}
static int on_boolean(void *b, int v)
{
	put_text(b, v ? 't' : 'f', "", 0);
	return 1;
}
static int on_number(void *b, const char *p, size_t n)
{
	put_text(b, 'n', p, n);
	return 1;
}
static int on_string(void *b, const unsigned char *p, size_t n)
{
	put_text(b, 's', p, n);
	return 1;
}
static int on_key(void *b, const unsigned char *p, size_t n)
{
	put_text(b, 'k', p, n);
	return 1;
}
#define ON(name, mark)                    \
	static int on_##name(void *b)     \
	{                                 \
		put_text(b, mark, "", 0); \
		return 1;                 \
	}
ON(object, '{')
ON(object_end, '}')
ON(array, '[')
ON(array_end, ']')

static bool read_by_yajl(const char *at, size_t len, struct aif_buf *ret)
{
	static const yajl_callbacks callbacks = {on_null,       on_boolean, NULL,        NULL,
						 on_number,     on_string,  on_object,   on_key,
						 on_object_end, on_array,   on_array_end};
	yajl_handle h = yajl_alloc(&callbacks, NULL, ret);
	bool ok = yajl_parse(h, (const unsigned char *)at, len) == yajl_status_ok &&
		  yajl_complete_parse(h) == yajl_status_ok;

	yajl_free(h);
	return ok;
}

/* Returns true for texts that the two parsers judge differently on purpose. */
static bool is_beyond_yajl(const char *at, size_t len)
{
	unsigned depth = 0;

	for (size_t i = 0; i < len; i++) {
		depth += at[i] == '[' || at[i] == '{';
		/* yajl joins no lone surrogates, knows more escapes than there are, lets UTF-8 be overlong. */
		if (at[i] == '\\' || (uint8_t)at[i] >= 0x80 || depth > 100 || !at[i] ||
		    at[i] == '/' || at[i] == 0x7f)
			return true;
	}
	return false;
}

static const char *const seeds[] = {
	"{\"ph\": \"X\", \"ts\": 12.345, \"args\": {\"a\": [1, 2.5, -3e+7, true, false, null]}, \"e\": {}, \"f\": []}",
	"[1]",
	"[]",
	"{}",
	"\"text\"",
	"-0.5",
	"[[[[]]], {\"a\": {\"b\": [{}]}}]",
	" [ 0 , -0 , 1e5 ] ",
	"{\"a\":1,\"b\":{\"c\":\"d\"}}",
};
#endif

static uint64_t random_next(uint64_t *s)
{
	*s += UINT64_C(0x9e3779b97f4a7c15);
	return aif_mix64(*s);
}

static void json_is_read_as_yajl_reads_it(void **state)
{
#ifdef AIF_HAVE_YAJL
	static const char letters[] = "{}[]\",:0123456789.-+eE truefalsn\t\n";
	uint64_t s = 1;
	unsigned valid = 0, wrong = 0;

	(void)state;
	for (unsigned n = 0; n < 60000; n++) {
		const char *seed = seeds[random_next(&s) % AIF_ARRAY_LEN(seeds)];
		struct aif_buf mine = {0}, theirs = {0}, again = {0};
		char text[256];
		size_t len = strlen(seed), part = 1 + random_next(&s) % 40;
		bool ok;

		memcpy(text, seed, len + 1);
		for (unsigned i = (unsigned)(random_next(&s) % 4); i--;)
			text[random_next(&s) % len] =
				letters[random_next(&s) % (sizeof(letters) - 1)];
		if (is_beyond_yajl(text, len))
			continue;
		ok = read_all(text, len, part, true, false, &mine);
		if (ok != read_by_yajl(text, len, &theirs) && !is_behind_end)
			fail_msg("%s: %d here", text, ok);
		if (ok) {
			valid++;
			assert_int_equal(mine.len, theirs.len);
			assert_memory_equal(mine.data, theirs.data, mine.len);
			/* A valid text reads the same without strictness, and the fast way. */
			assert_true(read_all(text, len, part, false, true, &again));
			assert_int_equal(again.len, mine.len);
			assert_memory_equal(again.data, mine.data, mine.len);
		}
		wrong += !ok;
		aif_buf_finish(&mine);
		aif_buf_finish(&theirs);
		aif_buf_finish(&again);
	}
	assert_true(valid > 5000 && wrong > 5000);
#else
	(void)state;
	skip();
#endif
}

static void escapes_become_utf8(void **state)
{
	static const char text[] = "[\"a\\n\\u00e4\\ud83d\\ude00\\ud800x\\\"\\/\", \"\\u004\"]";
	struct text t = {text, sizeof(text) - 1, 3};
	struct aif_json j;
	struct aif_buf b = {0};

	(void)state;
	json_init(&j, &t, true);
	assert_int_equal(aif_json_next(&j), AIF_JSON_ARRAY);
	assert_int_equal(aif_json_next(&j), AIF_JSON_STRING);
	aif_json_text(&j, &b);
	assert_string_equal(aif_buf_str(&b), "a\nä😀\xef\xbf\xbdx\"/");
	assert_int_equal(aif_json_next(&j), AIF_JSON_ERROR);
	aif_json_finish(&j);
	aif_buf_finish(&b);
}

static void wrong_json_is_refused_where_asked(void **state)
{
	static const struct {
		const char *text;
		bool strict, lax;
	} cases[] = {
		{"[1,]", false, true},
		{"{\"a\":1,}", false, true},
		{"[NaN, -Infinity]", false, true},
		{"[\"\x01\"]", false, true},
		{"[\"\xff\"]", false, true},
		{"[\"\xc3\xa4\"]", true, true},
		{"[\"\xc0\x80\"]", false, true},
		{"[01]", false, true},
		{"[,1]", false, false},
		{"[1 2]", false, false},
		{"{\"a\"}", false, false},
		{"{1:2}", false, false},
		{"[", false, false},
		{"", false, false},
		{"[1]x", false, false},
		{"tru", false, false},
		{"\"abc", false, false},
		{"\"abc\\", false, false},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++)
		for (size_t part = 1; part < 9; part++) {
			struct aif_buf b = {0};
			size_t len = strlen(cases[i].text);

			if (read_all(cases[i].text, len, part, true, false, &b) !=
				    cases[i].strict ||
			    read_all(cases[i].text, len, part, false, false, &b) != cases[i].lax)
				fail_msg("%s", cases[i].text);
			aif_buf_finish(&b);
		}
}

/* Deeper than can be entered is an error; skipped, any depth is right. */
static void depth_is_bounded_where_entered_only(void **state)
{
	size_t n = 1000000;
	char *text = malloc(2 * n + 8);
	struct text t = {text, 2 * n + 4, 4096};
	struct aif_json j;
	unsigned entered = 0;

	(void)state;
	memcpy(text, "[7,", 3);
	memset(text + 3, '[', n);
	memset(text + 3 + n, ']', n);
	text[2 * n + 3] = ']';
	json_init(&j, &t, false);
	assert_int_equal(aif_json_next(&j), AIF_JSON_ARRAY);
	assert_int_equal(aif_json_next(&j), AIF_JSON_NUMBER);
	assert_int_equal(aif_json_skip(&j), AIF_JSON_ARRAY);
	assert_int_equal(aif_json_next(&j), AIF_JSON_CLOSE);
	assert_int_equal(aif_json_next(&j), AIF_JSON_END);
	aif_json_finish(&j);
	t = (struct text){text, 2 * n + 4, 4096};
	json_init(&j, &t, false);
	while (aif_json_next(&j) != AIF_JSON_ERROR)
		entered++;
	assert_int_equal(entered, AIF_JSON_DEPTH_MAX + 1);
	aif_json_finish(&j);
	free(text);
}

static bool is_a(const uint8_t *key, size_t len)
{
	return len == 1 && *key == 'a';
}

/* The next element behind damage is found, and nothing that only looks like one. */
static void the_next_element_behind_damage_is_found(void **state)
{
	static const char text[] =
		"[{\"a\": 1}, {\"a\": \"an \"odd\" one\", \"x\": {\"a\": 5}, \"y\": [{\"b\": 6}]}, "
		"{\"a\": 2}, {\"a\": [}, {\"a\": 3}, {\"a\": 4";
	static const int wanted[] = {1, 2, 3, 4};
	unsigned seen = 0, errors = 0;

	(void)state;
	for (size_t part = 1; part < 80; part++) {
		struct text t = {text, sizeof(text) - 1, part};
		struct aif_json j;
		bool more = true;

		seen = errors = 0;
		json_init(&j, &t, false);
		assert_int_equal(aif_json_next(&j), AIF_JSON_ARRAY);
		while (more) {
			enum aif_json_token token = aif_json_next(&j);
			int64_t v = 0;

			if (token == AIF_JSON_OBJECT && aif_json_next(&j) == AIF_JSON_KEY) {
				token = aif_json_next(&j);
				if (token == AIF_JSON_NUMBER && aif_json_i64(&j, &v) == 0)
					assert_int_equal(v, wanted[seen++]);
				if (token == AIF_JSON_NUMBER)
					token = aif_json_next(&j);
				else if (token == AIF_JSON_STRING)
					token = aif_json_next(&j);
				else
					token = AIF_JSON_ERROR;
			}
			if (token != AIF_JSON_CLOSE) {
				errors++;
				if (!j.why)
					aif_json_next(&j);
				more = aif_json_resync(&j, 1, is_a);
			}
		}
		assert_int_equal(seen, 4);
		assert_int_equal(errors, 3);
		aif_json_finish(&j);
	}
}

static void numbers_are_read_exactly_or_refused(void **state)
{
	static const struct {
		const char *text;
		int r;
		int64_t thousandths;
	} cases[] = {
		{"4458676522690.655", 0, 4458676522690655},
		{"1666149715033200", 0, 1666149715033200000},
		{"12.3456", 0, 12345},
		{"-0.5", 0, -500},
		{"0", 0, 0},
		{"1.5e3", 0, 1500000},
		{"1e-3", 0, 1},
		{"1e-30", 0, 0},
		{"0e99999", 0, 0},
		{"1e30", -ERANGE, 0},
		{"9223372036854775.807", 0, INT64_MAX},
		{"9223372036854775.808", -ERANGE, 0},
		{"99999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"x", -EINVAL, 0},
		{"1x", -EINVAL, 0},
		{"1e", -EINVAL, 0},
		{"-", -EINVAL, 0},
		{"1.2.3", -EINVAL, 0},
	};
	uint64_t u;
	int64_t v = 7;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_json j = {.text = (const uint8_t *)cases[i].text,
				     .len = strlen(cases[i].text)};
		int r;

		v = 7;
		r = aif_json_thousandths(&j, &v);
		if (r != cases[i].r || v != (r ? 7 : cases[i].thousandths))
			fail_msg("%s: %d, %lld", cases[i].text, r, (long long)v);
	}
	assert_int_equal(
		aif_json_decimal(
			&(struct aif_json){.text = (const uint8_t *)"1.0000000015", .len = 12}, 9,
			&v),
		0);
	assert_true(v == 1000000001);
	assert_int_equal(aif_json_decimal(&(struct aif_json){.text = (const uint8_t *)"9300000000",
							     .len = 10},
					  9, &v),
			 -ERANGE);
#define U64(s) \
	(aif_json_u64(&(struct aif_json){.text = (const uint8_t *)(s), .len = strlen(s)}, &u))
	assert_int_equal(U64("18446744073709551615"), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(U64("18446744073709551616"), -ERANGE);
	assert_int_equal(U64("0xc06cc211"), 0);
	assert_true(u == 0xc06cc211);
	assert_int_equal(U64("0x11112222333344445"), -ERANGE);
	assert_int_equal(U64("-549452224"), 0);
	assert_true((int64_t)u == -549452224);
	assert_int_equal(U64("7.0"), 0);
	assert_true(u == 7);
	assert_int_equal(U64("stream 7"), -EINVAL);
}

/* Both ways to look for a byte find the same one, wherever it is. */
static void both_scans_find_the_same_byte(void **state)
{
	uint8_t text[64 + AIF_JSON_SCAN_PADDING] = {0};
	uint64_t s = 3;

	(void)state;
	for (unsigned n = 0; n < 200000; n++) {
		static const char few[] = "\"\\{}[]\x1f\x20\x7f\x80\xff\x5c\xdb\xfd"
					  "aA0";

		for (unsigned i = 0; i < 64; i++)
			text[i] = random_next(&s) % 8
					  ? 'a' + i % 26
					  : (uint8_t)few[random_next(&s) % (sizeof(few) - 1)];
		assert_ptr_equal(aif_json_scan_string(text), aif_json_scan_string_word(text));
		assert_ptr_equal(aif_json_scan_brackets(text), aif_json_scan_brackets_word(text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_read_as_yajl_reads_it),
		cmocka_unit_test(escapes_become_utf8),
		cmocka_unit_test(wrong_json_is_refused_where_asked),
		cmocka_unit_test(depth_is_bounded_where_entered_only),
		cmocka_unit_test(the_next_element_behind_damage_is_found),
		cmocka_unit_test(numbers_are_read_exactly_or_refused),
		cmocka_unit_test(both_scans_find_the_same_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
