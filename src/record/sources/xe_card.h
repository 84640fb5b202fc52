/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/sources/xe_abi.h"
#include "record/sources/xe_records.h"

/*
 * The calls to the xe driver, and nothing else: which cards there are, what their GTs can do, and streams of EU-stall
 * records. Needs CAP_PERFMON, or dev.xe.observation_paranoid = 0.
 */
#define AIF_XE_CARDS 16
#define AIF_XE_GTS   16 /* of a card */

struct aif_xe_card {
	int fd;
	char name[32]; /* "renderD128" */
	uint32_t pci;  /* domain << 16 | bus << 8 | device << 3 | function; 0 = not known */
	unsigned gts_len;
	struct aif_xe_card_gt {
		uint16_t id, major, minor; /* version of its graphics */
		enum aif_xe_layout layout;
		uint32_t mhz; /* its highest frequency; 0 = not known */
	} gts[AIF_XE_GTS];    /* those that have EUs */
	unsigned rates_len;
	uint32_t rates[16]; /* cycles between two samples; 0 of them: no EU-stall sampling here */
};

/* Opens the node /dev/dri/NAME. 0; -ENODEV: not of the xe driver; or -errno. */
int aif_xe_card_open(const char *name, struct aif_xe_card *ret);
void aif_xe_card_close(struct aif_xe_card *c);

/* The rate that comes nearest to `hz` samples a second of a GT that runs at `mhz` (0 = 1500), in cycles. */
uint32_t aif_xe_rate(const uint32_t *rates, unsigned n, uint32_t hz, uint32_t mhz);

/* A stream of one GT, enabled and non-blocking, or -errno: -EACCES not privileged, -EBUSY another has one. */
int aif_xe_stream_open(const struct aif_xe_card *c, uint16_t gt, uint32_t cycles);

/* Finds the process that has a stream of EU stalls open, as far as /proc shows: "iaprof (812)", or
 * false. */
bool aif_xe_stream_holder(char *ret, size_t size);
