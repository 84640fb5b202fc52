/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/builder.h"
#include "base/clock_fit.h"

/*
 * Relates the files of one import. They are taken for the ranks of one job, which were traced at the same time. Rows
 * with the same name in two files get the name of their file added; files that were not traced at the same time are
 * reported, and the time in which one was not is not collected, so that it is not idle time. Contradictions to one job
 * are reported, too: a rank twice at a time, and two numbers of ranks.
 */
struct kineto_rows { /* how many a builder had */
	size_t launches, execs, waits, ops, windows, memory;
};
struct kineto_file {
	char name[256];
	int64_t rank, world; /* of how many it is one */
	bool has_rank, has_world;
	struct kineto_rows from, to;
	size_t process, process_end, device, device_end; /* its own rows of the profile's tables */
};

struct kineto_rows kineto_rows_of(const struct aif_builder *b);

/* Finds its first and last ns. False: it has no rows. */
bool kineto_file_span(const struct aif_builder *b, const struct kineto_file *f, uint64_t *ret_from,
		      uint64_t *ret_to);
/* Moves it `by` ns back. */
void kineto_file_move(struct aif_builder *b, const struct kineto_file *f, int64_t by);
/* Puts its times on the clock that it was related to. */
void kineto_file_fit(struct aif_builder *b, const struct kineto_file *f,
		     const struct aif_clock_fit *fit);
/* Appends "rank 1 (FILE)", or "FILE" where it does not say. */
void kineto_file_describe(const struct kineto_file *f, struct aif_buf *out);

/* Are its times since 1970, and not since a start of something? */
static inline bool kineto_is_dated(uint64_t ns)
{
	return ns >= AIF_NS_PER_S * AIF_NS_PER_S; /* after 2001 */
}

/* Makes names, dates and gaps, when all are read, and moved to one clock where that could be found. 0 or -ENOMEM. */
int kineto_files_together(struct aif_builder *b, const struct kineto_file *files, size_t n);
