/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/collective_counts.h"
#include "base/job_rank.h"
#include "stacks/stacks.h"

/*
 * The ranks of a job that run on this host, each with its stacks, the operation between ranks that it is in, and how many
 * it has begun; and which of them is not where the others wait.
 *
 * Where a rank is, its stack says: the outermost function of a library of collectives (collectives.def), and the line of the
 * program that called it. How many operations of a communicator it has begun is known where the agent counts them
 * (base/collective_counts.h). All of it is read twice: a job that goes on is not taken for one that hangs.
 */
enum aif_stacks_place {
	AIF_STACKS_ELSEWHERE,
	AIF_STACKS_COLLECTIVE,
	AIF_STACKS_PEER,   /* waits for one other rank, or for several operations */
	AIF_STACKS_DEVICE, /* waits for its device */
};

/* The operation that a thread is in, and the program's line. */
struct aif_stacks_where {
	enum aif_stacks_place place;
	size_t thread, frame;                  /* frame: of the operation */
	const struct aif_stacks_frame *caller; /* the program's line; NULL: none is known */
	char operation[64];                    /* "" elsewhere */
};

/* Compared of two looks at a thread. */
struct aif_stacks_trace {
	int tid;
	uint64_t *
		words; /* addresses of the native frames, then code and instruction of Python's; outermost first in each */
	uint32_t native, python; /* frames of each */
};

struct aif_stacks_rank {
	int pid;
	struct aif_job_rank job;
	uint64_t job_number; /* 0: none */
	struct aif_stacks s;
	struct aif_err why; /* code: it could not be looked at */
	struct aif_stacks_where where;
	struct aif_collective_counts *counts; /* NULL: nobody counts */
	bool was_seen;                        /* in the first look, too */
	bool has_moved;                       /* since then */
	/* First look: */
	struct aif_stacks_trace *traces;
	size_t traces_len;
	uint64_t begun;
};

/* Ranks of one job, by rank. */
struct aif_stacks_job {
	struct aif_stacks_rank *ranks;
	size_t len, cap;
	uint64_t number;
	uint32_t world, here; /* ranks in all, and on this host; 0: not known */
	uint64_t apart_ns;    /* time between the looks */
	size_t doubles;       /* processes with the rank of another one, which are left out */
};

/* Finds where threads of a process are: the thread that is in an operation between ranks, else its first. The process is named. */
void aif_stacks_where(const struct aif_stacks *s, struct aif_stacks_where *ret);

/* Reads what the agent counts in a process that was looked at, for free(). NULL: there is nothing. */
struct aif_collective_counts *aif_stacks_counts(struct aif_stacks *s);
/* Copies one of the latest operations of a communicator. False: it is not there any more, or not yet. */
bool aif_stacks_call(const struct aif_communicator *c, uint64_t number,
		     struct aif_collective_call *ret);

/* Finds processes that are ranks. `pids`: only of jobs in which these, or what they have started, take part; none: all. Where none of
 * these is a rank by its environment, they are taken for the ranks. Adds to *ret_jobs, by malloc(). 0 or -errno. */
int aif_stacks_jobs_find(const int *pids, size_t len, struct aif_stacks_job **ret_jobs,
			 size_t *ret_len);
void aif_stacks_jobs_free(struct aif_stacks_job *jobs, size_t len);

/* Looks at all ranks, twice. 0, also where some ranks could not be looked at; or -ENOMEM. */
int aif_stacks_job_look(struct aif_stacks_job *j, uint64_t apart_ns);

/* Writes which ranks are where, what they have begun, and who is missing: one line each. */
void aif_stacks_job_say(const struct aif_stacks_job *j, struct aif_buf *out);
/* Writes all of it: stacks, those that ranks share once, and what there is to say. */
void aif_stacks_job_text(const struct aif_stacks_job *j, const struct aif_stacks_opts *o,
			 struct aif_buf *out);
void aif_stacks_job_json(const struct aif_stacks_job *j, struct aif_buf *out);
