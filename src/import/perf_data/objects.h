/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/perf_data/jit_names.h"
#include "import/perf_data/perf_data.h"

/*
 * Objects that code lies in: files, the kernel, memory of JIT compilers. Frames of their addresses, each made once, have the
 * names that recordings have, where this machine has the very file (by its build id; perf's own copies in ~/.debug are
 * looked at, too) and the kernel that ran then.
 */
struct aif_perf_objects {
	struct aif_perf_data *x;
	struct aif_perf_samples *to;
	uint64_t changed; /* files that are not there, or not what they were */
	uint32_t first_changed;
	uint64_t os_unnamed; /* places of another kernel's */
	AIF_TABLE(aif_perf_jit, jits);
	bool is_memory;
	/* inside */
	struct aif_symbols *symbols;
	struct aif_kallsyms *kernel;
	bool has_kernel, is_our_kernel;
	AIF_TABLE(aif_perf_object, list);
	struct aif_map by_name, frames;
};

int aif_perf_objects_init(struct aif_perf_objects *o, struct aif_perf_data *x,
			  struct aif_perf_samples *to);
void aif_perf_objects_finish(struct aif_perf_objects *o);

/* Returns the object of that path, which is a string of *x, as is build_id, or AIF_STR_NONE. */
uint32_t aif_perf_object(struct aif_perf_objects *o, uint32_t path, uint32_t build_id);
/* Return frames of code: at an offset of an object's file, which lies at `address` of a process; of the kernel; of what
 * nobody knows. */
uint32_t aif_perf_object_frame(struct aif_perf_objects *o, uint32_t object, uint32_t pid,
			       uint64_t offset, uint64_t address);
uint32_t aif_perf_os_frame(struct aif_perf_objects *o, uint64_t address);
uint32_t aif_perf_lost_frame(struct aif_perf_objects *o, uint64_t address);
