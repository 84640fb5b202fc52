/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * EU-stall records as the hardware writes them: 64 bytes each, little endian, no header. A record is an instruction's
 * address and how often the hardware has found a thread there, by what it waited for, 8 bits each:
 *
 *     bits            PVC          Xe2, Xe3      bits            Xe3p
 *     0-28            ip           ip            0-60            ip
 *     29-36           active       tdr           61-68           tdr
 *     37-44 ...       other, control, pipestall, send, dist_acc, sbid, sync, inst_fetch: 8 bits each, in this order
 *     101-108         unused       active        133-140         active
 *
 * Of 512 bits the rest says nothing about the sample: no XeCore, no time, no context. Source: the kernel's
 * drivers/gpu/drm/xe/xe_eu_stall.c. Pure; any bytes decode to something.
 */
#define AIF_XE_RECORD 64

enum aif_xe_layout { AIF_XE_LAYOUT_NONE, AIF_XE_LAYOUT_PVC, AIF_XE_LAYOUT_XE2, AIF_XE_LAYOUT_XE3P };

/* The layout of a graphics IP version; NONE: it has no EU-stall sampling that we know of. */
enum aif_xe_layout aif_xe_layout(unsigned ip_ver_major, unsigned ip_ver_minor);

/* In the hardware's order. */
enum aif_xe_reason {
	AIF_XE_TDR, /* a pixel shader's dependency */
	AIF_XE_OTHER,
	AIF_XE_CONTROL,
	AIF_XE_PIPESTALL,
	AIF_XE_SEND,
	AIF_XE_DIST_ACC,
	AIF_XE_SBID,
	AIF_XE_SYNC,
	AIF_XE_INST_FETCH,
	AIF_XE_ACTIVE,
	AIF_XE_REASONS
};
const char *aif_xe_reason_name(enum aif_xe_reason reason); /* "sbid" */

struct aif_xe_record {
	uint64_t ip;   /* in units of 8 bytes */
	uint64_t low;  /* the counts of the first 7 reasons, a byte each, the first lowest */
	uint64_t high; /* of the last 3 */
};
static inline unsigned aif_xe_count(const struct aif_xe_record *r, enum aif_xe_reason reason)
{
	return (reason < 7 ? r->low >> 8 * reason : r->high >> 8 * (reason - 7)) & 0xff;
}

/* Decodes n records. How fast: bench/bench_xe.c. */
void aif_xe_decode(enum aif_xe_layout layout, const uint8_t *bytes, size_t n,
		   struct aif_xe_record *ret);
