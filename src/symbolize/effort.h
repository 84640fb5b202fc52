/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdatomic.h>

/*
 * Bounds the time that one file may take, in the thread that reads it. Files are hostile: a sparse
 * file of 4 TB is to be summed up, a table of 24 GB to be searched. Every loop over a file's
 * contents reads through aif_elf_read(), which asks here, or asks itself; when the time is used up,
 * or everything is to end, all reads of the file fail from then on.
 */
struct aif_effort {
	const atomic_bool *cancel; /* everything is to end; NULL: nobody says so */
	uint64_t limit_ns;         /* of CPU time; 0 = none */
	uint64_t used_ns;          /* before the present question */
	uint64_t since_ns;         /* CPU time of the thread when that began */
	uint64_t work;             /* bytes since the clock was last read */
	bool is_over;
};

/* Around each question that is answered from the file. */
void aif_effort_begin(struct aif_effort *e);
void aif_effort_end(struct aif_effort *e);

/* Notes work as great as reading so many bytes. True if there shall be no more of it. e may be
 * NULL. */
bool aif_effort_spend(struct aif_effort *e, uint64_t bytes);
