/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/range_index.h"

/* Part of a profile that a view shows. A zeroed struct, like NULL, is all of it. */
struct aif_selection {
	/* Only what ran then, ns since the recording's start; to_ns 0: until the end. */
	uint64_t from_ns, to_ns;
	/* Rows kept, by id: true keeps it; NULL: all. */
	const bool *processes, *threads, *devices;
	/* The ranges of the profile; NULL unless one of the following is set. */
	const struct aif_range_index *ranges;
	bool in_ranges; /* only what threads did in the ranges that .ranges keeps, and what was launched for these */
	bool by_range; /* rows of attribution and of CPU totals are apart by their ranges */
	/* Options that chose this, but for times, for commands that are suggested: " --range '^backward$'"; NULL: nothing. */
	const char *options;
	/* The program's loop, by where its turns begin (aif_phases.place); 0: the one that is found. */
	uint64_t loop;
	bool whole; /* without times: all of the run, also where a loop is found */
};

/* False: it is all of the profile. */
bool aif_selection_is_part(const struct aif_selection *sel);

/* True if a row of `id` is kept by one of the lists of a selection (NULL: all are); AIF_NONE is
 * in none. */
static inline bool aif_selection_keeps(const bool *keep, uint32_t id)
{
	return !keep || (id != AIF_NONE && keep[id]);
}

/* True if only some of what threads did is asked for: what is of no known thread is no part of it. */
static inline bool aif_selection_is_of_threads(const struct aif_selection *sel)
{
	return sel->threads || sel->in_ranges;
}

/* True if what a thread did at a time, ns since the recording's start, is kept by its thread and ranges. */
static inline bool aif_selection_keeps_moment(const struct aif_selection *sel, uint32_t thread,
					      int64_t at)
{
	return aif_selection_keeps(sel->threads, thread) &&
	       (!sel->in_ranges || aif_range_index_keeps(sel->ranges, thread, at));
}

/* The same of work, what a thread launched or computed, which may be for another thread's range (sole_threads.h). */
static inline bool aif_selection_keeps_work(const struct aif_selection *sel, uint32_t thread,
					    int64_t at)
{
	return aif_selection_keeps(sel->threads, thread) &&
	       (!sel->in_ranges || aif_range_index_keeps_launch(sel->ranges, thread, at));
}

/* True if work is kept only for the range of another thread. */
static inline bool aif_selection_is_for_other(const struct aif_selection *sel, uint32_t thread,
					      int64_t at)
{
	bool is_other = false;

	if (sel->in_ranges)
		aif_range_index_of_launch(sel->ranges, thread, at, &is_other);
	return is_other;
}

/* The ranges that a thread was in, where rows are apart by them: 1 + a chain of .ranges, or 0. */
static inline uint32_t aif_selection_range(const struct aif_selection *sel, uint32_t thread,
					   int64_t at)
{
	return sel->by_range ? aif_range_index_at(sel->ranges, thread, at) + 1 : 0;
}

/* The same of what it launched or computed. */
static inline uint32_t aif_selection_work_range(const struct aif_selection *sel, uint32_t thread,
						int64_t at)
{
	bool is_other;

	return sel->by_range ? aif_range_index_of_launch(sel->ranges, thread, at, &is_other) + 1
			     : 0;
}

/* True if it is a node of a replayed graph that is of the ranges asked for, whichever thread replayed it. */
static inline bool aif_selection_keeps_node(const struct aif_selection *sel, uint32_t process,
					    uint32_t graph, uint32_t node)
{
	return sel->in_ranges && !sel->threads &&
	       aif_range_index_keeps_node(sel->ranges, process, graph, node);
}

/* Sets *ret_range to the same of an execution that a thread launched, by what replayed it (graph 0: nothing did). False:
 * it is in none of the ranges asked for. */
static inline bool aif_selection_exec_range(const struct aif_selection *sel, uint32_t thread,
					    int64_t at, uint32_t process, uint32_t graph,
					    uint32_t node, uint32_t *ret_range)
{
	uint32_t chain = AIF_NONE;
	bool is_other;

	if (sel->in_ranges || sel->by_range)
		chain = aif_range_index_node(
			sel->ranges, aif_range_index_of_launch(sel->ranges, thread, at, &is_other),
			process, graph, node);
	*ret_range = sel->by_range ? chain + 1 : 0;
	return !sel->in_ranges || (chain != AIF_NONE && sel->ranges->chains[chain].is_kept);
}

/* True if an execution that a thread launched at `at` is kept by its thread and ranges. */
static inline bool aif_selection_keeps_exec(const struct aif_selection *sel, uint32_t thread,
					    int64_t at, uint32_t process, uint32_t graph,
					    uint32_t node)
{
	return aif_selection_keeps_work(sel, thread, at) ||
	       aif_selection_keeps_node(sel, process, graph, node);
}

/* Appends "77.5 ms by other threads that launched for these ranges": what of a selection of ranges that is (for_others_ns). */
void aif_selection_say_for_others(uint64_t ns, struct aif_buf *out);

/* The error of a view that is empty because the overhead budget left out all launches: -ENODATA
 * with *err. 0 if none was left out. `command` begins the message. */
int aif_left_out_error(uint64_t left_out, const char *command, struct aif_err *err);
