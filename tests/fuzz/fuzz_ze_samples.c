/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/samples.h"

#include <stdlib.h>
#include <string.h>

/* Values of any type and any layout, and a metric's name: whole rows are taken, and each sample is in one sum. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum_of(const struct aif_ze_sums *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < AIF_ZE_SUMS; i++)
		for (unsigned k = 0; k < AIF_ZE_REASONS_MAX && s->at[i].used; k++)
			n += s->at[i].counts[k];
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct aif_ze_sums sums;
	static struct aif_ze_value values[512];
	struct aif_ze_layout l = {.metrics = 1};
	char name[64] = "";
	size_t n, took;

	memcpy(name, data, AIF_MIN(size, sizeof(name) - 1));
	if (strcmp(aif_ze_stall_name(name), name) && !*name)
		abort();
	if (size < 2 + AIF_ZE_METRICS_MAX)
		return 0;
	l.metrics = 1 + data[0] % AIF_ZE_METRICS_MAX;
	l.ip = data[1] % l.metrics;
	for (uint32_t i = 0; i < l.metrics; i++)
		l.reason[i] =
			data[2 + i] % 40 < AIF_ZE_REASONS_MAX ? data[2 + i] % 40 : AIF_ZE_NO_REASON;
	data += 2 + AIF_ZE_METRICS_MAX;
	size -= 2 + AIF_ZE_METRICS_MAX;
	n = AIF_MIN(size / 9, AIF_ARRAY_LEN(values));
	for (size_t i = 0; i < n; i++) {
		values[i].type = data[9 * i] % 6;
		memcpy(&values[i].u64, data + 9 * i + 1, 8);
	}
	aif_ze_sums_clear(&sums);
	took = aif_ze_sums_add(&sums, &l, values, n);
	if (took > n || took % l.metrics || sum_of(&sums) != sums.samples ||
	    sums.samples > UINT32_MAX)
		abort();
	return 0;
}
