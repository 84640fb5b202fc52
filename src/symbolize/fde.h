/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/elf_image.h"

/*
 * Extents of functions from the unwind tables (.eh_frame), which even stripped files keep. They
 * name functions without a symbol. 16 bytes a function.
 */
struct aif_fdes {
	struct aif_fde {
		uint64_t start;
		uint64_t end : 63;
		uint64_t is_signal_return : 1; /* where handlers of signals return to */
	} * fdes;                              /* sorted by start */
	size_t len, cap;
};

/* 0 (also with no tables at all) or -ENOMEM. */
int aif_fdes_init(struct aif_fdes *f, const struct aif_elf *elf);
void aif_fdes_finish(struct aif_fdes *f);
const struct aif_fde *aif_fdes_find(const struct aif_fdes *f, uint64_t address); /* or NULL */
