/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/stamps.h"

#include "analysis/facts.h"

#include <errno.h>

int aif_merge_stamps_init(struct aif_merge_stamps *s, const struct aif_profile *p)
{
	*s = (struct aif_merge_stamps){.start_ns = p->start_ns};
	for (size_t i = 0; i < p->clock_pairs_len; i++)
		s->wants_launches |= p->clock_pairs[i].clock >= AIF_CLOCK_DEVICE;
	return aif_timeline_get(p, &s->timeline);
}

int aif_merge_stamps_launches(struct aif_merge_stamps *s, const struct aif_launch_row *rows,
			      size_t n)
{
	for (size_t i = 0; i < n && s->wants_launches; i++)
		if (aif_map_put(&s->called, rows[i].launch, rows[i].time - s->start_ns) < 0)
			return -ENOMEM;
	return 0;
}

int64_t aif_merge_stamps_map(const struct aif_merge_stamps *s, uint32_t clock, uint32_t process,
			     uint64_t raw, int64_t after)
{
	return aif_time_clamp(
		aif_timeline_map_after(s->timeline, clock, process, raw, after, NULL));
}

void aif_merge_stamps_exec(const struct aif_merge_stamps *s, const struct aif_exec_row *x,
			   int64_t *ret_start, int64_t *ret_end)
{
	uint64_t called = 0;

	(void)aif_map_get(&s->called, x->launch, &called);
	*ret_start = aif_merge_stamps_map(s, x->clock, x->process, x->start,
					  aif_time_clamp((int64_t)called));
	*ret_end = aif_merge_stamps_map(s, x->clock, x->process, x->end, *ret_start);
}

void aif_merge_stamps_finish(struct aif_merge_stamps *s)
{
	if (s->timeline)
		aif_facts_put(s->timeline);
	aif_map_finish(&s->called);
}
