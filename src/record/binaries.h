/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/store.h"

/*
 * Whole device binaries (cubins, zebins, PoCL's libraries) of kernels that were sampled, for tools that read such files:
 * `aiflame export --format elf`. Each is a row of `codes` with the architecture "elf", in a module of its own, which is
 * called AIF_BINARY_PREFIX and the path of the modules that its functions are in (profile/model.h).
 */

/* Bytes of one binary, and of all of a recording. */
#define AIF_BINARY_MAX     (UINT64_C(16) << 20)
#define AIF_BINARY_ALL_MAX (UINT64_C(64) << 20)

struct aif_binaries {
	uint64_t bytes; /* kept so far */
};

/* Keeps the binary that the store's module `of` is a function of. Takes the bytes; of a binary that is too large its size
 * alone is kept. Locks the store, for which `payer` pays. */
void aif_binaries_put(struct aif_binaries *b, struct aif_store *s, struct aif_quota *payer,
		      uint32_t of, uint8_t *bytes, uint64_t size);
