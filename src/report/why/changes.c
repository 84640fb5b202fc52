/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for a program whose steps changed for a while: which place, by how much, in which steps. */
#include "analysis/step_changes.h"
#include "report/change_text.h"
#include "report/why/saying.h"
#include "text/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

int aif_why_changes_add(const struct aif_profile *p, struct aif_stack_names *stacks,
			const struct aif_selection *sel, struct aif_why *w)
{
	struct aif_step_changes c;
	const struct aif_step_change *worst;
	const char *at;
	int e = aif_step_changes_find(p, sel, &c);

	w->damaged += c.damaged;
	worst = e ? NULL : aif_step_changes_worst(&c);
	if (worst) {
		w->change = malloc(sizeof(*w->change));
		at = worst->of.stack == AIF_NONE ? ""
						 : aif_stack_names_caller(stacks, worst->of.stack);
		w->change_place = at ? aif_strset_puts(&w->places, at) : AIF_STR_NONE;
		if (!w->change || w->change_place == AIF_STR_NONE)
			e = -ENOMEM;
		else
			*w->change = *worst;
	}
	aif_step_changes_finish(&c);
	return e;
}

void aif_why_say_changes(struct saying *s)
{
	if (!s->w->change)
		return;
	aif_buf_puts(&s->line, "changes  ");
	aif_change_say(s->names, s->w->change, place(s, s->w->change_place), &s->line);
	aif_why_end_line(s);
}

void aif_why_changes_json(const struct aif_names *names, const struct aif_why *w, struct aif_buf *b)
{
	const struct aif_step_change *c = w->change;
	uint32_t rank;

	if (!c)
		return;
	rank = names->p->processes[c->process].rank;
	aif_buf_printf(b, ",\"change\":{\"process\":%" PRIu32, names->p->processes[c->process].pid);
	if (rank)
		aif_json_put_u64(b, "rank", rank - 1);
	aif_json_put_u64(b, "since", c->first);
	aif_json_put_u64(b, "until", c->last);
	aif_json_put_u64(b, "steps", c->steps);
	aif_json_put_u64(b, "usual_ns", aif_timed_rounded(c->usual_ns));
	aif_json_put_u64(b, "time_ns", aif_timed_rounded(c->ns));
	aif_buf_puts(b, ",\"what\":");
	aif_out_json_text(b, aif_step_sum_name(c->of.sum));
	if (c->of.sum == AIF_STEP_SUM_WORK) {
		aif_buf_puts(b, ",\"kernel\":");
		aif_out_json_text(b, aif_names_work(names, c->of.kind, c->of.kernel));
	}
	aif_buf_puts(b, ",\"place\":");
	aif_out_json_text(b, aif_strset_get(&w->places, w->change_place, NULL));
	aif_buf_putc(b, '}');
}
