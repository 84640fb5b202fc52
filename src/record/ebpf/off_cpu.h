/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ebpf/event_read.h"
#include "record/ebpf/processes.h"

/*
 * Takes times off CPU. Longer ones come one by one, with when they were. Shorter ones offcpu.bpf.c
 * adds up; the sums are fetched each second, so that the kernel's tables stay small: a wait is there
 * once it is over, all of it in the second in which it ended. Those that last when the recording ends
 * are added then.
 */
struct aif_off_cpu {
	int sums, left, stacks[AIF_EBPF_STACK_TABLES]; /* maps */
	struct aif_ebpf_processes *processes;
	struct aif_off_stack *known; /* AIF_OFF_STACKS */
	uint64_t since, now;         /* CLOCK_MONOTONIC ns: the last fetch, this one */
	bool collect;                /* else it is only emptied */
};
/* A stack that was made since the last fetch: of 1,000 waits in a second some 20 are alike. */
struct aif_off_stack {
	struct aif_ebpf_off_key key;
	uint32_t stack;
	uint64_t made; /* .since of then; 0: none */
};
#define AIF_OFF_STACKS 4096 /* a power of two */

/* All need the store's lock. */
void aif_off_cpu_wait(struct aif_drainer *d, const struct aif_off_cpu *o, const void *bytes,
		      size_t len);
void aif_off_cpu_fetch(struct aif_drainer *d, const struct aif_off_cpu *o);
void aif_off_cpu_last(struct aif_drainer *d, const struct aif_off_cpu *o);
