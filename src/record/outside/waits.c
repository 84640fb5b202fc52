/* SPDX-License-Identifier: Apache-2.0 */
#include "record/outside/waits.h"

/* Shorter waits for a CPU are not told yet. */
#define WAITED_NS 1000000

void aif_outside_wait_init(struct aif_outside_wait *w, uint64_t waited, uint64_t now)
{
	*w = (struct aif_outside_wait){.waited = waited, .looked_ns = now};
}

bool aif_outside_wait_look(struct aif_outside_wait *w, uint64_t waited, uint64_t now,
			   uint64_t collects_from, struct aif_outside_waited *ret)
{
	const uint64_t since = AIF_MAX(w->looked_ns, collects_from);

	w->looked_ns = now;
	if (waited < w->waited)
		return false;
	if (!collects_from) {
		w->waited = waited;
		return false;
	}
	if (waited - w->waited < WAITED_NS || now <= since)
		return false;
	/* A wait that has just ended may have begun before the look. */
	*ret = (struct aif_outside_waited){since, AIF_MIN(waited - w->waited, now - since)};
	w->waited = waited;
	return true;
}
