/* SPDX-License-Identifier: Apache-2.0 */
#include "report/work_sums.h"

#include "analysis/traits.h"
#include "names/filter.h"

#include <errno.h>

/* Packs a key of 64 bits and one of 32 into 64: the first one becomes a dense number. */
static int pack_keys(struct aif_map *dense, uint64_t first, uint32_t second, uint64_t *ret)
{
	uint64_t id;

	if (!aif_map_get(dense, first, &id)) {
		id = dense->len;
		if (aif_map_put(dense, first, id) < 0)
			return -ENOMEM;
	}
	*ret = id << 32 | second;
	return 0;
}

/* Adds to the width of the sum's stack, and keeps the widest stack. */
static int add_stack(struct aif_work_sums *w, uint64_t id, uint32_t stack, uint64_t width)
{
	struct aif_work_sum *s = &w->sums[id];
	uint64_t key = id << 32 | stack, sum = 0;

	aif_map_get(&w->by_stack, key, &sum);
	sum += width;
	if (sum > s->stack_width) {
		s->stack_width = sum;
		s->stack = stack;
	}
	return aif_map_put(&w->by_stack, key, sum);
}

struct aif_work_sum *aif_work_sums_find(struct aif_work_sums *w, uint32_t kind, uint32_t kernel,
					uint32_t process)
{
	struct aif_attribution_row row = {.kind = kind, .kernel = kernel, .process = process};
	uint64_t key, id;

	if (w->key(w, &row, &key) || !aif_map_get(&w->keys, key, &id) ||
	    !aif_map_get(&w->ids, id << 32 | (w->by_process ? process : 0), &id))
		return NULL;
	return &w->sums[id];
}

/* Finds the sum that the row belongs to, or begins one. */
static int sum_of(struct aif_work_sums *w, const struct aif_attribution_row *row, uint64_t *ret)
{
	uint64_t key;
	int e = w->key(w, row, &key);

	if (e)
		return e;
	if (pack_keys(&w->keys, key, w->by_process ? row->process : 0, &key) < 0)
		return -ENOMEM;
	if (aif_map_get(&w->ids, key, ret))
		return 0;
	*ret = w->len;
	if (aif_grow(&w->sums, &w->cap, w->len + 1, sizeof(*w->sums)) < 0 ||
	    aif_map_put(&w->ids, key, w->len) < 0)
		return -ENOMEM;
	w->sums[w->len++] = (struct aif_work_sum){.kind = row->kind,
						  .kernel = row->kernel,
						  .stack = row->stack,
						  .process = row->process};
	return 0;
}

/* Adds a row of the attribution, or a share of one. */
static int add_row(struct aif_work_sums *w, const struct aif_attribution_row *row)
{
	uint64_t id, width = w->is_untimed ? row->samples : row->wall_ns;
	struct aif_work_sum *s;
	int e = sum_of(w, row, &id);

	if (e)
		return e == -ENOENT ? 0 : e;
	s = &w->sums[id];
	s->width += width;
	s->wall += row->wall_ns;
	s->time += row->time_ns;
	s->launches += w->names->p->traits.is_lengths ? 0 : row->launches;
	s->samples += w->names->p->traits.samples_unknown ? 0 : row->samples;
	s->bytes += row->bytes;
	s->variance += (double)row->error_ns * (double)row->error_ns;
	return add_stack(w, id, row->stack, width);
}

int aif_work_sums_make(struct aif_work_sums *w)
{
	int e = 0;

	w->is_untimed = aif_is_untimed(w->names->p, w->a);
	for (size_t i = 0; i < w->a->rows_len && !e; i++) {
		const struct aif_attribution_row *row = &w->a->rows[i], *shares;
		size_t n;

		if (w->only && w->only->is_set &&
		    !aif_filter_kernel(w->only, w->names, row->kind, row->kernel))
			continue;
		shares = aif_stack_names_shares(w->stacks, row, &n);
		e = shares ? 0 : -ENOMEM;
		for (size_t j = 0; !e && j < n; j++)
			e = add_row(w, &shares[j]);
	}
	return e;
}

void aif_work_sums_finish(struct aif_work_sums *w)
{
	aif_map_finish(&w->ids);
	aif_map_finish(&w->keys);
	aif_map_finish(&w->by_stack);
	aif_strset_finish(&w->texts);
	aif_buf_finish(&w->text);
	free(w->sums);
}

static uint32_t work_of(const struct aif_work_sums *w, const struct aif_attribution_row *row)
{
	return row->kernel != AIF_NONE ? w->names->p->kernels[row->kernel].name : ~row->kind;
}

int aif_work_kernel_key(struct aif_work_sums *w, const struct aif_attribution_row *row,
			uint64_t *ret)
{
	*ret = work_of(w, row);
	return 0;
}

int aif_work_text_key(struct aif_work_sums *w, const char *text, size_t len, uint32_t work,
		      uint64_t *ret)
{
	uint32_t id = aif_strset_put(&w->texts, text, len);

	*ret = (uint64_t)id << 32 | work;
	return id == AIF_STR_NONE ? -ENOMEM : 0;
}

int aif_work_stack_key(struct aif_work_sums *w, const struct aif_attribution_row *row,
		       uint64_t *ret)
{
	uint64_t work;
	int e = aif_work_kernel_key(w, row, &work);

	aif_buf_clear(&w->text);
	if (!e)
		e = aif_stack_names_line(w->stacks, row->stack, &w->text);
	return e ? e
		 : aif_work_text_key(w, aif_buf_str(&w->text), w->text.len, (uint32_t)work, ret);
}
