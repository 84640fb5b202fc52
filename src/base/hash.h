/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* 64-bit mixing, the same everywhere (splitmix64's finaliser). */
static inline uint64_t aif_mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Hash of bytes, each of which counts. Bytes with the same one can be made on purpose. */
uint64_t aif_hash_bytes(const void *p, size_t n);
