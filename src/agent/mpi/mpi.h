/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/calls/host_call.h"

/*
 * Calls of MPI that wait for other ranks (calls.def). The agent defines these functions, and calls the next one of the name: the
 * library's, or a tool's that stands in front of it as PMPI lets it. So they are seen of programs that have MPI as a shared
 * library, called by its C functions, mpi4py's among them; not where the agent was put into a running process. No header of MPI is
 * needed: arguments, integers and pointers all of them, are passed on as they came.
 *
 * The n-th call on a communicator is the same operation on all of its ranks, as MPI has it. So each process counts them, from the
 * communicator's first one on, whether anybody records or not; a communicator has a number that is the same on all of its ranks, made of
 * the ranks in it (by their place in MPI_COMM_WORLD) and of how many of just these the process has used before, and of its job, as the
 * launcher names it: one that MPI_Comm_spawn() starts is another. With MPI_THREAD_MULTIPLE the order of first uses may differ between
 * ranks: only calls on MPI_COMM_WORLD have numbers then.
 *
 * Messages have numbers, too, by which both of their ranks know them (channels.h).
 *
 * An operation, or a message, that is begun and waited for later, by MPI_Iallreduce() and MPI_Wait(), has a call of each, and both have its number. Which
 * operation a wait is for its request says, in programs that do not test it until it is done.
 */
/* 512 handles: where a process has used more, calls on further communicators, and on those that come later, have no number. */
#define AIF_MPI_COMMUNICATORS 512
struct aif_mpi_communicator {
	_Atomic uint64_t
		handle; /* 0: free; stays when its communicator is gone, as MPI gives it to another one */
	_Atomic uint64_t id; /* 0: to be found out; AIF_MPI_ID_NONE: calls on it are not numbered */
	_Atomic uint64_t calls;
	atomic_int rank; /* 1 + the process's; 0: to be found out */
	/* Says that some messages are not counted, as those of persistent requests: none has a number from then on. */
	atomic_bool has_uncounted;
};
#define AIF_MPI_ID_NONE 1
struct aif_mpi_group {
	_Atomic uint64_t hash;
	_Atomic uint64_t communicators;
};

/* A communicator, sender, receiver and tag (channels.h). 16,384 of them: messages of further ones have no number. */
#define AIF_MPI_CHANNELS 16384
struct aif_mpi_channel {
	_Atomic uint64_t key; /* 0: free */
	_Atomic uint64_t messages;
};

/* A request of a call that begins an operation or a message (calls.def). A call looks at AIF_MPI_WAITED of them, and 512 may be not done:
 * further ones are not followed. */
#define AIF_MPI_REQUESTS 512
#define AIF_MPI_WAITED   64
struct aif_mpi_request {
	_Atomic uint64_t handle; /* 0: free; AIF_MPI_REQUEST_TAKEN: being written */
	_Atomic uint64_t communicator, number;
	/* The handle of a message's communicator, 0: of an operation. A receive of any has the .number 0, and takes these. */
	_Atomic uint64_t message_of;
	atomic_int peer, tag;
	_Atomic uint64_t
		turn; /* the greatest of those that are waited for at once is the last that was begun */
};
#define AIF_MPI_REQUEST_TAKEN 1

struct aif_mpi {
	struct aif_mpi_communicator communicators[AIF_MPI_COMMUNICATORS];
	struct aif_mpi_group groups[AIF_MPI_COMMUNICATORS]; /* by hash, free ones behind */
	struct aif_mpi_request requests[AIF_MPI_REQUESTS];
	struct aif_mpi_channel channels[AIF_MPI_CHANNELS];
	_Atomic uint64_t requests_live, requests_turn;
	atomic_uint abi;         /* library.c; 0: not looked for */
	_Atomic uintptr_t asked; /* the function that said so */
	atomic_bool is_full;     /* a communicator had no place */
	/* Text of MPI_Get_library_version(): MPICH's may have 8,192 bytes (MPI_MAX_LIBRARY_VERSION_STRING), the most of all. */
	char version[8192];
};

/* NULL: there is no memory. */
struct aif_mpi *aif_mpi_get(void);
/* A call on a communicator has returned without an error: returns its number, from 1, and the communicator's; 0: it has none. Asks
 * MPI at the communicator's first call. errno is kept. */
uint64_t aif_mpi_count(struct aif_mpi *m, uint64_t handle, uint64_t *ret_communicator);
/* Returns the process's rank in a communicator whose messages are counted, and sets its number; below 0: they are not. errno is kept. */
int aif_mpi_rank(struct aif_mpi *m, uint64_t handle, uint64_t *ret_communicator);
/* The communicator has a message that is not counted. */
void aif_mpi_uncounted(struct aif_mpi *m, uint64_t handle);
/* Returns the bytes that a request's handle has in memory; 0: this is not known of the library. */
size_t aif_mpi_request_size(struct aif_mpi *m);
/* The communicator whose handle is at `handle` is about to go. */
void aif_mpi_forget(struct aif_mpi *m, const void *handle);
