/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/xe_records.h"

#include <endian.h>
#include <string.h>

enum aif_xe_layout aif_xe_layout(unsigned ip_ver_major, unsigned ip_ver_minor)
{
	if (ip_ver_major == 12)
		return ip_ver_minor == 60 ? AIF_XE_LAYOUT_PVC : AIF_XE_LAYOUT_NONE;
	return ip_ver_major >= 35   ? AIF_XE_LAYOUT_XE3P
	       : ip_ver_major >= 20 ? AIF_XE_LAYOUT_XE2
				    : AIF_XE_LAYOUT_NONE;
}

const char *aif_xe_reason_name(enum aif_xe_reason reason)
{
	static const char *const names[AIF_XE_REASONS] = {
		[AIF_XE_TDR] = "tdr",
		[AIF_XE_OTHER] = "other",
		[AIF_XE_CONTROL] = "control",
		[AIF_XE_PIPESTALL] = "pipestall",
		[AIF_XE_SEND] = "send",
		[AIF_XE_DIST_ACC] = "dist_acc",
		[AIF_XE_SBID] = "sbid",
		[AIF_XE_SYNC] = "sync",
		[AIF_XE_INST_FETCH] = "inst_fetch",
		[AIF_XE_ACTIVE] = "active",
	};

	return (unsigned)reason < AIF_XE_REASONS ? names[reason] : "?";
}

static uint64_t load(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

#define LOW  ((UINT64_C(1) << 56) - 1)
#define HIGH ((UINT64_C(1) << 24) - 1)

/* Counts begin at bit 5 of byte `at`: 7 of them fit one load, the other 3 another. */
static inline void counts(const uint8_t *r, size_t at, struct aif_xe_record *ret)
{
	ret->low = load(r + at) >> 5 & LOW;
	ret->high = load(r + at + 7) >> 5 & HIGH;
}

void aif_xe_decode(enum aif_xe_layout layout, const uint8_t *r, size_t n, struct aif_xe_record *ret)
{
	switch (layout) {
	case AIF_XE_LAYOUT_XE2:
		for (size_t i = 0; i < n; i++, r += AIF_XE_RECORD) {
			ret[i].ip = load(r) & 0x1fffffff;
			counts(r, 3, &ret[i]);
		}
		break;
	case AIF_XE_LAYOUT_XE3P:
		for (size_t i = 0; i < n; i++, r += AIF_XE_RECORD) {
			ret[i].ip = load(r) & ((UINT64_C(1) << 61) - 1);
			counts(r, 7, &ret[i]);
		}
		break;
	case AIF_XE_LAYOUT_PVC:
		/* Ponte Vecchio has no tdr: the count that Xe2 has last is in its place. */
		for (size_t i = 0; i < n; i++, r += AIF_XE_RECORD) {
			ret[i].ip = load(r) & 0x1fffffff;
			counts(r, 3, &ret[i]);
			ret[i].high = (ret[i].high & 0xffff) | (ret[i].low & 0xff) << 16;
			ret[i].low &= ~UINT64_C(0xff);
		}
		break;
	case AIF_XE_LAYOUT_NONE:
		memset(ret, 0, n * sizeof(*ret));
		break;
	}
}
