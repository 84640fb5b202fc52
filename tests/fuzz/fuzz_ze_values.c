/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values of any type, any stamps, and a list of names: numbers are finite or none, no report is of the future, and each
 * name of a list is in it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aif_ze_report_clock c = {.is_set = false};
	char list[256] = "", name[64];
	uint64_t now = 0;
	const char *at = list;

	memcpy(list, data, AIF_MIN(size, sizeof(list) - 1));
	while (aif_ze_list_next(&at, name, sizeof(name)))
		if (strlen(name) < sizeof(name) - 1 && !aif_ze_list_has(list, name))
			abort();
	for (; size >= 25; data += 25, size -= 25) {
		struct aif_ze_value v = {.type = data[0] % 6};
		uint64_t words[3];

		memcpy(words, data + 1, sizeof(words));
		v.u64 = words[0];
		if (isinf(aif_ze_number(&v)))
			abort();
		now = AIF_MAX(now, words[1]);
		aif_ze_report_read(&c, words[0], now);
		if (aif_ze_report_time(&c, words[0], now) > now ||
		    aif_ze_report_time(&c, words[2], now) > now)
			abort();
	}
	return 0;
}
