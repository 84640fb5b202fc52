/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A script for fakexe, a line each for what its card is and what its streams deliver; '#' begins a comment:
 *
 *     node renderD128             the name in /dev/dri that it answers to
 *     driver xe
 *     denied                      it may not be opened
 *     no-query                    a kernel without EU-stall sampling
 *     gt 0 20.1                   a GT and its graphics version; without one: this
 *     open 0 EBUSY 1              that often opening its stream fails
 *     short 3                     a read returns so many records at most
 *     records 0 100 0xfffd0228 sbid=3,active=1
 *                                 100 records of an instruction at that address, with these counts each
 *     error 0 EIO                 a read that fails; ENODEV: until the stream is opened again
 *     torn 0 70                   a read of so many bytes
 *     pause 0 50                  ms in which there is nothing to read
 *
 * Lines of a GT are told in their order, one a read.
 */
#define SCRIPT_GTS    4
#define SCRIPT_ORDERS 256

enum order_kind { ORDER_RECORDS, ORDER_ERROR, ORDER_TORN, ORDER_PAUSE };
struct order {
	enum order_kind what;
	unsigned gt; /* its place among the script's */
	uint64_t n;  /* records, bytes, ms */
	uint64_t address;
	uint8_t counts[10]; /* of enum aif_xe_reason */
	int error;
	bool done;
};
struct script {
	char node[32], driver[16];
	bool denied, no_query;
	unsigned short_reads, cycles;
	struct script_gt {
		uint16_t id, major, minor;
		int open_error;
		unsigned open_fails;
	} gts[SCRIPT_GTS];
	unsigned gts_len;
	struct order orders[SCRIPT_ORDERS];
	unsigned orders_len;
};

bool script_read(struct script *s, const char *path); /* false, and said why */
/* The next order of a GT that is not done, or NULL. */
struct order *script_next(struct script *s, unsigned gt);
bool script_is_over(const struct script *s);
/* A record as that GT's hardware writes it; returns the sum of its counts. */
unsigned script_record(const struct script_gt *gt, const struct order *o, uint8_t ret[64]);
