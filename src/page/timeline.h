/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/part.h"
#include "base/map.h"
#include "names/profile_names.h"
#include "page/alike.h"
#include "page/bars.h"
#include "page/columns.h"

/*
 * The page's time line: a JSON object and columns of their own, which the page unpacks after its first picture. Bars (bars.h) of
 *
 *   x_  executions, a lane for each stream of a device in a process, more where they overlap
 *   i_  idle time of each device in a process
 *   o_  operators, ranges, steps and calls of threads, a lane for each depth of nesting
 *   s_  samples of threads on CPUs: s_gap and s_group, by thread
 *
 * A bar's .what is a row of the columns what_name (of "names"), what_group (in the page's tree of devices: the frames
 * that it is of; none: 2^32 - 1), what_class (of executions enum aif_work_class; of idle time the group of `why`;
 * of others enum aif_op_kind) and what_graph (0: none replayed it).
 */
#define AIF_PAGE_EXECS_MAX  400000
#define AIF_PAGE_GAPS_MAX   120000
#define AIF_PAGE_OPS_MAX    250000
#define AIF_PAGE_STACKS_MAX 150000
/* The most executions of steps that are kept whole where not all executions have room. */
#define AIF_PAGE_WHOLE_MAX (AIF_PAGE_EXECS_MAX / 4)
#define AIF_PAGE_OP_DEPTH  40 /* lanes of one thread */

struct aif_page_sample {
	int64_t at;
	uint32_t thread, group;
};
/* The group of each single event in the page's trees. Finished by
 * aif_page_event_groups_finish(). */
struct aif_page_event_groups {
	uint32_t *execs; /* each execution's of the idle part's time line; AIF_NONE: it has none */
	uint32_t *idle;  /* each course's of the idle part, by its place there */
	AIF_TABLE(aif_page_sample, samples);
};
void aif_page_event_groups_finish(struct aif_page_event_groups *g);

/* Lanes of threads and devices while they are numbered. */
struct aif_page_timeline {
	const struct aif_names *names;
	const struct aif_idle_part *idle; /* a fact of its own: given back as soon as it is read */
	const struct aif_page_alike *alike;
	struct aif_page_event_groups *groups;
	const struct aif_page_span *whole; /* spans of time to keep whole, by .from */
	size_t whole_len;
	struct aif_page_columns *columns;
	struct aif_buf *json;
	/* Results: names, rows of what_*, and the threads that lanes are of. */
	struct aif_strset strings;
	struct aif_map what_of, thread_of;
	bool *is_drawn; /* by process: whether its threads are; NULL: all */
	AIF_TABLE(aif_page_what, what);
	uint32_t *threads;
	size_t threads_len, threads_cap;
};
struct aif_page_what {
	uint32_t name, group, graph;
	uint8_t class;
};

/* Writes all that there is. 0 or -errno. */
int aif_page_timeline_write(struct aif_page_timeline *t);
/* Writes operators and samples of threads (timeline_threads.c). */
int aif_page_timeline_threads(struct aif_page_timeline *t);
void aif_page_timeline_finish(struct aif_page_timeline *t);

/* Return the number of a row of what_*; of a thread. Without memory t->strings fails as aif_strset_put() does, or AIF_NONE. */
uint32_t aif_page_what(struct aif_page_timeline *t, const char *name, uint32_t group,
		       uint32_t graph, unsigned class);
uint32_t aif_page_thread(struct aif_page_timeline *t,
			 uint32_t thread); /* AIF_NONE: its process is not drawn */
/* Appends what a length of joined bars says: ,"PREFIX":[bars,joined,ns]. */
void aif_page_bars_say(struct aif_page_timeline *t, const char *prefix,
		       const struct aif_page_bars *b, size_t events);
