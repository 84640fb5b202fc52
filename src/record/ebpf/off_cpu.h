/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ebpf/event_read.h"
#include "record/ebpf/processes.h"

/*
 * Fetches what offcpu.bpf.c has added up: each second, so that the kernel's tables stay small. A
 * wait is there once it is over, all of it in the second in which it ended; those that last when
 * the recording ends are added then.
 */
struct aif_off_cpu {
	int sums, left, stacks[AIF_EBPF_STACK_TABLES]; /* maps */
	struct aif_ebpf_processes *processes;
	uint64_t since, now; /* of the last fetch, of this one */
	bool collect;        /* else it is only emptied */
};
/* Both need the store's lock. */
void aif_off_cpu_fetch(struct aif_drainer *d, const struct aif_off_cpu *o);
void aif_off_cpu_last(struct aif_drainer *d, const struct aif_off_cpu *o);
