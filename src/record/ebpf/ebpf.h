/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/*
 * CPU samples of processes as the kernel sees them, through BPF programs: where each CPU is,
 * `cpu_rate` times a second, with the stacks of the program and of the OS kernel; where threads
 * wait (--off-cpu); and launches on devices of processes that carry no agent. Nothing is put into
 * any process.
 *
 *     cpu.bpf.c  launch.bpf.c  offcpu.bpf.c        in the kernel
 *          |  ring, maps (event.h)   |  side-band of perf_event (sideband.h)
 *          v                         v
 *     source.c: loads, attaches, drains; sorts both by time
 *          v
 *     processes.h: which code is where in whom, who is asked for      rows.h: rows of the profile
 *
 * A program's stack is taken along its frame pointers, as the kernel can: code that was built
 * without breaks it or leaves callers out, so such stacks carry a flag of their own
 * (AIF_STACK_FRAME_POINTERS). The agent's are exact. Each process has one source at a time: from
 * when its agent samples it, or tells its launches, these come from there and no longer from here.
 * Times off CPU the agent does not have: they are of all.
 *
 * Whose: of the command and its children, or of the processes named and theirs (-p), or of all
 * (-a).
 */

/* Tests whether BPF sampling works here: 0, -ENOTSUP where aiflame was built without it, or
 * -errno; *err (may be NULL) says what helps. The recorder's source is aif_source_ebpf
 * (record/sources/sources.def). */
int aif_ebpf_probe(struct aif_err *err);
