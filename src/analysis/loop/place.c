/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of a program by numbers that are the same in each of its runs, whose frames and stacks have other ids and other
 * addresses: that of a stack is of all its frames, from the root on.
 */
#include "analysis/loop/internal.h"

#include "base/hash.h"

#include <errno.h>
#include <string.h>

static uint64_t hash_text(const char *text)
{
	return aif_hash_bytes(text, strlen(text));
}

/* Digits are those of counters: ProfilerStep#7. Kernels that are compiled anew have them, too. */
static uint64_t hash_without_digits(const char *text)
{
	uint64_t h = 0;

	for (const char *c = text; *c; c++)
		if (*c < '0' || *c > '9')
			h = aif_mix64(h + (uint8_t)*c + 1);
	return h;
}

static uint64_t hash_frame(const struct aif_profile *p, uint32_t frame)
{
	const struct aif_frame *f = &p->frames[frame];
	const struct aif_frame_name *n = aif_profile_frame_name(p, frame);
	const char *name = n ? aif_profile_str(p, n->name) : "";

	switch (f->kind) {
	case AIF_FRAME_RANGE:
		return f->address < p->strings.len
			       ? hash_without_digits(aif_profile_str(p, (uint32_t)f->address))
			       : 1;
	case AIF_FRAME_PYTHON:
		/* Functions are numbered as they are met. */
		return n ? aif_mix64(hash_text(name) +
				     aif_mix64(hash_text(aif_profile_str(p, n->file)) +
					       (uint32_t)f->address))
			 : f->address;
	case AIF_FRAME_NATIVE:
		/* Stacks are those of the first of the interpreter's frames (aif_loop_merge_stacks). */
		if (f->module < p->modules_len && strcmp(name, AIF_LOOP_INTERPRETER) != 0)
			return aif_mix64(hash_text(aif_profile_str(p, p->modules[f->module].path)) +
					 f->address);
		break;
	default:
		break;
	}
	return *name ? hash_text(name) : f->address;
}

uint64_t aif_loop_place_of_call(const struct aif_profile *p, uint64_t place, uint32_t frame)
{
	uint64_t h =
		frame == AIF_NONE ? 0 : aif_mix64(hash_frame(p, frame) + p->frames[frame].kind);

	return aif_mix64(place + h) | 1;
}

uint64_t aif_loop_place_of_kernel(const struct aif_profile *p, uint64_t place, uint32_t kernel)
{
	uint64_t h = kernel < p->kernels_len && p->kernels[kernel].name != AIF_NONE
			     ? hash_without_digits(aif_profile_str(p, p->kernels[kernel].name))
			     : kernel;

	return aif_mix64(place + aif_mix64(h + 2)) | 1;
}

int aif_loop_place_of_level(const struct aif_profile *p, const uint32_t *parent,
			    const struct aif_loop_level *level, uint64_t *ret)
{
	uint32_t *path = NULL;
	size_t n = 0, cap = 0;

	*ret = level->place;
	if (level->place)
		return 0;
	for (uint32_t at = level->begin; at != AIF_NONE; at = parent[at]) {
		if (aif_grow(&path, &cap, n + 1, sizeof(*path)) < 0) {
			free(path);
			return -ENOMEM;
		}
		path[n++] = p->stacks[at].frame;
	}
	while (n)
		*ret = aif_loop_place_of_call(p, *ret, path[--n]);
	if (level->kernel != AIF_NONE)
		*ret = aif_loop_place_of_kernel(p, *ret, level->kernel);
	free(path);
	return 0;
}
