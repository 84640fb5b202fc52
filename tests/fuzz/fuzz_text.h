/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns the input behind its first byte as a text, for free(): on the heap and as long as it is, for the address sanitizer. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size);

	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	return text;
}
