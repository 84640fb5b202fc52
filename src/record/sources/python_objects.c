/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/python_objects.h"

#include "base/map.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

#define TYPE_AT 8
/* Addresses of a user. */
#define LO UINT64_C(4096)
#define HI (UINT64_C(1) << 56)

static bool read_at(const struct aif_python_objects *o, uint64_t at, void *to, size_t n)
{
	return at >= LO && at < HI && o->read(o->arg, at, to, n);
}

static bool read_word(const struct aif_python_objects *o, uint64_t at, uint64_t *ret)
{
	return read_at(o, at, ret, sizeof(*ret));
}

/* Reads the first n bytes of an object if it is of that type. */
static bool read_object(const struct aif_python_objects *o, uint64_t at, uint64_t type, void *to,
			size_t n)
{
	uint64_t is;

	if (at % 8 || !read_at(o, at, to, n))
		return false;
	memcpy(&is, (const char *)to + TYPE_AT, sizeof(is));
	return is == type;
}

/* ---- texts --------------------------------------------------------------------------------------- */

struct text {
	uint64_t head[2], length, hash;
	uint32_t state;
};

/* Returns where the characters are, from the object on: 3.12 has one pointer less. */
static uint64_t text_chars(const struct aif_python_objects *o, const struct text *t)
{
	bool is_ascii = t->state >> 6 & 1;

	return o->minor >= 12 ? (is_ascii ? 40 : 56) : (is_ascii ? 48 : 72);
}

/* Bits of the state, in all versions: interned 2, kind 3, compact, ascii. Others were made by an API that is gone. */
static bool text_read(const struct aif_python_objects *o, uint64_t at, struct text *ret)
{
	if (!read_object(o, at, o->type_text, ret, sizeof(*ret)))
		return false;
	return ret->length <= AIF_PYTHON_CHARS_MAX && ret->state >> 5 & 1;
}

/* True if the object is this text of ASCII. */
static bool text_is(const struct aif_python_objects *o, uint64_t at, const char *text, size_t len)
{
	char chars[256];
	struct text t;

	return len <= sizeof(chars) && text_read(o, at, &t) && t.length == len &&
	       t.state >> 6 & 1 && read_at(o, at + text_chars(o, &t), chars, len) &&
	       !memcmp(chars, text, len);
}

bool aif_python_text(const struct aif_python_objects *o, uint64_t at, struct aif_buf *ret)
{
	struct text t;
	uint8_t *chars;
	unsigned kind;
	bool ok;

	if (!text_read(o, at, &t))
		return false;
	kind = t.state >> 2 & 7;
	if (kind != 1 && kind != 2 && kind != 4)
		return false;
	if (!t.length)
		return true;
	chars = malloc(t.length * kind);
	ok = chars && read_at(o, at + text_chars(o, &t), chars, t.length * kind);
	for (uint64_t i = 0; ok && i < t.length; i++) {
		uint32_t wide;
		uint16_t narrow;

		if (kind == 1) {
			aif_utf8_put_char(ret, chars[i]);
		} else if (kind == 2) {
			memcpy(&narrow, chars + 2 * i, sizeof(narrow));
			aif_utf8_put_char(ret, narrow);
		} else {
			memcpy(&wide, chars + 4 * i, sizeof(wide));
			aif_utf8_put_char(ret, wide);
		}
	}
	free(chars);
	return ok && !aif_buf_failed(ret);
}

/* ---- dictionaries -------------------------------------------------------------------------------- */

struct dict {
	uint64_t head[2], used, version, keys, values;
};

struct keys {
	uint64_t refcnt;
	uint8_t log2_size, log2_index_bytes, kind, pad;
	uint32_t version;
	uint64_t usable, entries;
	/* indices, then entries */
};

enum { KEYS_GENERAL, KEYS_TEXTS }; /* hash, key, value; key, value */

uint64_t aif_python_get(const struct aif_python_objects *o, uint64_t dict, const char *key)
{
	uint64_t entry[3 * 64], at, ret = 0;
	size_t words, len = strlen(key);
	struct dict d;
	struct keys k;

	/* Values apart are those of instances' dictionaries. */
	if (!read_object(o, dict, o->type_dict, &d, sizeof(d)) || d.values ||
	    !read_at(o, d.keys, &k, sizeof(k)) || k.kind > KEYS_TEXTS || k.log2_index_bytes > 30 ||
	    k.entries > AIF_PYTHON_ENTRIES_MAX)
		return 0;
	words = k.kind == KEYS_GENERAL ? 3 : 2;
	at = d.keys + sizeof(k) + (UINT64_C(1) << k.log2_index_bytes);
	for (uint64_t i = 0; i < k.entries && !ret; i += 64) {
		uint64_t n = AIF_MIN(k.entries - i, 64);

		if (!read_at(o, at + 8 * words * i, entry, 8 * words * n))
			return 0;
		for (uint64_t j = 0; j < n && !ret; j++)
			if (text_is(o, entry[words * j + words - 2], key, len))
				ret = entry[words * j + words - 1];
	}
	return ret;
}

uint64_t aif_python_attribute(const struct aif_python_objects *o, uint64_t at, const char *name)
{
	uint64_t object[34], dict; /* PyTypeObject up to tp_dict; a module's is its first field */

	if (read_object(o, at, o->type_module, object, 24))
		dict = object[2];
	else if (read_object(o, at, o->type_type, object, sizeof(object)))
		dict = object[33];
	else
		return 0;
	return aif_python_get(o, dict, name);
}

/* ---- sequences and numbers ----------------------------------------------------------------------- */

bool aif_python_items(const struct aif_python_objects *o, uint64_t at, uint64_t **ret,
		      size_t *ret_len)
{
	uint64_t head[4]; /* the object's, its length, a list's items or a tuple's first */
	uint64_t items;

	if (read_object(o, at, o->type_tuple, head, 24))
		items = at + 24;
	else if (read_object(o, at, o->type_list, head, 32))
		items = head[3];
	else
		return false;
	if (head[2] > AIF_PYTHON_ITEMS_MAX)
		return false;
	*ret_len = head[2];
	*ret = malloc(AIF_MAX(head[2], 1) * sizeof(**ret));
	if (*ret && (!head[2] || read_at(o, items, *ret, head[2] * sizeof(**ret))))
		return true;
	free(*ret);
	return false;
}

bool aif_python_int(const struct aif_python_objects *o, uint64_t at, uint32_t *ret)
{
	struct {
		uint64_t head[2], size;
		uint32_t digit;
	} v;

	if (!read_object(o, at, o->type_long, &v, 28))
		return false;
	/* The number of digits; since 3.12 it is above three bits, of which two are the sign: 0, positive, 1, zero. */
	if (o->minor >= 12 ? v.size == 1 : !v.size) {
		*ret = 0;
		return true;
	}
	if ((o->minor >= 12 ? v.size & ~UINT64_C(4) : v.size) != (o->minor >= 12 ? 8 : 1) ||
	    v.digit >> 30)
		return false;
	*ret = v.digit;
	return true;
}

/* ---- sys.modules --------------------------------------------------------------------------------- */

/* Words of _PyRuntime's description of itself (unwind/python_layout.c): "xdebugpy", the version, without the GIL? */
static const struct {
	unsigned minor, head, modules;
} described[] = {{13, 5, 11}, {14, 5, 12}};

#define COOKIE "xdebugpy"

/* Words of the structures of 3.11 and 3.12 in which to look for a pointer. */
#define RUNTIME_WORDS     1024
#define INTERPRETER_WORDS 2048
#define BACK_WORDS        32 /* the interpreter's pointer to its runtime lies within these */

static bool is_modules(const struct aif_python_objects *o, uint64_t dict)
{
	return aif_python_get(o, dict, "sys") && aif_python_get(o, dict, "builtins");
}

static uint64_t modules_described(const struct aif_python_objects *o, uint64_t runtime,
				  unsigned head, unsigned modules)
{
	uint64_t word[16], interpreter, dict;

	if (!read_at(o, runtime, word, sizeof(word)) || memcmp(word, COOKIE, 8) ||
	    word[1] >> 16 != (0x0300 | o->minor) || word[2] || word[head] > 65536 ||
	    word[modules] > 1 << 20 || !read_word(o, runtime + word[head], &interpreter) ||
	    !read_word(o, interpreter + word[modules], &dict))
		return 0;
	return is_modules(o, dict) ? dict : 0;
}

/* The interpreter names its runtime in its first words. */
static bool is_interpreter(const struct aif_python_objects *o, uint64_t at, uint64_t runtime)
{
	uint64_t word[BACK_WORDS];

	if (at % 8 || !read_at(o, at, word, sizeof(word)))
		return false;
	for (unsigned i = 0; i < BACK_WORDS; i++)
		if (word[i] == runtime)
			return true;
	return false;
}

uint64_t aif_python_modules(const struct aif_python_objects *o, uint64_t runtime)
{
	uint64_t word[RUNTIME_WORDS], interpreter[INTERPRETER_WORDS];

	for (size_t i = 0; i < AIF_ARRAY_LEN(described); i++)
		if (described[i].minor == o->minor)
			return modules_described(o, runtime, described[i].head,
						 described[i].modules);
	if ((o->minor != 11 && o->minor != 12) || !read_at(o, runtime, word, sizeof(word)))
		return 0;
	for (unsigned i = 0; i < RUNTIME_WORDS; i++) {
		if (!is_interpreter(o, word[i], runtime) ||
		    !read_at(o, word[i], interpreter, sizeof(interpreter)))
			continue;
		for (unsigned k = 0; k < INTERPRETER_WORDS; k++)
			if (is_modules(o, interpreter[k]))
				return interpreter[k];
	}
	return 0;
}
