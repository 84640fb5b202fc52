/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of which those are one that differ only by the numbers of ranges (ProfilerStep#7, batch 12), or by frames of Python's
 * interpreter, whose ways from one function to another differ from call to call: Python's own frames say what it does.
 */
#include "analysis/loop/internal.h"

#include "base/map.h"

#include <errno.h>
#include <string.h>

/* Puts a name without its digits into the set. AIF_STR_NONE: no memory. */
static uint32_t plain_name(struct aif_strset *names, struct aif_buf *b, const char *name)
{
	aif_buf_clear(b);
	for (const char *c = name; *c; c++)
		if (*c < '0' || *c > '9')
			aif_buf_putc(b, *c);
	return aif_buf_failed(b) ? AIF_STR_NONE : aif_strset_put(names, b->data, b->len);
}

/* Sets, by module, whether it is Python's interpreter. */
static void find_interpreters(const struct aif_profile *p, bool *ret)
{
	for (size_t i = 0; i < p->modules_len; i++) {
		const char *path = aif_profile_str(p, p->modules[i].path);
		const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;

		ret[i] = !strncmp(file, "python3", 7) || !strncmp(file, "libpython3", 10);
	}
	/* Programs that have one built in. */
	for (size_t i = 0; i < p->frame_names_len; i++) {
		const struct aif_frame_name *n = &p->frame_names[i];

		if (n->frame < p->frames_len && p->frames[n->frame].module < p->modules_len &&
		    !strcmp(aif_profile_str(p, n->name), AIF_LOOP_INTERPRETER))
			ret[p->frames[n->frame].module] = true;
	}
}

/* Sets *ret, by frame: the first range of its plain name, or the frame itself. */
static int merge_frames(const struct aif_profile *p, uint32_t *ret)
{
	struct aif_strset names = {0};
	struct aif_buf b = {0};
	struct aif_map first = {0};
	int r = 0;

	for (size_t i = 0; i < p->frames_len && !r; i++) {
		uint64_t frame = i;
		uint32_t name;

		ret[i] = (uint32_t)i;
		if (p->frames[i].kind != AIF_FRAME_RANGE || p->frames[i].address >= p->strings.len)
			continue;
		name = plain_name(&names, &b, aif_profile_str(p, (uint32_t)p->frames[i].address));
		if (name == AIF_STR_NONE)
			r = -ENOMEM;
		else if (!aif_map_get(&first, name, &frame))
			r = aif_map_put(&first, name, i);
		ret[i] = (uint32_t)frame;
	}
	aif_strset_finish(&names);
	aif_buf_finish(&b);
	aif_map_finish(&first);
	return r;
}

int aif_loop_merge_stacks(const struct aif_profile *p, uint32_t *ret_same, uint32_t *ret_parent)
{
	uint32_t *frames = malloc((p->frames_len + 1) * sizeof(*frames));
	bool *interpreters = calloc(p->modules_len + 1, sizeof(*interpreters));
	struct aif_map first = {0};
	int r = frames && interpreters ? merge_frames(p, frames) : -ENOMEM;

	if (r == 0)
		find_interpreters(p, interpreters);

	for (size_t i = 0; i < p->stacks_len && !r; i++) {
		const struct aif_stack *s = &p->stacks[i];
		uint32_t frame = s->frame == AIF_NONE ? AIF_NONE : frames[s->frame];
		uint64_t key, same = i;

		ret_parent[i] = s->parent == AIF_NONE ? AIF_NONE : ret_same[s->parent];
		if (ret_parent[i] != AIF_NONE && frame != AIF_NONE &&
		    p->frames[frame].kind == AIF_FRAME_NATIVE &&
		    p->frames[frame].module < p->modules_len &&
		    interpreters[p->frames[frame].module]) {
			ret_same[i] = ret_parent[i];
			continue;
		}
		key = (uint64_t)ret_parent[i] << 32 | frame;
		if (!aif_map_get(&first, key, &same))
			r = aif_map_put(&first, key, i);
		ret_same[i] = (uint32_t)same;
	}
	aif_map_finish(&first);
	free(frames);
	free(interpreters);
	return r;
}
