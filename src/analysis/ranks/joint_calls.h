/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

struct aif_profile;
struct aif_host_calls;

/*
 * Calls of the host in which ranks of a job take part together, such as MPI_Allreduce, that, as a rule, end on no rank before
 * all have begun them: rows of `ops` that have a communicator and a number in it (agent/mpi/mpi.h).
 */
struct aif_joint_call {
	int64_t start, end; /* ns since the recording's start; end > start */
	uint32_t process, thread;
	uint32_t stack;        /* AIF_NONE: not known */
	uint32_t communicator; /* from 0 */
	uint32_t number;       /* which of its calls, from 1 */
	/* Part of an operation that is begun by one call and waited for in another, which have one number. */
	enum aif_joint_part { AIF_JOINT_WHOLE, AIF_JOINT_BEGIN, AIF_JOINT_WAIT } part;
	/* Time in the thread's other calls that communicate since its joint call before, where it was asked for: with single ranks, or from
	 * or to one root. */
	uint64_t before_ns;
};
/* A part of a call in which a message between two ranks is sent, received, or waited for: rows of `ops` that have a channel and a number
 * in it (agent/mpi/channels.h). */
struct aif_message_call {
	int64_t start, end;
	uint32_t process, thread, stack;
	uint32_t channel; /* from 0: both sides of a message have the same */
	uint32_t number;
	enum aif_joint_part part;
	bool is_receive;
};
struct aif_joint_calls {
	struct aif_joint_call *at; /* by process, start */
	size_t len, cap;
	struct aif_message_call *messages; /* by channel, number, is_receive, start */
	size_t messages_len, messages_cap;
};

/* Reads all that were recorded. *ret is finished by the caller, also after a failure. 0 or -errno. */
int aif_joint_calls_read(const struct aif_profile *p, struct aif_joint_calls *ret);
/* Sets .before_ns of all. `all`: the calls of the whole profile. 0 or -ENOMEM. */
int aif_joint_calls_add_before(const struct aif_profile *p, const struct aif_host_calls *all,
			       struct aif_joint_calls *c);
void aif_joint_calls_finish(struct aif_joint_calls *c);
