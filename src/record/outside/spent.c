/* SPDX-License-Identifier: Apache-2.0 */
#include "record/outside/spent.h"

#include "base/clock.h"
#include "base/buf.h"

#include <stdlib.h>
#include <time.h>

/* Less than that, and less than this share of all, is what threads use before they are found and after their last samples. */
#define MISSING_NS      50000000
#define MISSING_PERCENT 5

/* The clock of all threads of a process, also of those that have ended. */
#define PROCESS_CPU_CLOCK(pid) ((clockid_t)(~(pid) << 3 | 2))

void aif_outside_spents_finish(struct aif_outside_spents *s)
{
	free(s->at);
	aif_map_finish(&s->by_pid);
}

static struct aif_outside_spent *find(struct aif_outside_spents *s, uint32_t pid)
{
	uint64_t i;

	return aif_map_get(&s->by_pid, pid, &i) && i < s->len ? &s->at[i] : NULL;
}

void aif_outside_spent_look(struct aif_outside_spents *s, uint32_t pid, bool collects)
{
	struct aif_outside_spent *p = find(s, pid);
	struct timespec t;
	uint64_t now;

	if (clock_gettime(PROCESS_CPU_CLOCK(pid), &t))
		return;
	now = (uint64_t)t.tv_sec * AIF_NS_PER_S + (uint64_t)t.tv_nsec;
	if (p && collects && now >= p->last_ns) {
		p->last_ns = now;
		return;
	}
	if (!p) {
		if (aif_grow(&s->at, &s->cap, s->len + 1, sizeof(*s->at)) ||
		    aif_map_put(&s->by_pid, pid, s->len))
			return;
		p = &s->at[s->len++];
	}
	*p = (struct aif_outside_spent){.pid = pid, .begin_ns = now, .last_ns = now};
}

void aif_outside_spent_sampled(struct aif_outside_spents *s, uint32_t pid, uint64_t ns)
{
	struct aif_outside_spent *p = find(s, pid);

	if (p)
		p->sampled_ns += ns;
}

uint64_t aif_outside_spent_missing(struct aif_outside_spents *s, uint32_t pid)
{
	struct aif_outside_spent *p = find(s, pid);
	uint64_t all, missing;

	if (!p)
		return 0;
	all = p->last_ns - p->begin_ns;
	missing = all - AIF_MIN(all, p->sampled_ns);
	p->begin_ns = p->last_ns;
	p->sampled_ns = 0;
	return missing >= MISSING_NS && missing >= all / 100 * MISSING_PERCENT ? missing : 0;
}
