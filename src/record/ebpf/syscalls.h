/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/kallsyms.h"

/*
 * The OS kernel's functions for system calls: which frames of a stack that was taken where a system call begins are still
 * there when the call's own function runs. Addresses are those of frames (AIF_KALLSYMS_ADDRESS).
 */
#define AIF_EBPF_DISPATCHERS 4
#define AIF_EBPF_OUTER       16
struct aif_ebpf_syscalls {
	struct {
		uint64_t lo, hi;
	} dispatcher[AIF_EBPF_DISPATCHERS]; /* functions that call the system calls' own */
	unsigned len;
	/* The frames in front of what ioctl() calls, as they were last: all that ioctl() have the same. */
	uint64_t outer[AIF_EBPF_OUTER];
	uint32_t outer_len;
	uint64_t ioctl; /* where ioctl()'s own function begins; 0: not known */
};

/* Finds them among the kernel's functions. */
void aif_ebpf_syscalls_find(const struct aif_kallsyms *k, struct aif_ebpf_syscalls *ret);
/* The same in /proc/kallsyms. False: they are not known. */
bool aif_ebpf_syscalls_read(struct aif_ebpf_syscalls *ret);
/* Returns how many frames, innermost first, lie within the innermost dispatcher; UINT32_MAX: none is there. */
uint32_t aif_ebpf_syscalls_above(const struct aif_ebpf_syscalls *s, const uint64_t *frames,
				 uint32_t n);
