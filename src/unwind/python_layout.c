/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/python_layout.h"

#include <errno.h>
#include <string.h>

#define NONE AIF_PYTHON_NO_FIELD

/* Each checked against offsetof() of that version's own headers. 3.8 and 3.9 are alike. */
#define COMMON                                                                          \
	.ob_refcnt = 0, .ob_type = 8, .ob_size = 16, .str_length = 16, .str_state = 32, \
	.bytes_data = 32
#define LEGACY_STRINGS COMMON, .str_ascii = 48, .str_compact = 72
#define STRINGS        COMMON, .str_ascii = 40, .str_compact = 56
#define OBJECT_FRAMES                                                                         \
	.kind = AIF_PYTHON_OBJECTS, .code_mask = UINT64_MAX, .ts_interp = 16, .ts_frame = 24, \
	.f_code = 32, .f_previous = 24, .f_mark = NONE, .co_code = 48, .co_name = 112,        \
	.co_qualname = NONE, .co_filename = 104, .co_firstline = 40, .co_linetable = 120,     \
	.co_firsttraceable = NONE, LEGACY_STRINGS

static const struct aif_python_layout known[] = {
	{.minor = 8,
	 .instr = AIF_PYTHON_INSTR_BYTES,
	 .ts_cframe = NONE,
	 .f_instr = 104,
	 OBJECT_FRAMES},
	{.minor = 9,
	 .instr = AIF_PYTHON_INSTR_BYTES,
	 .ts_cframe = NONE,
	 .f_instr = 104,
	 OBJECT_FRAMES},
	{.minor = 10,
	 .instr = AIF_PYTHON_INSTR_UNITS,
	 .ts_cframe = 48,
	 .cframe_current = NONE,
	 .cframe_previous = 8,
	 .f_instr = 96,
	 OBJECT_FRAMES},
	{.minor = 11,
	 .kind = AIF_PYTHON_IS_ENTRY,
	 .instr = AIF_PYTHON_INSTR_PTR,
	 .code_mask = UINT64_MAX,
	 .ts_interp = 16,
	 .ts_frame = NONE,
	 .ts_cframe = 56,
	 .cframe_current = 8,
	 .cframe_previous = 16,
	 .f_code = 32,
	 .f_previous = 48,
	 .f_instr = 56,
	 .f_mark = 68,
	 .co_code = 184,
	 .co_name = 120,
	 .co_qualname = 128,
	 .co_filename = 112,
	 .co_firstline = 72,
	 .co_linetable = 136,
	 .co_firsttraceable = 168,
	 LEGACY_STRINGS},
	{.minor = 12,
	 .kind = AIF_PYTHON_ENTRY_FRAME,
	 .instr = AIF_PYTHON_INSTR_PTR,
	 .code_mask = UINT64_MAX,
	 .ts_interp = 16,
	 .ts_frame = NONE,
	 .ts_cframe = 56,
	 .cframe_current = 0,
	 .cframe_previous = 8,
	 .f_code = 0,
	 .f_previous = 8,
	 .f_instr = 56,
	 .f_mark = 70,
	 .owner_entry = 3,
	 .co_code = 192,
	 .co_name = 120,
	 .co_qualname = 128,
	 .co_filename = 112,
	 .co_firstline = 68,
	 .co_linetable = 136,
	 .co_firsttraceable = 176,
	 STRINGS},
};

bool aif_python_layout_known(unsigned minor, struct aif_python_layout *ret)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(known); i++) {
		if (known[i].minor == minor) {
			*ret = known[i];
			return true;
		}
	}
	return false;
}

/*
 * `_PyRuntime` begins with a description for debuggers: a cookie, the version, whether the build is
 * free-threaded, then for each structure its size and some offsets, all u64. Which ones differs by
 * version; below, their places in u64 words.
 */
static const char cookie[8] = "xdebugpy";

enum { WORD_COOKIE, WORD_VERSION, WORD_FREE_THREADED };

struct description {
	uint8_t minor;
	uint64_t code_mask;
	uint8_t ts_size, ts_interp, ts_frame;
	uint8_t f_size, f_previous, f_code, f_instr, f_mark;
	uint8_t co_size, co_filename, co_name, co_qualname, co_linetable, co_firstline, co_code;
	uint8_t ob_type;
	uint8_t bytes_size, bytes_ob_size, bytes_data;
	uint8_t str_size, str_state, str_length, str_ascii;
	uint8_t words; /* one more than the last that we look at */
};

static const struct description descriptions[] = {
	{
		.minor = 13,
		.code_mask = UINT64_MAX,
		.ts_size = 19,
		.ts_interp = 22,
		.ts_frame = 23,
		.f_size = 28,
		.f_previous = 29,
		.f_code = 30,
		.f_instr = 31,
		.f_mark = 33,
		.co_size = 34,
		.co_filename = 35,
		.co_name = 36,
		.co_qualname = 37,
		.co_linetable = 38,
		.co_firstline = 39,
		.co_code = 43,
		.ob_type = 45,
		.bytes_size = 64,
		.bytes_ob_size = 65,
		.bytes_data = 66,
		.str_size = 67,
		.str_state = 68,
		.str_length = 69,
		.str_ascii = 70,
		.words = 71,
	},
	{
		.minor = 14,
		.code_mask = ~UINT64_C(3), /* a stack reference, tagged */
		.ts_size = 22,
		.ts_interp = 25,
		.ts_frame = 26,
		.f_size = 31,
		.f_previous = 32,
		.f_code = 33,
		.f_instr = 34,
		.f_mark = 36,
		.co_size = 39,
		.co_filename = 40,
		.co_name = 41,
		.co_qualname = 42,
		.co_linetable = 43,
		.co_firstline = 44,
		.co_code = 48,
		.ob_type = 51,
		.bytes_size = 74,
		.bytes_ob_size = 75,
		.bytes_data = 76,
		.str_size = 77,
		.str_state = 78,
		.str_length = 79,
		.str_ascii = 80,
		.words = 81,
	},
};

/* A field of `bytes` bytes at word[at], within a structure of word[size] bytes. */
static bool field(const uint64_t *word, unsigned size, unsigned at, unsigned bytes, unsigned limit,
		  uint16_t *ret)
{
	if (word[size] < 16 || word[size] > 65536 || word[at] > limit - bytes ||
	    word[at] + bytes > word[size] || word[at] % bytes)
		return false;
	*ret = (uint16_t)word[at];
	return true;
}

#define CODE_LIMIT 1024 /* a code object's fixed part has 216 bytes in 3.14 */

static int take(const struct description *d, const uint64_t *word, struct aif_python_layout *ret)
{
	const unsigned frame = AIF_PYTHON_FRAME_BYTES;
	struct aif_python_layout l = {
		.minor = d->minor,
		.kind = AIF_PYTHON_ENTRY_FRAME,
		.instr = AIF_PYTHON_INSTR_PTR,
		.code_mask = d->code_mask,
		.ts_cframe = NONE,
		.cframe_current = NONE,
		.cframe_previous = NONE,
		.owner_entry = 3,
		STRINGS,
	};

	if (!field(word, d->ts_size, d->ts_interp, 8, frame, &l.ts_interp) ||
	    !field(word, d->ts_size, d->ts_frame, 8, frame, &l.ts_frame) ||
	    !field(word, d->f_size, d->f_previous, 8, frame, &l.f_previous) ||
	    !field(word, d->f_size, d->f_code, 8, frame, &l.f_code) ||
	    !field(word, d->f_size, d->f_instr, 8, frame, &l.f_instr) ||
	    !field(word, d->f_size, d->f_mark, 1, frame, &l.f_mark) ||
	    !field(word, d->co_size, d->co_filename, 8, CODE_LIMIT, &l.co_filename) ||
	    !field(word, d->co_size, d->co_name, 8, CODE_LIMIT, &l.co_name) ||
	    !field(word, d->co_size, d->co_qualname, 8, CODE_LIMIT, &l.co_qualname) ||
	    !field(word, d->co_size, d->co_linetable, 8, CODE_LIMIT, &l.co_linetable) ||
	    !field(word, d->co_size, d->co_firstline, 4, CODE_LIMIT, &l.co_firstline) ||
	    !field(word, d->co_size, d->co_code, 1, CODE_LIMIT, &l.co_code) ||
	    !field(word, d->bytes_size, d->bytes_ob_size, 8, frame, &l.ob_size) ||
	    !field(word, d->bytes_size, d->bytes_data, 1, frame, &l.bytes_data) ||
	    !field(word, d->str_size, d->str_state, 4, frame, &l.str_state) ||
	    !field(word, d->str_size, d->str_length, 8, frame, &l.str_length))
		return -EINVAL;
	if (word[d->ob_type] != l.ob_type || word[d->str_ascii] != l.str_ascii || l.co_code < 64 ||
	    l.co_code % 8)
		return -EINVAL;
	/* Not described; int, followed by one pointer and the bytecode since 3.12. */
	l.co_firsttraceable = l.co_code - 16;
	*ret = l;
	return 0;
}

int aif_python_layout_described(unsigned minor, const void *runtime, size_t size,
				struct aif_python_layout *ret)
{
	uint64_t word[128];

	for (size_t i = 0; i < AIF_ARRAY_LEN(descriptions); i++) {
		const struct description *d = &descriptions[i];

		if (d->minor != minor)
			continue;
		if (size < d->words * sizeof(word[0]))
			return -EINVAL;
		memcpy(word, runtime, d->words * sizeof(word[0]));
		/* PY_VERSION_HEX: 3, minor, micro, level and serial, a byte each */
		if (memcmp(word, cookie, sizeof(cookie)) != 0 ||
		    word[WORD_VERSION] >> 16 != (0x0300 | minor) || word[WORD_FREE_THREADED] > 1)
			return -EINVAL;
		if (word[WORD_FREE_THREADED])
			return -ENOTSUP;
		return take(d, word, ret);
	}
	return -ENOSYS;
}
