/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranges/xla.h"

#include <stdlib.h>
#include <string.h>

/* Names and payloads of ranges, which may be anything: frames are bounded and terminated, labels too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char domain[] = "TSL:";
	size_t at = size ? data[0] % size : 0;
	char *name = calloc(1, sizeof(domain) + at), *payload = calloc(1, size - at + 1);
	struct aif_buf label = {0};
	struct aif_xla_range r;

	if (!name || !payload)
		abort();
	memcpy(name, domain, sizeof(domain) - 1);
	memcpy(name + sizeof(domain) - 1, data, at);
	memcpy(payload, data + at, size - at);
	if (!aif_xla_read(name, payload, &r)) {
		if (r.len > AIF_XLA_FRAMES)
			abort();
		for (size_t i = 0; i < r.len; i++)
			if (r.frames[i].at + strlen(aif_xla_text(&r, i)) >= r.text.len)
				abort();
	}
	aif_xla_finish(&r);
	aif_xla_label(name, payload, &label);
	aif_buf_finish(&label);
	free(name);
	free(payload);
	return 0;
}
