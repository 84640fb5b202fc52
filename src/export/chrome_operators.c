/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of operators, Kineto's `External id`: an operator's own, which the calls of the runtime inside of it, and what these
 * launched, have, too; 0: they are in none. Readers join kernels to operators by them: without such numbers all kernels are those
 * of whichever operator comes first. Operators that have none, as those of recordings, get numbers beyond all others. Ranges are no
 * operators.
 */
#include "export/chrome.h"

#include <errno.h>

/* Numbers that doubles have exactly. */
#define MOST (UINT64_C(1) << 53)

int chrome_operators_init(struct chrome *c)
{
	c->operators = calloc(c->t.events.launches_len + 1, sizeof(*c->operators));
	c->next_operator = 1;
	for (size_t i = 0; i < c->t.ops.len; i++)
		if (c->t.ops.ops[i].id < MOST)
			c->next_operator = AIF_MAX(c->next_operator, c->t.ops.ops[i].id + 1);
	return c->operators ? 0 : -ENOMEM;
}

int chrome_calls_put(struct aif_timeline_walk *t, uint32_t thread)
{
	(void)thread;
	((struct chrome *)t)->open_len = 0;
	return 0;
}

uint64_t chrome_operator_at(struct chrome *c, int64_t start)
{
	while (c->open_len && c->open[c->open_len - 1].end <= start)
		c->open_len--;
	return c->open_len ? c->open[c->open_len - 1].number : 0;
}

int chrome_operator_begin(struct chrome *c, const struct aif_event_op *o, uint64_t *ret)
{
	(void)chrome_operator_at(c, o->start);
	if (aif_grow(&c->open, &c->open_cap, c->open_len + 1, sizeof(*c->open)) < 0)
		return -ENOMEM;
	*ret = o->id ? o->id : c->next_operator++;
	c->open[c->open_len++] = (struct chrome_open){.end = aif_event_op_end(o), .number = *ret};
	if (o->launch != AIF_NONE)
		c->operators[o->launch] = *ret;
	return 0;
}

void chrome_operators_finish(struct chrome *c)
{
	free(c->open);
	free(c->operators);
}
