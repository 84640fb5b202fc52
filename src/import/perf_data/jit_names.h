/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/perf_samples.h"

/* A frame of code that lies in no file. */
struct aif_perf_jit {
	uint64_t address;
	uint32_t pid, frame;
};

/* Names them by what JIT compilers left for perf (/tmp/perf-PID.map). Sorts them. */
void aif_perf_jits_name(struct aif_perf_samples *to, struct aif_perf_jit *jits, size_t n);
