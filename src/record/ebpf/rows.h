/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ebpf/driver_calls.h"
#include "record/ebpf/event_read.h"
#include "record/ebpf/processes.h"
#include "record/ebpf/syscalls.h"

/* Rows of the profile from what the BPF programs tell. All need the store's lock. */

/* The stack, AIF_NONE if nothing of it is known. Frames are innermost first. mark: a frame on
 * top of it, "" = none. */
struct aif_ebpf_stack {
	const uint64_t *user, *kernel;
	uint32_t user_len, kernel_len;
	const char *mark;
};
uint32_t aif_ebpf_stack(struct aif_drainer *d, struct aif_ebpf_processes *ps,
			struct aif_ebpf_process *p, struct aif_target *t, const char *comm,
			const struct aif_ebpf_stack *stack, uint64_t now);

/* A sample that stands for `weight` ns of CPU time. False: left out, since it is not wanted or
 * not kept; the latter is counted. */
bool aif_ebpf_row_sample(struct aif_drainer *d, struct aif_ebpf_processes *ps,
			 const struct aif_ebpf_read *r, uint64_t weight);
/* A launch of a kernel that is not known; its number is made unique with *number, which goes up. */
bool aif_ebpf_row_launch(struct aif_drainer *d, struct aif_ebpf_processes *ps,
			 const struct aif_ebpf_read *r, uint64_t *number);
/* A launch of an agent's has entered a driver. */
void aif_ebpf_row_driver(struct aif_drainer *d, struct aif_driver_calls *calls,
			 struct aif_ebpf_syscalls *syscalls, const struct aif_ebpf_read *r);
/* The thread that ended a time off CPU, in the store; AIF_NONE: not known. */
struct aif_ebpf_woken {
	uint32_t thread, stack;
};
/* Makes *ret. A thread of a process that is not wanted has a stack alone, with its name below the kernel's frames. ret->stack:
 * its stack in the store; AIF_NONE: to be made of `stack`. */
void aif_ebpf_row_waker(struct aif_drainer *d, struct aif_ebpf_processes *ps,
			const struct aif_ebpf_waker *w, const char *comm,
			const struct aif_ebpf_stack *stack, struct aif_ebpf_woken *ret);
/* Time off CPU since `since`, `ns` in all; is_whole: one time, not a sum. woken: NULL, no wake-up was seen. */
struct aif_ebpf_off {
	struct aif_ebpf_off_key key;
	const char *comm;
	uint64_t since, ns;
	bool is_whole;
	const struct aif_ebpf_woken *woken;
};
/* *at: its stack in the store; AIF_NONE: to be made of `stack`. */
bool aif_ebpf_row_off(struct aif_drainer *d, struct aif_ebpf_processes *ps,
		      const struct aif_ebpf_off *off, const struct aif_ebpf_stack *stack,
		      uint32_t *at);
