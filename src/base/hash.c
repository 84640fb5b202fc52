/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <endian.h>
#include <string.h>

/* The same number on all machines: what is in the order of a map is in the same order everywhere. */
uint64_t aif_hash_bytes(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15), w;

	for (; n >= 8; n -= 8, b += 8) {
		memcpy(&w, b, 8);
		h = aif_mix64(h ^ le64toh(w)) + UINT64_C(0x9e3779b97f4a7c15);
	}
	w = 0;
	if (n) /* an empty string may be a null pointer */
		memcpy(&w, b, n);
	return aif_mix64(h ^ le64toh(w) ^ ((uint64_t)n << 56));
}
