/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "names/compiled_lines.h"

/*
 * Operators of code that PyTorch's Inductor generated, by line of its wrapper: read from the comments above each call of a
 * kernel, as torch/_inductor/codegen/wrapper.py writes them (2.1 to 2.9):
 *
 *     # Topologically Sorted Source Nodes: [linear, gelu], Original ATen: [aten.view, aten.gelu]
 *     stream0 = get_raw_stream(0)
 *     triton_poi_fused_gelu_view_4.run(buf6, addmm_10, 33554432, stream=stream0)
 *
 * The files are rows of `programs`, which the recorder copied. They may hold anything.
 */

/* Calls of one file that are read; operators that a label names. */
#define AIF_COMPILED_CALLS 65536
#define AIF_COMPILED_NAMED 6

struct aif_compiled_call {
	uint32_t first, last; /* lines */
	const char *nodes,
		*aten; /* texts of the profile, not terminated: "linear, gelu", "aten.view, aten.gelu" */
	size_t nodes_len, aten_len;
	struct aif_compiled_place place; /* where the program computes that; line 0: not known */
};

struct aif_compiled;

/* The profile must outlive it. 0 or -ENOMEM. */
int aif_compiled_new(const struct aif_profile *p, struct aif_compiled **ret);
void aif_compiled_free(struct aif_compiled *c);

/* Finds the call at a line of a file, which is a string of the profile. NULL: none, or no memory. Valid until the next
 * call. */
const struct aif_compiled_call *aif_compiled_find(struct aif_compiled *c, uint32_t file,
						  uint32_t line);

/* Appends what a call computes and where the program does, as "aten.view, aten.gelu [compiled] model.py:12"; to ret_full all
 * operators, the graph's nodes that they come from, and the function. */
void aif_compiled_put(const struct aif_compiled_call *c, struct aif_buf *ret,
		      struct aif_buf *ret_full);
