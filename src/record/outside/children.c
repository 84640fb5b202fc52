/* SPDX-License-Identifier: Apache-2.0 */
#include "record/outside/children.h"

#include <inttypes.h>
#include <stdio.h>

void aif_outside_children(uint32_t pid, uint32_t tid, void (*fn)(void *arg, uint32_t child),
			  void *arg)
{
	char path[64];
	uint32_t child;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/children", pid, tid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%" SCNu32, &child) == 1)
		fn(arg, child);
	if (f)
		fclose(f);
}
