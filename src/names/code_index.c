/* SPDX-License-Identifier: Apache-2.0 */
#include "names/code_index.h"

#include <errno.h>

static int compare(const void *pa, const void *pb, void *arg)
{
	const struct aif_profile *p = arg;
	const struct aif_code *a = &p->codes[*(const uint32_t *)pa],
			      *b = &p->codes[*(const uint32_t *)pb];

	return AIF_ORDER(a->module, b->module) ?: AIF_ORDER(a->address, b->address);
}

int aif_code_index_init(struct aif_code_index *c, const struct aif_profile *p)
{
	uint32_t *sorted = malloc((p->codes_len + 1) * sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->codes_len; i++)
		sorted[i] = i;
	qsort_r(sorted, p->codes_len, sizeof(*sorted), compare, (void *)(uintptr_t)p);
	*c = (struct aif_code_index){.p = p, .sorted = sorted};
	return 0;
}

void aif_code_index_finish(struct aif_code_index *c)
{
	free(c->sorted);
	*c = (struct aif_code_index){0};
}

const struct aif_code *aif_code_index_find(const struct aif_code_index *c, uint32_t module,
					   uint64_t address)
{
	const struct aif_profile *p = c->p;
	size_t low = AIF_BISECT(mid, 0, p->codes_len,
				p->codes[c->sorted[mid]].module < module ||
					(p->codes[c->sorted[mid]].module == module &&
					 p->codes[c->sorted[mid]].address <= address));

	if (low) {
		const struct aif_code *code = &p->codes[c->sorted[low - 1]];

		if (code->module == module && address - code->address < code->size)
			return code;
	}
	return NULL;
}

const char *aif_code_index_name(const struct aif_code_index *c, uint32_t frame)
{
	const struct aif_profile *p = c->p;
	const struct aif_frame *f = &p->frames[frame];
	const struct aif_frame_name *n = aif_profile_frame_name(p, frame);
	uint32_t kernel;

	if (f->address == AIF_ADDRESS_UNKNOWN || !n ||
	    (n > p->frame_names && n[-1].frame == frame) || f->module >= p->modules_len ||
	    p->modules[f->module].kind != AIF_MODULE_DEVICE ||
	    aif_code_index_find(c, f->module, f->address))
		return NULL;
	kernel = p->modules[f->module].kernel;
	if (kernel >= p->kernels_len || n->name == p->kernels[kernel].name)
		return NULL;
	return aif_profile_str(p, n->name);
}
