/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Builds the fixed profiles that the golden files of tests/golden/views are made from. */

#include "../unit/fixture_profile.h"

#include "base/map.h"

#include <inttypes.h>

#define GOLDEN_START FIXTURE_START
#define GOLDEN_DATE  UINT64_C(1700000000000000000) /* of GOLDEN_START, ns since 1970 */
#define MS           UINT64_C(1000000)
#define US           UINT64_C(1000)

struct golden {
	struct aif_profile p;
	struct aif_writer *w;
	struct { /* of the next chunk of each kind */
		AIF_TABLE(aif_launch_row, launches);
		AIF_TABLE(aif_exec_row, execs);
		AIF_TABLE(aif_sample_row, samples);
		AIF_TABLE(aif_window_row, windows);
		AIF_TABLE(aif_cpu_row, cpu);
		AIF_TABLE(aif_op_row, ops);
		AIF_TABLE(aif_counter_row, counters);
		AIF_TABLE(aif_memory_row, memory);
		AIF_TABLE(aif_step_sum_row, step_sums);
	} rows;
	const char *cubins; /* directory of cubins */
	uint64_t launches;
	struct aif_err err;
};

/* Ends the program with a message if r is an error. */
void golden_must(struct golden *g, int r);

uint32_t golden_str(struct golden *g, const char *text);
void golden_meta(struct golden *g, const char *key, const char *value);
uint32_t golden_module(struct golden *g, uint32_t kind, const char *path, const char *build_id);

/* Adds a frame with one name; file may be NULL, name may be NULL: the frame stays without one. */
uint32_t golden_frame(struct golden *g, uint32_t kind, uint32_t module, const char *name,
		      const char *file, uint32_t line);
/* Adds the name of a function that is inlined at the frame that was added last. */
void golden_inlined(struct golden *g, uint32_t depth, const char *name, const char *file,
		    uint32_t line);
/* Adds a frame that is known by its name: AIF_FRAME_MARK, AIF_FRAME_OP and the like. */
uint32_t golden_named(struct golden *g, uint32_t kind, const char *name);

/* Adds `len` frames onto `parent` (AIF_NONE: none) and returns the innermost stack. */
uint32_t golden_stack(struct golden *g, uint32_t parent, const uint32_t *frames, size_t len,
		      uint32_t flags);
#define GOLDEN_STACK(g, parent, ...)                       \
	golden_stack(g, parent, (uint32_t[]){__VA_ARGS__}, \
		     sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), 0)

/* Adds a kernel; its name may have any bytes. */
uint32_t golden_kernel(struct golden *g, const char *name, size_t len, uint32_t program);

/* Adds a row to the next chunk of its kind: GOLDEN_ROW(g, ops, &row). */
#define GOLDEN_ROW(g, table, row)                                                                 \
	do {                                                                                      \
		if (aif_grow(&(g)->rows.table, &(g)->rows.table##_cap, (g)->rows.table##_len + 1, \
			     sizeof(*(g)->rows.table)) < 0)                                       \
			abort();                                                                  \
		(g)->rows.table[(g)->rows.table##_len++] = *(row);                                \
	} while (0)
/* Writes a chunk of each kind that has rows, as a recorder does each second. */
void golden_write_rows(struct golden *g);

/* Launches: times are ns since GOLDEN_START. */
struct golden_launch {
	uint64_t at, start, end; /* start 0: it has no execution */
	uint32_t thread, kind, kernel, stream, stack, shape;
	uint64_t bytes;
	uint32_t graph, nodes; /* nodes: executions one after another; 0 = one */
	uint32_t registers, shared_bytes;
};
/* Adds the rows of a launch and of what it executes. */
void golden_launch(struct golden *g, struct golden_launch l);
/* The raw stamp that the device's clock shows `ns` after GOLDEN_START. */
uint64_t golden_stamp(const struct golden *g, uint32_t device, uint64_t ns);

void golden_full(struct golden *g);
void golden_sampled(struct golden *g);
/* Stores the listings that the full profile's code has from its vendors' disassemblers, so that the output does not
 * depend on which of them a machine has. */
void golden_full_listings(struct golden *g, const struct aif_profile *read);
