/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/blame.h"
#include "analysis/ranks/ranks.h"

/*
 * Blame for waiting: what the late rank did.
 *
 * Rank r waits in the n-th operation of a communicator for rank q, the last to start. Both left the operation before it
 * at the same moment at the earliest, when the last rank had started that one: L. From L on, q took longer than r to
 * the start of the n-th by just r's wait. So what q did from L on, less what r did, is the cause: each ns of both is of
 * one owner, what ran on the rank's device (kernels that compute before copies before communication), or, where nothing
 * did, what idle time is blamed on (idle/blame.h). Of a rank without a device it is what its thread did between two
 * calls that communicate (host_owners.c). Owners are compared by the names of their stacks. The wait is shared among
 * the owners of which q has more than r, in proportion to how much more.
 *
 * The first operation of a communicator has no such L: its waits are of no known owner.
 *
 * A wait in a message, or for a rank that itself waited in one, is passed on to the rank at the end of the chain (messages.h): its owners are what
 * that rank did meanwhile.
 *
 * Sums: the rows' times add up to .wait_ns exactly, and so do the ranks' .given_ns and .suffered_ns.
 */
enum aif_wait_kind {
	AIF_WAIT_KERNEL,
	AIF_WAIT_COPY,
	AIF_WAIT_COMMUNICATION, /* another operation between ranks, in which q may itself have waited */
	AIF_WAIT_IDLE,          /* nothing ran on q's device: .cause says why */
	AIF_WAIT_HOST,          /* q uses no device: what its thread did, by .cause */
	AIF_WAIT_UNKNOWN,
};
struct aif_wait_row {
	uint32_t late; /* index of .ranks.ranks */
	enum aif_wait_kind kind;
	enum aif_idle_cause
		cause; /* cause of IDLE; HOST has CPU, OFF_CPU, NO_CPU, RANKS, or HOST where no sample shows one */
	bool is_before;  /* of IDLE and HOST: the time before the launch, or the call, at .stack */
	uint32_t stack;  /* AIF_NONE: not known */
	uint32_t kernel; /* of KERNEL, COPY and COMMUNICATION; AIF_NONE */
	uint32_t exec_kind; /* of COPY: enum aif_launch_kind */
	uint64_t ns;
};
struct aif_rank_sums {
	uint64_t given_ns,
		suffered_ns; /* how long others waited for it, all together; how long it waited */
	/* In how many it was the last; in how many it took part: operations, and messages in which somebody waited. */
	double late, operations;
	uint64_t
		lead_ns; /* by which operations would have begun earlier, had it come as the one before it */
	uint64_t transfer_ns; /* time in operations that is no wait */
};
struct aif_rank_waits {
	struct aif_ranks ranks;     /* of the whole profile */
	struct aif_rank_sums *sums; /* by rank, of what is selected */
	struct aif_wait_row *rows;  /* longest first */
	size_t rows_len, rows_cap;
	uint64_t wait_ns,
		alone_ns; /* alone: in executions, and nothing computes on the waiting rank's device */
	double operations; /* that are selected */
	size_t messages;   /* that are selected, of those in which somebody waited */
	size_t known; /* of these, as many were captured on all ranks; others are estimated from them */
	uint64_t error_ns; /* of .wait_ns: its standard error; 0: it is exact */
	/* Waits by execution: of .ranks.members, by process, device and start. */
	uint32_t *by_exec;
};

/* Finds the waits of what `sel` (NULL: all) names: operations whose last rank started in its times, and waits of its processes
 * and devices, for whichever rank. *ret is a fact, for aif_facts_put() (facts.h). 0 or -errno. */
int aif_rank_waits_get(const struct aif_profile *p, const struct aif_selection *sel,
		       const struct aif_rank_waits **ret);
/* Returns the part of an execution that is waiting, and sets *ret_transfer to the rest; 0 and 0: its operation is not known. */
uint64_t aif_rank_waits_of(const struct aif_rank_waits *w, const struct aif_exec_timeline *t,
			   const struct aif_timeline_exec *x, uint64_t *ret_transfer);
/* Appends "12.3 s of waiting in 800 operations of 4 ranks", with what is not certain of it. */
void aif_rank_waits_say(const struct aif_rank_waits *w, struct aif_buf *out);
const char *aif_wait_kind_name(enum aif_wait_kind kind);
