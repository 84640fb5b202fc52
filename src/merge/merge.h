/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/scratch.h"
#include "profile/file.h"

/*
 * Several profiles of one job, a file each, become one: those of a job's hosts, or of its ranks.
 *
 * Processes, threads, devices and queues of different files are never the same, whatever their numbers. Names, functions,
 * stacks and kernels that are the same are one. Times are put on the clock of one of the files, from whose ranks most is known: files of one host have
 * one clock; those of others are related by the ends of the operations between their ranks (clocks.h). A host whose clock
 * cannot be related is placed by its date, and its ranks are not compared with others (AIF_PROCESS_CLOCK_APART).
 *
 * Each file is read twice, one at a time: for its clock, then for its rows, which are written as they are read. In memory
 * are the tables of the merged profile and the ends of some files.
 */
enum aif_merge_clock_is {
	AIF_MERGE_CLOCK_REFERENCE,
	AIF_MERGE_CLOCK_SAME, /* of one host */
	AIF_MERGE_CLOCK_RELATED,
	AIF_MERGE_CLOCK_APART,
};
struct aif_merge_opts {
	/* Called for each file; nonzero stops the merge with -EINTR. May be NULL. */
	int (*progress)(void *arg, const char *file, size_t done, size_t all);
	void *arg;
	struct aif_scratch *scratch; /* for the profile while it is not whole; NULL: none */
};
struct aif_merge_sum {
	size_t files, hosts, ranks; /* ranks: processes that know theirs */
	size_t related, apart;      /* files */
	uint64_t error_ns;          /* the greatest of their clocks' */
	uint64_t damaged;           /* chunks that could not be read */
	struct aif_buf notes;       /* lines for people */
};
void aif_merge_sum_finish(struct aif_merge_sum *s);

/* Merges n > 0 profiles into one at `output`; it is whole or as it was before. *ret is finished by the caller in any case.
 * 0 or -errno with *err. */
int aif_merge_files(const char *const *files, size_t n, const char *output,
		    const struct aif_merge_opts *opts, struct aif_merge_sum *ret,
		    struct aif_err *err);
