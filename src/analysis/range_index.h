/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "profile/model.h"
#include "analysis/sole_threads.h"

/*
 * The ranges that a thread was in at a moment: rows of ops of kind RANGE (aiflame.h, NVTX, imported traces), as a chain
 * from the outermost to the innermost by when they began. Ranges of a thread need not nest (those of two domains, or
 * ones that another thread ends): a chain has all that are open.
 *
 * Names that differ in their numbers only, more than AIF_RANGE_VARIANTS of them ("step 17"), are one: "step *". A range of
 * XLA's is several elements of the chain (ranges/xla.h). What a replayed graph of XLA's launched is in the chain of the
 * command that made its node (ranges/xla_graph.c).
 */
#define AIF_RANGE_VARIANTS 64
/* Ranges of a chain; those that began within so many others are left out. */
#define AIF_RANGE_CHAIN 64
/* Elements of a chain: of ranges that are several, the innermost are left out. */
#define AIF_RANGE_DEPTH 256

/* Kinds of a chain's elements. */
enum aif_range_kind {
	AIF_RANGE_PLAIN,  /* name given by the program */
	AIF_RANGE_MODULE, /* "jit(update)": a compiled program of XLA's */
	AIF_RANGE_SCOPE,  /* "transpose(jvp())": of op_name, but its last part */
	AIF_RANGE_SOURCE, /* "loss (train.py:23)": the Python line that was traced */
	AIF_RANGE_OP,     /* "dot_general" */
	AIF_RANGE_HLO,    /* "cublas-lt-matmul.2": XLA's instruction */
	AIF_RANGE_WORK,   /* "XlaPass algsimp": what the compiler did */
};

struct aif_range_chain {
	uint32_t parent; /* the chain without its innermost range, or AIF_NONE */
	uint32_t name;   /* string of .names */
	uint16_t depth;  /* elements before it */
	uint8_t kind;    /* enum aif_range_kind */
	bool is_kept;    /* this range or an enclosing one was asked for */
	bool in_graph;   /* range of a replayed graph's node */
};

struct aif_range_moment {
	int64_t from;   /* ns since the recording's start; until the thread's next one */
	uint32_t chain; /* AIF_NONE: in no range */
};

/* The command that XLA made a node of a graph of: a range's name and payload, strings of the profile (payload AIF_NONE: none). */
struct aif_range_command {
	uint32_t name, payload;
	bool is_kept; /* range was asked for */
};

struct aif_range_index {
	struct aif_strset names;
	AIF_TABLE(aif_range_chain, chains);
	AIF_TABLE(aif_range_moment, moments); /* sorted by thread, then time */
	size_t *first; /* index of each thread's first moment; one more after the last */
	size_t threads;
	uint32_t *processes; /* process of each thread */
	struct aif_sole_threads inside;
	struct aif_map graphs; /* process << 32 | graph -> the graph's number here */
	struct aif_map nodes;  /* number << 32 | node -> the node's number here */
	/* chain << 32 | the node's number -> the chain of what the node launches */
	struct aif_map placed;
	AIF_TABLE(aif_range_command, commands); /* sorted by node number */
	uint64_t damaged;                       /* chunks that could not be read */
};

/* True if a range of that name (a string of the profile) is asked for. */
typedef bool aif_range_is_kept(void *arg, const char *name);

/* keep NULL: none is asked for. 0 or -ENOMEM; *ret is finished by aif_range_index_finish() in any case. */
int aif_range_index_make(const struct aif_profile *p, aif_range_is_kept *keep, void *arg,
			 struct aif_range_index *ret);
void aif_range_index_finish(struct aif_range_index *x);

/* The chain that a thread was in, or AIF_NONE. */
uint32_t aif_range_index_at(const struct aif_range_index *x, uint32_t thread, int64_t at);

/* The chain of what a thread launched at a time: its own, or that of another thread for which it did (sole_threads.h);
 * *ret_is_other then. AIF_NONE: none. */
uint32_t aif_range_index_of_launch(const struct aif_range_index *x, uint32_t thread, int64_t at,
				   bool *ret_is_other);

/* The chain of what a node of a graph launched, when its replay was launched in `chain`: that chain, or a longer one. */
uint32_t aif_range_index_node(const struct aif_range_index *x, uint32_t chain, uint32_t process,
			      uint32_t graph, uint32_t node);

/* Sets the name and payload of the range that made a node of a graph. False: none is known. */
bool aif_range_index_command(const struct aif_range_index *x, uint32_t process, uint32_t graph,
			     uint32_t node, uint32_t *ret_name, uint32_t *ret_payload);
/* True if it is known, and one of those asked for. */
bool aif_range_index_keeps_node(const struct aif_range_index *x, uint32_t process, uint32_t graph,
				uint32_t node);

/* True if a thread was in one of the ranges asked for. */
static inline bool aif_range_index_keeps(const struct aif_range_index *x, uint32_t thread,
					 int64_t at)
{
	uint32_t chain = aif_range_index_at(x, thread, at);

	return chain != AIF_NONE && x->chains[chain].is_kept;
}

/* True if what a thread launched is in one of the ranges asked for. */
static inline bool aif_range_index_keeps_launch(const struct aif_range_index *x, uint32_t thread,
						int64_t at)
{
	bool is_other;
	uint32_t chain = aif_range_index_of_launch(x, thread, at, &is_other);

	return chain != AIF_NONE && x->chains[chain].is_kept;
}

/* Appends a range's name in one line, "jit(update)/jvp()/dot_general cublas-lt-matmul.2": of ranges of others the name as
 * it is. */
void aif_xla_label(const char *name, const char *payload, struct aif_buf *to);

/* Appends the text with one '*' for each number in it. */
void aif_range_without_numbers(const char *text, struct aif_buf *b);

/* Lists the elements of a chain (1 + its index; 0: none), outermost first: those of a graph's node, or the others.
 * Returns how many. */
unsigned aif_range_path(const struct aif_range_index *x, uint32_t range, bool in_graph,
			uint32_t path[AIF_RANGE_DEPTH]);
/* The same of a graph's node: the ranges that it was made in, without what those of the replay begin with. Where they do
 * not say which instruction of XLA's it was, those of the command that it was matched with (ranges/xla_graph.c). */
unsigned aif_range_node_path(const struct aif_range_index *x, uint32_t range, uint32_t made_in,
			     uint32_t path[AIF_RANGE_DEPTH]);
