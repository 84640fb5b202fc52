/* SPDX-License-Identifier: Apache-2.0 */
/* --of waits: how long ranks of a job waited for each other, by what the late rank did. */
#include "flame/towers.h"

#include "analysis/ranks/waits.h"

#include <errno.h>
#include <string.h>

/* From now on stacks stand on the late rank. */
static int rank_begin(struct towers *t, const struct aif_rank_waits *w, uint32_t late)
{
	struct aif_buf text = {0};
	int r;

	aif_buf_puts(&text, "[for ");
	aif_rank_say(t->p, &w->ranks.ranks[late], &text);
	aif_buf_puts(&text, "]");
	t->on = (struct place){.fold = AIF_FRAME_FOLD_ROOT, .known_on = t->on.known_on + 1};
	r = aif_towers_note(t, &text, &t->on);
	t->on.fold = AIF_FRAME_FOLD_ROOT;
	return r;
}

/* Places the reason why ranks waited, above the stack. */
static int reason_place(struct towers *t, const struct aif_wait_row *row, struct place *at)
{
	struct aif_buf text = {0};

	aif_buf_puts(&text, "[ranks wait: ");
	if (row->kind == AIF_WAIT_IDLE || row->kind == AIF_WAIT_HOST)
		aif_buf_printf(&text, "%s%s", row->is_before ? "before it, " : "",
			       aif_idle_cause_name(row->cause));
	else if (row->kind == AIF_WAIT_UNKNOWN)
		aif_buf_puts(&text, "for what is not known");
	else
		aif_buf_puts(&text, aif_names_work(t->names, row->exec_kind, row->kernel));
	aif_buf_putc(&text, ']');
	return aif_towers_note(t, &text, at);
}

static int row_add(struct towers *t, const struct aif_wait_row *row)
{
	struct place at = t->on;
	int r = row->kind == AIF_WAIT_UNKNOWN ? 0 : aif_towers_stack(t, row->stack, &at);

	if (r == 0)
		r = reason_place(t, row, &at);
	if (r < 0 || !aif_filter_keeps(&t->filter, at.hits))
		return r;
	if (__builtin_add_overflow(t->tree->nodes[at.node].self, row->ns,
				   &t->tree->nodes[at.node].self) ||
	    __builtin_add_overflow(t->tree->details[at.node].time_ns, row->ns,
				   &t->tree->details[at.node].time_ns))
		return -EOVERFLOW;
	return aif_flame_report_placed(t->o, t->row, at.node, 0, row->ns, 0, 0);
}

static int waits_add(struct towers *t, const struct aif_rank_waits *w, struct aif_err *err)
{
	int r = aif_towers_begin(t, err);

	if (r < 0)
		return r;
	for (uint32_t late = 0; r == 0 && late < w->ranks.ranks_len; late++) {
		if (!w->sums[late].given_ns)
			continue;
		r = rank_begin(t, w, late);
		for (t->row = 0; r == 0 && t->row < w->rows_len; t->row++)
			if (w->rows[t->row].late == late)
				r = row_add(t, &w->rows[t->row]);
	}
	if (r == 0)
		r = aif_tree_seal(t->tree);
	if (r < 0)
		return aif_err_set(err, r, "flame: %s", strerror(-r));
	if (t->tree->nodes[0].total)
		return 0;
	if (w->ranks.why)
		return aif_err_set(err, -ENODATA, "flame: ranks are not compared: %s",
				   aif_ranks_why_say(w->ranks.why));
	return aif_err_set(err, -ENODATA, "flame: no rank waited for another in what is selected");
}

int aif_flame_build_waits(const struct aif_names *names, const struct aif_rank_waits *w,
			  const struct aif_flame_opts *o, struct aif_tree *ret, struct aif_err *err)
{
	struct aif_tree tree = {0};
	struct towers t = {.p = names->p, .names = names, .o = o, .tree = &tree, .on = ON_ROOT};

	return aif_towers_finish(&t, waits_add(&t, w, err), ret);
}
