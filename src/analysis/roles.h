/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Roles of device work in an engine that trains or serves models, by kernels' names: role_rules.def. */
enum aif_role {
	AIF_ROLE_OTHER,
	AIF_ROLE_ATTENTION, /* with positions (RoPE) */
	AIF_ROLE_KV_CACHE,
	AIF_ROLE_PRODUCTS, /* matrix products and convolutions */
	AIF_ROLE_EXPERTS,  /* routing of tokens to experts */
	AIF_ROLE_QUANTIZATION,
	AIF_ROLE_NORMALIZATION, /* layer, RMS and batch norms, softmax */
	AIF_ROLE_SAMPLING,
	AIF_ROLE_COLLECTIVES,
	AIF_ROLE_COPIES,      /* and fills, layouts, rows by index */
	AIF_ROLE_ELEMENTWISE, /* and reductions */
	AIF_ROLE_COUNT,
};

/* kernel: its name as the file has it. */
enum aif_role aif_role_of(const char *kernel);
/* "attention", "KV cache" */
const char *aif_role_name(enum aif_role role);
