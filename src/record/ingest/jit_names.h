/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/modfiles.h"
#include "record/ingest/store.h"

/*
 * Names of a process's code that is in no file. What a JIT compiler tells debuggers comes by the ring, with
 * the stacks (ingest.c), and is exact. What it writes for perf, one line for each function in /tmp/perf-PID.map, is
 * read when the process has ended or the recording has, since the file grows; but it is opened when such code is
 * first seen: /proc/PID/root, where a container's /tmp is, goes with the process.
 */
struct aif_jit_names {
	/* Modules of the store, AIF_NONE until there is such code. Processes share none of them: the same address is
	 * other code in each. Nor do functions of the ring that came to lie where another was: the second one's frames
	 * are in the next module. The first module is for frames that the ring has no name for. */
#define AIF_JIT_LAYERS 9
	uint32_t modules[AIF_JIT_LAYERS];
	struct aif_map named; /* frame -> its name, of the ring */
	int number;           /* of the process in its own namespace, 0: not known */
	int map;              /* the file, -1 = not found so far */
	uint64_t sought_ns;
};

void aif_jit_names_init(struct aif_jit_names *j);
void aif_jit_names_finish(struct aif_jit_names *j);

/* A stack of the process runs through it. */
void aif_jit_names_seen(struct aif_jit_names *j, struct aif_process_files *of, uint64_t now);

/* The process has ended, or the recording has: hands the map to the naming thread. */
void aif_jit_names_last(struct aif_jit_names *j, struct aif_process_files *of,
			struct aif_modfiles *files);

/* "[jit] NAME" as a string of the store, whose lock is held. */
uint32_t aif_jit_names_put(struct aif_store *s, const char *name, size_t len);
