/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/towers.h"

#include "flame/empty.h"

#include "analysis/power/power.h"
#include "analysis/traits.h"
#include "base/human.h"
#include "names/process_names.h"
#include "analysis/backward.h"
#include "analysis/idle/blame.h"

#include <errno.h>
#include <string.h>

const char *aif_flame_unit(enum aif_flame_by by)
{
	return by == AIF_BY_SAMPLES    ? "samples"
	       : by == AIF_BY_LAUNCHES ? "launches"
	       : by == AIF_BY_ENERGY   ? AIF_ENERGY_UNIT
				       : NULL;
}

/* ---- stacks -------------------------------------------------------------------------------------- */

/* Places a tower's first frame, in place of or before its stack. full: its meaning, or NULL. */
static int mark_place(struct towers *t, const char *text, const char *full, struct place *ret)
{
	struct aif_frame_label l = {.full = AIF_STR_NONE, .module = AIF_NONE};

	l.name = aif_tree_name(t->tree, AIF_TREE_SYNTHETIC, text, strlen(text));
	*ret = t->on;
	if (full) {
		l.full = aif_strset_puts(&t->tree->full, full);
		if (l.full == AIF_STR_NONE)
			return -ENOMEM;
	}
	return l.name == AIF_STR_NONE ? -ENOMEM : aif_towers_label(t, &l, ret);
}

/* Places a stack of which folding leaves nothing by one frame that is kept. *at is not yet
 * placed. */
static int kept_place(struct towers *t, uint32_t stack, struct place *at)
{
	struct aif_frame_label kept;
	int r = aif_frame_labels_kept(t->labels, stack, &kept);

	if (r < 0 || t->o->ranges == AIF_RANGES_ONLY)
		return r == -ENOENT || r == 0 ? 0 : r;
	at->node = aif_tree_child(t->tree, t->on.node, kept.name);
	return at->node ? aif_towers_label_full(t, at->node, &kept, true) : -ENOMEM;
}

/* Places the stack and all of its callers that have no place yet. */
int aif_towers_stack(struct towers *t, uint32_t stack, struct place *ret)
{
	const struct aif_stack *stacks = t->p->stacks;
	unsigned flavour;
	struct place at = t->on, *places;
	uint32_t given = stack;
	size_t n = 0;
	int r;

	if (stack == AIF_NONE)
		return mark_place(t, AIF_STACK_UNKNOWN, NULL, ret);
	flavour = aif_frame_labels_flavour(t->labels, stack);
	at.fold.is_bare = aif_frame_labels_is_bare(t->labels, stack);
	if (!t->places[at.fold.is_bare][flavour])
		t->places[at.fold.is_bare][flavour] = calloc(t->p->stacks_len, sizeof(*places));
	places = t->places[at.fold.is_bare][flavour];
	if (!places)
		return -ENOMEM;
	for (; stack != AIF_NONE && places[stack].known_on != t->on.known_on;
	     stack = stacks[stack].parent) {
		if (aif_grow(&t->path, &t->path_cap, n + 1, sizeof(*t->path)) < 0)
			return -ENOMEM;
		t->path[n++] = stack;
	}
	if (stack != AIF_NONE) {
		at = places[stack];
	} else if (aif_stack_mark(flavour)) {
		r = mark_place(t, aif_stack_mark(flavour), aif_stack_mark_full(flavour), &at);
		if (r < 0)
			return r;
		at.fold.is_started = false;
		at.fold.is_bare = aif_frame_labels_is_bare(t->labels, given);
	}
	while (n) {
		stack = t->path[--n];
		if (stacks[stack].frame != AIF_NONE) {
			r = aif_towers_frame(t, stacks[stack].frame, &at);
			if (r < 0)
				return r;
		}
		places[stack] = at;
	}
	*ret = at;
	/* Not where its callees look: these may show more. */
	return at.node != t->on.node ? 0 : kept_place(t, given, ret);
}

/* ---- ranges ------------------------------------------------------------------------------------------ */

/* Places the frames of a stack up to `end`, AIF_NONE: all, above *at. */
static int frames_place(struct towers *t, uint32_t stack, uint32_t end, struct place *at)
{
	const struct aif_stack *stacks = t->p->stacks;
	size_t n = 0;
	int r = 0;

	for (uint32_t s = stack; r == 0 && s != AIF_NONE && s != end; s = stacks[s].parent) {
		r = aif_grow(&t->path, &t->path_cap, n + 1, sizeof(*t->path));
		if (r == 0 && stacks[s].frame != AIF_NONE)
			t->path[n++] = stacks[s].frame;
	}
	while (r == 0 && n)
		r = aif_towers_frame(t, t->path[--n], at);
	return r;
}

/* ---- the backward -------------------------------------------------------------------------------- */

/* Launches of a node: the forward that made it, the node, and what is inside of it. */
static int part_place(struct towers *t, const struct aif_backward_part *part, struct place *ret)
{
	struct place *known = &t->part_places[part - t->backward->parts], at;
	struct aif_frame_label node;
	int r = 0;

	if (known->known_on) {
		*ret = *known;
		return 0;
	}
	if (part->forward == AIF_NONE)
		r = mark_place(t, "[backward]", NULL, &at);
	else
		r = aif_towers_stack(t, part->forward, &at);
	if (r == 0 && (part->forward != AIF_NONE || part->name != AIF_STR_NONE)) {
		r = aif_frame_labels_backward(t->labels, t->backward, part, &node);
		r = r < 0 ? r : aif_towers_label(t, &node, &at);
	}
	if (r == 0)
		r = frames_place(t, part->stack, part->inside, &at);
	if (r == 0)
		*known = *ret = at;
	return r;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static uint64_t row_value(const struct towers *t, const struct aif_attribution_row *row)
{
	switch (t->o->by) {
	case AIF_BY_WALL:
		return row->wall_ns;
	case AIF_BY_TIME:
		return row->time_ns;
	case AIF_BY_SAMPLES:
		return row->samples;
	case AIF_BY_LAUNCHES:
		return row->launches;
	case AIF_BY_ENERGY:
		return t->o->energy && row->device < t->o->energy->len
			       ? (uint64_t)(t->o->energy->uj_per_ns[row->device] *
						    (double)row->wall_ns +
					    0.5)
			       : 0;
	}
	return 0;
}

/* Places samples that no launch explains on their process, as far as it is known. */
static int owner_place(struct towers *t, uint32_t process, struct place *at)
{
	struct aif_buf text = {0};

	*at = t->on;
	aif_unmatched_owner(t->p, process, &text);
	return aif_towers_note(t, &text, at);
}

static int shader_label(struct towers *t, struct aif_frame_label *ret)
{
	static const char text[] = AIF_UNMATCHED_KERNEL;

	*ret = (struct aif_frame_label){.full = AIF_STR_NONE, .module = AIF_NONE};
	ret->name = aif_tree_name(t->tree, AIF_TREE_KERNEL, text, strlen(text));
	return ret->name == AIF_STR_NONE ? -ENOMEM : 0;
}

/* The part of a tower inside its kernel, as far as asked for. */
static int inside_place(struct towers *t, const struct aif_attribution_row *row, struct place *at)
{
	enum aif_flame_leaf leaf = t->o->leaf;
	const struct aif_frame_label *l;
	struct aif_frame_label reason;
	size_t len;
	int r = 0;

	/* A launch is not at one of its instructions. */
	if ((row->frame == AIF_NONE && row->reason == AIF_NONE) || leaf == AIF_LEAF_KERNEL ||
	    t->o->by == AIF_BY_LAUNCHES)
		return 0;
	l = row->frame == AIF_NONE
		    ? NULL
		    : aif_frame_labels_inside(
			      t->labels, row->frame,
			      row->kind == AIF_LAUNCH_KERNEL ? row->kernel : AIF_NONE, &len);
	if (!l && row->frame != AIF_NONE)
		return -ENOMEM;
	for (size_t i = 0; l && r == 0 && i < len; i++)
		if (leaf >= AIF_LEAF_INSTRUCTION ||
		    aif_tree_type_of(t->tree, l[i].name) != AIF_TREE_INSTRUCTION)
			r = aif_towers_label(t, &l[i], at);
	if (r < 0 || leaf < AIF_LEAF_STALL || row->reason == AIF_NONE)
		return r;
	r = aif_frame_labels_reason(t->labels, row->reason, &reason);
	return r < 0 ? r : aif_towers_label(t, &reason, at);
}

static bool is_asked_kernel(const struct towers *t, const struct aif_attribution_row *row,
			    const struct aif_frame_label *label)
{
	size_t len;

	if (!t->kernel.is_set)
		return true;
	return aif_regex_matches_function(&t->kernel, aif_tree_text(t->tree, label->name, &len)) ||
	       aif_filter_kernel(&t->kernel, t->names, row->kind, row->kernel);
}

/* Places the stack of a row and its ranges. part: of which part of a backward, or NULL. */
static int row_place(struct towers *t, const struct aif_attribution_row *row,
		     const struct aif_backward_part *part, struct place *at)
{
	bool is_only = t->o->ranges == AIF_RANGES_ONLY;
	int r = part && !is_only ? part_place(t, part, at) : aif_towers_stack(t, row->stack, at);

	if (r == 0)
		r = aif_towers_ranges(t, row->range, at);
	if (r == 0 && is_only && at->node == t->on.node)
		r = mark_place(t, "[no range]", "in no range that the program marked", at);
	return r;
}

/* part: of which part of a backward, or NULL. */
static int share_add(struct towers *t, const struct aif_attribution_row *row,
		     const struct aif_backward_part *part)
{
	uint64_t value = row_value(t, row);
	struct aif_tree_detail *d;
	struct aif_frame_label kernel;
	struct place at;
	uint32_t kernel_node;
	bool is_unmatched = row->grade == AIF_GRADE_UNMATCHED;
	int r = is_unmatched && row->kernel == AIF_NONE
			? shader_label(t, &kernel)
			: aif_frame_labels_kernel(t->labels, row->kernel, row->kind, &kernel);

	if (r < 0)
		return r;
	if ((!value && !row->launches) || !is_asked_kernel(t, row, &kernel))
		return 0;
	if (is_unmatched)
		r = owner_place(t, row->process, &at);
	else
		r = row_place(t, row, part, &at);
	if (r == 0 && row->graph)
		r = aif_towers_graph(t, row, &at);
	if (r == 0)
		r = aif_towers_label(t, &kernel, &at);
	kernel_node = at.node;
	if (r == 0)
		r = inside_place(t, row, &at);
	if (r < 0 || !aif_filter_keeps(&t->filter, at.hits))
		return r;
	d = &t->tree->details[kernel_node];
	if (__builtin_add_overflow(t->tree->nodes[at.node].self, value,
				   &t->tree->nodes[at.node].self) ||
	    __builtin_add_overflow(d->launches, t->p->traits.is_lengths ? 0 : row->launches,
				   &d->launches) ||
	    __builtin_add_overflow(d->bytes, row->bytes, &d->bytes))
		return -EOVERFLOW;
	d = &t->tree->details[at.node];
	if (__builtin_add_overflow(d->time_ns, t->is_untimed ? 0 : row->time_ns, &d->time_ns) ||
	    __builtin_add_overflow(d->samples, t->p->traits.samples_unknown ? 0 : row->samples,
				   &d->samples))
		return -EOVERFLOW;
	if (value)
		d->grades |= 1u << (row->grade & 31);
	return aif_flame_report_placed(t->o, t->row, at.node, kernel_node, row->wall_ns,
				       row->samples, row->launches);
}

static int row_add(struct towers *t, const struct aif_attribution_row *row)
{
	const struct aif_backward_part *parts;
	size_t n = aif_backward_parts(t->backward, row, &parts);
	int r = 0;

	/* Stacks marked as not exact keep their mark: they are not split. */
	if (!n || t->p->stacks[row->stack].flags)
		return share_add(t, row, NULL);
	if (aif_grow(&t->shares, &t->shares_cap, n, sizeof(*t->shares)) < 0)
		return -ENOMEM;
	aif_backward_split(row, parts, n, t->shares);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = share_add(t, &t->shares[i], &parts[i]);
	return r;
}

/* Before the first stack is placed. */
int aif_towers_begin(struct towers *t, struct aif_err *err)
{
	struct aif_frame_labels_opts lo = {
		.detail = t->o->detail, .lines = t->o->lines, .of_cpu = t->of_cpu};
	int r = aif_filter_init(&t->filter, t->o->focus, t->o->ignore, err);

	if (r == 0)
		r = aif_regex_init(&t->kernel, "--kernel", t->o->kernel, err);
	if (r < 0)
		return r;
	r = aif_tree_init(t->tree, true);
	if (r == 0)
		r = aif_frame_labels_new(t->names, t->tree, &lo, &t->labels);
	return r < 0 ? aif_err_set(err, r, "flame: %s", strerror(-r)) : 0;
}

/* ---- idle time ----------------------------------------------------------------------------------- */

static int idle_ns_add(struct towers *t, const struct place *at, uint64_t ns)
{
	if (!ns || !aif_filter_keeps(&t->filter, at->hits))
		return 0;
	if (__builtin_add_overflow(t->tree->nodes[at->node].self, ns,
				   &t->tree->nodes[at->node].self) ||
	    __builtin_add_overflow(t->tree->details[at->node].time_ns, ns,
				   &t->tree->details[at->node].time_ns))
		return -EOVERFLOW;
	return aif_flame_report_placed(t->o, t->row, at->node, 0, ns, 0, 0);
}

/* Adds the parts of a row above *at that wakers ended. *ret_left: what is left of its time. */
static int wakes_add(struct towers *t, const struct aif_idle_blame *idle,
		     const struct aif_idle_row *row, const struct place *at, uint64_t *ret_left)
{
	size_t n;
	const struct aif_idle_wake *wakes = aif_idle_wakes_of(idle, row, &n);
	int r = 0;

	for (size_t i = 0; i < n && r == 0 && t->o->wakers; i++) {
		uint64_t ns = AIF_MIN(wakes[i].ns, *ret_left);
		struct aif_buf text = {0};
		struct place on = *at;

		aif_buf_puts(&text, "[waits for ");
		aif_idle_waker_say(t->p, &wakes[i], &text);
		aif_buf_putc(&text, ']');
		r = aif_towers_note(t, &text, &on);
		if (r == 0 && wakes[i].kind == AIF_IDLE_WAKER_THREAD)
			r = frames_place(t, wakes[i].stack, AIF_NONE, &on);
		if (r == 0)
			r = idle_ns_add(t, &on, ns);
		*ret_left -= ns;
	}
	return r;
}

static int idle_row_add(struct towers *t, const struct aif_idle_blame *idle,
			const struct aif_idle_row *row)
{
	struct aif_buf text = {0}, machine = {0};
	struct place at = t->on;
	uint64_t left = row->ns;
	int r;

	if (row->is_machine)
		aif_buf_puts(&machine, "[" AIF_IDLE_MACHINE "]");
	r = row->is_machine ? aif_towers_note(t, &machine, &at)
			    : aif_towers_stack(t, row->stack, &at);
	aif_buf_printf(&text,
		       row->is_before && !row->is_machine ? "[idle before it: %s]" : "[idle: %s]",
		       aif_idle_cause_name(row->cause));
	if (r == 0)
		r = aif_towers_note(t, &text, &at);
	else
		aif_buf_finish(&text);
	if (r == 0)
		r = wakes_add(t, idle, row, &at, &left);
	return r < 0 ? r : idle_ns_add(t, &at, left);
}

static int idle_rows_add(struct towers *t, const struct aif_idle_blame *idle)
{
	int r = 0;

	for (t->row = 0; r == 0 && t->row < idle->len; t->row++)
		r = idle_row_add(t, idle, &idle->rows[t->row]);
	return r;
}

/* ---- device time --------------------------------------------------------------------------------- */

static int rows_add(struct towers *t, const struct aif_attribution *a, struct aif_err *err)
{
	int r = aif_towers_begin(t, err);

	t->backward = aif_facts_none();
	/* In full detail the picture shows what was recorded and nothing that was inferred. */
	if (r == 0 && t->o->detail != AIF_NAME_FULL)
		r = aif_backward_get(t->p, t->o->sel, &t->backward, err);
	if (r < 0)
		return r;
	t->part_places = calloc(t->backward->parts_len + 1, sizeof(*t->part_places));
	r = t->part_places ? 0 : -ENOMEM;
	for (t->row = 0; r == 0 && t->row < a->rows_len; t->row++)
		r = row_add(t, &a->rows[t->row]);
	if (r == 0 && t->o->idle)
		r = idle_rows_add(t, t->o->idle);
	if (r == 0)
		r = aif_tree_seal(t->tree);
	if (r < 0)
		return aif_err_set(err, r, "flame: %s", strerror(-r));
	return t->tree->nodes[0].total
		       ? 0
		       : aif_flame_empty(t->p, a, t->o,
					 aif_filter_is_set(&t->filter) || t->kernel.is_set, err);
}

int aif_towers_finish(struct towers *t, int r, struct aif_tree *ret)
{
	aif_filter_finish(&t->filter);
	aif_regex_finish(&t->kernel);
	aif_map_finish(&t->label_hits);
	aif_frame_labels_free(t->labels);
	for (unsigned i = 0; i < AIF_STACK_FLAVOURS; i++) {
		free(t->places[false][i]);
		free(t->places[true][i]);
	}
	free(t->path);
	free(t->part_places);
	free(t->shares);
	aif_facts_put(t->backward);
	if (r < 0)
		aif_tree_finish(t->tree);
	else
		*ret = *t->tree;
	return r;
}

int aif_flame_build(const struct aif_names *names, const struct aif_attribution *a,
		    const struct aif_flame_opts *o, struct aif_tree *ret, struct aif_err *err)
{
	const struct aif_profile *p = names->p;
	struct aif_tree tree = {0};
	struct towers t = {.p = p,
			   .names = names,
			   .o = o,
			   .tree = &tree,
			   .on = ON_ROOT,
			   .is_untimed = aif_is_untimed(p, a)};

	return aif_towers_finish(&t, rows_add(&t, a, err), ret);
}

/* ---- idle time alone ------------------------------------------------------------------------------ */

static int idle_add(struct towers *t, const struct aif_idle_blame *idle, struct aif_err *err)
{
	int r = aif_towers_begin(t, err);

	if (r < 0)
		return r;
	r = idle_rows_add(t, idle);
	if (r == 0)
		r = aif_tree_seal(t->tree);
	if (r < 0)
		return aif_err_set(err, r, "flame: %s", strerror(-r));
	return t->tree->nodes[0].total ? 0 : aif_flame_empty_idle(idle, t->o, err);
}

int aif_flame_build_idle(const struct aif_names *names, const struct aif_idle_blame *idle,
			 const struct aif_flame_opts *o, struct aif_tree *ret, struct aif_err *err)
{
	struct aif_tree tree = {0};
	struct towers t = {.p = names->p, .names = names, .o = o, .tree = &tree, .on = ON_ROOT};

	return aif_towers_finish(&t, idle_add(&t, idle, err), ret);
}
