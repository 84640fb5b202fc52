/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/cubin.h"
#include "symbolize/line_cursor.h"
#include "base/buf.h"

/* The header of one line program (DWARF 2 to 5, in its 32-bit format) with its table of files. */
struct aif_line_header {
	uint8_t min_instruction, opcode_base, line_range;
	int8_t line_base;
	uint8_t operands[255];      /* of standard opcode i + 1 */
	struct line_cursor program; /* what comes behind it */
	const char **dirs;          /* point into the cubin; NULL = unreadable */
	size_t dirs_len;
	struct aif_line_file {
		const char *name; /* likewise */
		uint32_t dir;     /* index of dirs; beyond them: none */
	} * files;
	size_t files_len;
	uint32_t first_file; /* the number of files[0] */
};

/* Takes a header and its program off *all. 0; -EBADMSG if none is there that makes sense; -ENOMEM. */
int aif_line_header_read(struct aif_line_header *h, const struct aif_cubin *c,
			 struct line_cursor *all);
void aif_line_header_finish(struct aif_line_header *h);

/* Appends the path of file number `file`. False, with nothing appended, if there is none. */
bool aif_line_header_file(const struct aif_line_header *h, uint32_t file, struct aif_buf *ret);
