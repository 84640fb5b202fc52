/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/device_object.h"

#include "symbolize/cubin_lines.h"
#include "symbolize/device_cut.h"
#include "symbolize/spirv.h"
#include "symbolize/zebin_lines.h"

#include <errno.h>

struct aif_device_object {
	uint8_t *bytes;
	size_t n;
	bool is_zebin;
	struct aif_cubin cubin;
	struct aif_zebin zebin;
	/* of that, NULL if it has none */
	struct aif_cubin_lines *cubin_lines;
	struct aif_zebin_lines *zebin_lines;
};

static int read_object(struct aif_device_object *o)
{
	int r;

	o->is_zebin = aif_device_elf_is(AIF_ZEBIN_MACHINE, o->bytes, o->n);
	if (aif_zebin_is_patchtokens(o->bytes, o->n))
		return -ENOTSUP;
	r = o->is_zebin ? aif_zebin_init(&o->zebin, o->bytes, o->n)
			: aif_cubin_init(&o->cubin, o->bytes, o->n);
	if (r < 0)
		return r;
	r = o->is_zebin ? aif_zebin_lines_new(&o->zebin, o->bytes, o->n, &o->zebin_lines)
			: aif_cubin_lines_new(&o->cubin, &o->cubin_lines);
	return r == -ENODATA ? 0 : r;
}

int aif_device_object_new(uint8_t *bytes, size_t n, struct aif_device_object **ret)
{
	struct aif_device_object *o = calloc(1, sizeof(*o));
	int r;

	if (!o) {
		free(bytes);
		return -ENOMEM;
	}
	o->bytes = bytes;
	o->n = n;
	r = read_object(o);
	if (r < 0)
		aif_device_object_free(o);
	else
		*ret = o;
	return r;
}

void aif_device_object_free(struct aif_device_object *o)
{
	if (!o)
		return;
	aif_cubin_lines_free(o->cubin_lines);
	aif_zebin_lines_free(o->zebin_lines);
	aif_cubin_finish(&o->cubin);
	aif_zebin_finish(&o->zebin);
	free(o->bytes);
	free(o);
}

const struct aif_device_elf *aif_device_object_elf(const struct aif_device_object *o)
{
	return o->is_zebin ? &o->zebin.elf : &o->cubin.elf;
}

const char *aif_device_object_arch(const struct aif_device_object *o)
{
	return o->is_zebin ? o->zebin.arch : o->cubin.arch;
}

size_t aif_device_object_size(const struct aif_device_object *o)
{
	return o->zebin_lines ? 2 * o->n : o->n;
}

enum aif_device_lines aif_device_object_lines(const struct aif_device_object *o)
{
	const struct aif_device_section *s = o->zebin.spirv;

	if (o->cubin_lines || o->zebin_lines)
		return AIF_DEVICE_LINES_KNOWN;
	return s && aif_spirv_has_lines(s->bytes, s->size) ? AIF_DEVICE_LINES_DROPPED
							   : AIF_DEVICE_LINES_NONE;
}

const uint8_t *aif_device_object_spirv(const struct aif_device_object *o, size_t *ret_size)
{
	const struct aif_device_section *s = o->zebin.spirv;

	*ret_size = s ? s->size : 0;
	return s ? s->bytes : NULL;
}

bool aif_device_object_is_intel(const struct aif_device_object *o)
{
	return o->is_zebin;
}

uint64_t aif_device_object_offset(const struct aif_device_object *o,
				  const struct aif_device_function *f)
{
	size_t n;

	return (uint64_t)(aif_device_elf_code(aif_device_object_elf(o), f, &n) - o->bytes);
}

int aif_device_object_cut(const struct aif_device_object *o, uint8_t **ret, size_t *ret_size)
{
	*ret_size = o->n;
	return aif_device_cut(aif_device_object_elf(o), o->cubin_lines, o->bytes, o->n, ret);
}

bool aif_device_object_lines_next(const struct aif_device_object *o,
				  const struct aif_device_function *f, size_t *at,
				  struct aif_device_piece *ret)
{
	const struct aif_device_section *lines;
	uint64_t offset;

	if (!o->cubin_lines || !aif_cubin_lines_next(o->cubin_lines, f, at, &offset, &ret->size))
		return false;
	lines = aif_device_elf_section(&o->cubin.elf, ".debug_line");
	ret->bytes = lines->bytes + offset;
	ret->offset = (uint64_t)(ret->bytes - o->bytes);
	return true;
}

int aif_device_object_resolve(struct aif_device_object *o, uint32_t symbol, uint64_t pc,
			      struct aif_device_level *ret, unsigned max)
{
	struct aif_dwarf_level levels[AIF_DWARF_MAX_LEVELS];
	int n;

	if (o->cubin_lines)
		return aif_cubin_lines_resolve(o->cubin_lines, symbol, pc, ret, max);
	if (!o->zebin_lines)
		return 0;
	n = aif_zebin_lines_resolve(o->zebin_lines, symbol, pc, levels,
				    AIF_MIN(max, AIF_DWARF_MAX_LEVELS));
	for (int i = 0; i < n; i++)
		ret[i] = (struct aif_device_level){levels[i].name, levels[i].file, levels[i].line};
	return n;
}
