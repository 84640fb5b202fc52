/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/intel_eu.h"

#include <stdlib.h>
#include <string.h>

/* Any bytes as code of Intel's EUs: instructions cover them without end or gap, and what one waits for lies before it and
 * marks the scoreboard. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void one_generation(const uint8_t *bytes, size_t n, enum aif_intel_eu gen)
{
	uint32_t *producers = malloc((n / AIF_INTEL_EU_LEAST + 1) * sizeof(*producers));
	char text[AIF_INTEL_EU_TEXT];

	if (!producers)
		return;
	aif_intel_eu_producers(bytes, n, gen, producers);
	for (size_t at = 0; at < n;) {
		struct aif_intel_eu_insn i, from;
		uint32_t p;

		if (aif_intel_eu_decode(bytes + at, n - at, gen, &i) != (i.mnemonic != NULL) ||
		    i.size == 0 || i.size > n - at || i.marks >= AIF_INTEL_EU_SBIDS)
			abort();
		aif_intel_eu_text(&i, text);
		if (strlen(text) == 0 || (i.suffix && !strstr(text, i.suffix)))
			abort();
		p = at / AIF_INTEL_EU_LEAST < n / AIF_INTEL_EU_LEAST
			    ? producers[at / AIF_INTEL_EU_LEAST]
			    : AIF_INTEL_EU_NOTHING;
		if (p != AIF_INTEL_EU_NOTHING) {
			aif_intel_eu_decode(bytes + p, n - p, gen, &from);
			if (p >= at || from.marks == AIF_INTEL_EU_NO_SBID ||
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
	for (enum aif_intel_eu gen = AIF_INTEL_EU_XE_LP; gen <= AIF_INTEL_EU_XE_HPC; gen <<= 1)
		one_generation(copy, size, gen);
	free(copy);
	return 0;
}
