/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/perf_map.h"

#include <stdlib.h>
#include <string.h>

/* A perf map of any bytes, fed in pieces whose size the first byte gives: the same names as in one piece, and
 * all of them lie within the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WANTS = 64 };

static uint64_t read_in(struct aif_perf_map *m, const uint8_t *data, size_t size, size_t piece)
{
	struct aif_perf_map_want wants[WANTS] = {0};
	uint64_t sum = 0;

	for (uint64_t i = 0; i < WANTS; i++)
		wants[i].address = i * i * i * 0x101;
	aif_perf_map_init(m, wants, WANTS);
	for (size_t at = 0; at < size; at += piece)
		if (!aif_perf_map_feed(m, (const char *)data + at, AIF_MIN(piece, size - at)))
			break;
	aif_perf_map_end(m);
	for (size_t i = 0; i < WANTS; i++) {
		if (wants[i].name > m->names.len ||
		    wants[i].name_len > m->names.len - wants[i].name)
			abort();
		for (size_t k = 0; k < wants[i].name_len; k++)
			sum = sum * 31 + m->names.data[wants[i].name + k];
		sum = sum * 31 + wants[i].name_len;
	}
	aif_perf_map_finish(m);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct aif_perf_map m;

	if (size < 2)
		return 0;
	if (read_in(&m, data + 1, size - 1, data[0] + 1u) != read_in(&m, data + 1, size - 1, size))
		abort();
	return 0;
}
