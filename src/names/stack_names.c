/* SPDX-License-Identifier: Apache-2.0 */
#include "names/stack_names.h"

#include "base/glob.h"
#include "analysis/backward.h"
#include "analysis/torch_names.h"
#include "names/callers.h"
#include "names/cpu_functions.h"
#include "names/device_packages.h"

#include <errno.h>
#include <string.h>

struct aif_stack_names {
	const struct aif_profile *p;
	struct aif_tree tree; /* of names only */
	struct aif_frame_labels *labels;
	struct aif_map callers; /* stack -> name in the tree, AIF_STR_NONE = nothing is known */
	struct aif_device_packages packages;
	uint32_t *path; /* stacks from the innermost to the root */
	size_t path_cap;
	uint32_t *shown; /* names in the tree, outermost first */
	size_t shown_cap;
	enum aif_name_detail detail;
	const struct aif_backward *backward; /* its part i is place stacks_len + i */
	struct aif_attribution_row *shares;
	size_t shares_cap;
	struct aif_buf text;
};

static int stack_names_new(const struct aif_names *names, const struct aif_frame_labels_opts *o,
			   struct aif_stack_names **ret)
{
	struct aif_stack_names *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->p = names->p;
	s->detail = o->detail;
	s->backward = aif_facts_none();
	if (aif_tree_init(&s->tree, false) < 0 ||
	    aif_frame_labels_new(names, &s->tree, o, &s->labels) < 0) {
		aif_stack_names_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

int aif_stack_names_new(const struct aif_names *names, enum aif_name_detail detail,
			struct aif_stack_names **ret)
{
	return stack_names_new(names, &(struct aif_frame_labels_opts){.detail = detail}, ret);
}

int aif_stack_names_new_with_lines(const struct aif_names *names, struct aif_stack_names **ret)
{
	return stack_names_new(
		names, &(struct aif_frame_labels_opts){.detail = AIF_NAME_NORMAL, .lines = true},
		ret);
}

void aif_stack_names_free(struct aif_stack_names *s)
{
	if (!s)
		return;
	aif_frame_labels_free(s->labels);
	aif_tree_finish(&s->tree);
	aif_map_finish(&s->callers);
	aif_device_packages_finish(&s->packages);
	free(s->path);
	free(s->shown);
	aif_facts_put(s->backward);
	free(s->shares);
	aif_buf_finish(&s->text);
	free(s);
}

/* ---- places ---------------------------------------------------------------------------------- */

int aif_stack_names_join(struct aif_stack_names *s, const struct aif_selection *sel,
			 struct aif_err *err)
{
	return s->detail == AIF_NAME_FULL ? 0 : aif_backward_get(s->p, sel, &s->backward, err);
}

const struct aif_attribution_row *aif_stack_names_shares(struct aif_stack_names *s,
							 const struct aif_attribution_row *row,
							 size_t *ret_len)
{
	const struct aif_backward_part *parts;
	size_t n = aif_backward_parts(s->backward, row, &parts);

	*ret_len = 1;
	if (row->graph && row->capture != AIF_NONE) {
		if (aif_grow(&s->shares, &s->shares_cap, 1, sizeof(*s->shares)) < 0)
			return NULL;
		s->shares[0] = *row;
		s->shares[0].stack = row->capture;
		return s->shares;
	}
	/* A stack that is not exact keeps its mark. */
	if (!n || s->p->stacks[row->stack].flags)
		return row;
	if (aif_grow(&s->shares, &s->shares_cap, n, sizeof(*s->shares)) < 0)
		return NULL;
	aif_backward_split(row, parts, n, s->shares);
	for (size_t i = 0; i < n; i++)
		s->shares[i].stack =
			(uint32_t)(s->p->stacks_len + (size_t)(parts - s->backward->parts) + i);
	*ret_len = n;
	return s->shares;
}

/* NULL: it is a stack, or AIF_NONE. */
static const struct aif_backward_part *part_of(const struct aif_stack_names *s, uint32_t place)
{
	return place == AIF_NONE || place < s->p->stacks_len
		       ? NULL
		       : &s->backward->parts[place - s->p->stacks_len];
}

static const char *node_of(const struct aif_stack_names *s, const struct aif_backward_part *part)
{
	return part->name == AIF_STR_NONE ? ""
					  : aif_strset_get(&s->backward->names, part->name, NULL);
}

/* ---- whole stacks ---------------------------------------------------------------------------- */

/* Adds what is shown of a frame. */
static int frame_show(struct aif_stack_names *s, uint32_t frame, struct aif_frame_fold *fold,
		      size_t *n)
{
	size_t len;
	const struct aif_frame_label *l = aif_frame_labels_get(s->labels, frame, &len);

	if (!l || aif_grow(&s->shown, &s->shown_cap, *n + len, sizeof(*s->shown)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++)
		if (aif_frame_fold(fold, &l[i], aif_tree_type_of(&s->tree, l[i].name)) ==
		    AIF_FOLD_SHOW)
			s->shown[(*n)++] = l[i].name;
	return 0;
}

/* Adds what is shown of the frames from `stack` outwards until `end`, outermost first. */
static int frames_show(struct aif_stack_names *s, uint32_t stack, uint32_t end,
		       struct aif_frame_fold *fold, size_t *n)
{
	const struct aif_stack *stacks = s->p->stacks;
	size_t depth = 0;

	for (; stack != end && stack != AIF_NONE; stack = stacks[stack].parent) {
		if (aif_grow(&s->path, &s->path_cap, depth + 1, sizeof(*s->path)) < 0)
			return -ENOMEM;
		s->path[depth++] = stack;
	}
	while (depth--) {
		uint32_t frame = stacks[s->path[depth]].frame;

		if (frame != AIF_NONE && frame_show(s, frame, fold, n) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The forward, the node, what is inside of it. */
static int part_show(struct aif_stack_names *s, const struct aif_backward_part *part,
		     struct aif_frame_fold *fold, size_t *n)
{
	struct aif_frame_label node;

	if (frames_show(s, part->forward, AIF_NONE, fold, n) < 0 ||
	    aif_grow(&s->shown, &s->shown_cap, *n + 1, sizeof(*s->shown)) < 0 ||
	    aif_frame_labels_backward(s->labels, s->backward, part, &node) < 0)
		return -ENOMEM;
	aif_frame_fold(fold, &node, AIF_TREE_SYNTHETIC);
	s->shown[(*n)++] = node.name;
	return frames_show(s, part->stack, part->inside, fold, n);
}

/* Shows one function, as the picture does, of a stack of which folding leaves nothing. */
static int kept_show(struct aif_stack_names *s, uint32_t stack, size_t *n)
{
	struct aif_frame_label kept;
	int r = aif_frame_labels_kept(s->labels, stack, &kept);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (aif_grow(&s->shown, &s->shown_cap, 1, sizeof(*s->shown)) < 0)
		return -ENOMEM;
	s->shown[0] = kept.name;
	*n = 1;
	return 0;
}

int aif_stack_names_line(struct aif_stack_names *s, uint32_t stack, struct aif_buf *ret)
{
	const struct aif_backward_part *part = part_of(s, stack);
	struct aif_frame_fold fold = AIF_FRAME_FOLD_ROOT;
	const char *mark = stack == AIF_NONE ? AIF_STACK_UNKNOWN
			   : part            ? NULL
				  : aif_stack_mark(aif_frame_labels_flavour(s->labels, stack));
	size_t n = 0, len;
	int r = part ? part_show(s, part, &fold, &n) : frames_show(s, stack, AIF_NONE, &fold, &n);

	if (r == 0 && !n && !mark && !part)
		r = kept_show(s, stack, &n);
	if (r < 0)
		return r;
	for (size_t i = n; i-- > 0;) {
		const char *text = aif_tree_text(&s->tree, s->shown[i], &len);

		aif_buf_append(ret, text, len);
		aif_buf_puts(ret, i || mark ? AIF_STACK_CALLED_BY : "");
	}
	aif_buf_puts(ret, mark ? mark : "");
	return aif_buf_failed(ret) ? -ENOMEM : 0;
}

/* ---- callers --------------------------------------------------------------------------------- */

/* Ranks frames as callers: the highest rank wins, of equal ones the innermost. */
enum answer {
	NO_ANSWER,
	PLACE,
	HIDDEN_NAME,
	NAME,
	NATIVE,
	PYTHON_LIBRARY,
	PYTHON_PACKAGE,
	PYTHON_WRAPPER,
	PYTHON
};

static enum answer python_answer(const struct aif_stack_names *s, const char *function,
				 const char *file)
{
	if (!aif_caller_is_python(file))
		return PYTHON_LIBRARY;
	if (!aif_device_packages_has(&s->packages, file))
		return PYTHON_PACKAGE;
	return aif_caller_is_wrapper(function) ? PYTHON_WRAPPER : PYTHON;
}

static bool is_runtime_module(const struct aif_profile *p, uint32_t module)
{
	static const char *const patterns[] = {
#define AIF_CALLER_NOT_MODULE(pattern) pattern,
#include "names/caller_rules.def"
	};
	const char *path =
		module < p->modules_len ? aif_profile_str(p, p->modules[module].path) : "";
	const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	return aif_glob_any(patterns, AIF_ARRAY_LEN(patterns), file, strlen(file));
}

/* Returns true if the function at an inline depth of a frame is known to be of headers of a compiler's or a language's. */
static bool is_of_headers(const struct aif_profile *p, uint32_t frame, uint32_t depth)
{
	const struct aif_frame_name *n = aif_cpu_frame_name(p, frame, depth);

	return n && n->file != AIF_NONE && *aif_profile_str(p, n->file) &&
	       !aif_caller_is_own_source(aif_profile_str(p, n->file));
}

static enum answer answer_of(const struct aif_stack_names *s, uint32_t frame, uint32_t depth,
			     const struct aif_frame_label *l)
{
	unsigned type = aif_tree_base_type(aif_tree_type_of(&s->tree, l->name));
	const struct aif_frame_name *name;
	const char *text;
	size_t len;

	switch (type) {
	case AIF_TREE_PYTHON:
		name = aif_profile_frame_name(s->p, frame);
		if (l->action == AIF_FOLD_HIDE || l->action == AIF_FOLD_GENERATED)
			return PYTHON_LIBRARY;
		return name ? python_answer(s, aif_profile_str(s->p, name->name),
					    aif_profile_str(s->p, name->file))
			    : PYTHON_LIBRARY;
	case AIF_TREE_C:
	case AIF_TREE_CXX:
		text = aif_tree_text(&s->tree, l->name, &len);
		if (text[0] == '[')
			return PLACE;
		if (l->action != AIF_FOLD_SHOW && l->action != AIF_FOLD_RENAME)
			return HIDDEN_NAME;
		return is_runtime_module(s->p, l->module) || aif_caller_is_library(text) ||
				       is_of_headers(s->p, frame, depth)
			       ? NAME
			       : NATIVE;
	default:
		return NO_ANSWER;
	}
}

/* Names a lambda by the function that it stands in: "step.<locals>.<lambda>:11 (train.py)" is "step (train.py)". 0 or -ENOMEM. */
static int lambda_name(struct aif_stack_names *s, uint32_t *name)
{
	static const char lambda[] = ".<locals>.<lambda>";
	size_t len;
	const char *text = aif_tree_text(&s->tree, *name, &len), *at = strstr(text, lambda), *rest;

	for (rest = at; rest && !strncmp(rest, lambda, strlen(lambda));)
		rest += strlen(lambda);
	if (!rest || at == text)
		return 0;
	rest += *rest == ':' ? 1 + strspn(rest + 1, "0123456789") : 0;
	if (*rest != ' ')
		return 0;
	aif_buf_clear(&s->text);
	aif_buf_append(&s->text, text, (size_t)(at - text));
	aif_buf_puts(&s->text, rest);
	*name = aif_buf_failed(&s->text) ? AIF_STR_NONE
					 : aif_tree_name(&s->tree, AIF_TREE_PYTHON,
							 (const char *)s->text.data, s->text.len);
	return *name == AIF_STR_NONE ? -ENOMEM : 0;
}

static int caller_find(struct aif_stack_names *s, uint32_t stack, uint32_t *ret_name)
{
	enum answer best = NO_ANSWER;
	size_t len;

	*ret_name = AIF_STR_NONE;
	if (!s->packages.is_ready && aif_device_packages_find(s->p, &s->packages) < 0)
		return -ENOMEM;
	for (; stack != AIF_NONE && best < PYTHON; stack = s->p->stacks[stack].parent) {
		uint32_t frame = s->p->stacks[stack].frame;
		const struct aif_frame_label *l;

		if (frame == AIF_NONE)
			continue;
		l = aif_frame_labels_get(s->labels, frame, &len);
		if (!l)
			return -ENOMEM;
		for (size_t i = len; i-- > 0;) {
			enum answer answer = answer_of(s, frame, (uint32_t)i, &l[i]);

			if (answer <= best)
				continue;
			best = answer;
			*ret_name = l[i].name;
		}
	}
	return best == PYTHON ? lambda_name(s, ret_name) : 0;
}

/* Imported traces have the mark of a node in its launches' stacks. The node's name, NULL: it is no
 * such frame. */
static const char *marked_node(const struct aif_profile *p, uint32_t frame)
{
	static const char mark[] = AIF_BACKWARD_MARK " ";
	const char *text;

	if (frame == AIF_NONE || p->frames[frame].kind != AIF_FRAME_MARK ||
	    p->frames[frame].address >= p->strings.len)
		return NULL;
	text = aif_profile_str(p, (uint32_t)p->frames[frame].address);
	return strncmp(text, mark, strlen(mark)) ? NULL : text + strlen(mark);
}

/* Finds the forward's caller for the launches of a backward's node: "step (train.py)
 * [backward]". */
static int marked_caller_find(struct aif_stack_names *s, uint32_t stack, uint32_t *ret_name)
{
	const struct aif_stack *stacks = s->p->stacks;
	uint32_t node = stack;
	const char *text;
	size_t len;

	while (node != AIF_NONE && !marked_node(s->p, stacks[node].frame))
		node = stacks[node].parent;
	if (node == AIF_NONE)
		return caller_find(s, stack, ret_name);
	if (caller_find(s, stacks[node].parent, ret_name) < 0)
		return -ENOMEM;
	text = *ret_name == AIF_STR_NONE ? "" : aif_tree_text(&s->tree, *ret_name, &len);
	aif_buf_clear(&s->text);
	aif_buf_printf(&s->text, "%s%s" AIF_BACKWARD_MARK, text, *text ? " " : "");
	*ret_name = aif_buf_failed(&s->text)
			    ? AIF_STR_NONE
			    : aif_tree_name(&s->tree, AIF_TREE_SYNTHETIC,
					    (const char *)s->text.data, s->text.len);
	return *ret_name == AIF_STR_NONE ? -ENOMEM : 0;
}

static const char *stack_caller(struct aif_stack_names *s, uint32_t stack)
{
	uint64_t known;
	uint32_t name;
	size_t len;

	if (aif_map_get(&s->callers, stack, &known))
		name = (uint32_t)known;
	else if (marked_caller_find(s, stack, &name) < 0 ||
		 aif_map_put(&s->callers, stack, name) < 0)
		return NULL;
	return name == AIF_STR_NONE ? "" : aif_tree_text(&s->tree, name, &len);
}

const char *aif_stack_names_caller(struct aif_stack_names *s, uint32_t stack)
{
	const struct aif_backward_part *part = part_of(s, stack);
	const char *caller;

	if (!part)
		return stack_caller(s, stack);
	aif_buf_clear(&s->text);
	if (part->forward == AIF_NONE) {
		aif_buf_printf(&s->text, "%s%s[backward]", node_of(s, part),
			       *node_of(s, part) ? " " : "");
	} else {
		caller = stack_caller(s, part->forward);
		if (!caller)
			return NULL;
		aif_buf_printf(&s->text, "%s [backward]", caller);
	}
	return aif_buf_failed(&s->text) ? NULL : aif_buf_str(&s->text);
}

const char *aif_stack_names_inlined(struct aif_stack_names *s, uint32_t stack, uint32_t number)
{
	uint32_t frame = s->p->stacks[stack].frame;
	const struct aif_frame_label *l;
	size_t len;

	if (frame == AIF_NONE)
		return "";
	l = aif_frame_labels_get(s->labels, frame, &len);
	if (!l)
		return NULL;
	return number < len ? aif_tree_text(&s->tree, l[number].name, &len) : "";
}

const char *aif_stack_names_operator(struct aif_stack_names *s, uint32_t stack)
{
	const struct aif_profile *p = s->p;
	const struct aif_backward_part *part = part_of(s, stack);
	const char *name;
	size_t len;

	if (part)
		stack = part->stack;
	for (; stack != AIF_NONE; stack = p->stacks[stack].parent) {
		const struct aif_frame_name *n =
			p->stacks[stack].frame == AIF_NONE
				? NULL
				: aif_profile_frame_name(p, p->stacks[stack].frame);

		name = marked_node(p, p->stacks[stack].frame);
		if (name) /* it has launched it itself */
			return name;

		if (n && p->frames[n->frame].kind == AIF_FRAME_OP)
			return aif_profile_str(p, n->name);
		if (!n || p->frames[n->frame].kind != AIF_FRAME_NATIVE ||
		    aif_torch_kind(aif_profile_str(p, n->name), &name, &len) != AIF_TORCH_CALL)
			continue;
		aif_buf_clear(&s->text);
		aif_buf_printf(&s->text, "aten::%.*s", (int)aif_torch_operator(name, len), name);
		return aif_buf_failed(&s->text) ? NULL : aif_buf_str(&s->text);
	}
	return "";
}
