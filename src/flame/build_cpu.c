/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/towers.h"

#include "base/memory.h"
#include "flame/empty.h"
#include "names/process_names.h"
#include "names/spin_waits.h"

#include <errno.h>
#include <string.h>

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
	return aif_towers_note(t, &text, at);
}

/* On top of a stack that spins until other threads are done. */
static int spinning_place(struct towers *t, uint32_t stack, struct place *at)
{
	uint32_t module = aif_spin_wait(t->p, stack);
	struct aif_buf text = {0};

	if (module == AIF_NONE)
		return 0;
	aif_spin_wait_note(t->p, module, &text);
	return aif_towers_note(t, &text, at);
}

/* From now on stacks stand on the thread. */
static int thread_begin(struct towers *t, const struct aif_thread_groups *groups, uint32_t thread)
{
	struct aif_buf text = {0};
	int r;

	aif_thread_groups_note(groups, thread, &text);
	t->on = (struct place){.fold = AIF_FRAME_FOLD_ROOT, .known_on = t->on.known_on + 1};
	r = aif_towers_note(t, &text, &t->on);
	t->on.fold = AIF_FRAME_FOLD_ROOT;
	return r;
}

/* From now on stacks stand on these ranges, which stand on `thread`. */
static int ranges_begin(struct towers *t, uint32_t range, const struct place *thread)
{
	uint32_t known_on = t->on.known_on + 1;
	int r;

	t->on = *thread;
	t->on.known_on = known_on;
	r = aif_towers_ranges(t, range, &t->on);
	t->on.fold = AIF_FRAME_FOLD_ROOT;
	return r;
}

static int cpu_stack_add(struct towers *t, const struct aif_cpu_stack *s)
{
	uint64_t value = t->o->by == AIF_BY_SAMPLES ? s->samples : s->weight_ns;
	struct aif_buf none = {0};
	struct aif_tree_detail *d;
	struct place at;
	bool waits = s->waiting && !s->off_cpu;
	uint32_t stack = waits ? waiting_call(t, s->stack) : s->stack;
	int r = s->off_cpu == t->o->off_cpu ? aif_towers_stack(t, stack, &at) : 0;

	if (!value || s->off_cpu != t->o->off_cpu) /* waits have no samples */
		return r;
	if (r == 0 && t->o->ranges == AIF_RANGES_ONLY && !s->range && at.node == t->on.node) {
		aif_buf_puts(&none, "[no range]");
		r = aif_towers_note(t, &none, &at);
	}
	if (r == 0 && waits)
		r = waiting_place(t, stack, &at);
	else if (r == 0 && !s->off_cpu)
		r = spinning_place(t, stack, &at);
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
	return aif_flame_report_placed(t->o, t->row, at.node, 0, s->weight_ns, s->samples, 0);
}

/* Groups the threads that are drawn. */
static int groups_find(const struct towers *t, const struct aif_cpu_totals *cpu,
		       struct aif_thread_groups *ret)
{
	uint32_t *threads = aif_memory_calloc(cpu->stacks_len + 1, sizeof(*threads));
	size_t len = 0;
	int r = -ENOMEM;

	for (size_t i = 0; threads && t->o->by_thread && i < cpu->stacks_len; i++)
		if (cpu->stacks[i].off_cpu == t->o->off_cpu &&
		    (!len || threads[len - 1] != cpu->stacks[i].thread))
			threads[len++] = cpu->stacks[i].thread;
	*ret = (struct aif_thread_groups){0};
	if (threads)
		r = aif_thread_groups_init(ret, t->p, threads, len);
	free(threads);
	return r;
}

static int cpu_add(struct towers *t, const struct aif_cpu_totals *cpu, struct aif_err *err)
{
	struct place thread = t->on;
	struct aif_thread_groups groups;
	int r = aif_towers_begin(t, err);

	if (r < 0)
		return r;
	r = groups_find(t, cpu, &groups);
	for (t->row = 0; r == 0 && t->row < cpu->stacks_len; t->row++) {
		const struct aif_cpu_stack *s = &cpu->stacks[t->row];
		bool is_new = t->o->by_thread && cpu->threads > 1 &&
			      (!t->row || s->thread != s[-1].thread);

		if (is_new) {
			r = thread_begin(t, &groups, s->thread);
			thread = t->on;
		}
		if (r == 0 && s->range != (is_new || !t->row ? 0 : s[-1].range))
			r = ranges_begin(t, s->range, &thread);
		if (r == 0)
			r = cpu_stack_add(t, s);
	}
	aif_thread_groups_finish(&groups);
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
	struct towers t = {
		.p = p, .names = names, .o = o, .tree = &tree, .on = ON_ROOT, .of_cpu = true};

	return aif_towers_finish(&t, cpu_add(&t, cpu, err), ret);
}
