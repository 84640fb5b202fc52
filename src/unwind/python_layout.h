/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * The layout of CPython's structures that we read, as data: one table row per version, or, from
 * 3.13 on, what the interpreter says about itself. Offsets are bytes from the start of the
 * structure.
 */

/* The kinds of links between the frames of a thread, and of marks for the end of an evaluation
 * loop's C frame, which may run several Python frames. */
enum aif_python_kind {
	AIF_PYTHON_OBJECTS, /* 3.8 to 3.10: frame objects; each has an evaluation loop of its own */
	AIF_PYTHON_IS_ENTRY,    /* 3.11: the last frame of a loop says so */
	AIF_PYTHON_ENTRY_FRAME, /* 3.12 and newer: a mark frame, within the loop's C frame */
};

/* The ways in which a frame stores its current instruction. */
enum aif_python_instr {
	AIF_PYTHON_INSTR_BYTES, /* 3.8, 3.9: i32, bytes into the bytecode */
	AIF_PYTHON_INSTR_UNITS, /* 3.10: i32, in units of two bytes */
	AIF_PYTHON_INSTR_PTR,   /* 3.11 and newer: address of the instruction */
};

#define AIF_PYTHON_NO_FIELD UINT16_MAX

struct aif_python_layout {
	uint8_t minor; /* of version 3 */
	enum aif_python_kind kind;
	enum aif_python_instr instr;
	uint64_t code_mask; /* and with a frame's code pointer: it may carry tags */

	/* thread state: either the frame itself or a CFrame that leads to it (3.10: both) */
	uint16_t ts_interp, ts_frame, ts_cframe;
	uint16_t cframe_current, cframe_previous;

	/* frame; f_mark is is_entry (3.11) or owner */
	uint16_t f_code, f_previous, f_instr, f_mark;
	uint8_t owner_entry; /* owners from this one on are marks, not Python frames */

	/* code object; co_code is the bytes object with the bytecode (3.8 to 3.10), or where the
	 * bytecode itself begins. co_firsttraceable and co_qualname since 3.11. */
	uint16_t co_code, co_name, co_qualname, co_filename, co_firstline, co_linetable;
	uint16_t co_firsttraceable;

	/* str, bytes, and what all objects share */
	uint16_t ob_refcnt, ob_type, ob_size;
	uint16_t str_length, str_state, str_ascii, str_compact;
	uint16_t bytes_data;
};

/* The fields of a frame and of a thread state lie within their first so many bytes. */
#define AIF_PYTHON_FRAME_BYTES 128

/* Returns the end of the fields that a walk reads of a frame. Frames may be as short, and may end where their memory does. */
static inline uint16_t aif_python_frame_end(const struct aif_python_layout *l)
{
	uint16_t end = (uint16_t)(AIF_MAX(AIF_MAX(l->f_code, l->f_previous), l->f_instr) + 8);

	return l->f_mark == AIF_PYTHON_NO_FIELD ? end : AIF_MAX(end, (uint16_t)(l->f_mark + 1));
}

/* The layout of version 3.`minor`, 3.8 to 3.12. False: not one of these. */
bool aif_python_layout_known(unsigned minor, struct aif_python_layout *ret);

/* The layout that a runtime (`_PyRuntime`, of which `size` bytes may be read) describes: 3.13
 * and 3.14. 0, -ENOSYS (a version whose description we do not know), -ENOTSUP (free-threaded),
 * or -EINVAL (not what this version's description looks like). */
int aif_python_layout_described(unsigned minor, const void *runtime, size_t size,
				struct aif_python_layout *ret);
