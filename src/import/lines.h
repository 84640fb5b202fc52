/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/import.h"

/* A file's lines, one at a time. Longer ones than AIF_LINE_MAX are passed and counted as bad. Zeroed but for the source:
 * ready to read. */
#define AIF_LINE_MAX ((size_t)4 << 20)

struct aif_lines {
	struct aif_import_source *source;
	struct aif_buf buf; /* the next line begins at `at` */
	size_t at, seen;    /* no end of line in [at, seen) */
	bool is_eof;
	bool is_cut;       /* the last line has no end */
	bool is_hand_made; /* such a file may be without it, and be whole */
	uint64_t number;   /* of the line that was given last, from 1 */
	uint64_t bad, first_bad;
};
/* 1: *ret, without its end, valid until the next call and writable; 0: there is none; -errno with *err. */
int aif_lines_next(struct aif_lines *l, char **ret, size_t *ret_len, struct aif_err *err);
void aif_lines_bad(struct aif_lines *l); /* the last line was not understood */
/* Tells the builder what was bad, and a file that ends within its packing. Frees. */
void aif_lines_finish(struct aif_lines *l, struct aif_builder *b);
