/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/translate.h"

#include <stdlib.h>

/* A module's native code of any bytes: what is told lies within it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct within {
	const uint8_t *lo, *hi;
};

static void tell(void *arg, const char *name, size_t len, uint64_t size)
{
	const struct within *w = arg;

	(void)size;
	if ((const uint8_t *)name < w->lo || len > (size_t)(w->hi - (const uint8_t *)name) || !len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct within w = {.lo = data, .hi = data + size};

	(void)aif_ze_texts(data, size, tell, &w);
	return 0;
}
