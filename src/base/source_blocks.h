/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Blocks of a source text, by its indentation: which loop is around a line. No language is parsed. The block around a line is that
 * of the nearest line above that is indented less and holds a statement; lines that are empty, as those of which a profile kept no
 * text, comments, preprocessor lines and closing brackets hold none. A line whose block is no block's beginning continues a
 * statement.
 */
struct aif_source_blocks {
	const char *text;
	uint32_t *starts; /* of each line, and of the end */
	uint32_t lines;
	/* Lines by line: the one that begins the block around it, the statement before it in the same block; 0: there is none,
	 * AIF_SOURCE_NO_STATEMENT */
	uint32_t *outer, *before;
};
#define AIF_SOURCE_NO_STATEMENT UINT32_MAX

/* Statements among which the first branch of a decision is looked for. */
#define AIF_SOURCE_BRANCHES 256
/* Blocks around one line. */
#define AIF_SOURCE_BLOCKS_DEPTH 32

/* Reads lines and blocks. `text` must outlive it. 0; -EFBIG: 4 GiB or more, -ENOMEM. */
int aif_source_blocks_init(struct aif_source_blocks *b, const char *text, size_t len);
void aif_source_blocks_finish(struct aif_source_blocks *b);

/* Returns the line that begins the block around a line, 0: there is none. Lines count from 1. */
uint32_t aif_source_block(const struct aif_source_blocks *b, uint32_t line);
/* Returns the first line of the chain of branches (if, elif, else) that `line` begins one of; `line` itself if it begins none. */
uint32_t aif_source_branches(const struct aif_source_blocks *b, uint32_t line);

struct aif_source_place {
	uint32_t statement; /* the first line of the statement */
	/* Lines that begin the blocks around it within its function, innermost first; the statement itself if it is a loop. */
	uint32_t blocks[AIF_SOURCE_BLOCKS_DEPTH];
	uint32_t len;
};
/* Sets *ret to where a line is. Returns false if the text does not have what is around it. */
bool aif_source_place_find(const struct aif_source_blocks *b, uint32_t line,
			   struct aif_source_place *ret);
/* True if a line begins a loop. */
bool aif_source_is_loop(const struct aif_source_blocks *b, uint32_t line);
/* Returns the innermost loop around both places, 0: none. */
uint32_t aif_source_common_loop(const struct aif_source_blocks *b, const struct aif_source_place *x,
				const struct aif_source_place *y);
/* True if the places are in different branches of one decision, in the same turn of any loop around both. */
bool aif_source_are_branches(const struct aif_source_blocks *b, const struct aif_source_place *x,
			     const struct aif_source_place *y);
/* Sets, by line from 1 on, which lines say what is around a line: aif_source_place_find() needs no others, nor does what takes its places. */
void aif_source_mark_around(const struct aif_source_blocks *b, uint32_t line, uint8_t *marks);
/* Returns the text of a line, without the white space around it. */
const char *aif_source_statement(const struct aif_source_blocks *b, uint32_t line, size_t *ret_len);
