/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

struct aif_cpu;
struct aif_cpu_thread;
struct aif_task_list;
struct aif_thread;

/* The process's CPU time since sampling began, held against the samples (cpu_account.c). Of who holds the lock of struct
 * aif_cpu. */
struct aif_cpu_account {
	uint64_t begin_ns;    /* the program's CPU time when all threads had been looked for once */
	uint64_t before_ns;   /* the part of begin_ns that is yet to be reported */
	uint64_t counted_ns;  /* CPU time that samples stand for */
	uint64_t rest_ns;     /* CPU time without samples of ended threads, at the last visit */
	uint64_t reported_ns; /* the part of rest_ns that was reported */
	bool is_first;        /* threads that are found now were there when sampling began */
	bool is_off;          /* the two cannot be compared */
	bool has_begun;       /* sampling has begun in this process; stays set over pauses */
};

void aif_cpu_account_begin(struct aif_cpu *c);
/* A thread was found: what it has used counts from when sampling began. */
void aif_cpu_account_add(struct aif_cpu *c, struct aif_cpu_thread *t);
/* A sample of the thread that had the place then. */
void aif_cpu_account_sample(struct aif_cpu *c, struct aif_cpu_thread *t, uint32_t owner,
			    uint64_t weight);
/* At a visit, after samples were carried and threads were looked for: `now` are those that there were before.
 * `is_last`: the process ends. */
void aif_cpu_account(struct aif_cpu *c, struct aif_thread *self, const struct aif_task_list *now,
		     bool is_last);
