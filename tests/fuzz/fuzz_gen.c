/* SPDX-License-Identifier: Apache-2.0 */
#include "export/gen.h"

#include <stdlib.h>
#include <string.h>

/* Any bytes as code of Intel's EUs: instructions cover them without end or gap, and what one waits for lies before it and
 * marks the scoreboard. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void one_generation(const uint8_t *bytes, size_t n, enum aif_gen gen)
{
	uint32_t *producers = malloc((n / AIF_GEN_LEAST + 1) * sizeof(*producers));
	char text[AIF_GEN_TEXT];

	if (!producers)
		return;
	aif_gen_producers(bytes, n, gen, producers);
	for (size_t at = 0; at < n;) {
		struct aif_gen_insn i, from;
		uint32_t p;

		if (aif_gen_decode(bytes + at, n - at, gen, &i) != (i.mnemonic != NULL) ||
		    i.size == 0 || i.size > n - at || i.marks >= AIF_GEN_SBIDS)
			abort();
		aif_gen_text(&i, text);
		if (strlen(text) == 0 || (i.suffix && !strstr(text, i.suffix)))
			abort();
		p = at / AIF_GEN_LEAST < n / AIF_GEN_LEAST ? producers[at / AIF_GEN_LEAST]
							   : AIF_GEN_NOTHING;
		if (p != AIF_GEN_NOTHING) {
			aif_gen_decode(bytes + p, n - p, gen, &from);
			if (p >= at || from.marks == AIF_GEN_NO_SBID ||
			    !(i.waits >> from.marks & 1))
				abort();
		}
		at += i.size;
	}
	free(producers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1); /* ends where it ends */

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	for (enum aif_gen gen = AIF_GEN_XE_LP; gen <= AIF_GEN_XE_HPC; gen <<= 1)
		one_generation(copy, size, gen);
	free(copy);
	return 0;
}
