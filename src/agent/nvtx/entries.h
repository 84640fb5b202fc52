/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/nvtx/abi.h"

/* The functions that NVTX calls instead of doing nothing: rows of its tables. `function` NULL: none for that number. */
struct aif_nvtx_entry {
	uint32_t number;
	void (*function)(void);
};
extern const struct aif_nvtx_entry aif_nvtx_core[], aif_nvtx_core2[], aif_nvtx_payload[];
extern const unsigned aif_nvtx_core_len, aif_nvtx_core2_len, aif_nvtx_payload_len;
