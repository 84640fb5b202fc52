/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/code_pack.h"
#include "record/ingest/store.h"

/*
 * Device binaries (cubins, zebins, PoCL's libraries) of kernels that were sampled, for tools that read such files: `aiflame
 * export --format elf`. Each is a row of `codes` with the architecture "elf", in a module of its own, which is called
 * AIF_BINARY_PREFIX and the path of the modules that its functions are in (profile/model.h). Cubins and zebins lack what
 * functions have for themselves, which comes with those that are sampled.
 */

/* Bytes of one binary, and of all of a recording as they are kept, compressed. */
#define AIF_BINARY_MAX     AIF_CODE_MAX
#define AIF_BINARY_ALL_MAX (UINT64_C(64) << 20)

struct aif_binaries {
	uint64_t bytes;         /* kept so far */
	struct aif_map by_path; /* path of functions' modules (string) -> the binary's module */
};

void aif_binaries_finish(struct aif_binaries *b);

/* Keeps lines of the store's module `of`, bytes that lie at `offset` of its binary, which was put. */
void aif_binaries_lines(struct aif_binaries *b, struct aif_store *s, struct aif_quota *payer,
			uint32_t of, const uint8_t *bytes, uint64_t offset, uint64_t size);

/* Keeps the binary that the store's module `of` is a function of. Takes the bytes; of a binary that is too large its size
 * alone is kept. Locks the store, for which `payer` pays. */
void aif_binaries_put(struct aif_binaries *b, struct aif_store *s, struct aif_quota *payer,
		      uint32_t of, uint8_t *bytes, uint64_t size);
