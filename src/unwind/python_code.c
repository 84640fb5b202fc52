/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/python_internal.h"

#include <errno.h>
#include <string.h>

/*
 * Describes a code object, once: raw copies, decoded later by the recorder. The object is one of
 * this thread's frames' and so is alive, and its names and tables never change; still each pointer
 * is checked for its type, and each page probed, because this is the place where a wrong offset
 * would first show, and it is not a hot one.
 */

/* No reference count of a live object is outside of [1, 2^33): immortal ones are near 2^32. The
 * freed memory of one begins with a link of the allocator's list, or zero. (3.14 keeps flags in
 * the top 16 bits.) */
#define REFCOUNT_MASK ((UINT64_C(1) << 48) - 1)
#define REFCOUNT_END  (UINT64_C(1) << 33)

/* Bytecode and texts beyond these are no code's. */
#define CODE_BYTES_MAX (UINT64_C(1) << 30)
#define TEXT_MAX       (UINT64_C(1) << 24)

/* A code object's fields end before its bytecode begins. */
#define CODE_BYTES 160

static bool is_a(const struct aif_python *py, struct aif_python_reader *r, uint64_t at,
		 uint64_t type)
{
	return aif_python_object(r, at, 24) && aif_python_u64(at, py->layout.ob_type) == type &&
	       (aif_python_u64(at, py->layout.ob_refcnt) & REFCOUNT_MASK) - 1 < REFCOUNT_END;
}

/* ---- text ---- */

struct text {
	uint64_t data, length; /* characters */
	unsigned kind;         /* bytes per character: 1, 2, 4 */
};

static bool find_text(const struct aif_python *py, struct aif_python_reader *r, uint64_t at,
		      struct text *ret)
{
	const struct aif_python_layout *l = &py->layout;
	uint32_t state;
	struct text t;

	if (!is_a(py, r, at, py->type_str) || !aif_python_readable(r, at, l->str_compact))
		return false;
	/* bits: interned 2, kind 3, compact, ascii; in all versions */
	state = (uint32_t)aif_python_i32(at, l->str_state);
	t.kind = state >> 2 & 7;
	t.length = aif_python_u64(at, l->str_length);
	if ((t.kind != 1 && t.kind != 2 && t.kind != 4) || t.length > TEXT_MAX)
		return false;
	if (state >> 5 & 1) {
		t.data = at + (state >> 6 & 1 ? l->str_ascii : l->str_compact);
	} else { /* two blocks: made by an old API */
		if (!aif_python_object(r, at, l->str_compact + 8))
			return false;
		t.data = aif_python_u64(at, l->str_compact);
	}
	*ret = t;
	return t.length == 0 || aif_python_readable(r, t.data, t.length * t.kind);
}

/* Half of a surrogate pair stands for a byte that was no UTF-8, or for nothing sensible. */
#define REPLACEMENT 0xfffd

/* Copies the text as UTF-8, at most `max` bytes of whole characters. */
static size_t copy_text(const struct text *t, char *to, size_t max)
{
	size_t n = 0;

	for (uint64_t i = 0; i < t->length; i++) {
		uint64_t at = t->data + i * t->kind;
		uint32_t c = aif_python_u8(at, 0);

		if (t->kind > 1)
			c |= (uint32_t)aif_python_u8(at, 1) << 8;
		if (t->kind > 2)
			c |= (uint32_t)aif_python_u8(at, 2) << 16 | (uint32_t)aif_python_u8(at, 3)
									    << 24;
		if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
			c = REPLACEMENT;
		if (n + (c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4) > max)
			break;
		if (c < 0x80) {
			to[n++] = (char)c;
			continue;
		}
		if (c < 0x800) {
			to[n++] = (char)(0xc0 | c >> 6);
		} else {
			if (c < 0x10000) {
				to[n++] = (char)(0xe0 | c >> 12);
			} else {
				to[n++] = (char)(0xf0 | c >> 18);
				to[n++] = (char)(0x80 | (c >> 12 & 63));
			}
			to[n++] = (char)(0x80 | (c >> 6 & 63));
		}
		to[n++] = (char)(0x80 | (c & 63));
	}
	return n;
}

/* ---- code objects ---- */

struct code {
	struct text name, file;
	uint64_t lines, lines_len; /* bytes */
	int32_t first_line;
	uint64_t code_len; /* bytes of bytecode */
	bool traceable;
};

static bool find_bytes(const struct aif_python *py, struct aif_python_reader *r, uint64_t at,
		       uint64_t *ret_data, uint64_t *ret_len)
{
	uint64_t len;

	if (!is_a(py, r, at, py->type_bytes))
		return false;
	len = aif_python_u64(at, py->layout.ob_size);
	if (len > TEXT_MAX || (len && !aif_python_readable(r, at + py->layout.bytes_data, len)))
		return false;
	*ret_data = at + py->layout.bytes_data;
	*ret_len = len;
	return true;
}

static bool find_code(const struct aif_python *py, struct aif_python_reader *r, uint64_t at,
		      struct code *ret)
{
	const struct aif_python_layout *l = &py->layout;
	struct text plain_name;
	uint64_t unused;

	if (!is_a(py, r, at, py->type_code) || !aif_python_readable(r, at, CODE_BYTES))
		return false;
	if (!find_text(py, r, aif_python_u64(at, l->co_name), &plain_name) ||
	    !find_text(py, r, aif_python_u64(at, l->co_filename), &ret->file) ||
	    !find_bytes(py, r, aif_python_u64(at, l->co_linetable), &ret->lines, &ret->lines_len))
		return false;
	ret->name = plain_name;
	ret->first_line = aif_python_i32(at, l->co_firstline);
	ret->traceable = true;
	if (l->co_qualname == AIF_PYTHON_NO_FIELD)
		return find_bytes(py, r, aif_python_u64(at, l->co_code), &unused, &ret->code_len) &&
		       ret->code_len > 0;
	if (!find_text(py, r, aif_python_u64(at, l->co_qualname), &ret->name) ||
	    !aif_python_readable(r, at, l->co_code))
		return false;
	ret->code_len = aif_python_u64(at, l->ob_size) * 2;
	ret->traceable =
		(uint64_t)(int64_t)aif_python_i32(at, l->co_firsttraceable) * 2 < ret->code_len;
	return ret->code_len > 0 && ret->code_len < CODE_BYTES_MAX &&
	       aif_python_readable(r, at + l->co_code, ret->code_len);
}

bool aif_python_code_valid(const struct aif_python *py, struct aif_python_reader *r, uint64_t code,
			   int32_t lasti)
{
	struct code found;

	return find_code(py, r, code, &found) && lasti >= -2 &&
	       (lasti < 0 || (uint64_t)lasti < found.code_len) && found.first_line >= 0;
}

/* A stack with such a frame costs some system calls each time. Once in ten thousand signals this
 * is a frame that was caught between two states; on launch paths it should not be at all. */
#define UNREADABLE_MAX 100000

static int unreadable(struct aif_python *py)
{
	if (atomic_fetch_add(&py->unreadable, 1) == UNREADABLE_MAX)
		aif_python_turn_off(py, AIF_PYTHON_ON, AIF_REASON_PYTHON_LAYOUT);
	return -EINVAL;
}

int aif_python_code_read(struct aif_python *py, uint64_t code, void *buffer, size_t size,
			 struct aif_python_code *ret)
{
	struct aif_python_reader r;
	char *to = buffer;
	struct code found;
	size_t left;

	if (size < AIF_PYTHON_NAME_MAX + AIF_PYTHON_FILE_MAX)
		return -ENOBUFS;
	aif_python_reader_init(&r, py, true);
	if (!find_code(py, &r, code, &found))
		return unreadable(py);
	if (py->interpreter_head() != py->interpreter_main()) {
		uint32_t none = 0;

		atomic_compare_exchange_strong(&py->reason, &none, AIF_REASON_PYTHON_INTERPRETERS);
	}
	if (!found.traceable) {
		if (!aif_python_codes_find(&py->codes, code))
			aif_python_codes_insert(&py->codes, code, AIF_PYTHON_ID_SKIP);
		return -EEXIST;
	}
	*ret = (struct aif_python_code){
		.code = code,
		.first_line = found.first_line,
		.minor = py->layout.minor,
	};
	ret->name = to;
	ret->name_len = (uint32_t)copy_text(&found.name, to, AIF_PYTHON_NAME_MAX);
	to += ret->name_len;
	ret->file = to;
	ret->file_len = (uint32_t)copy_text(&found.file, to, AIF_PYTHON_FILE_MAX);
	to += ret->file_len;
	left = size - ret->name_len - ret->file_len;
	ret->lines = (const uint8_t *)to;
	ret->lines_len = (uint32_t)AIF_MIN(found.lines_len, left);
	ret->lines_cut = ret->lines_len < found.lines_len;
	for (uint32_t i = 0; i < ret->lines_len; i++)
		to[i] = (char)aif_python_u8(found.lines + i, 0);
	ret->id = atomic_fetch_add(&py->last_id, 1) + AIF_PYTHON_ID_FIRST;
	return 0;
}

int aif_python_code_publish(struct aif_python *py, const struct aif_python_code *code)
{
	/* A recursion meets its function once for each of its frames. */
	if (aif_python_codes_find(&py->codes, code->code))
		return 0;
	return aif_python_codes_insert(&py->codes, code->code, code->id);
}
