/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/cuda/cuda.h"

/* Nodes of CUDA graphs: the stacks that make them, and what becomes of them (wire.h: NODE records). */

/* Steps of a thread that instantiates a graph. */
enum aif_cuda_copies {
	AIF_CUDA_COPIES_NOT,
	AIF_CUDA_COPIES,     /* copies its nodes */
	AIF_CUDA_COPIES_END, /* has copied them; the driver makes nodes of its own */
};

/* True if it is known what this CUPTI calls nodes, and its functions are there. */
bool aif_cuda_graphs_are_known(const struct aif_cuda *cuda);
/* Subscribes to what is called back for graphs beside their nodes' creation. Under `switching`. */
void aif_cuda_graphs_subscribe(struct aif_cuda *cuda);
/* A graph is replayed by the call of this callback, which began `ago` ns ago, as launch `launch`. */
void aif_cuda_graph_launched(struct aif_cuda *cuda, const struct aif_cupti_callback *cb,
			     uint64_t ago, uint64_t launch);
/* A callback of a call of that step (cupti_abi.h), which may be one that instantiates a graph. */
void aif_cuda_graphs_called(const struct aif_cuda *cuda, int step, enum aif_cupti_site site);
/* A callback of the resource domain about a graph; regs: those of the callback. */
void aif_cuda_graph_event(struct aif_cuda *cuda, uint32_t event, const struct aif_cupti_graph *g,
			  const struct aif_regs *regs);
