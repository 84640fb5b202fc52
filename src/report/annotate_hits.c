/* SPDX-License-Identifier: Apache-2.0 */
#include "report/annotate_hits.h"

#include "names/kernel_names.h"

#include <errno.h>
#include <string.h>

/* While rows are read, numbers stand for order of appearance; order() gives them their places. */
struct gather {
	struct aif_hits *h;
	const struct aif_profile *p;
	struct aif_map by_name;  /* a kernel's name -> its number */
	struct aif_map by_place; /* kernel's number, code or module -> function */
	uint8_t *asked;          /* by kernel of the profile */
};

static int kernel_of(struct gather *g, uint32_t kernel, uint32_t *ret)
{
	struct aif_hits *h = g->h;
	uint64_t name = g->p->kernels[kernel].name, at;

	if (!aif_map_get(&g->by_name, name, &at)) {
		at = h->kernels_len;
		if (at >> 31 ||
		    aif_grow(&h->kernels, &h->kernels_cap, at + 1, sizeof(*h->kernels)) < 0 ||
		    aif_map_put(&g->by_name, name, at) < 0)
			return -ENOMEM;
		h->kernels[h->kernels_len++] = (struct aif_hit_kernel){.kernel = kernel};
	}
	*ret = (uint32_t)at;
	return 0;
}

const char *aif_hits_name(const struct aif_profile *p, const struct aif_hit_function *f)
{
	const struct aif_frame_name *n = aif_profile_frame_name(p, f->frame);
	uint32_t module = p->frames[f->frame].module;

	if (f->code && f->code->name != AIF_NONE)
		return aif_profile_str(p, f->code->name);
	if (f->is_imported)
		return aif_profile_str(p, p->kernels[p->modules[module].kernel].name);
	for (; n && n->inline_depth && n > p->frame_names && n[-1].frame == f->frame; n--)
		continue;
	if (n)
		return aif_profile_str(p, n->name);
	return module == AIF_NONE ? "?" : aif_profile_str(p, p->modules[module].path);
}

/* True if the function is the kernel itself. Names of code may be mangled; then the module may name
 * its kernel. */
static bool is_kernel_itself(const struct aif_profile *p, const struct aif_hit_function *f,
			     uint32_t kernel)
{
	uint32_t module = p->frames[f->frame].module;

	if (aif_kernel_is_itself(aif_hits_name(p, f), aif_profile_str(p, p->kernels[kernel].name)))
		return true;
	return module != AIF_NONE && p->modules[module].kind == AIF_MODULE_DEVICE &&
	       p->modules[module].kernel != AIF_NONE &&
	       p->kernels[p->modules[module].kernel].name == p->kernels[kernel].name;
}

/* True for frames as imports have them: "mad" at +0x278, or a name and no place. */
static bool is_imported(const struct gather *g, uint32_t frame)
{
	const struct aif_profile *p = g->p;
	const struct aif_frame *f = &p->frames[frame];

	if (f->address != AIF_ADDRESS_UNKNOWN)
		return aif_code_index_name(&g->h->codes, frame) != NULL;
	return f->module < p->modules_len && p->modules[f->module].kind == AIF_MODULE_DEVICE &&
	       p->modules[f->module].kernel < p->kernels_len;
}

static int function_of(struct gather *g, uint32_t kernel, uint32_t frame, uint32_t *ret)
{
	struct aif_hits *h = g->h;
	const struct aif_frame *f = &g->p->frames[frame];
	const struct aif_code *code = aif_code_index_find(&h->codes, f->module, f->address);
	/* 33 bits */
	uint64_t place = code ? (uint64_t)(code - g->p->codes) << 1 : (uint64_t)f->module << 1 | 1,
		 key = place << 31 | kernel, at;

	if (!aif_map_get(&g->by_place, key, &at)) {
		struct aif_hit_function *to;

		at = h->functions_len;
		if (aif_grow(&h->functions, &h->functions_cap, at + 1, sizeof(*to)) < 0 ||
		    aif_map_put(&g->by_place, key, at) < 0)
			return -ENOMEM;
		to = &h->functions[h->functions_len++];
		*to = (struct aif_hit_function){.kernel = kernel,
						.code = code,
						.frame = frame,
						.is_imported = !code && is_imported(g, frame)};
		to->is_kernel = is_kernel_itself(g->p, to, h->kernels[kernel].kernel);
	}
	*ret = (uint32_t)at;
	return 0;
}

static int row_add(struct gather *g, const struct aif_attribution_row *row)
{
	struct aif_hits *h = g->h;
	uint32_t kernel, function;
	const struct aif_frame *frame;

	if (kernel_of(g, row->kernel, &kernel) < 0)
		return -ENOMEM;
	h->kernels[kernel].wall_ns += row->wall_ns;
	h->kernels[kernel].launches += row->launches;
	if (row->frame == AIF_NONE || !row->samples)
		return 0;
	if (function_of(g, kernel, row->frame, &function) < 0 ||
	    aif_grow(&h->hits, &h->hits_cap, h->hits_len + 1, sizeof(*h->hits)) < 0)
		return -ENOMEM;
	h->kernels[kernel].samples += row->samples;
	h->functions[function].samples += row->samples;
	frame = &g->p->frames[row->frame];
	h->hits[h->hits_len++] = (struct aif_hit){
		.kernel = kernel,
		.function = function,
		.frame = row->frame,
		.reason = row->reason,
		.offset = frame->address -
			  (h->functions[function].code ? h->functions[function].code->address : 0),
		.samples = row->samples,
	};
	return 0;
}

/* ---- order ----------------------------------------------------------------------------------- */

static int kernel_compare(const void *pa, const void *pb, void *arg)
{
	const struct aif_hits *h = arg;
	const uint32_t *a = pa, *b = pb;
	const struct aif_hit_kernel *x = &h->kernels[*a], *y = &h->kernels[*b];

	return AIF_ORDER(y->wall_ns, x->wall_ns) ?: AIF_ORDER(x->kernel, y->kernel);
}

static int function_compare(const void *pa, const void *pb, void *arg)
{
	const struct aif_hits *h = arg;
	const uint32_t *a = pa, *b = pb;
	const struct aif_hit_function *x = &h->functions[*a], *y = &h->functions[*b];

	return AIF_ORDER(x->kernel, y->kernel) ?: AIF_ORDER(y->is_kernel, x->is_kernel)
	       ?: AIF_ORDER(y->samples, x->samples) ?: AIF_ORDER(x->frame, y->frame);
}

static int hit_compare(const void *pa, const void *pb)
{
	const struct aif_hit *a = pa, *b = pb;

	return AIF_ORDER(a->function, b->function) ?: AIF_ORDER(a->offset, b->offset)
	       ?: AIF_ORDER(a->frame, b->frame) ?: AIF_ORDER(a->reason, b->reason);
}

/* Sorts n things by `compare`; ret_new[old number] = new number. */
static int reorder(struct aif_hits *h, void *things, size_t n, size_t size,
		   int (*compare)(const void *, const void *, void *), uint32_t **ret_new)
{
	uint32_t *old = malloc((n + 1) * sizeof(*old)), *new = malloc((n + 1) * sizeof(*new));
	uint8_t *copy = malloc(n * size + 1);

	if (!old || !new || !copy) {
		free(old);
		free(new);
		free(copy);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		old[i] = i;
	qsort_r(old, n, sizeof(*old), compare, h);
	if (n)
		memcpy(copy, things, n * size);
	for (uint32_t i = 0; i < n; i++) {
		memcpy((uint8_t *)things + i * size, copy + old[i] * size, size);
		new[old[i]] = i;
	}
	free(old);
	free(copy);
	*ret_new = new;
	return 0;
}

static int order(struct aif_hits *h)
{
	uint32_t *kernels = NULL, *functions = NULL;
	int r = reorder(h, h->kernels, h->kernels_len, sizeof(*h->kernels), kernel_compare,
			&kernels);

	for (size_t i = 0; r == 0 && i < h->functions_len; i++)
		h->functions[i].kernel = kernels[h->functions[i].kernel];
	if (r == 0)
		r = reorder(h, h->functions, h->functions_len, sizeof(*h->functions),
			    function_compare, &functions);
	for (size_t i = 0; r == 0 && i < h->hits_len; i++) {
		h->hits[i].kernel = kernels[h->hits[i].kernel];
		h->hits[i].function = functions[h->hits[i].function];
	}
	free(kernels);
	free(functions);
	if (r < 0)
		return r;
	if (h->hits_len)
		qsort(h->hits, h->hits_len, sizeof(*h->hits), hit_compare);
	for (size_t i = h->hits_len; i-- > 0;) {
		h->functions[h->hits[i].function].first = i;
		h->functions[h->hits[i].function].len++;
	}
	for (size_t i = h->functions_len; i-- > 0;) {
		h->kernels[h->functions[i].kernel].first = i;
		h->kernels[h->functions[i].kernel].len++;
	}
	return 0;
}

int aif_hits_init(struct aif_hits *h, const struct aif_names *names,
		  const struct aif_attribution *a, const struct aif_regex *kernel)
{
	const struct aif_profile *p = names->p;
	struct gather g = {.h = h, .p = p, .asked = malloc(p->kernels_len + 1)};
	int r;

	*h = (struct aif_hits){0};
	r = g.asked ? aif_code_index_init(&h->codes, p) : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < p->kernels_len; i++)
		g.asked[i] = aif_filter_kernel(kernel, names, AIF_LAUNCH_KERNEL, i);
	for (size_t i = 0; r == 0 && i < a->rows_len; i++) {
		const struct aif_attribution_row *row = &a->rows[i];

		if (row->kind == AIF_LAUNCH_KERNEL && row->kernel != AIF_NONE &&
		    g.asked[row->kernel])
			r = row_add(&g, row);
	}
	if (r == 0)
		r = order(h);
	aif_map_finish(&g.by_name);
	aif_map_finish(&g.by_place);
	free(g.asked);
	if (r < 0)
		aif_hits_finish(h);
	return r;
}

void aif_hits_finish(struct aif_hits *h)
{
	aif_code_index_finish(&h->codes);
	free(h->kernels);
	free(h->functions);
	free(h->hits);
	*h = (struct aif_hits){0};
}
