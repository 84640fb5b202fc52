/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/joint_calls.h"

#include "analysis/exec_timeline.h"
#include "analysis/facts.h"
#include "analysis/time.h"
#include "base/host_calls.h"
#include "base/map.h"
#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>

struct reading {
	const struct aif_profile *p;
	const struct aif_timeline *timeline;
	struct aif_map communicators; /* number of the file -> from 0 */
	struct aif_joint_calls *to;
};

static int communicator_of(struct reading *r, uint64_t id, uint32_t *ret)
{
	uint64_t i;

	if (!aif_map_get(&r->communicators, id, &i)) {
		i = r->communicators.len;
		if (aif_map_put(&r->communicators, id, i) < 0)
			return -ENOMEM;
	}
	*ret = (uint32_t)i;
	return 0;
}

static bool is_joint(const struct aif_profile *p, const struct aif_op_row *row)
{
	enum aif_host_call_kind kind;

	return row->kind == AIF_OP_RUNTIME && row->id && row->sequence > 0 &&
	       row->sequence <= UINT32_MAX && row->thread != AIF_NONE && row->name != AIF_NONE &&
	       aif_host_call_kind_of(aif_profile_str(p, row->name), &kind) &&
	       kind == AIF_HOST_CALL_COMMUNICATE;
}

static int take(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct reading *r = arg;
	struct aif_joint_calls *to = r->to;

	for (size_t i = 0; i < n; i++) {
		const struct aif_op_row *row = &rows[i];
		struct aif_joint_call c = {.number = (uint32_t)row->sequence};

		if (!is_joint(r->p, row))
			continue;
		c.process = r->p->threads[row->thread].process;
		c.start = aif_timeline_map(r->timeline, row->clock, c.process, row->start, NULL);
		c.end = aif_timeline_map(r->timeline, row->clock, c.process, row->end, NULL);
		if (c.end <= c.start)
			continue;
		if (communicator_of(r, row->id, &c.communicator) < 0 ||
		    aif_grow(&to->at, &to->cap, to->len + 1, sizeof(*to->at)) < 0)
			return -ENOMEM;
		to->at[to->len++] = c;
	}
	return 0;
}

int aif_joint_calls_read(const struct aif_profile *p, struct aif_joint_calls *ret)
{
	struct reading r = {.p = p, .to = ret};
	uint64_t damaged = 0;
	int e;

	*ret = (struct aif_joint_calls){0};
	if (!*aif_profile_meta(p, "calls"))
		return 0;
	e = aif_timeline_get(p, &r.timeline);
	if (!e)
		e = aif_profile_ops(p, take, &r, &damaged);
	aif_facts_put(r.timeline);
	aif_map_finish(&r.communicators);
	return e;
}

void aif_joint_calls_finish(struct aif_joint_calls *c)
{
	free(c->at);
	*c = (struct aif_joint_calls){0};
}
