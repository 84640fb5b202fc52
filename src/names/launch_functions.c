/* SPDX-License-Identifier: Apache-2.0 */
#include "names/launch_functions.h"

#include "base/map.h"
#include "names/callers.h"
#include "names/cpu_functions.h"
#include "names/frame_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct finding {
	const struct aif_profile *p;
	struct aif_launch_functions *to;
	struct aif_frame_labels *labels;
	struct aif_map by_name; /* name | file << 32 -> function */
	struct aif_map by_line; /* line | function << 32 -> line */
	uint32_t *path;         /* stacks from the innermost to the root */
	size_t path_cap;
	uint64_t *seen, *line_seen; /* .stack when it was counted last, by function, by line */
	size_t seen_cap, line_seen_cap;
	uint64_t stack; /* 1 + the number of the stack at hand */
};

/* Returns the number of a function, made if there is none; AIF_NONE when memory runs out. */
static uint32_t function_of(struct finding *f, const struct aif_frame_label *l, uint32_t file)
{
	struct aif_launch_functions *to = f->to;
	uint64_t i, key = l->name | (uint64_t)file << 32;

	if (aif_map_get(&f->by_name, key, &i))
		return (uint32_t)i;
	if (to->len >= UINT32_MAX - 1 ||
	    aif_grow(&to->at, &to->cap, to->len + 1, sizeof(*to->at)) < 0 ||
	    aif_grow(&f->seen, &f->seen_cap, to->len + 1, sizeof(*f->seen)) < 0 ||
	    aif_map_put(&f->by_name, key, to->len) < 0)
		return AIF_NONE;
	to->at[to->len] = (struct aif_launch_function){
		.name = l->name,
		.file = file,
		.is_application = !l->file || aif_caller_is_python(aif_profile_str(f->p, file)),
	};
	f->seen[to->len] = 0;
	return (uint32_t)to->len++;
}

/* Returns the number of a function's line, made if there is none; AIF_NONE when memory runs out. */
static uint32_t line_of(struct finding *f, uint32_t function, uint32_t line, uint32_t frame,
			uint32_t depth)
{
	struct aif_launch_functions *to = f->to;
	uint64_t i, key = line | (uint64_t)function << 32;

	if (aif_map_get(&f->by_line, key, &i))
		return (uint32_t)i;
	if (aif_grow(&to->lines, &to->lines_cap, to->lines_len + 1, sizeof(*to->lines)) < 0 ||
	    aif_grow(&f->line_seen, &f->line_seen_cap, to->lines_len + 1, sizeof(*f->line_seen)) <
		    0 ||
	    aif_map_put(&f->by_line, key, to->lines_len) < 0)
		return AIF_NONE;
	to->lines[to->lines_len] = (struct aif_launch_line){function, frame, depth, 0};
	f->line_seen[to->lines_len] = 0;
	return (uint32_t)to->lines_len++;
}

static int frame_add(struct finding *f, uint32_t frame, struct aif_frame_fold *fold, uint64_t ns)
{
	size_t n;
	const struct aif_frame_label *l = aif_frame_labels_get(f->labels, frame, &n);

	if (!l)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		unsigned type = aif_tree_type_of(&f->to->tree, l[i].name);
		const struct aif_frame_name *name;
		uint32_t function, line;

		if (aif_frame_fold(fold, &l[i], type) != AIF_FOLD_SHOW)
			continue;
		name = aif_cpu_frame_name(f->p, frame, (uint32_t)i);
		if (!name || !name->line || name->file == AIF_NONE)
			continue;
		function = function_of(f, &l[i], name->file);
		line = function == AIF_NONE ? AIF_NONE
					    : line_of(f, function, name->line, frame, (uint32_t)i);
		if (line == AIF_NONE)
			return -ENOMEM;
		if (f->seen[function] != f->stack)
			f->to->at[function].ns += ns;
		if (f->line_seen[line] != f->stack)
			f->to->lines[line].ns += ns;
		f->seen[function] = f->line_seen[line] = f->stack;
	}
	return 0;
}

static int stack_add(struct finding *f, uint32_t stack, uint64_t ns)
{
	struct aif_frame_fold fold = AIF_FRAME_FOLD_ROOT;
	size_t depth = 0;
	int r = 0;

	f->stack++;
	for (uint32_t at = stack; at != AIF_NONE; at = f->p->stacks[at].parent) {
		if (aif_grow(&f->path, &f->path_cap, depth + 1, sizeof(*f->path)) < 0)
			return -ENOMEM;
		f->path[depth++] = at;
	}
	while (depth-- && !r)
		if (f->p->stacks[f->path[depth]].frame != AIF_NONE)
			r = frame_add(f, f->p->stacks[f->path[depth]].frame, &fold, ns);
	return r;
}

static int by_function(const void *pa, const void *pb)
{
	const struct aif_launch_line *a = pa, *b = pb;

	return AIF_ORDER(a->function, b->function);
}

static int by_time(const void *pa, const void *pb)
{
	const struct aif_launch_function *a = pa, *b = pb;

	return AIF_ORDER(b->is_application, a->is_application) ?: AIF_ORDER(b->ns, a->ns)
	       ?: AIF_ORDER(a->name, b->name) ?: AIF_ORDER(a->file, b->file);
}

static void put_in_order(struct aif_launch_functions *to)
{
	if (to->lines_len)
		qsort(to->lines, to->lines_len, sizeof(*to->lines), by_function);
	for (size_t i = 0, end; i < to->lines_len; i = end) {
		struct aif_launch_function *of = &to->at[to->lines[i].function];

		for (end = i;
		     end < to->lines_len && to->lines[end].function == to->lines[i].function; end++)
			;
		of->first = i;
		of->len = end - i;
	}
	if (to->len)
		qsort(to->at, to->len, sizeof(*to->at), by_time);
}

/* Adds a row's time to the stacks that it counts for: ns[stack]. 0 or -ENOMEM. */
static int row_add(const struct aif_attribution_row *row, const struct aif_backward *b,
		   uint64_t *ns)
{
	uint32_t stack = row->capture != AIF_NONE ? row->capture : row->stack;
	const struct aif_backward_part *parts;
	size_t n = aif_backward_parts(b, row, &parts);
	struct aif_attribution_row *shares;

	if (!n) {
		if (stack != AIF_NONE)
			ns[stack] += row->wall_ns;
		return 0;
	}
	shares = calloc(n, sizeof(*shares));
	if (!shares)
		return -ENOMEM;
	aif_backward_split(row, parts, n, shares);
	for (size_t i = 0; i < n; i++) {
		uint32_t at = parts[i].forward != AIF_NONE ? parts[i].forward : stack;

		if (at != AIF_NONE)
			ns[at] += shares[i].wall_ns;
	}
	free(shares);
	return 0;
}

int aif_launch_functions_find(const struct aif_names *names, const struct aif_attribution *a,
			      struct aif_launch_functions *ret, struct aif_err *err)
{
	const struct aif_profile *p = names->p;
	struct finding f = {.p = p, .to = ret};
	struct aif_frame_labels_opts o = {.detail = AIF_NAME_NORMAL};
	const struct aif_backward *backward = aif_facts_none();
	uint64_t *ns = calloc(p->stacks_len + 1, sizeof(*ns));
	int r = ns ? 0 : -ENOMEM;

	*ret = (struct aif_launch_functions){0};
	if (!r)
		r = aif_tree_init(&ret->tree, false);
	if (!r)
		r = aif_frame_labels_new(names, &ret->tree, &o, &f.labels);
	if (!r)
		r = aif_backward_get(p, NULL, &backward, err);
	for (size_t i = 0; i < a->rows_len && !r; i++) {
		ret->time_ns += a->rows[i].wall_ns;
		r = row_add(&a->rows[i], backward, ns);
	}
	for (size_t i = 0; i < p->stacks_len && !r; i++)
		if (ns[i])
			r = stack_add(&f, (uint32_t)i, ns[i]);
	if (!r)
		put_in_order(ret);
	aif_facts_put(backward);
	aif_frame_labels_free(f.labels);
	aif_map_finish(&f.by_name);
	aif_map_finish(&f.by_line);
	free(f.path);
	free(f.seen);
	free(f.line_seen);
	free(ns);
	if (r < 0 && err && !err->code)
		aif_err_set(err, r, "device time by function: %s", strerror(-r));
	return r;
}

void aif_launch_functions_finish(struct aif_launch_functions *f)
{
	aif_tree_finish(&f->tree);
	free(f->at);
	free(f->lines);
	*f = (struct aif_launch_functions){0};
}

const char *aif_launch_function_name(const struct aif_launch_functions *f,
				     const struct aif_launch_function *of)
{
	size_t len;

	return aif_tree_text(&f->tree, of->name, &len);
}
