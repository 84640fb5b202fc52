/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/*
 * The names that JIT compilers write for perf: a line for each function, "START SIZE NAME", numbers
 * in hexadecimal. Such a file may have any size and any bytes; what is kept are the names of the
 * wanted addresses only.
 *
 * Code comes to lie where other code was. The file does not say when, so the latest line that holds
 * an address names it.
 */

struct aif_perf_map_want {
	uint64_t address;
	size_t name, name_len; /* in `names`; 0, 0 = none */
};

#define AIF_PERF_MAP_LINE 4096 /* longer lines are cut */

struct aif_perf_map {
	struct aif_perf_map_want *wants; /* the caller's, sorted by address */
	size_t wants_len;
	struct aif_buf names;
	uint64_t work; /* left */
	size_t line_len;
	char line[AIF_PERF_MAP_LINE];
};

void aif_perf_map_init(struct aif_perf_map *m, struct aif_perf_map_want *wants, size_t wants_len);

/* The file's next bytes. False: it asks for too much work (no real one does), what is known so
 * far stands. */
bool aif_perf_map_feed(struct aif_perf_map *m, const char *bytes, size_t len);

/* After the last bytes: a line without end counts. */
void aif_perf_map_end(struct aif_perf_map *m);

/* Frees the names. */
void aif_perf_map_finish(struct aif_perf_map *m);
