/* SPDX-License-Identifier: Apache-2.0 */
#include "names/device_packages.h"

#include "base/hash.h"
#include "base/memory.h"
#include "names/frame_type.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns the length of "/usr/lib/python3/dist-packages/PIL" at the beginning of a path; 0: it is of no package. */
static size_t package_of(const char *file)
{
	static const char *const packages[] = {"/site-packages/", "/dist-packages/"};
	const char *found = NULL, *at;

	for (size_t i = 0; i < AIF_ARRAY_LEN(packages); i++)
		for (at = file; (at = strstr(at, packages[i])) != NULL;) {
			at += strlen(packages[i]);
			found = found && found > at ? found : at;
		}
	return found ? (size_t)(found - file) + strcspn(found, "/") : 0;
}

static uint64_t key_of(const char *file, size_t len)
{
	return aif_mix64(aif_hash_bytes(file, len));
}

/* Names of runtimes' functions are shorter. */
#define NAME_MAX_LEN 256

static bool is_api(const struct aif_profile *p, uint32_t frame)
{
	const struct aif_frame *f = &p->frames[frame];
	const struct aif_frame_name *name;
	const char *text, *path;

	if (f->kind == AIF_FRAME_CALL) /* of a trace: of a runtime's function */
		return true;
	if (f->kind != AIF_FRAME_NATIVE)
		return false;
	name = aif_profile_frame_name(p, frame);
	text = name ? aif_profile_str(p, name->name) : "";
	path = f->module < p->modules_len ? aif_profile_str(p, p->modules[f->module].path) : "";
	return aif_frame_type_native(text, strnlen(text, NAME_MAX_LEN), path) == AIF_TREE_API;
}

/* Marks each stack that a runtime was called in, at its innermost frame or further in. */
static void mark_stacks(const struct aif_profile *p, const bool *api, bool *ret)
{
	for (size_t i = p->stacks_len; i-- > 0;) {
		const struct aif_stack *s = &p->stacks[i];

		if (s->frame != AIF_NONE && api[s->frame])
			ret[i] = true;
		if (ret[i] && s->parent != AIF_NONE)
			ret[s->parent] = true;
	}
}

static int add_package(struct aif_device_packages *d, const struct aif_profile *p, uint32_t frame)
{
	const struct aif_frame_name *name;
	const char *file;
	size_t len;

	if (frame == AIF_NONE || p->frames[frame].kind != AIF_FRAME_PYTHON)
		return 0;
	name = aif_profile_frame_name(p, frame);
	file = name ? aif_profile_str(p, name->file) : "";
	len = package_of(file);
	return len ? aif_map_put(&d->found, key_of(file, len), 1) : 0;
}

int aif_device_packages_find(const struct aif_profile *p, struct aif_device_packages *ret)
{
	bool *api = aif_memory_calloc(p->frames_len + 1, sizeof(*api));
	bool *below = aif_memory_calloc(p->stacks_len + 1, sizeof(*below));
	bool *seen = aif_memory_calloc(p->frames_len + 1, sizeof(*seen));
	int r = api && below && seen ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < p->stacks_len; i++) {
		uint32_t frame = p->stacks[i].frame;

		if (frame == AIF_NONE || seen[frame])
			continue;
		seen[frame] = true;
		api[frame] = is_api(p, frame);
	}
	if (r == 0)
		mark_stacks(p, api, below);
	for (size_t i = 0; r == 0 && i < p->stacks_len; i++)
		if (below[i])
			r = add_package(ret, p, p->stacks[i].frame);
	ret->is_ready = r == 0;
	free(seen);
	free(api);
	free(below);
	return r;
}

void aif_device_packages_finish(struct aif_device_packages *d)
{
	aif_map_finish(&d->found);
	*d = (struct aif_device_packages){.is_ready = false};
}

bool aif_device_packages_has(const struct aif_device_packages *d, const char *file)
{
	size_t len = package_of(file);
	uint64_t is;

	return !len || !d->found.len || aif_map_get(&d->found, key_of(file, len), &is);
}
