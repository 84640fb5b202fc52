/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/ranks/joint_calls.h"
#include "analysis/utilization.h"

/*
 * Ranks of a job and the operations in which they take part together: NCCL's collectives and the like.
 *
 * A rank is a process's device that communicates, or, where the process uses none, the thread that makes most of its
 * joint calls. Its operations are executions of kernels that communicate (utilization_rules.def). The n-th operation of
 * a communicator is the same one on all of its ranks: by the number that the profile has for it (struct aif_exec_row),
 * else by their order in time, which is that of their launches, for which a communicator has one queue. Where the
 * communicator is not known either, the n-th execution of a kernel is taken for the same operation, if all ranks have
 * as many (.by_kernel). Sends and receives of NCCL do not name their two ranks, so they are not matched.
 *
 * As a rule nobody ends an operation before its last rank has started. So a rank *waits* in it from its own start until the last rank's,
 * and the rest of its time is transfer. What its device computes while it waits it would have had to compute anyhow: so much
 * is hidden, and no rank delays the job by that. Operations that do not overlap on all of their ranks are none: they are not matched. So
 * are those in which nobody waits: an all-reduce of no elements.
 *
 * Calls of the host in which ranks take part together (joint_calls.h) are operations, too, of communicators of their own: their numbers
 * are known, also where launches were left out. A rank waits in one with its host, for which its device may be idle.
 *
 * An operation that is begun in one call and waited for in another (MPI_Iallreduce, MPI_Wait) ends on no rank before all have begun it:
 * a rank waits in the second call until the last one has made the first.
 *
 * Where ranks use no device, a rank that is late may be waited for in messages before the operation, as by its neighbours in a stencil,
 * and then all come to the operation at once. So what such a rank was in other calls that communicate since its operation before
 * counts as if it were in this one: who waits in neither is late. Not where a rank with a device takes part in the operation, and not
 * waits of which it is known for whom they were: those for messages (messages.h).
 *
 * Ranks whose clock is apart (AIF_PROCESS_CLOCK_APART) are not compared.
 *
 * Where launches were left out the n-th operation is not known. All ranks leave an operation within some tens of us: those that end
 * at the same time on all ranks, and overlap, are the same. Only those are known that all ranks captured; each stands for others, as
 * many as its rank with the fewest captured has for it (.weight), so that all stand for as many as there were.
 */
#define AIF_RANK_NO_LANE SIZE_MAX
struct aif_rank {
	uint32_t number;          /* in its job; AIF_NONE: not known */
	uint32_t process, device; /* device AIF_NONE: it uses none */
	size_t lane; /* index of the utilization's devices; AIF_RANK_NO_LANE: the rank uses none */
	uint32_t thread;   /* that makes its joint calls, where it uses no device; AIF_NONE */
	bool is_apart;     /* its times cannot be compared */
	uint64_t messages; /* matched, that it sent or received */
	uint32_t clock_error_ns;
};
struct aif_rank_member {
	uint32_t rank; /* index of .ranks */
	uint32_t
		exec; /* index in the time line's execs; AIF_NONE: a call of the host (joint_calls.h) */
	int64_t start, end;
	/* Time in calls before .start that is taken for a part of the operation: see above. */
	uint64_t before_ns;
	double weight;               /* that of its operation */
	uint64_t wait_ns, hidden_ns; /* hidden: the part in which its device computes */
};
struct aif_rank_operation {
	uint32_t collective; /* as an execution has it: 1 + which, or 0 */
	uint32_t group;      /* operations of one communicator have one number */
	uint32_t first, len; /* range of .members, in the order of start - before_ns */
	uint32_t late;       /* index of .ranks: the last of them */
	uint32_t cycle;      /* by which it stands for others (weights.h); AIF_NONE: for itself */
	bool is_split;       /* begun by one call, and waited for in another */
	double weight;       /* how many operations it stands for */
	int64_t last_start;
	uint64_t
		lead_ns; /* how much later it started than the one before it, less what that one computed meanwhile */
};
/* A wait of a rank without a device, of its thread (messages.h). */
struct aif_rank_wait {
	uint32_t rank,
		late; /* the rank that waits, and the rank that it waits for, which may wait, too */
	int64_t from, to;
	int64_t lead_from; /* of a message: from this time on only `late` is waited for */
	bool is_message;   /* else it is of an operation */
};
/* Longest chain of ranks that wait for each other, in ranks. */
#define AIF_RANK_CHAIN 1024
enum aif_ranks_why {
	AIF_RANKS_COMPARED,
	AIF_RANKS_NO_COMMUNICATION,
	AIF_RANKS_ONE,      /* operations of one rank only */
	AIF_RANKS_LEFT_OUT, /* by the overhead budget, and no operation was captured on all ranks */
	AIF_RANKS_APART,    /* no clock is common to two ranks */
	AIF_RANKS_UNMATCHED,
	AIF_RANKS_TESTED, /* operations are begun, and tested until they are done */
};
struct aif_ranks {
	struct aif_rank *ranks; /* by number, then as the utilization's devices */
	size_t ranks_len, ranks_cap;
	struct aif_rank_operation *operations; /* by .last_start */
	size_t operations_len, operations_cap;
	struct aif_rank_member *members;
	size_t members_len, members_cap;
	/* Waits in messages and, where there are any, in operations without a device: by rank, from; disjoint. */
	struct aif_rank_wait *waits;
	size_t waits_len, waits_cap;
	uint64_t messages, messages_unmatched;
	struct aif_joint_calls calls; /* all that were recorded */
	enum aif_ranks_why why;       /* reason for which there are no operations to compare */
	uint64_t
		unmatched; /* executions that communicate, of which no other rank's part was found */
	uint64_t
		tested; /* operations for which nobody is seen to wait: they were tested until they were done */
	uint64_t missing;         /* operations with fewer ranks than their communicator has */
	bool by_kernel, by_order; /* some were matched so, and not by a number */
	bool by_number, by_end;   /* some were matched so; by end: of an estimate */
	bool is_estimate;         /* launches were left out */
	uint64_t error_ns;        /* of the clocks of those that are compared */
};

/* Finds the ranks of `t`, and their operations. *ret is finished by the caller, also after a failure. 0 or -ENOMEM. */
int aif_ranks_find(const struct aif_profile *p, const struct aif_exec_timeline *t,
		   const struct aif_utilization *u, struct aif_ranks *ret);
void aif_ranks_finish(struct aif_ranks *r);
/* Returns how long a rank's device computed in [from, to); 0 of one that uses none. */
uint64_t aif_rank_computed(const struct aif_ranks *r, const struct aif_utilization *u,
			   uint32_t rank, int64_t from, int64_t to);
/* Returns when nothing of a rank's device was collected; NULL: it uses none. */
const struct aif_spans *aif_rank_not_collected(const struct aif_rank *r,
					       const struct aif_utilization *u);
/* Says why ranks are not compared: "one rank only"; "" where they are. */
const char *aif_ranks_why_say(enum aif_ranks_why why);
/* Appends "rank 3", or "process 1234 on NVIDIA H100" where the number is not known. */
void aif_rank_say(const struct aif_profile *p, const struct aif_rank *r, struct aif_buf *out);
