/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/mpi/mpi.h"

/*
 * The library of MPI that the process has, and how it lays out what no function of it reads without its header.
 *
 * Handles are addresses with Open MPI, numbers of 32 bits with MPICH and what came of it. Of any other library nothing is asked: a handle
 * that is taken for what it is not would end the program.
 */
enum aif_mpi_abi { AIF_MPI_ABI_UNKNOWN, AIF_MPI_OPEN_MPI, AIF_MPI_MPICH, AIF_MPI_OTHER_ABI };
enum aif_mpi_abi aif_mpi_abi_of(struct aif_mpi *m);

/* A status has 24 bytes with Open MPI, 20 with MPICH, and 32 in the standard's ABI, whose libraries may be called by MPICH's name. */
#define AIF_MPI_STATUS_SIZE 32
/* Declares room for statuses, as aligned as they are. */
#define AIF_MPI_STATUSES(name, n) uint64_t name[(n)*AIF_MPI_STATUS_SIZE / sizeof(uint64_t)]
/* Returns the bytes from one status to the next. */
size_t aif_mpi_status_step(enum aif_mpi_abi abi);
/* True if a receive takes messages of any rank, or of any tag: only its status says which it has taken. */
bool aif_mpi_is_any(enum aif_mpi_abi abi, int source, int tag);
/* True for MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE. */
bool aif_mpi_is_ignored(enum aif_mpi_abi abi, long status);
/* Reads a status. False: it is not known how. */
bool aif_mpi_status_read(enum aif_mpi_abi abi, const void *status, int *ret_source, int *ret_tag);
