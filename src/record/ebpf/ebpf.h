/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/target.h"

/*
 * CPU samples of processes as the kernel sees them, through BPF programs: where each CPU is, `cpu_rate` times a
 * second, with the stacks of the program and of the OS kernel; where threads wait (--off-cpu); and
 * launches on devices of processes that carry no agent. Nothing is put into any process.
 *
 *     cpu.bpf.c  launch.bpf.c  offcpu.bpf.c        in the kernel
 *          |  ring, maps (event.h)   |  side-band of perf_event (sideband.h)
 *          v                         v
 *     source.c: loads, attaches, drains; sorts both by time
 *          v
 *     processes.h: which code is where in whom, who is asked for      rows.h: rows of the profile
 *
 * A program's stack is taken along its frame pointers, as the kernel can: code that was built without breaks it
 * or leaves callers out, so such stacks carry a flag of their own (AIF_STACK_FRAME_POINTERS). The agent's are
 * exact. Each process has one source at a time: from when its agent samples it, or tells its launches,
 * these come from there and no longer from here. Times off CPU the agent does not have: they are of all.
 *
 * Whose: of the command and its children, or of the processes named and theirs (-p), or of all (-a).
 */
struct aif_ebpf;

/* Why it does not work here: 0 if it does, -ENOTSUP where aiflame was built without, or -errno; *err (may be NULL)
 * says what helps. */
int aif_ebpf_probe(struct aif_err *err);

/* Loads and attaches; sampling begins. 0 or -errno with *err. */
int aif_ebpf_new(const struct aif_record_opts *opts, struct aif_ebpf **ret, struct aif_err *err);
void aif_ebpf_free(struct aif_drainer *d, struct aif_ebpf *e);

/* Takes what has come since. Needs the store's lock. collect: false while nothing is to be kept; each_second: and
 * fetches times off CPU, counts losses. */
void aif_ebpf_drain(struct aif_drainer *d, struct aif_ebpf *e, uint64_t now, bool collect,
		    bool each_second);
/* The last time: also of threads that have not come back. */
void aif_ebpf_last(struct aif_drainer *d, struct aif_ebpf *e, uint64_t now, bool collect);

/* Samples and launches kept so far. */
uint64_t aif_ebpf_samples(const struct aif_ebpf *e);
uint64_t aif_ebpf_launches(const struct aif_ebpf *e);
