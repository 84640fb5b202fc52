/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <string.h>

/* Bounded reading of .eh_frame's bytes: fixed integers, LEB128, encoded pointers. A reader that was
 * asked for more than there is has failed, for good; what it returns since then is zero. */

/* Pointer encodings (DW_EH_PE_*): low four bits the format, then what it is relative to. */
enum {
	AIF_PE_ABSPTR = 0x00,
	AIF_PE_ULEB128 = 0x01,
	AIF_PE_UDATA2 = 0x02,
	AIF_PE_UDATA4 = 0x03,
	AIF_PE_UDATA8 = 0x04,
	AIF_PE_SLEB128 = 0x09,
	AIF_PE_SDATA2 = 0x0a,
	AIF_PE_SDATA4 = 0x0b,
	AIF_PE_SDATA8 = 0x0c,
	AIF_PE_PCREL = 0x10,
	AIF_PE_DATAREL = 0x30,
	AIF_PE_OMIT = 0xff,
};

struct aif_eh_reader {
	const uint8_t *p, *end;
	bool failed;
};

static inline size_t aif_eh_left(const struct aif_eh_reader *r)
{
	return (size_t)(r->end - r->p);
}

static inline void aif_eh_fail(struct aif_eh_reader *r)
{
	r->failed = true;
	r->p = r->end;
}

static inline uint64_t aif_eh_fixed(struct aif_eh_reader *r, size_t n)
{
	uint64_t v = 0;

	if (aif_eh_left(r) < n) {
		aif_eh_fail(r);
		return 0;
	}
	memcpy(&v, r->p, n); /* little-endian, as both machines are */
	r->p += n;
	return v;
}

static inline uint64_t aif_eh_uleb(struct aif_eh_reader *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70 && r->p < r->end; shift += 7) {
		uint8_t b = *r->p++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	aif_eh_fail(r);
	return 0;
}

static inline int64_t aif_eh_sleb(struct aif_eh_reader *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70 && r->p < r->end;) {
		uint8_t b = *r->p++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if (!(b & 0x80)) {
			if (shift < 64 && (b & 0x40))
				v |= ~UINT64_C(0) << shift;
			return (int64_t)v;
		}
	}
	aif_eh_fail(r);
	return 0;
}

static inline void aif_eh_skip(struct aif_eh_reader *r, uint64_t n)
{
	if (aif_eh_left(r) < n)
		aif_eh_fail(r);
	else
		r->p += n;
}

/* A pointer in encoding `enc`. A raw zero stays zero: it means "none". Indirect pointers are not
 * followed (nothing that we need is encoded so). */
static inline uint64_t aif_eh_pointer(struct aif_eh_reader *r, uint8_t enc,
				      const uint8_t *data_base)
{
	uint64_t at = (uint64_t)(uintptr_t)r->p;
	uint64_t v;

	switch (enc & 0x0f) {
	case AIF_PE_ABSPTR:
	case AIF_PE_UDATA8:
	case AIF_PE_SDATA8:
		v = aif_eh_fixed(r, 8);
		break;
	case AIF_PE_ULEB128:
		v = aif_eh_uleb(r);
		break;
	case AIF_PE_UDATA2:
		v = aif_eh_fixed(r, 2);
		break;
	case AIF_PE_UDATA4:
		v = aif_eh_fixed(r, 4);
		break;
	case AIF_PE_SLEB128:
		v = (uint64_t)aif_eh_sleb(r);
		break;
	case AIF_PE_SDATA2:
		v = (uint64_t)(int64_t)(int16_t)aif_eh_fixed(r, 2);
		break;
	case AIF_PE_SDATA4:
		v = (uint64_t)(int64_t)(int32_t)aif_eh_fixed(r, 4);
		break;
	default:
		aif_eh_fail(r);
		return 0;
	}
	if (v == 0)
		return 0;
	switch (enc & 0xf0) {
	case 0:
		return v;
	case AIF_PE_PCREL:
		return v + at;
	case AIF_PE_DATAREL:
		if (data_base)
			return v + (uint64_t)(uintptr_t)data_base;
	}
	aif_eh_fail(r);
	return 0;
}
