/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "stats/spread.h"

/*
 * The most that this machine's CPUs do, measured: multiply-adds in registers, and bytes from each cache and from memory, by
 * one core and by all that the caller may use. Other programs only take away: the best of some rounds is the roof, and how
 * far the others stay below it says how quiet the machine was.
 */
enum aif_roof {
	AIF_ROOF_FMA_SP, /* FLOP/s, a multiply-add is two; of 32 bits */
	AIF_ROOF_FMA_DP,
	AIF_ROOF_L1, /* bytes/s read */
	AIF_ROOF_L2,
	AIF_ROOF_L3,
	AIF_ROOF_DRAM,
	AIF_ROOF_TRIAD, /* bytes/s of a[i] = b[i] + s * c[i] in memory, as STREAM counts: 24 an element */
	AIF_ROOFS
};

struct aif_roofs {
	const char *isa;  /* of the kernels: "avx512f", "avx2", "generic" */
	uint32_t threads; /* of .all */
	struct aif_spread one[AIF_ROOFS],
		all[AIF_ROOFS]; /* of rounds; n is 0: not known, as of a cache that is not there, or of memory beside caches too large */
};

/* Measures, which takes some seconds, and four times the last caches of memory, 4 GiB and a quarter of the machine's at most. 0 or -errno with *err. */
int aif_roofs_measure(struct aif_roofs *ret, struct aif_err *err);

/* Appends a table for people, or a JSON object: {"isa", "threads", "one": {key: {best, median, min, n}}, "all": ...}. */
void aif_roofs_text(const struct aif_roofs *r, struct aif_buf *out);
void aif_roofs_json(const struct aif_roofs *r, struct aif_buf *out);
