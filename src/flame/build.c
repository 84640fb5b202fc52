/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/build.h"

#include "flame/empty.h"

#include "names/filter.h"
#include "names/frame_labels.h"
#include "analysis/traits.h"
#include "names/process_names.h"
#include "analysis/backward.h"
#include "analysis/idle/blame.h"
#include "analysis/untimed.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Names that are folded into one frame, in its tooltip. */
#define FOLDED_MAX_BYTES 400

/* Place of a stack in the tree. Callers are shared, so each stack's last frame is placed once. */
struct place {
	uint32_t node;
	struct aif_frame_fold fold;
	uint8_t hits;      /* enum aif_filter_hit */
	uint32_t known_on; /* in which of towers.on, from 1; 0: it has no place */
};

struct towers {
	const struct aif_profile *p;
	const struct aif_names *names;
	const struct aif_flame_opts *o;
	struct aif_tree *tree;
	struct aif_frame_labels *labels;
	struct aif_filter filter;
	struct aif_regex kernel;
	struct aif_map label_hits; /* by name and full name */
	/* Places by stack; NULL until one is needed. Callers of a stack that stands on a mark are placed
	 * apart. */
	struct place *places[AIF_STACK_FLAVOURS];
	uint32_t *path; /* stacks to place, innermost first */
	size_t path_cap;
	struct aif_backward backward;
	struct place *part_places; /* by part of .backward */
	struct aif_attribution_row *shares;
	size_t shares_cap;
	/* Base of the stacks: the root, or one thread after the other. */
	struct place on;
	/* True if times are not known, or are none: some imported profiles. */
	bool is_untimed;
};

#define ON_ROOT ((struct place){.fold = AIF_FRAME_FOLD_ROOT, .known_on = 1})

const char *aif_flame_unit(enum aif_flame_by by)
{
	return by == AIF_BY_SAMPLES ? "samples" : by == AIF_BY_LAUNCHES ? "launches" : NULL;
}

/* Both what a frame is called in full and what the picture calls it can be asked for. */
static int label_hits(struct towers *t, const struct aif_frame_label *l, uint8_t *hits)
{
	uint64_t key = (uint64_t)l->full << 32 | l->name, found;
	size_t len;

	if (!aif_filter_is_set(&t->filter))
		return 0;
	if (!aif_map_get(&t->label_hits, key, &found)) {
		found = aif_filter_hits(&t->filter, aif_tree_text(t->tree, l->name, &len));
		if (l->full != AIF_STR_NONE)
			found |= aif_filter_hits(&t->filter,
						 aif_strset_get(&t->tree->full, l->full, NULL));
		if (aif_map_put(&t->label_hits, key, found) < 0)
			return -ENOMEM;
	}
	*hits |= (uint8_t)found;
	return 0;
}

/* ---- stacks -------------------------------------------------------------------------------------- */

/* Adds a name to the node's tooltip, once, as long as there is room. */
static int full_add(struct towers *t, uint32_t node, const char *text, size_t len)
{
	struct aif_tree_detail *d = &t->tree->details[node];
	struct aif_buf b = {0};
	int r = 0;

	if (d->full != AIF_STR_NONE) {
		size_t old_len;
		const char *old = aif_strset_get(&t->tree->full, d->full, &old_len);

		if (old_len + len > FOLDED_MAX_BYTES || memmem(old, old_len, text, len))
			return 0;
		aif_buf_append(&b, old, old_len);
		aif_buf_puts(&b, " \u203a ");
	}
	aif_buf_append(&b, text, len);
	if (aif_buf_failed(&b))
		r = -ENOMEM;
	else
		d->full = aif_strset_put(&t->tree->full, b.data, b.len);
	if (r == 0 && d->full == AIF_STR_NONE)
		r = -ENOMEM;
	aif_buf_finish(&b);
	return r;
}

static int label_full_add(struct towers *t, uint32_t node, const struct aif_frame_label *l,
			  bool is_own)
{
	const char *text;
	size_t len;

	if (is_own && l->full == AIF_STR_NONE)
		return 0;
	if (is_own && t->tree->details[node].full == AIF_STR_NONE) {
		t->tree->details[node].full = l->full;
		return 0;
	}
	text = l->full == AIF_STR_NONE ? aif_tree_text(t->tree, l->name, &len)
				       : aif_strset_get(&t->tree->full, l->full, &len);
	return full_add(t, node, text, len);
}

/* Places a frame above *at. */
static int label_place(struct towers *t, const struct aif_frame_label *l, struct place *at)
{
	enum aif_fold_action action;
	uint32_t node;

	if (label_hits(t, l, &at->hits) < 0)
		return -ENOMEM;
	action = aif_frame_fold(&at->fold, l, aif_tree_type_of(t->tree, l->name));
	if (action == AIF_FOLD_START)
		return 0;
	if (action == AIF_FOLD_HIDE)
		return at->node != t->on.node ? label_full_add(t, at->node, l, false) : 0;
	node = aif_tree_child(t->tree, at->node, l->name);
	if (!node)
		return -ENOMEM;
	at->node = node;
	return label_full_add(t, node, l, true);
}

static int frame_place(struct towers *t, uint32_t frame, struct place *at)
{
	size_t len;
	const struct aif_frame_label *l = aif_frame_labels_get(t->labels, frame, &len);
	int r = l ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < len; i++)
		r = label_place(t, &l[i], at);
	return r;
}

/* A note between frames. *text is finished. */
static int note_place(struct towers *t, struct aif_buf *text, struct place *at)
{
	struct aif_frame_label l = {.name = AIF_STR_NONE, .full = AIF_STR_NONE, .module = AIF_NONE};

	if (!aif_buf_failed(text))
		l.name = aif_tree_name(t->tree, AIF_TREE_SYNTHETIC, (const char *)text->data,
				       text->len);
	aif_buf_finish(text);
	return l.name == AIF_STR_NONE ? -ENOMEM : label_place(t, &l, at);
}

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
	return l.name == AIF_STR_NONE ? -ENOMEM : label_place(t, &l, ret);
}

/* Places a stack of which folding leaves nothing by one frame that is kept. *at is not yet
 * placed. */
static int kept_place(struct towers *t, uint32_t stack, struct place *at)
{
	struct aif_frame_label kept;
	int r = aif_frame_labels_kept(t->labels, stack, &kept);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	at->node = aif_tree_child(t->tree, t->on.node, kept.name);
	return at->node ? label_full_add(t, at->node, &kept, true) : -ENOMEM;
}

/* Places the stack and all of its callers that have no place yet. */
static int stack_place(struct towers *t, uint32_t stack, struct place *ret)
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
	if (!t->places[flavour])
		t->places[flavour] = calloc(t->p->stacks_len, sizeof(*places));
	places = t->places[flavour];
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
	}
	while (n) {
		stack = t->path[--n];
		if (stacks[stack].frame != AIF_NONE) {
			r = frame_place(t, stacks[stack].frame, &at);
			if (r < 0)
				return r;
		}
		places[stack] = at;
	}
	*ret = at;
	/* Not where its callees look: these may show more. */
	return at.node != t->on.node ? 0 : kept_place(t, given, ret);
}

/* ---- the backward -------------------------------------------------------------------------------- */

/* Launches of a node: the forward that made it, the node, and what is inside of it. */
static int part_place(struct towers *t, const struct aif_backward_part *part, struct place *ret)
{
	struct place *known = &t->part_places[part - t->backward.parts], at;
	struct aif_frame_label node;
	const struct aif_stack *stacks = t->p->stacks;
	size_t n = 0;
	int r = 0;

	if (known->known_on) {
		*ret = *known;
		return 0;
	}
	if (part->forward == AIF_NONE)
		r = mark_place(t, "[backward]", NULL, &at);
	else
		r = stack_place(t, part->forward, &at);
	if (r == 0 && (part->forward != AIF_NONE || part->name != AIF_STR_NONE)) {
		r = aif_frame_labels_backward(t->labels, &t->backward, part, &node);
		r = r < 0 ? r : label_place(t, &node, &at);
	}
	for (uint32_t s = part->stack; r == 0 && s != AIF_NONE && s != part->inside;
	     s = stacks[s].parent) {
		r = aif_grow(&t->path, &t->path_cap, n + 1, sizeof(*t->path));
		if (r == 0 && stacks[s].frame != AIF_NONE)
			t->path[n++] = stacks[s].frame;
	}
	while (r == 0 && n)
		r = frame_place(t, t->path[--n], &at);
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
	}
	return 0;
}

/* Places samples that no launch explains on their process, as far as it is known. */
static int owner_place(struct towers *t, uint32_t process, struct place *at)
{
	struct aif_buf text = {0};

	*at = t->on;
	aif_unmatched_owner(t->p, process, &text);
	return note_place(t, &text, at);
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
			r = label_place(t, &l[i], at);
	if (r < 0 || leaf < AIF_LEAF_STALL || row->reason == AIF_NONE)
		return r;
	r = aif_frame_labels_reason(t->labels, row->reason, &reason);
	return r < 0 ? r : label_place(t, &reason, at);
}

static bool is_asked_kernel(const struct towers *t, const struct aif_attribution_row *row,
			    const struct aif_frame_label *label)
{
	size_t len;

	if (!t->kernel.is_set)
		return true;
	return aif_regex_matches(&t->kernel, aif_tree_text(t->tree, label->name, &len)) ||
	       aif_filter_kernel(&t->kernel, t->names, row->kind, row->kernel);
}

/* Places work of a graph's replay on the replay's stack, and on the graph's number. */
static int graph_place(struct towers *t, const struct aif_attribution_row *row, struct place *at)
{
	struct aif_buf text = {0};

	aif_buf_printf(&text, "[%s graph %" PRIu32 "]",
		       row->device == AIF_NONE
			       ? "device"
			       : aif_profile_str(t->p, t->p->devices[row->device].runtime),
		       row->graph);
	return note_place(t, &text, at);
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
		r = part ? part_place(t, part, &at) : stack_place(t, row->stack, &at);
	if (r == 0 && row->graph)
		r = graph_place(t, row, &at);
	if (r == 0)
		r = label_place(t, &kernel, &at);
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
	return 0;
}

static int row_add(struct towers *t, const struct aif_attribution_row *row)
{
	const struct aif_backward_part *parts;
	size_t n = aif_backward_parts(&t->backward, row, &parts);
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
static int begin(struct towers *t, struct aif_err *err)
{
	struct aif_frame_labels_opts lo = {.detail = t->o->detail, .lines = t->o->lines};
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

static int idle_row_add(struct towers *t, const struct aif_idle_row *row)
{
	struct aif_buf text = {0};
	struct place at;
	int r = stack_place(t, row->stack, &at);

	aif_buf_printf(&text, row->is_before ? "[idle before it: %s]" : "[idle: %s]",
		       aif_idle_cause_name(row->cause));
	if (r == 0)
		r = note_place(t, &text, &at);
	else
		aif_buf_finish(&text);
	if (r < 0 || !aif_filter_keeps(&t->filter, at.hits))
		return r;
	if (__builtin_add_overflow(t->tree->nodes[at.node].self, row->ns,
				   &t->tree->nodes[at.node].self) ||
	    __builtin_add_overflow(t->tree->details[at.node].time_ns, row->ns,
				   &t->tree->details[at.node].time_ns))
		return -EOVERFLOW;
	return 0;
}

static int idle_rows_add(struct towers *t, const struct aif_idle_blame *idle)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < idle->len; i++)
		r = idle_row_add(t, &idle->rows[i]);
	return r;
}

/* ---- device time --------------------------------------------------------------------------------- */

static int rows_add(struct towers *t, const struct aif_attribution *a, struct aif_err *err)
{
	int r = begin(t, err);

	/* In full detail the picture shows what was recorded and nothing that was inferred. */
	if (r == 0 && t->o->detail != AIF_NAME_FULL)
		r = aif_backward_find(t->p, t->o->sel, &t->backward, err);
	if (r < 0)
		return r;
	t->part_places = calloc(t->backward.parts_len + 1, sizeof(*t->part_places));
	r = t->part_places ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < a->rows_len; i++)
		r = row_add(t, &a->rows[i]);
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

static int finish(struct towers *t, int r, struct aif_tree *ret)
{
	aif_filter_finish(&t->filter);
	aif_regex_finish(&t->kernel);
	aif_map_finish(&t->label_hits);
	aif_frame_labels_free(t->labels);
	for (unsigned i = 0; i < AIF_STACK_FLAVOURS; i++)
		free(t->places[i]);
	free(t->path);
	free(t->part_places);
	free(t->shares);
	aif_backward_finish(&t->backward);
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

	return finish(&t, rows_add(&t, a, err), ret);
}

/* ---- CPU samples --------------------------------------------------------------------------------- */

/* The label of a native frame of a runtime's library, else NULL. */
static const struct aif_frame_label *api_label(struct towers *t, uint32_t stack)
{
	const struct aif_frame_label *l;
	size_t n = 0;

	if (t->p->stacks[stack].frame == AIF_NONE)
		return NULL;
	l = aif_frame_labels_get(t->labels, t->p->stacks[stack].frame, &n);
	/* The function itself, whatever is inlined there. */
	return l && n && aif_tree_base_type(aif_tree_type_of(t->tree, l[0].name)) == AIF_TREE_API
		       ? &l[0]
		       : NULL;
}

/* The stack of the runtime's call that waits: a sample of one that looks again and again is somewhere inside. */
static uint32_t waiting_call(struct towers *t, uint32_t stack)
{
	for (uint32_t s = stack; s != AIF_NONE; s = t->p->stacks[s].parent)
		if (api_label(t, s))
			return s;
	return stack;
}

/* On top of it; called as the program calls it. */
static int waiting_place(struct towers *t, uint32_t stack, struct place *at)
{
	const struct aif_frame_label *l = NULL;
	uint32_t name = AIF_STR_NONE;
	struct aif_buf text = {0};
	size_t n = 0, len = 0;
	const char *call;

	if (stack != AIF_NONE && t->p->stacks[stack].frame != AIF_NONE)
		l = aif_frame_labels_get(t->labels, t->p->stacks[stack].frame, &n);
	for (l = l && n ? &l[n - 1] : NULL; l; l = stack == AIF_NONE ? NULL : api_label(t, stack)) {
		name = l->name;
		stack = t->p->stacks[stack].parent;
	}
	call = name != AIF_STR_NONE ? aif_tree_text(t->tree, name, &len) : "";
	aif_buf_printf(&text, len ? "[waiting: %.*s]" : "[waiting]", (int)len, call);
	return note_place(t, &text, at);
}

/* From now on stacks stand on the thread. */
static int thread_begin(struct towers *t, uint32_t thread)
{
	const struct aif_thread *th = thread == AIF_NONE ? NULL : &t->p->threads[thread];
	const char *process =
		th && th->process != AIF_NONE ? aif_process_name(t->p, th->process) : NULL;
	bool is_main = th && th->process != AIF_NONE && t->p->processes[th->process].pid == th->tid;
	struct aif_buf text = {0};
	int r;

	aif_buf_printf(&text, "[%s%s%sthread", process ? process : "", process ? ", " : "",
		       is_main ? "main " : "");
	if (th && th->name != AIF_NONE && *aif_profile_str(t->p, th->name))
		aif_buf_printf(&text, " %s", aif_profile_str(t->p, th->name));
	if (th)
		aif_buf_printf(&text, " %" PRIu32 "]", th->tid);
	else
		aif_buf_puts(&text, " unknown]");
	t->on = (struct place){.fold = AIF_FRAME_FOLD_ROOT, .known_on = t->on.known_on + 1};
	r = note_place(t, &text, &t->on);
	t->on.fold = AIF_FRAME_FOLD_ROOT;
	return r;
}

static int cpu_stack_add(struct towers *t, const struct aif_cpu_stack *s)
{
	uint64_t value = t->o->by == AIF_BY_SAMPLES ? s->samples : s->weight_ns;
	struct aif_tree_detail *d;
	struct place at;
	bool waits = s->waiting && !s->off_cpu;
	uint32_t stack = waits ? waiting_call(t, s->stack) : s->stack;
	int r = s->off_cpu == t->o->off_cpu ? stack_place(t, stack, &at) : 0;

	if (!value || s->off_cpu != t->o->off_cpu) /* waits have no samples */
		return r;
	if (r == 0 && waits)
		r = waiting_place(t, stack, &at);
	if (r < 0 || !aif_filter_keeps(&t->filter, at.hits))
		return r;
	d = &t->tree->details[at.node];
	if (__builtin_add_overflow(t->tree->nodes[at.node].self, value,
				   &t->tree->nodes[at.node].self) ||
	    (t->p->traits.cpu_weights != AIF_CPU_WEIGHTS_COUNTS &&
	     __builtin_add_overflow(d->time_ns, s->weight_ns, &d->time_ns)) ||
	    (t->p->traits.cpu_weights != AIF_CPU_WEIGHTS_SPANS && !t->p->traits.samples_unknown &&
	     __builtin_add_overflow(d->samples, s->samples, &d->samples)))
		return -EOVERFLOW;
	return 0;
}

static int cpu_add(struct towers *t, const struct aif_cpu_totals *cpu, struct aif_err *err)
{
	int r = begin(t, err);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < cpu->stacks_len; i++) {
		const struct aif_cpu_stack *s = &cpu->stacks[i];

		if (t->o->by_thread && cpu->threads > 1 && (!i || s->thread != s[-1].thread))
			r = thread_begin(t, s->thread);
		if (r == 0)
			r = cpu_stack_add(t, s);
	}
	if (r == 0)
		r = aif_tree_seal(t->tree);
	if (r < 0)
		return aif_err_set(err, r, "flame: %s", strerror(-r));
	if (t->tree->nodes[0].total)
		return 0;
	return aif_flame_empty_cpu(t->p, cpu, t->o, err);
}

int aif_flame_build_cpu(const struct aif_names *names, const struct aif_cpu_totals *cpu,
			const struct aif_flame_opts *o, struct aif_tree *ret, struct aif_err *err)
{
	const struct aif_profile *p = names->p;
	struct aif_tree tree = {0};
	struct towers t = {.p = p, .names = names, .o = o, .tree = &tree, .on = ON_ROOT};

	return finish(&t, cpu_add(&t, cpu, err), ret);
}

static int idle_add(struct towers *t, const struct aif_idle_blame *idle, struct aif_err *err)
{
	int r = begin(t, err);

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

	return finish(&t, idle_add(&t, idle, err), ret);
}
