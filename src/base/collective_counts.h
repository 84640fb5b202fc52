/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdatomic.h>

/*
 * The collective operations that a process has begun, counted by communicator. The agent counts in the process's own memory, whether
 * anybody records or not; `aiflame stacks --ranks` reads it from outside, at the pointer that the agent exports as
 * AIF_COLLECTIVE_COUNTS_NAME. The reader takes it for hostile input, and for one that changes meanwhile.
 */
#define AIF_COLLECTIVE_COUNTS_NAME  "aiflame_collective_counts"
#define AIF_COLLECTIVE_COUNTS_MAGIC UINT64_C(0x314c4c4f43464961) /* "aIFCOLL1" */

/* Communicators of a process, kinds of operations, and the last operations of each communicator that are kept. */
#define AIF_COMMUNICATORS      32
#define AIF_COLLECTIVE_KINDS   32
#define AIF_COLLECTIVE_NAME    32 /* bytes of a kind's name, terminated */
#define AIF_COLLECTIVES_LATEST 32

struct aif_collective_call {
	_Atomic uint64_t number; /* from 1; 0: being written */
	uint64_t bytes;          /* the size that the call was given; UINT64_MAX: not known */
	uint32_t kind, reserved;
};

struct aif_communicator {
	_Atomic uint32_t is_used;
	uint32_t size, rank; /* 0, UINT32_MAX: not known */
	uint32_t reserved;
	uint64_t
		id; /* the same on all ranks; 0: the library does not say it, all are counted together */
	_Atomic uint64_t begun;
	struct aif_collective_call latest[AIF_COLLECTIVES_LATEST]; /* at number % LATEST */
};

struct aif_collective_counts {
	uint64_t magic, size;      /* size: of this structure */
	_Atomic uint64_t left_out; /* operations not counted: the table of communicators was full */
	_Atomic uint32_t
		kinds_ready[AIF_COLLECTIVE_KINDS]; /* 1 + the library's handle of its name */
	char kinds[AIF_COLLECTIVE_KINDS][AIF_COLLECTIVE_NAME];
	struct aif_communicator communicators[AIF_COMMUNICATORS];
};
