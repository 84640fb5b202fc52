/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/sass_text.h"

#include <stdlib.h>

/* Any text as nvdisasm's: what is found lies within it and is counted right. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { LINES = 32 };
	const char *text = (const char *)data;
	struct aif_sass_line lines[LINES];
	size_t found = aif_sass_listing(text, size, size % 2 ? 8 : 16, lines, LINES), seen = 0;

	for (size_t i = 0; i < LINES; i++) {
		if (!lines[i].text)
			continue;
		seen++;
		if (!lines[i].len || lines[i].text < text || lines[i].len > size ||
		    (size_t)(lines[i].text - text) > size - lines[i].len)
			abort();
	}
	if (seen != found)
		abort();
	return 0;
}
