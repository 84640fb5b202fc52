/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Positions of launches in the program's own source, as far as the profile has it, and the loops around them. */
#include "analysis/loop/internal.h"

#include "base/map.h"
#include "base/source_blocks.h"

struct aif_loop_text {
	uint32_t name, source;           /* strings: the file's path, its text */
	struct aif_source_blocks blocks; /* .text NULL: not read yet */
	struct aif_map places; /* by line: index of places, AIF_NONE: the text does not have it */
};
struct aif_loop_source {
	const struct aif_profile *p;
	struct aif_loop_text *texts;
	size_t texts_len, texts_cap;
	struct aif_map by_name; /* string -> index of texts */
	struct aif_source_place *places;
	size_t places_len, places_cap;
};

/*
 * A position of a program: a function at a statement, called from another position. Stacks that differ in what is no source of the
 * program, or by several calls of one statement, have one.
 */
struct aif_loop_position {
	uint32_t parent;   /* AIF_NONE */
	uint32_t function; /* AIF_NONE: a gap, functions whose source is not known */
	uint32_t text, place, line;
	uint32_t
		inlined; /* which of the names of its stack's frame it has, from the outermost on */
	uint32_t stack;  /* one that ends here */
	uint32_t depth;
	uint32_t loop;  /* the innermost one around it, in its function or outside; AIF_NONE */
	uint32_t own;   /* the same in its function */
	uint32_t order; /* index of the first launch below it */
};
/* A loop of the source: the statement at .line of a function that is called from the position .parent. */
struct aif_loop_node {
	uint32_t parent, text, line;
	uint32_t outer;        /* the loop around it; AIF_NONE */
	uint32_t position;     /* one in it */
	uint32_t sure, likely; /* turns; those that a loop of code without source may be */
	uint64_t weight;       /* device time of its launches */
};
struct aif_loop_positions {
	struct aif_loop_source source;
	struct aif_loop_position *at;
	size_t len, cap;
	struct aif_loop_node *nodes; /* outer ones first */
	size_t nodes_len, nodes_cap;
	uint32_t *of_stack; /* by stack; AIF_NONE */
	uint32_t *order;    /* by stack: when it, or one that it calls, launched first */
	/* Pairs of numbers, to how many of them came before: name and file; function and line; position and statement; position
	 * and function; such and line. */
	struct aif_map functions, statements, calls, callees, loops;
};
/* Finds the positions of all stacks with calls, and the loops around them. 0 or -ENOMEM; finished by the caller in any case. */
int aif_loop_positions_make(const struct aif_profile *p, const struct aif_loop_calls *c,
			    struct aif_loop_positions *ret);
/* Finds those of the other stacks that are used, by stack, with all that are around them. 0 or -ENOMEM. */
int aif_loop_positions_add(struct aif_loop_positions *s, const struct aif_loop_calls *c,
			   const bool *is_used);
void aif_loop_positions_finish(struct aif_loop_positions *s);
/* Returns the position in which a stack launches, by its innermost function with source; AIF_NONE. */
uint32_t aif_loop_leaf(const struct aif_loop_positions *s, uint32_t stack);

/* Sets *ret, by position: the site that marks turns of its code without source; AIF_NONE. Memory for free(). 0 or -ENOMEM. */
int aif_loop_marks_find(const struct aif_loop_positions *s, const struct aif_loop_calls *c,
			uint32_t **ret);
/* Sets *ret, by call: the loop that goes on to its next turn with it; AIF_NONE. Memory for free(). 0 or -ENOMEM. */
int aif_loop_turns_find(struct aif_loop_positions *s, const struct aif_loop_calls *c,
			uint32_t **ret);
/* Gives calls of `turns` to loops that launch in one loop within them alone, where the thread's CPU samples tell their turns.
 * Positions and loops may become more. 0 or -errno. */
int aif_loop_outer_find(struct aif_loop_positions *s, const struct aif_loop_calls *c,
			uint32_t *turns);
/* Sets *ret to a number of a loop that is the same in each run of the program. 0 or -ENOMEM. */
int aif_loop_place_of_node(const struct aif_loop_positions *s, uint32_t node, uint64_t *ret);

/* Finds the loops of one thread's launches by the program's source, where it has most of them; else ret->len is 0. As
 * aif_loop_recurrence(). */
int aif_loop_by_source(const struct aif_profile *p, const struct aif_loop_calls *c, bool is_sparse,
		       uint64_t place, struct aif_loops *ret);
