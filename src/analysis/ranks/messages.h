/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/calls/host_calls.h"
#include "analysis/ranks/ranks.h"

/*
 * Waits of ranks without a device in messages. A rank that receives waits until the other one has entered the call that sends; one that
 * sends, where its call lasts until then, until the other one has entered the call that receives.
 *
 * A message that is large and was begun (MPI_Isend) waits, too, until its rank calls MPI again, as nothing goes on before that.
 *
 * Receives of several ranks with nothing between them are one wait: it is for the one that sends last, and that one is late by how much
 * later it sends than the one before it, as in an operation of all. A rank that is waited for may wait itself, for a rank that is late: the
 * time is passed on along this chain, each moment of it by what ranks wait for then (aif_rank_roots).
 */

/* Finds .waits of the messages in .calls. `calls`: all of the profile. 0 or -ENOMEM. */
int aif_rank_messages_find(const struct aif_profile *p, const struct aif_host_calls *calls,
			   struct aif_ranks *r);
/* Takes waits in messages from .before_ns of .calls: those are known. */
void aif_rank_messages_take(struct aif_ranks *r);
/* Adds waits in operations to .waits, by which others are passed on. 0 or -ENOMEM. */
int aif_rank_waits_add_operations(struct aif_ranks *r);

/* Calls take(arg, rank, from, to) for parts of [from, to), in which somebody waits for the rank `late`, with the rank that is late at the
 * end of the chain. */
void aif_rank_roots(const struct aif_ranks *r, uint32_t late, int64_t from, int64_t to,
		    void (*take)(void *arg, uint32_t rank, int64_t from, int64_t to), void *arg);
