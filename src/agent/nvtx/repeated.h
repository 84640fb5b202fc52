/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/nvtx/names.h"

/*
 * Payloads that come again and again: XLA gives each launch of an instruction the same structure of registered strings,
 * whose text is long. The text is made once, is a name of the process from then on, and is found by the structure's bytes.
 */

/* Payloads that a thread remembers, and bytes of one that is remembered. */
#define AIF_NVTX_REPEATED       1024
#define AIF_NVTX_REPEATED_WAYS  4 /* places in which one can be */
#define AIF_NVTX_REPEATED_BYTES 64

struct aif_nvtx_repeated {
	uint64_t schema;
	uint32_t domain, size; /* size: bytes; 0 = the entry is free */
	uint32_t name;
	uint8_t bytes[AIF_NVTX_REPEATED_BYTES];
};

/* Returns the name whose text is that of a payload, read through `w`; AIF_NVTX_NAME_OTHER: it is not of a kind that comes
 * again, or there is no room. `seen` has AIF_NVTX_REPEATED entries of the calling thread. */
uint32_t aif_nvtx_repeated(struct aif_nvtx_tables *t, struct aif_nvtx_repeated *seen,
			   const struct aif_nvtx_world *w, uint32_t domain,
			   const struct aif_nvtx_data *d);
