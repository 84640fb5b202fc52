/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/mpi/library.h"

/*
 * Numbers of messages. Messages of one communicator, sender, receiver and tag are received in the order in which they were sent. So both
 * ranks count them, and the n-th that one sends is the n-th that the other one receives. A channel has a number that both ranks have, made of
 * these four, which is even; one more where it stands for a receive.
 */
#define AIF_MPI_RECEIVES UINT64_C(1)
struct aif_mpi_message {
	uint64_t communicator; /* its handle */
	int peer, tag;
	bool is_receive;
};

/* Counts a message: sets its number and its channel's, 0: it has none, as one to MPI_PROC_NULL or to the process itself. Returns false
 * if messages of the communicator are not counted. errno is kept. */
bool aif_mpi_message_number(const struct aif_mpi_message *x, struct aif_host_call_joint *ret);
/* Sets the number of the message that will be received next, without counting it. */
void aif_mpi_message_next(const struct aif_mpi_message *x, struct aif_host_call_joint *ret);

/* True for a receive of any rank's messages, or of any tag's. */
bool aif_mpi_message_is_any(const struct aif_mpi_message *x);
/* Returns the status to receive with: `own` where the program wants none and nothing else says whose message it
 * was. */
long aif_mpi_message_status(const struct aif_mpi_message *x, long status, void *own);
/* Sets whose message a receive of any has taken. */
void aif_mpi_message_take(struct aif_mpi_message *x, const void *status);
