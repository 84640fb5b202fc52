/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/homes.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

void aif_homes_finish(struct aif_homes *h)
{
	free(h->of);
}

/* Without memory nothing is noted: a module is of no known home then. */
static uint16_t *slot(struct aif_homes *h, uint32_t module)
{
	size_t was = h->cap;

	if (module >= UINT16_MAX || aif_grow(&h->of, &h->cap, module + 1, sizeof(*h->of)) < 0)
		return NULL;
	memset(h->of + was, 0, (h->cap - was) * sizeof(*h->of));
	return &h->of[module];
}

static unsigned find(struct aif_homes *h, const struct aif_process_files *of)
{
	unsigned i = 0;
	struct aif_home *home;

	if (!of->is_elsewhere)
		return AIF_HOME_HERE;
	while (i < h->len && memcmp(&h->at[i].id, &of->home, sizeof(of->home)) != 0)
		i++;
	if (i == AIF_HOMES)
		return AIF_HOME_SEVERAL;
	home = &h->at[i];
	if (i == h->len)
		h->at[h->len++] = (struct aif_home){.id = of->home};
	for (unsigned k = 0; k < AIF_HOME_PIDS; k++)
		if (home->pids[k] == of->pid)
			return AIF_HOME_FIRST + i;
	home->pids[home->next++ % AIF_HOME_PIDS] = of->pid;
	return AIF_HOME_FIRST + i;
}

void aif_homes_note(struct aif_homes *h, uint32_t module, const struct aif_process_files *of)
{
	uint16_t *at = slot(h, module);
	unsigned home;

	if (!at || !of->is_known)
		return;
	home = find(h, of);
	*at = (uint16_t)(*at == AIF_HOME_UNKNOWN || *at == home ? home : AIF_HOME_SEVERAL);
}

unsigned aif_homes_get(const struct aif_homes *h, uint32_t module)
{
	return module < h->cap ? h->of[module] : AIF_HOME_UNKNOWN;
}
