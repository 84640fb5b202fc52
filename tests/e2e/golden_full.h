/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Declarations shared by the parts of the full profile: golden_full.c has its tables and launches, golden_full_rows.c
 * the rest. */

#include "golden_profiles.h"

#include "symbolize/cubin_lines.h"

#define STEPS   4
#define STEP_NS (500 * MS)
#define END_NS  (2400 * MS)

#define SHARED       "_Z10shared_sumPfPKf"
#define SHARED_PLAIN "shared_sum(float*, float const*)"
#define CALLS        "_Z5callsPfPKfi"

enum { MAIN, AUTOGRAD, OTHER, LOADER }; /* threads */
enum { NVIDIA, INTEL, CPU };            /* devices */
enum { COMPUTE, COMMUNICATION, XE_QUEUE, CPU_QUEUE };

struct full {
	struct golden *g;
	uint32_t python, libc, torch, cudart, driver, train, model, os;
	uint32_t shared, calls, add, nccl, gemm, odd, saxpy;
	uint32_t shared_module, calls_module, gemm_module, saxpy_module;
	uint32_t launch_call, sync_call;
	uint32_t forward, forward_add, backward, comm, copy, graph, other, other_odd, cpu_launch;
	uint32_t on_cpu, in_os, waiting, off_cpu, loader;
	struct aif_buf cubin_bytes;
	struct aif_cubin cubin;
	struct aif_cubin_lines *lines;
};

/* Adds counts of instruction samples with the windows that they are of. */
void full_samples(struct full *f);
/* Adds where threads were on CPUs, off them or waiting. */
void full_cpu(struct full *f);
void full_counters(struct full *f);
void full_memory(struct full *f);
void full_step_sums(struct full *f);
/* Adds the operators, ranges and calls of the step that begins `at` ns after GOLDEN_START. */
void full_ops(struct full *f, uint64_t at, uint32_t step);
