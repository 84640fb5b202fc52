/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "isa/disasm.h"
#include "isa/sass_text.h"
#include "report/annotate.h"
#include "report/annotate_hits.h"
#include "report/annotate_waits.h"
#include "report/source_lines.h"

/* The listing of one function after the other: what `aiflame annotate` writes as text (annotate.c) and a page as JSON
 * (annotate_json.c). */

struct aif_listing_line {
	uint64_t offset;
	uint32_t size;
	bool is_shown;
	size_t hit, hits_len; /* of the hits, in order */
	uint64_t samples;
};

struct aif_listing {
	const struct aif_profile *p;
	const struct aif_names *names;
	const struct aif_attribution *a;
	const struct aif_annotate_opts *o;
	const struct aif_hits *h;
	struct aif_buf *out;
	/* of the function at hand */
	const struct aif_hit_kernel *kernel;
	const struct aif_hit_function *function;
	struct aif_waits_code waits;
	unsigned unit; /* its instructions are at multiples of so many bytes; 0: it is no GPU's */
	struct aif_disasm *disasm;
	struct aif_listing_line *lines;
	size_t lines_len, lines_cap;
	size_t text_max;     /* columns that an instruction's text may have; SIZE_MAX: no end */
	struct aif_buf full; /* the disassembler's text */
	struct aif_sass_line *texts;
	size_t texts_len;
	struct aif_source_cursor cursor;
	struct aif_buf cell;
};

/* Appends the share of a whole, for people. */
void aif_listing_share(struct aif_buf *b, uint64_t part, uint64_t whole);
/* True for what has less of the kernel's samples than is asked for. */
bool aif_listing_is_cold(const struct aif_listing *l, uint64_t samples);
/* Append the lines above a kernel (0 or -ENOMEM), and above the function at hand. */
int aif_listing_kernel_head(struct aif_listing *l);
void aif_listing_function_head(struct aif_listing *l);
/* Makes a function of .kernel the one at hand. 0 or -errno. */
int aif_listing_open(struct aif_listing *l, size_t number);
/* Makes .lines of its instructions. 0 or -ENOMEM. */
int aif_listing_lines_make(struct aif_listing *l);
/* Sets .is_shown of hot instructions, their neighbours, and the instructions that they wait for. */
void aif_listing_choose(struct aif_listing *l);
void aif_listing_waits(const struct aif_listing *l, const struct aif_listing_line *line,
		       struct aif_waits *ret);
void aif_listing_insn_text(struct aif_listing *l, const struct aif_listing_line *line,
			   struct aif_buf *ret);
void aif_listing_finish(struct aif_listing *l);
