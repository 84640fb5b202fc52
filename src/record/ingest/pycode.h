/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/store.h"
#include "wire/wire.h"

/*
 * Python functions of all targets, each once: what names and lines of Python frames are made from. Two
 * functions are one when all that is told of them is equal, so the same program in two processes has
 * the same frames.
 *
 * A Python frame's module is its source file; its address is the function's number << 20 | instruction
 * in units of two bytes, plus 1 (0: none yet).
 */
struct aif_pycode {
	uint32_t module, name, first_line;
	uint16_t minor, lines_len;
	uint8_t *lines;
};
struct aif_pycodes {
	struct aif_pycode *codes;
	size_t len, cap;
	struct aif_map ids; /* hash of all that was told -> index */
};
void aif_pycodes_finish(struct aif_pycodes *c);

/* The record is valid (aif_wire_valid). The function's number, or AIF_NONE. */
uint32_t aif_pycodes_add(struct aif_pycodes *c, struct aif_store *s,
			 const struct aif_wire_pycode *r);

/* The frame of `code` (AIF_NONE: an unknown one) at `lasti`, with its name: of the store, or AIF_NONE. */
uint32_t aif_pycodes_frame(struct aif_pycodes *c, struct aif_store *s, uint32_t code,
			   int32_t lasti);
