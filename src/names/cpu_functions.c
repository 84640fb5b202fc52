/* SPDX-License-Identifier: Apache-2.0 */
#include "names/cpu_functions.h"

#include "names/callers.h"
#include "names/spin_waits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct finding {
	const struct aif_profile *p;
	struct aif_cpu_functions *to;
	struct aif_frame_labels *labels;
	enum aif_cpu_inlined inlined;
	struct aif_map by_name; /* name | module + 1 << 32 -> index */
	uint32_t *path;         /* stacks from the innermost to the root */
	size_t path_cap;
	uint64_t *seen,
		*best; /* by function: the row that counted it last; most self time of one frame */
	size_t seen_cap, best_cap;
	uint64_t row; /* 1 + the number of the row at hand */
	/* The innermost function shown so far. */
	uint32_t leaf, leaf_frame, leaf_depth;
};

uint32_t aif_cpu_function_plain(struct aif_tree *t, const struct aif_frame_label *l)
{
	unsigned type = aif_tree_type_of(t, l->name);
	const char *text;
	uint32_t name;
	size_t len;
	char *copy;

	if (!(type & AIF_TREE_INLINED))
		return l->name;
	text = aif_tree_text(t, l->name, &len);
	copy = strndup(text, len); /* the set moves when it grows */
	if (!copy)
		return AIF_STR_NONE;
	name = aif_tree_name(t, aif_tree_base_type(type), copy, len);
	free(copy);
	return name;
}

/* Returns the number of a function, made if there is none; AIF_NONE when memory runs out. */
static uint32_t function_of(struct finding *f, const struct aif_frame_label *l, uint32_t frame,
			    uint32_t depth)
{
	struct aif_cpu_functions *to = f->to;
	uint32_t name = aif_cpu_function_plain(&to->tree, l);
	uint64_t i, key = aif_cpu_function_key(name, l->module);

	if (name == AIF_STR_NONE)
		return AIF_NONE;
	if (aif_map_get(&f->by_name, key, &i))
		return (uint32_t)i;
	if (to->len >= UINT32_MAX - 1 ||
	    aif_grow(&to->at, &to->cap, to->len + 1, sizeof(*to->at)) < 0 ||
	    aif_grow(&f->seen, &f->seen_cap, to->len + 1, sizeof(*f->seen)) < 0 ||
	    aif_grow(&f->best, &f->best_cap, to->len + 1, sizeof(*f->best)) < 0 ||
	    aif_map_put(&f->by_name, key, to->len) < 0)
		return AIF_NONE;
	to->at[to->len] = (struct aif_cpu_function){
		.name = name, .module = l->module, .frame = frame, .depth = depth};
	f->seen[to->len] = f->best[to->len] = 0;
	return (uint32_t)to->len++;
}

static void count_total(struct finding *f, uint32_t function, const struct aif_cpu_stack *s)
{
	if (f->seen[function] == f->row)
		return;
	f->seen[function] = f->row;
	f->to->at[function].total_ns += s->weight_ns;
	f->to->at[function].total_samples += s->samples;
}

/* Returns true if the function at an inline depth of a frame is of a source file of the program's or of a library's own. */
static bool is_own(const struct finding *f, uint32_t frame, uint32_t depth)
{
	const struct aif_frame_name *n = aif_cpu_frame_name(f->p, frame, depth);

	return n && n->file != AIF_NONE && aif_caller_is_own_source(aif_profile_str(f->p, n->file));
}

static int frame_add(struct finding *f, uint32_t frame, struct aif_frame_fold *fold,
		     const struct aif_cpu_stack *s)
{
	size_t n;
	const struct aif_frame_label *l = aif_frame_labels_get(f->labels, frame, &n);
	bool has_own = false;

	if (!l)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		unsigned type = aif_tree_type_of(&f->to->tree, l[i].name);
		uint32_t function;

		if (aif_frame_fold(fold, &l[i], type) != AIF_FOLD_SHOW)
			continue;
		function = function_of(f, &l[i], frame, (uint32_t)i);
		if (function == AIF_NONE)
			return -ENOMEM;
		count_total(f, function, s);
		if (f->inlined == AIF_CPU_OF_PROGRAM && n > 1) {
			bool own = is_own(f, frame, (uint32_t)i);

			if (has_own && !own)
				continue;
			has_own = own;
		}
		f->leaf = function;
		f->leaf_frame = frame;
		f->leaf_depth = (uint32_t)i;
	}
	return 0;
}

/* Shows one function, as the picture does, of a stack of which folding leaves nothing. */
static int kept_add(struct finding *f, const struct aif_cpu_stack *s)
{
	struct aif_frame_label kept;
	uint32_t function;
	int r = aif_frame_labels_kept(f->labels, s->stack, &kept);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	function = function_of(f, &kept, f->p->stacks[s->stack].frame, 0);
	if (function == AIF_NONE)
		return -ENOMEM;
	count_total(f, function, s);
	f->leaf = function;
	f->leaf_frame = f->p->stacks[s->stack].frame;
	f->leaf_depth = 0;
	return 0;
}

/* Counts a stack that spins for that, whatever the runtime calls the function. */
static int spins_add(struct finding *f, const struct aif_cpu_stack *s)
{
	uint32_t module = aif_spin_wait(f->p, s->stack), function;
	struct aif_frame_label l = {.module = module};
	struct aif_buf text = {0};

	if (module == AIF_NONE)
		return 0;
	aif_spin_wait_note(f->p, module, &text);
	l.name = aif_buf_failed(&text) ? AIF_STR_NONE
				       : aif_tree_name(&f->to->tree, AIF_TREE_SYNTHETIC,
						       (const char *)text.data, text.len);
	aif_buf_finish(&text);
	function = l.name == AIF_STR_NONE ? AIF_NONE
					  : function_of(f, &l, f->p->stacks[s->stack].frame, 0);
	if (function == AIF_NONE)
		return -ENOMEM;
	count_total(f, function, s);
	f->to->at[function].spins = true;
	f->to->spinning_ns += s->weight_ns;
	f->leaf = function;
	f->leaf_frame = f->p->stacks[s->stack].frame;
	f->leaf_depth = 0;
	return 0;
}

static int stack_add(struct finding *f, const struct aif_cpu_stack *s)
{
	struct aif_frame_fold fold = AIF_FRAME_FOLD_ROOT;
	struct aif_cpu_function *leaf;
	size_t depth = 0;
	int r = 0;

	f->to->weight_ns += s->weight_ns;
	f->to->samples += s->samples;
	f->row++;
	if (s->stack == AIF_NONE)
		return 0;
	if (aif_cpu_is_unsampled(f->p, s->stack)) {
		f->to->unsampled_ns += s->weight_ns;
		return 0;
	}
	if (!(f->p->stacks[s->stack].flags & (AIF_STACK_TRUNCATED | AIF_STACK_GUESSED)))
		f->to->whole_samples += s->samples;
	for (uint32_t at = s->stack; at != AIF_NONE; at = f->p->stacks[at].parent) {
		if (aif_grow(&f->path, &f->path_cap, depth + 1, sizeof(*f->path)) < 0)
			return -ENOMEM;
		f->path[depth++] = at;
	}
	f->leaf = AIF_NONE;
	fold.is_bare = aif_frame_labels_is_bare(f->labels, s->stack);
	while (depth-- && !r)
		if (f->p->stacks[f->path[depth]].frame != AIF_NONE)
			r = frame_add(f, f->p->stacks[f->path[depth]].frame, &fold, s);
	if (!r && f->leaf == AIF_NONE)
		r = kept_add(f, s);
	if (!r)
		r = spins_add(f, s);
	if (r || f->leaf == AIF_NONE)
		return r;
	leaf = &f->to->at[f->leaf];
	leaf->self_ns += s->weight_ns;
	leaf->self_samples += s->samples;
	if (aif_grow(&f->to->leaves, &f->to->leaves_cap, f->to->leaves_len + 1,
		     sizeof(*f->to->leaves)) < 0)
		return -ENOMEM;
	f->to->leaves[f->to->leaves_len++] = (struct aif_cpu_leaf){
		.name = leaf->name,
		.module = leaf->module,
		.frame = f->leaf_frame,
		.depth = f->leaf_depth,
		.ns = s->weight_ns,
		.samples = s->samples,
	};
	if (s->weight_ns >= f->best[f->leaf]) {
		f->best[f->leaf] = s->weight_ns;
		leaf->frame = f->leaf_frame;
		leaf->depth = f->leaf_depth;
	}
	return 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct aif_cpu_function *a = pa, *b = pb;

	return AIF_ORDER(b->self_ns, a->self_ns) ?: AIF_ORDER(b->total_ns, a->total_ns)
	       ?: AIF_ORDER(a->name, b->name);
}

int aif_cpu_functions_find(const struct aif_names *names, const struct aif_selection *sel,
			   enum aif_name_detail detail, enum aif_cpu_inlined inlined,
			   struct aif_cpu_functions *ret, struct aif_err *err)
{
	struct finding f = {.p = names->p, .to = ret, .inlined = inlined};
	struct aif_frame_labels_opts o = {.detail = detail, .of_cpu = true};
	struct aif_cpu_totals cpu = {0};
	int r;

	*ret = (struct aif_cpu_functions){.detail = detail};
	r = aif_cpu_totals(names->p, sel, &cpu, err);
	if (!r)
		r = aif_tree_init(&ret->tree, false);
	if (!r)
		r = aif_frame_labels_new(names, &ret->tree, &o, &f.labels);
	for (size_t i = 0; i < cpu.stacks_len && !r; i++)
		if (!cpu.stacks[i].waiting)
			r = stack_add(&f, &cpu.stacks[i]);
	if (!r && ret->len)
		qsort(ret->at, ret->len, sizeof(*ret->at), compare);
	ret->damaged = cpu.damaged;
	ret->threads = cpu.threads;
	ret->for_others_ns = cpu.for_others_ns;
	aif_cpu_totals_finish(&cpu);
	aif_frame_labels_free(f.labels);
	aif_map_finish(&f.by_name);
	free(f.path);
	free(f.seen);
	free(f.best);
	if (r < 0 && err && !err->code)
		aif_err_set(err, r, "reading CPU samples: %s", strerror(-r));
	return r;
}

void aif_cpu_functions_finish(struct aif_cpu_functions *f)
{
	aif_tree_finish(&f->tree);
	free(f->at);
	free(f->leaves);
	*f = (struct aif_cpu_functions){0};
}

const char *aif_cpu_function_name(const struct aif_cpu_functions *f,
				  const struct aif_cpu_function *of)
{
	size_t len;

	return aif_tree_text(&f->tree, of->name, &len);
}

const struct aif_frame_name *aif_cpu_frame_name(const struct aif_profile *p, uint32_t frame,
						uint32_t depth)
{
	const struct aif_frame_name *n = aif_profile_frame_name(p, frame);

	while (n && n > p->frame_names && n[-1].frame == frame && n->inline_depth > depth)
		n--;
	return n;
}

void aif_cpu_function_place(const struct aif_profile *p, const struct aif_cpu_function *of,
			    struct aif_buf *out)
{
	const struct aif_frame_name *n = aif_cpu_frame_name(p, of->frame, of->depth);

	if (!n || n->file == AIF_NONE || !*aif_profile_str(p, n->file))
		return;
	aif_buf_puts(out, aif_source_name(aif_profile_str(p, n->file)));
	if (n->line)
		aif_buf_printf(out, ":%" PRIu32, n->line);
}

bool aif_cpu_lacks_python(const struct aif_profile *p)
{
	if (!*aif_profile_meta(p, "outside"))
		return false;
	for (size_t i = 0; i < p->frames_len; i++)
		if (p->frames[i].kind == AIF_FRAME_PYTHON)
			return false;
	for (size_t i = 0; i < p->modules_len; i++) {
		const char *name = aif_source_name(aif_profile_str(p, p->modules[i].path));

		if (!strncmp(name, "python3", 7) || !strncmp(name, "libpython3", 10))
			return true;
	}
	return false;
}
