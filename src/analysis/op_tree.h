/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/exec_timeline.h"

/*
 * Operators and ranges as a tree, with the device time that each launched. The rules are those of
 * torch/autograd/profiler_util.py (EventList), so that the table made from it can be laid beside
 * key_averages():
 *
 *   parents   Of one thread's rows in the order of their starts, of equal ones the longer first: a row is the child of
 *             the last one that it lies in, [start, end) in [start, end). Rows that lie in each other in part are
 *             not related.
 *   twins     An only child with its parent's name is part of it (an operator that calls itself again for
 *             another backend): its children are its parent's, and it is no call of its own.
 *   left out  Functions of bookkeeping: aten::is_leaf and the like (op_tree.c has the list), and Python functions.
 *   device    A launch belongs to the innermost owner that its call began in, on its thread; to this its executions'
 *             time. Owners are operators, as for torch, which goes by the correlation id that its operators push; or
 *             ranges and steps, too. Where a parent with launches of its own has a twin, torch forgets the parent's;
 *             we add them.
 *
 * Time is O(n log n), for the sorting only.
 */
struct aif_op {
	int64_t start, end; /* ns since the recording's start */
	uint32_t parent;    /* index, before its own; AIF_NONE at the top */
	uint32_t thread, name, shapes, types, stack;
	/* operator that this one is part of and has given its times to; AIF_NONE: counts by itself */
	uint32_t twin;
	uint8_t kind; /* enum aif_op_kind */
	bool is_step; /* a step as such, or a range that is one (step_names.h) */
};

/* Operators of a part of a profile: a fact (facts.h), as several views want the tree of the same part, each with amounts of
 * its own. */
struct aif_op_rows {
	struct aif_op *at; /* sorted by thread, start, then longer ones first */
	size_t len, cap;
	uint64_t damaged;   /* chunks that could not be read */
	bool any;           /* the profile has rows for it, whatever was asked for */
	bool has_operators; /* among them operators */
	/* Operators of a recording: those that ran while its program recorded their shapes, not all. */
	bool has_some_operators;
};

/* Gets the operators of the processes, threads and span (by the op's start) that `sel` (NULL: all) names. *ret is for
 * aif_facts_put(), and empty after a failure. 0 or -errno. */
int aif_op_rows_get(const struct aif_profile *p, const struct aif_selection *sel,
		    const struct aif_op_rows **ret);

struct aif_op_device {
	uint64_t ns;       /* device time of the operator's own launches */
	uint64_t all_ns;   /* device time including children */
	uint64_t launches; /* executions of its own */
};
struct aif_op_memory {
	int64_t host, device; /* bytes allocated, less those released */
};
struct aif_op_tree {
	const struct aif_op_rows *rows;
	const struct aif_op *ops;     /* rows->at */
	size_t len;                   /* rows->len */
	struct aif_op_device *device; /* one by operator; NULL until added */
	struct aif_op_memories {
		struct aif_op_memory own, all; /* memory of the operator alone; children included */
	} * memory;                            /* one by operator; NULL until some was added */
	uint32_t *of_launch; /* operator of each launch of the time line, or AIF_NONE */
	uint32_t *calls;     /* the call of the runtime that made it, or AIF_NONE */
	uint64_t damaged;    /* chunks that could not be read */
	struct aif_op_others {
		uint64_t ns, launches;
	} * others; /* one by operator; NULL until added */
	/* operator of another thread to which .others counts each launch; NULL: none is counted */
	uint32_t *of_other;
	struct aif_op_memory memory_outside; /* memory of no operator */
	uint64_t allocations_outside;        /* events of it */
	bool has_memory, has_device_memory;
};

enum aif_op_owners {
	AIF_OWNERS_OPERATORS, /* ranges and steps only where there are no operators */
	AIF_OWNERS_ALL,
};

/* Makes the tree of the operators that aif_op_rows_get() gets for `sel`. `t` has the launches and executions. *ret is finished
 * by the caller, also after a failure. 0 or -errno. */
int aif_op_tree_make(const struct aif_profile *p, const struct aif_selection *sel,
		     const struct aif_exec_timeline *t, enum aif_op_owners owners,
		     struct aif_op_tree *ret);
void aif_op_tree_finish(struct aif_op_tree *t);

/* Returns the operator that an execution's time belongs to: an index whose .twin is AIF_NONE, or
 * AIF_NONE. */
static inline uint32_t aif_op_tree_of(const struct aif_op_tree *t,
				      const struct aif_timeline_exec *x)
{
	return x->launch == AIF_NONE ? AIF_NONE : t->of_launch[x->launch];
}

/* Adds the executions' time to their operators; those that keep(arg, exec) refuses are left out (NULL: none). To be
 * called once. 0 or -ENOMEM. */
int aif_op_tree_add_device(struct aif_op_tree *tree, const struct aif_exec_timeline *t,
			   bool (*keep)(const void *arg, const struct aif_timeline_exec *x),
			   const void *arg);

/*
 * Adds what other threads launched while a range or a step (`kind`; AIF_OP_STEP: what .is_step) ran: autograd's thread, while the program's is in
 * backward(). A launch that is in none of its own thread's is counted to the innermost one of its process that runs
 * when its call begins, if only one thread of the process is in one then; to .others, and there to those around it,
 * too. To be called once. 0 or -ENOMEM.
 */
int aif_op_tree_add_others(struct aif_op_tree *tree, const struct aif_profile *p,
			   const struct aif_exec_timeline *t, uint32_t kind,
			   bool (*keep)(const void *arg, const struct aif_timeline_exec *x),
			   const void *arg);

/* Adds what each operator allocated and released (op_memory.c). To be called once. 0 or -errno. */
int aif_op_tree_add_memory(struct aif_op_tree *tree, const struct aif_profile *p,
			   const struct aif_selection *sel);

/* An execution's time times what it stands for. */
uint64_t aif_op_tree_device_ns(const struct aif_exec_timeline *t,
			       const struct aif_timeline_exec *x);

static inline uint64_t aif_op_ns(const struct aif_op *o)
{
	return (uint64_t)o->end - (uint64_t)o->start;
}
