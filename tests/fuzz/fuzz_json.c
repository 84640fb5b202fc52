/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/hash.h"
#include "text/json_fast.h"
#include "text/json_reader.h"

#include <string.h>
#include <sys/types.h>

/* Any text, in parts of any size. Strictly or not, by the fast way or the other: what one reads the others read, too;
 * what is skipped is as long as what is read; and behind an error it goes on. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct text {
	const uint8_t *at;
	size_t len, part;
};

static ssize_t text_read(void *arg, void *buf, size_t n, struct aif_err *err)
{
	struct text *t = arg;

	(void)err;
	n = AIF_MIN(n, AIF_MIN(t->len, t->part));
	if (n)
		memcpy(buf, t->at, n);
	t->at += n;
	t->len -= n;
	return (ssize_t)n;
}

static bool any(const uint8_t *key, size_t len)
{
	(void)key;
	return len < 8;
}

static bool walk(const uint8_t *data, size_t size, size_t part, bool strict, bool fast,
		 uint64_t *ret_hash)
{
	struct text t = {data, size, part};
	struct aif_json j = {.read = text_read, .arg = &t, .strict = strict};
	struct aif_buf text = {0};
	enum aif_json_token token, before = AIF_JSON_NULL;
	bool is_array[AIF_JSON_DEPTH_MAX + 1];
	uint64_t hash = 0, n;
	bool is_whole;
	int64_t v;

	if (aif_json_init(&j) < 0)
		abort();
	do {
		token = fast && before == AIF_JSON_KEY ? aif_json_value(&j)
			: fast && j.depth && before != AIF_JSON_KEY && !is_array[j.depth]
				? aif_json_key(&j)
				: aif_json_next(&j);
		before = token;
		if (token == AIF_JSON_OBJECT || token == AIF_JSON_ARRAY)
			is_array[j.depth] = token == AIF_JSON_ARRAY;
		hash = aif_mix64(hash + token);
		aif_buf_clear(&text);
		if (token == AIF_JSON_STRING || token == AIF_JSON_KEY || token == AIF_JSON_NUMBER)
			aif_json_text(&j, &text);
		if (token == AIF_JSON_STRING || token == AIF_JSON_NUMBER) {
			(void)aif_json_u64(&j, &n);
			(void)aif_json_i64(&j, &v);
			(void)aif_json_thousandths(&j, &v);
		}
		hash ^= aif_hash_bytes(text.data, text.len);
	} while (token != AIF_JSON_END && token != AIF_JSON_ERROR);
	if ((token == AIF_JSON_ERROR) != (j.why != NULL) || aif_json_offset(&j) > size)
		abort();
	*ret_hash = hash;
	is_whole = token == AIF_JSON_END;
	if (!is_whole && !strict)
		while (aif_json_resync(&j, 1, any))
			do
				token = aif_json_next(&j);
			while (token != AIF_JSON_END && token != AIF_JSON_ERROR);
	aif_json_finish(&j);
	aif_buf_finish(&text);
	return is_whole;
}

static bool skip(const uint8_t *data, size_t size, size_t part, bool raw)
{
	struct text t = {data, size, part};
	struct aif_json j = {.read = text_read, .arg = &t};
	enum aif_json_token token;

	if (aif_json_init(&j) < 0)
		abort();
	token = raw ? aif_json_raw(&j) : aif_json_skip(&j);
	if (token != AIF_JSON_ERROR && token != AIF_JSON_END && token != AIF_JSON_CLOSE)
		token = aif_json_next(&j);
	aif_json_finish(&j);
	return token == AIF_JSON_END;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t part = size ? 1 + data[0] % 64 : 1;
	uint64_t strict, lax, fast, whole;
	bool is_strict, is_lax;

	if (size) {
		data++;
		size--;
	}
	is_strict = walk(data, size, part, true, false, &strict);
	is_lax = walk(data, size, part, false, false, &lax);
	if (walk(data, size, part, false, true, &fast) != is_lax || (is_lax && fast != lax))
		abort();
	if (is_strict && (!is_lax || strict != lax))
		abort();
	if (walk(data, size, size + 1, false, false, &whole) != is_lax || (is_lax && whole != lax))
		abort();
	if (is_lax && (!skip(data, size, part, false) || !skip(data, size, part, true)))
		abort();
	return 0;
}
