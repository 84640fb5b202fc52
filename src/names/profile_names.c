/* SPDX-License-Identifier: Apache-2.0 */
#include "names/profile_names.h"

#include "base/demangle.h"
#include "base/name_sanitize.h"
#include "names/kernel_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEMANGLED_MAX 8192 /* bytes: more than can be shown of any */

/* Ways to call a kernel, each longer than the ones before: with more room, or marked. */
enum { WAY_MARKED = AIF_KERNEL_ROOMS, WAY_MARKED_LONG, WAYS };

static void name_one_way(const char *name, size_t n, unsigned way, struct aif_buf *ret)
{
	uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
	unsigned room = way < AIF_KERNEL_ROOMS ? way : 0;
	struct aif_buf plain = {0};

	/* torch.profiler's traces have some as the linker has them, and torch's own tables, too. */
	if (aif_is_mangled(name, n))
		aif_demangle_part(name, DEMANGLED_MAX, &plain);
	if (plain.len && !aif_buf_failed(&plain))
		aif_kernel_name((const char *)plain.data, plain.len, room, ret);
	else
		aif_kernel_name(name, n, room, ret);
	aif_buf_finish(&plain);
	if (way < WAY_MARKED)
		return;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (uint8_t)name[i]) * UINT64_C(1099511628211);
	if (way == WAY_MARKED)
		aif_buf_printf(ret, " ~%04x", (unsigned)(hash >> 48));
	else
		aif_buf_printf(ret, " ~%016" PRIx64, hash);
}

/* The string's number, AIF_STR_NONE when memory runs out. */
static uint32_t name_put(struct aif_strset *strings, const struct aif_buf *b)
{
	return b->failed ? AIF_STR_NONE : aif_strset_put(strings, b->data, b->len);
}

/* Tries one way with the kernels that have no short name yet; those that are alone with theirs keep
 * it. */
static int names_try(struct aif_names *names, unsigned way, struct aif_map *taken, bool *ret_again)
{
	const struct aif_profile *p = names->p;
	uint32_t *tried = calloc(p->kernels_len + 1, sizeof(*tried));
	struct aif_map by = {0}; /* short name -> full name, or AIF_NONE if there are several */
	struct aif_buf b = {0};
	int r = tried ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->kernels_len && !r; i++) {
		const struct aif_kernel *k = &p->kernels[i];
		uint64_t other;
		size_t n;
		const char *name = aif_strset_get(&p->strings, k->name, &n);

		if (names->kernels[i] != AIF_STR_NONE)
			continue;
		aif_buf_clear(&b);
		name_one_way(name, n, way, &b);
		tried[i] = name_put(&names->strings, &b);
		if (tried[i] == AIF_STR_NONE)
			r = -ENOMEM;
		else if (aif_map_get(taken, tried[i], &other) ||
			 (aif_map_get(&by, tried[i], &other) && other != k->name))
			r = aif_map_put(&by, tried[i], AIF_NONE);
		else
			r = aif_map_put(&by, tried[i], k->name);
	}
	for (size_t i = 0; i < p->kernels_len && !r; i++) {
		uint64_t name;

		if (names->kernels[i] != AIF_STR_NONE)
			continue;
		if (aif_map_get(&by, tried[i], &name) && name == AIF_NONE && way + 1 < WAYS) {
			*ret_again = true;
			continue;
		}
		names->kernels[i] = tried[i];
		r = aif_map_put(taken, tried[i], 1);
	}
	free(tried);
	aif_map_finish(&by);
	aif_buf_finish(&b);
	return r;
}

/* Takes over the short names that the file has. */
static int names_of_file(struct aif_names *n)
{
	const struct aif_profile *p = n->p;

	n->kernels = malloc((p->kernels_len + 1) * sizeof(*n->kernels));
	if (!n->kernels)
		return -ENOMEM;
	for (size_t i = 0; i < p->kernels_len; i++) {
		uint32_t id = p->kernels[i].short_name;

		n->kernels[i] = AIF_STR_NONE;
		if (id == AIF_NONE)
			continue;
		n->kernels[i] = aif_strset_puts(&n->strings, aif_profile_str(p, id));
		if (n->kernels[i] == AIF_STR_NONE)
			return -ENOMEM;
	}
	return 0;
}

int aif_names_make(struct aif_names *n, const struct aif_profile *p)
{
	struct aif_map taken = {0};
	bool again = true;
	int r;

	*n = (struct aif_names){.p = p};
	r = names_of_file(n);
	for (unsigned way = 0; again && way < WAYS && !r; way++) {
		again = false;
		r = names_try(n, way, &taken, &again);
	}
	aif_map_finish(&taken);
	return r;
}

void aif_names_finish(struct aif_names *n)
{
	aif_strset_finish(&n->strings);
	free(n->kernels);
	*n = (struct aif_names){0};
}

int aif_names_sanitize(struct aif_names *n)
{
	struct aif_buf clean = {0};
	int r = 0;

	for (uint32_t i = 0; i < n->strings.len && !r; i++) {
		size_t len;
		const char *name = aif_strset_get(&n->strings, i, &len);

		aif_buf_clear(&clean);
		aif_name_sanitize(name, len, &clean);
		if (aif_buf_failed(&clean))
			r = -ENOMEM;
		else if (clean.len != len || (len && memcmp(clean.data, name, len) != 0))
			r = aif_strset_set(&n->strings, i, clean.data, clean.len);
	}
	aif_buf_finish(&clean);
	return r;
}

const char *aif_names_short(const struct aif_names *n, uint32_t kernel)
{
	const struct aif_kernel *k = &n->p->kernels[kernel];

	if (n->kernels)
		return aif_strset_get(&n->strings, n->kernels[kernel], NULL);
	return k->short_name == AIF_NONE ? NULL : aif_profile_str(n->p, k->short_name);
}

const char *aif_names_work_full(const struct aif_names *n, uint32_t kind, uint32_t kernel)
{
	return kernel < n->p->kernels_len ? aif_profile_str(n->p, n->p->kernels[kernel].name)
					  : aif_transfer_name(kind);
}

const char *aif_names_work(const struct aif_names *n, uint32_t kind, uint32_t kernel)
{
	const char *name =
		kind == AIF_LAUNCH_KERNEL && kernel != AIF_NONE ? aif_names_short(n, kernel) : NULL;

	return name ? name : aif_names_work_full(n, kind, kernel);
}

void aif_names_put_graph(const struct aif_profile *p, uint32_t device, uint32_t graph,
			 struct aif_buf *out)
{
	aif_buf_printf(out, "[%s graph %" PRIu32 "]",
		       device == AIF_NONE ? "device"
					  : aif_profile_str(p, p->devices[device].runtime),
		       graph);
}

int aif_names_brief(const struct aif_names *names, struct aif_strset *strings, uint32_t **ret)
{
	const struct aif_profile *p = names->p;
	uint32_t *brief = malloc((p->kernels_len + 1) * sizeof(*brief));
	struct aif_map by = {0}; /* brief name -> full name, or AIF_NONE if there are several */
	struct aif_buf b = {0};
	int r = brief ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->kernels_len && !r; i++) {
		const struct aif_kernel *k = &p->kernels[i];
		uint64_t other;
		size_t n;
		const char *name = aif_strset_get(&p->strings, k->name, &n);

		aif_buf_clear(&b);
		aif_name_short(name, n, AIF_NAME_BRIEF, &b);
		brief[i] = name_put(strings, &b);
		if (brief[i] == AIF_STR_NONE)
			r = -ENOMEM;
		else if (aif_kernel_is_wrapper((const char *)b.data, b.len))
			r = aif_map_put(&by, brief[i], AIF_NONE);
		else if (!aif_map_get(&by, brief[i], &other) || other == k->name)
			r = aif_map_put(&by, brief[i], k->name);
		else
			r = aif_map_put(&by, brief[i], AIF_NONE);
	}
	for (size_t i = 0; i < p->kernels_len && !r; i++) {
		const struct aif_kernel *k = &p->kernels[i];
		uint64_t name = 0;
		size_t n;
		const char *full = aif_strset_get(&p->strings, k->name, &n), *name_short;

		if (aif_map_get(&by, brief[i], &name) && name != AIF_NONE)
			continue;
		aif_buf_clear(&b);
		name_short = aif_names_short(names, (uint32_t)i);
		if (name_short)
			aif_buf_puts(&b, name_short);
		else
			aif_kernel_name(full, n, AIF_KERNEL_ROOMS - 1, &b);
		brief[i] = name_put(strings, &b);
		r = brief[i] == AIF_STR_NONE ? -ENOMEM : 0;
	}
	aif_map_finish(&by);
	aif_buf_finish(&b);
	if (r < 0)
		free(brief);
	else
		*ret = brief;
	return r;
}
