/* SPDX-License-Identifier: Apache-2.0 */
#include "names/cpu_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct finding {
	const struct aif_profile *p;
	struct aif_cpu_functions *of;
	const bool *wanted;
	struct aif_cpu_calls *to;
	struct aif_frame_labels *labels;
	struct aif_map functions; /* the functions' keys -> index */
	struct aif_map lines;     /* line | function << 32 -> index in .seen */
	struct aif_map calls;     /* callee | index in .seen << 32 -> index in .to */
	uint64_t *seen;           /* by line: the stack that counted it last */
	size_t seen_len, seen_cap;
	uint32_t *path; /* stacks from the innermost to the root */
	size_t path_cap;
	uint64_t stack; /* 1 + the number of the stack at hand */
	/* The line whose callee is the next function that is shown. */
	bool is_open;
	uint32_t open; /* index in .seen */
	struct aif_cpu_call call;
};

/* Returns the index of a label's function; AIF_NONE for one that is not counted, or when memory runs out. */
static uint32_t function_of(const struct finding *f, const struct aif_frame_label *l)
{
	uint32_t name = aif_cpu_function_plain(&f->of->tree, l);
	uint64_t i;

	return aif_map_get(&f->functions, aif_cpu_function_key(name, l->module), &i) ? (uint32_t)i
										     : AIF_NONE;
}

/* Adds the stack's time to the line that is open, and closes it. 0 or -ENOMEM. */
static int line_close(struct finding *f, uint32_t callee, uint64_t ns)
{
	uint64_t key = callee | (uint64_t)f->open << 32, i;

	if (!f->is_open)
		return 0;
	f->is_open = false;
	if (!aif_map_get(&f->calls, key, &i)) {
		i = f->to->len;
		if (aif_grow(&f->to->at, &f->to->cap, f->to->len + 1, sizeof(*f->to->at)) < 0 ||
		    aif_map_put(&f->calls, key, i) < 0)
			return -ENOMEM;
		f->to->at[f->to->len] = f->call;
		f->to->at[f->to->len++].callee = callee;
	}
	f->to->at[i].ns += ns;
	return 0;
}

/* Opens the line on which a frame of a function stands, unless the stack has counted it. 0 or -ENOMEM. */
static int line_open(struct finding *f, uint32_t function, uint32_t frame, uint32_t depth)
{
	const struct aif_frame_name *name = aif_cpu_frame_name(f->p, frame, depth);
	uint32_t line = name && name->file != AIF_NONE ? name->line : 0;
	uint64_t key = line | (uint64_t)function << 32, i;

	if (!aif_map_get(&f->lines, key, &i)) {
		i = f->seen_len;
		if (i >= UINT32_MAX ||
		    aif_grow(&f->seen, &f->seen_cap, f->seen_len + 1, sizeof(*f->seen)) < 0 ||
		    aif_map_put(&f->lines, key, i) < 0)
			return -ENOMEM;
		f->seen[f->seen_len++] = 0;
	}
	if (f->seen[i] == f->stack)
		return 0;
	f->seen[i] = f->stack;
	f->is_open = true;
	f->open = (uint32_t)i;
	f->call = (struct aif_cpu_call){
		.function = function, .frame = frame, .depth = depth, .line = line};
	return 0;
}

static int label_add(struct finding *f, const struct aif_frame_label *l, uint32_t frame,
		     uint32_t depth, uint64_t ns)
{
	uint32_t function = function_of(f, l);
	int r = line_close(f, function, ns);

	if (r || function == AIF_NONE || !f->wanted[function])
		return r;
	return line_open(f, function, frame, depth);
}

static int frame_add(struct finding *f, uint32_t frame, struct aif_frame_fold *fold, uint64_t ns,
		     bool *ret_shown)
{
	size_t n;
	const struct aif_frame_label *l = aif_frame_labels_get(f->labels, frame, &n);
	int r = l ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !r; i++) {
		if (aif_frame_fold(fold, &l[i], aif_tree_type_of(&f->of->tree, l[i].name)) !=
		    AIF_FOLD_SHOW)
			continue;
		*ret_shown = true;
		r = label_add(f, &l[i], frame, (uint32_t)i, ns);
	}
	return r;
}

static int stack_add(struct finding *f, const struct aif_cpu_stack *s)
{
	struct aif_frame_fold fold = AIF_FRAME_FOLD_ROOT;
	struct aif_frame_label kept;
	bool is_shown = false;
	size_t depth = 0;
	int r = 0;

	f->stack++;
	f->is_open = false;
	for (uint32_t at = s->stack; at != AIF_NONE; at = f->p->stacks[at].parent) {
		if (aif_grow(&f->path, &f->path_cap, depth + 1, sizeof(*f->path)) < 0)
			return -ENOMEM;
		f->path[depth++] = at;
	}
	fold.is_bare = aif_frame_labels_is_bare(f->labels, s->stack);
	while (depth-- && !r)
		if (f->p->stacks[f->path[depth]].frame != AIF_NONE)
			r = frame_add(f, f->p->stacks[f->path[depth]].frame, &fold, s->weight_ns,
				      &is_shown);
	if (!r && !is_shown && s->stack != AIF_NONE) {
		r = aif_frame_labels_kept(f->labels, s->stack, &kept);
		r = r == -ENOENT ? 0
		    : r          ? r
			: label_add(f, &kept, f->p->stacks[s->stack].frame, 0, s->weight_ns);
	}
	return r ? r : line_close(f, AIF_NONE, s->weight_ns);
}

static int in_order(const void *pa, const void *pb)
{
	const struct aif_cpu_call *a = pa, *b = pb;

	return AIF_ORDER(a->function, b->function) ?: AIF_ORDER(a->line, b->line)
	       ?: AIF_ORDER(b->ns, a->ns) ?: AIF_ORDER(a->callee, b->callee);
}

int aif_cpu_calls_find(const struct aif_names *names, struct aif_cpu_functions *of,
		       const bool *wanted, struct aif_cpu_calls *ret, struct aif_err *err)
{
	struct finding f = {.p = names->p, .of = of, .wanted = wanted, .to = ret};
	struct aif_frame_labels_opts o = {.detail = of->detail, .of_cpu = true};
	struct aif_cpu_totals cpu = {0};
	int r = aif_cpu_totals(names->p, NULL, &cpu, err);

	*ret = (struct aif_cpu_calls){0};
	if (!r)
		r = aif_frame_labels_new(names, &of->tree, &o, &f.labels);
	for (size_t i = 0; i < of->len && !r; i++)
		r = aif_map_put(&f.functions,
				aif_cpu_function_key(of->at[i].name, of->at[i].module), i);
	for (size_t i = 0; i < cpu.stacks_len && !r; i++)
		if (!cpu.stacks[i].waiting)
			r = stack_add(&f, &cpu.stacks[i]);
	if (!r && ret->len)
		qsort(ret->at, ret->len, sizeof(*ret->at), in_order);
	aif_cpu_totals_finish(&cpu);
	aif_frame_labels_free(f.labels);
	aif_map_finish(&f.functions);
	aif_map_finish(&f.lines);
	aif_map_finish(&f.calls);
	free(f.seen);
	free(f.path);
	if (r < 0 && err && !err->code)
		aif_err_set(err, r, "reading CPU samples: %s", strerror(-r));
	return r;
}

void aif_cpu_calls_finish(struct aif_cpu_calls *c)
{
	free(c->at);
	*c = (struct aif_cpu_calls){0};
}
