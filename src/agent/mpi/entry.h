/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/mpi/channels.h"
#include "agent/mpi/functions.h"
#include "agent/mpi/mpi.h"

/* A call of MPI that is recorded: between entry and return of the agent's function. */
struct aif_mpi_entry {
	struct aif_regs regs;
	const struct aif_emit_api *api;
	uint32_t token;
};

/* Returns the function to call; NULL: there is none, as in a program that has MPI where it is there and does without it here.
 * is_numbered: it is recorded however short it is. */
void *aif_mpi_enter(struct aif_mpi_entry *e, enum aif_mpi_function which, const void *caller,
		    bool is_numbered);
/* joints: operations and messages of the call; those whose number is 0 are none. */
void aif_mpi_leave(struct aif_mpi_entry *e, const struct aif_host_call_joint *joints, size_t n);
/* Sets the number of a call on a communicator that has returned; of one that has failed there is none. */
void aif_mpi_number(uint64_t handle, bool has_failed, struct aif_host_call_joint *ret);

/* Follows the request that was put at `request` by the call that begins the operation `joint`. */
void aif_mpi_request_begin(const void *request, const struct aif_host_call_joint *joint);
/* The same of a message, which has the number `joint`; and of a receive of any, which has a number when it is done. */
void aif_mpi_request_begin_message(const void *request, const struct aif_mpi_message *x,
				   const struct aif_host_call_joint *joint);
void aif_mpi_request_begin_any(const void *request, const struct aif_mpi_message *x);
/* Returns the handle of the communicator of a message that is followed, 0: it is none. */
uint64_t aif_mpi_request_communicator(const void *request);

/* Arguments that are on the stack have 8 bytes each, whatever their type. */
#define AIF_MPI_PARAMETERS_1  long a1
#define AIF_MPI_PARAMETERS_2  AIF_MPI_PARAMETERS_1, long a2
#define AIF_MPI_PARAMETERS_3  AIF_MPI_PARAMETERS_2, long a3
#define AIF_MPI_PARAMETERS_4  AIF_MPI_PARAMETERS_3, long a4
#define AIF_MPI_PARAMETERS_5  AIF_MPI_PARAMETERS_4, long a5
#define AIF_MPI_PARAMETERS_6  AIF_MPI_PARAMETERS_5, long a6
#define AIF_MPI_PARAMETERS_7  AIF_MPI_PARAMETERS_6, long a7
#define AIF_MPI_PARAMETERS_8  AIF_MPI_PARAMETERS_7, long a8
#define AIF_MPI_PARAMETERS_9  AIF_MPI_PARAMETERS_8, long a9
#define AIF_MPI_PARAMETERS_10 AIF_MPI_PARAMETERS_9, long a10
#define AIF_MPI_PARAMETERS_12 AIF_MPI_PARAMETERS_10, long a11, long a12
#define AIF_MPI_ARGUMENTS_1   a1
#define AIF_MPI_ARGUMENTS_2   AIF_MPI_ARGUMENTS_1, a2
#define AIF_MPI_ARGUMENTS_3   AIF_MPI_ARGUMENTS_2, a3
#define AIF_MPI_ARGUMENTS_4   AIF_MPI_ARGUMENTS_3, a4
#define AIF_MPI_ARGUMENTS_5   AIF_MPI_ARGUMENTS_4, a5
#define AIF_MPI_ARGUMENTS_6   AIF_MPI_ARGUMENTS_5, a6
#define AIF_MPI_ARGUMENTS_7   AIF_MPI_ARGUMENTS_6, a7
#define AIF_MPI_ARGUMENTS_8   AIF_MPI_ARGUMENTS_7, a8
#define AIF_MPI_ARGUMENTS_9   AIF_MPI_ARGUMENTS_8, a9
#define AIF_MPI_ARGUMENTS_10  AIF_MPI_ARGUMENTS_9, a10
#define AIF_MPI_ARGUMENTS_12  AIF_MPI_ARGUMENTS_10, a11, a12
