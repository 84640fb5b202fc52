/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/*
 * Operators and nodes from the names of PyTorch's functions, which are generated for each operator. Names
 * are as the demangler has them, "at::_ops::sum_dim_IntList::call(at::Tensor const&, ...)".
 */

enum aif_torch_kind {
	AIF_TORCH_OTHER,
	AIF_TORCH_CALL,     /* the dispatcher is asked for an operator: at::_ops::mm::call(...) */
	AIF_TORCH_VARIABLE, /* autograd's part of it, which makes the node for the backward */
	AIF_TORCH_ENGINE,   /* autograd's engine runs a node and what goes with it */
	AIF_TORCH_NODE,     /* the node: torch::autograd::generated::MmBackward0::apply(...) */
	AIF_TORCH_NODE_INSIDE,  /* generated code of a node */
	AIF_TORCH_NODE_PYTHON,  /* a node that is written in Python */
	AIF_TORCH_ACCUMULATE,   /* a node that only adds to a parameter's gradient */
	AIF_TORCH_APPLY_PYTHON, /* the forward of such a node is called */
};

/* *ret, *ret_len: the part of the name that tells of which operator or node it is, with the overload:
 * "sum_dim_IntList", "MmBackward0"; "" where there is none. */
enum aif_torch_kind aif_torch_kind(const char *function, const char **ret, size_t *ret_len);

/* Returns how much of "sum_dim_IntList" is the operator's own name, without the overload's: 3. */
size_t aif_torch_operator(const char *name, size_t len);

/* A node and the operator that makes it have one family: "MmBackward0" and "mm" have "mm",
 * "NllLossBackward0" and "nll_loss_forward" have "nllloss". */
void aif_torch_family_of_node(const char *name, size_t len, struct aif_buf *ret);
void aif_torch_family_of_operator(const char *name, size_t len, struct aif_buf *ret);
