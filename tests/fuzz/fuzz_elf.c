/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbolize.h"

#include <stdlib.h>
#include <string.h>

/* A module's file, of which a hostile target chose every byte; and every question that is asked of
 * it. The name of the path makes it one of PoCL's, so that all symbolizers take part. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aif_symbol symbols[16];
	struct aif_buf code = {0};
	struct aif_symbols *s;
	uint64_t start, length;
	size_t sum = 0;
	const char *name;

	if (aif_symbols_new(&s) < 0)
		return 0;
	aif_symbols_debug_dir(s, "/nonexistent");
	aif_symbols_image(s, 1, data, size, "/cache/k/1-1-1/k.so");
	for (uint64_t at = 0xff0; at < 0x2000; at += 61) {
		int n = aif_symbols_resolve(s, 1, at, symbols, AIF_ARRAY_LEN(symbols));

		for (int i = 0; i < n; i++)
			sum += strlen(symbols[i].name) +
			       (symbols[i].file ? strlen(symbols[i].file) : 0);
		if (aif_symbols_function(s, 1, at, &start, &length, &name) < 0)
			continue;
		aif_buf_clear(&code);
		if (aif_symbols_code(s, 1, start, length, &code) == 0 && code.len != length)
			abort();
	}
	aif_buf_finish(&code);
	aif_symbols_free(s);
	return sum > SIZE_MAX / 2;
}
