/* SPDX-License-Identifier: Apache-2.0 */
#include "export/stack_names.h"

#include "export/glob.h"

#include <errno.h>
#include <string.h>

#define CALLED_BY " < "

struct aif_stack_names {
	const struct aif_profile *p;
	struct aif_tree tree; /* of names only */
	struct aif_frame_labels *labels;
	struct aif_map callers; /* stack -> name in the tree, AIF_STR_NONE = nothing is known */
	uint32_t *path;         /* stacks from the innermost to the root */
	size_t path_cap;
	uint32_t *shown; /* names in the tree, outermost first */
	size_t shown_cap;
};

int aif_stack_names_new(const struct aif_profile *p, enum aif_name_detail detail,
			struct aif_stack_names **ret)
{
	struct aif_frame_labels_opts o = {.detail = detail};
	struct aif_stack_names *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->p = p;
	if (aif_tree_init(&s->tree, false) < 0 ||
	    aif_frame_labels_new(p, &s->tree, &o, &s->labels) < 0) {
		aif_stack_names_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void aif_stack_names_free(struct aif_stack_names *s)
{
	if (!s)
		return;
	aif_frame_labels_free(s->labels);
	aif_tree_finish(&s->tree);
	aif_map_finish(&s->callers);
	free(s->path);
	free(s->shown);
	free(s);
}

/* ---- whole stacks ------------------------------------------------------------------------------- */

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

int aif_stack_names_line(struct aif_stack_names *s, uint32_t stack, struct aif_buf *ret)
{
	const struct aif_stack *stacks = s->p->stacks;
	struct aif_frame_fold fold = AIF_FRAME_FOLD_ROOT;
	const char *mark =
		stack == AIF_NONE ? AIF_STACK_UNKNOWN : aif_stack_mark(stacks[stack].flags);
	size_t depth = 0, n = 0, len;

	for (; stack != AIF_NONE; stack = stacks[stack].parent) {
		if (aif_grow(&s->path, &s->path_cap, depth + 1, sizeof(*s->path)) < 0)
			return -ENOMEM;
		s->path[depth++] = stack;
	}
	while (depth--) {
		uint32_t frame = stacks[s->path[depth]].frame;

		if (frame != AIF_NONE && frame_show(s, frame, &fold, &n) < 0)
			return -ENOMEM;
	}
	for (size_t i = n; i-- > 0;) {
		const char *text = aif_tree_text(&s->tree, s->shown[i], &len);

		aif_buf_append(ret, text, len);
		aif_buf_puts(ret, i || mark ? CALLED_BY : "");
	}
	aif_buf_puts(ret, mark ? mark : "");
	return aif_buf_failed(ret) ? -ENOMEM : 0;
}

/* ---- callers ------------------------------------------------------------------------------------ */

/* How good an answer a frame is; a better one wins, of equal ones the innermost. */
enum answer { NO_ANSWER, PLACE, HIDDEN_NAME, NAME, NATIVE, PYTHON_LIBRARY, PYTHON };

static enum answer python_answer(const char *file)
{
	enum { NO, YES };
	static const struct {
		int answer;
		const char *pattern;
	} rules[] = {
#define AIF_CALLER_PYTHON(answer, pattern) {answer, pattern},
#include "export/caller_rules.def"
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(rules); i++)
		if (aif_glob(rules[i].pattern, file, strlen(file), NULL))
			return rules[i].answer == YES ? PYTHON : PYTHON_LIBRARY;
	return PYTHON;
}

static bool is_runtime_module(const struct aif_profile *p, uint32_t module)
{
	static const char *const patterns[] = {
#define AIF_CALLER_NOT_MODULE(pattern) pattern,
#include "export/caller_rules.def"
	};
	const char *path =
		module < p->modules_len ? aif_profile_str(p, p->modules[module].path) : "";
	const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	for (size_t i = 0; i < AIF_ARRAY_LEN(patterns); i++)
		if (aif_glob(patterns[i], file, strlen(file), NULL))
			return true;
	return false;
}

static enum answer answer_of(const struct aif_stack_names *s, uint32_t frame,
			     const struct aif_frame_label *l)
{
	unsigned type = aif_tree_base_type(aif_tree_type_of(&s->tree, l->name));
	const struct aif_frame_name *name;
	size_t len;

	switch (type) {
	case AIF_TREE_PYTHON:
		name = aif_profile_frame_name(s->p, frame);
		if (l->action == AIF_FOLD_HIDE)
			return PYTHON_LIBRARY;
		return python_answer(name ? aif_profile_str(s->p, name->file) : "");
	case AIF_TREE_C:
	case AIF_TREE_CXX:
		if (aif_tree_text(&s->tree, l->name, &len)[0] == '[')
			return PLACE;
		if (l->action != AIF_FOLD_SHOW && l->action != AIF_FOLD_RENAME)
			return HIDDEN_NAME;
		return is_runtime_module(s->p, l->module) ? NAME : NATIVE;
	default:
		return NO_ANSWER;
	}
}

static int caller_find(struct aif_stack_names *s, uint32_t stack, uint32_t *ret_name)
{
	enum answer best = NO_ANSWER;
	size_t len;

	*ret_name = AIF_STR_NONE;
	for (; stack != AIF_NONE && best < PYTHON; stack = s->p->stacks[stack].parent) {
		uint32_t frame = s->p->stacks[stack].frame;
		const struct aif_frame_label *l;

		if (frame == AIF_NONE)
			continue;
		l = aif_frame_labels_get(s->labels, frame, &len);
		if (!l)
			return -ENOMEM;
		for (size_t i = len; i-- > 0;) {
			enum answer answer = answer_of(s, frame, &l[i]);

			if (answer <= best)
				continue;
			best = answer;
			*ret_name = l[i].name;
		}
	}
	return 0;
}

const char *aif_stack_names_caller(struct aif_stack_names *s, uint32_t stack)
{
	uint64_t known;
	uint32_t name;
	size_t len;

	if (aif_map_get(&s->callers, stack, &known))
		name = (uint32_t)known;
	else if (caller_find(s, stack, &name) < 0 || aif_map_put(&s->callers, stack, name) < 0)
		return NULL;
	return name == AIF_STR_NONE ? "" : aif_tree_text(&s->tree, name, &len);
}
