/* SPDX-License-Identifier: Apache-2.0 */
#include "names/frame_labels.h"

#include <stdlib.h>

/* Walks of stacks from their root: which frames a view shows. */

uint8_t *aif_stacks_with_python(const struct aif_profile *p)
{
	uint8_t *ret = malloc(p->stacks_len + 1);

	for (size_t i = 0; ret && i < p->stacks_len; i++) {
		const struct aif_stack *s = &p->stacks[i]; /* callers come before */

		ret[i] = (s->parent < i && ret[s->parent]) ||
			 (s->frame != AIF_NONE && p->frames[s->frame].kind == AIF_FRAME_PYTHON);
	}
	return ret;
}

enum aif_fold_action aif_frame_fold(struct aif_frame_fold *f, const struct aif_frame_label *l,
				    unsigned type)
{
	const enum aif_fold_action action = f->is_bare ? l->bare_action : l->action;

	type = aif_tree_base_type(type);
	if (action == AIF_FOLD_START && !f->is_started)
		return AIF_FOLD_START;
	/* Words of ours and ranges are not what the process began with. */
	f->is_started |= type != AIF_TREE_SYNTHETIC && type != AIF_TREE_RANGE;
	if (action == AIF_FOLD_GENERATED && f->file && f->file != l->file)
		return AIF_FOLD_HIDE;
	if (l->file)
		f->file = l->file;
	if (action == AIF_FOLD_HIDE || (action == AIF_FOLD_INSIDE && f->type == type) ||
	    (action == AIF_FOLD_INSIDE_MODULE && f->module == l->module))
		return AIF_FOLD_HIDE;
	f->type = type;
	f->module = l->module;
	return AIF_FOLD_SHOW;
}
