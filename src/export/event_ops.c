/* SPDX-License-Identifier: Apache-2.0 */
#include "export/event_ops.h"

#include "profile/file.h"
#include "analysis/facts.h"
#include "analysis/time.h"

#include <errno.h>
#include <string.h>

struct loading {
	struct aif_event_ops *o;
	const struct aif_export *x;
	const struct aif_timeline *timeline;
	bool are_shown; /* not where a device or a kernel is asked for, which they are not of */
};

static bool is_asked(const bool *keep, uint32_t id)
{
	return !keep || (id != AIF_NONE && keep[id]);
}

static int add(struct loading *l, const struct aif_op_row *row)
{
	const struct aif_selection *w = &l->x->sel;
	const struct aif_profile *p = l->x->profile;
	uint32_t process = row->thread == AIF_NONE ? AIF_NONE : p->threads[row->thread].process;
	struct aif_event_ops *o = l->o;
	int64_t start, end;
	uint32_t order;

	if (!row->kind || row->kind >= AIF_OP_KIND_COUNT || row->thread == AIF_NONE ||
	    !is_asked(w->processes, process))
		return 0;
	start = aif_time_clamp(
		aif_timeline_map(l->timeline, row->clock, process, row->start, NULL));
	if (!aif_selection_keeps_moment(w, row->thread, start))
		return 0;
	end = aif_time_clamp(aif_timeline_map(l->timeline, row->clock, process, row->end, NULL));
	end = AIF_MAX(start, end);
	if (o->len + 1 >= AIF_NONE || aif_grow(&o->ops, &o->cap, o->len + 1, sizeof(*o->ops)) < 0)
		return -ENOMEM;
	order = (uint32_t)o->len;
	o->ops[o->len++] = (struct aif_event_op){
		.start = start,
		.dur = (uint64_t)end - (uint64_t)start,
		.id = row->id,
		.sequence = row->sequence,
		.thread = row->thread,
		.name = row->name,
		.kind = row->kind,
		.shapes = row->shapes,
		.stack = row->stack,
		.launch = order, /* for the sorting: as they came */
		.is_kept = l->are_shown && end >= (int64_t)AIF_MIN(w->from_ns, INT64_MAX) &&
			   (!w->to_ns || start < (int64_t)AIF_MIN(w->to_ns, INT64_MAX)),
	};
	return 0;
}

static int take(void *arg, const struct aif_op_row *rows, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = add(arg, &rows[i]);
	return r;
}

static int by_place(const void *a, const void *b)
{
	const struct aif_event_op *x = a, *y = b;

	return AIF_ORDER(x->thread, y->thread) ?: AIF_ORDER(x->start, y->start)
	       ?: AIF_ORDER(y->dur, x->dur) ?: AIF_ORDER(x->launch, y->launch);
}

/* Drops further rows of one call: it has one for each message that it was (docs/FORMAT.md). */
static void drop_repeated(struct aif_event_ops *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->len; i++) {
		const struct aif_event_op *x = n ? &o->ops[n - 1] : NULL, *y = &o->ops[i];

		if (!x || y->kind != AIF_OP_RUNTIME || y->sequence <= 0 || x->thread != y->thread ||
		    x->start != y->start || x->dur != y->dur || x->name != y->name)
			o->ops[n++] = *y;
	}
	o->len = n;
}

/* Returns the call among the ops that begin with the launch, from *next on, else the innermost
 * operator. */
static uint32_t call_of(const struct aif_event_ops *o, const struct aif_event_launch *l,
			size_t *next)
{
	uint32_t found = AIF_NONE;
	size_t k = *next;

	for (; k < o->len && o->ops[k].thread == l->thread && o->ops[k].start == l->time; k++) {
		if (o->ops[k].kind == AIF_OP_RUNTIME || o->ops[k].kind == AIF_OP_OPERATOR)
			found = (uint32_t)k;
		if (o->ops[k].kind == AIF_OP_RUNTIME)
			break;
	}
	/* A damaged file has as many at one time as it likes: each is looked at once. */
	*next = found == AIF_NONE ? k : found + (size_t)1;
	return found;
}

/* Both in the order of thread and time. Of several launches at one time each has a call of its own. */
static void join(struct aif_event_ops *o, const struct aif_events *e)
{
	size_t next = 0;

	for (uint32_t i = 0; i < e->launches_len; i++) {
		const struct aif_event_launch *l = &e->launches[i];

		while (next < o->len &&
		       (o->ops[next].thread < l->thread ||
			(o->ops[next].thread == l->thread && o->ops[next].start < l->time)))
			next++;
		o->calls[i] = call_of(o, l, &next);
		if (o->calls[i] != AIF_NONE)
			o->ops[o->calls[i]].launch = i;
	}
}

int aif_event_ops_init(struct aif_event_ops *o, struct aif_events *e, const struct aif_export *x)
{
	struct loading l = {.o = o, .x = x, .are_shown = !x->sel.devices && !x->kernel};
	uint64_t bad = 0;
	int r = aif_timeline_get(x->profile, &l.timeline);

	*o = (struct aif_event_ops){.calls = malloc((e->launches_len + 1) * sizeof(*o->calls))};
	if (!o->calls)
		r = -ENOMEM;
	if (!r)
		r = aif_profile_ops(x->profile, take, &l, &bad);
	aif_export_damaged(x, bad);
	aif_facts_put(l.timeline);
	if (r)
		return r;
	if (o->len)
		qsort(o->ops, o->len, sizeof(*o->ops), by_place);
	drop_repeated(o);
	for (size_t i = 0; i < o->len; i++)
		o->ops[i].launch = AIF_NONE;
	join(o, e);
	for (size_t i = 0; i < o->len; i++) {
		const struct aif_event_op *op = &o->ops[i];

		if (aif_event_op_is_shown(op, e)) {
			e->start_ns = AIF_MIN(e->start_ns, op->start);
			e->end_ns = AIF_MAX(e->end_ns, aif_event_op_end(op));
		}
	}
	return 0;
}

void aif_event_ops_finish(struct aif_event_ops *o)
{
	free(o->ops);
	free(o->calls);
	*o = (struct aif_event_ops){0};
}

const char *aif_event_call_category(const char *name, size_t len, const char *runtime)
{
	static const struct {
		const char *runtime, *category;
	} categories[] = {
		{"cuda", "cuda_runtime"},       {"hip", "cuda_runtime"},
		{"xpu", "xpu_runtime"},         {"level_zero", "xpu_runtime"},
		{"mtia", "mtia_runtime"},       {"hpu", "hpu_op"},
		{"aiu", "privateuse1_runtime"}, {"privateuse1", "privateuse1_runtime"},
	};

	/* CUDA's driver: cuLaunchKernel. */
	if (len > 2 && !memcmp(name, "cu", 2) && name[2] >= 'A' && name[2] <= 'Z')
		return "cuda_driver";
	if (len > 4 && !memcmp(name, "cuda", 4))
		return "cuda_runtime";
	for (size_t i = 0; i < AIF_ARRAY_LEN(categories); i++)
		if (!strcmp(categories[i].runtime, runtime))
			return categories[i].category;
	return "runtime";
}
