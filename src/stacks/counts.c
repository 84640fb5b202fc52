/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/ranks.h"

#include <string.h>

/* The agent's name, as the loader has it in the process. */
#define AGENT "libaiflame-agent.so"

static struct aif_collective_counts *read_counts(struct aif_stacks *s, uint64_t at)
{
	struct aif_collective_counts *c = malloc(sizeof(*c));

	if (c && aif_remote_read(s->memory, at, c, sizeof(*c)) &&
	    c->magic == AIF_COLLECTIVE_COUNTS_MAGIC && c->size == sizeof(*c)) {
		for (size_t i = 0; i < AIF_COLLECTIVE_KINDS; i++)
			c->kinds[i][AIF_COLLECTIVE_NAME - 1] = '\0';
		return c;
	}
	free(c);
	return NULL;
}

struct aif_collective_counts *aif_stacks_counts(struct aif_stacks *s)
{
	aif_remote_forget(s->memory);
	for (size_t i = 0; i < s->modules.len; i++) {
		struct aif_remote_module *m = &s->modules.modules[i];
		uint64_t at, size;

		if (!strstr(m->path, AGENT))
			continue;
		aif_remote_module_read(&s->modules, m);
		if (aif_remote_symbol(&s->modules, m, AIF_COLLECTIVE_COUNTS_NAME, &at, &size) &&
		    size == sizeof(at) && aif_remote_u64(s->memory, at, &at) && at)
			return read_counts(s, at);
	}
	return NULL;
}
