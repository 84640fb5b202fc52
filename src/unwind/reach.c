/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/reach.h"

#include "unwind/probe.h"

/* No frame of a stack whose bounds are unknown is larger: a wrong CFA must not make a walk ask for pages without end. */
#define FRAME_MAX (UINT64_C(256) << 10)

bool aif_reach_enter(struct aif_reach *r, const struct aif_stack_bounds *own, uint64_t sp)
{
	uint64_t page = sp / AIF_PROBE_PAGE, below = (sp - AIF_ARCH_RED_ZONE) / AIF_PROBE_PAGE;

	if (page == 0 || sp >> AIF_ARCH_ADDRESS_BITS || !aif_probe(page))
		return false;
	if (own->hi >= 8 && sp >= own->lo && sp <= own->hi - 8) {
		*r = (struct aif_reach){own->lo, own->hi - 8, false};
		return true;
	}
	if (below != page && !aif_probe(below))
		below = page;
	*r = (struct aif_reach){below * AIF_PROBE_PAGE, (page + 1) * AIF_PROBE_PAGE - 8, true};
	return true;
}

uint64_t aif_reach_grown(uint64_t limit, uint64_t to)
{
	uint64_t page = (limit + 8) / AIF_PROBE_PAGE;

	if (to - limit > FRAME_MAX)
		return limit;
	while (page * AIF_PROBE_PAGE < to && aif_probe(page))
		page++;
	return page * AIF_PROBE_PAGE - 8;
}
