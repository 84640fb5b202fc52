/* SPDX-License-Identifier: Apache-2.0 */
#include "report/range_labels.h"

#include <errno.h>

int aif_range_labels_make(const struct aif_profile *p, struct aif_range_labels *ret)
{
	*ret = (struct aif_range_labels){.p = p};
	return aif_range_index_make(p, NULL, NULL, &ret->index);
}

void aif_range_labels_finish(struct aif_range_labels *l)
{
	aif_strset_finish(&l->texts);
	aif_map_finish(&l->known);
	aif_map_finish(&l->folded);
	aif_range_index_finish(&l->index);
	*l = (struct aif_range_labels){0};
}

static uint32_t folded(const struct aif_range_labels *l, uint64_t label)
{
	uint64_t to;

	return (uint32_t)(aif_map_get(&l->folded, label, &to) ? to : label);
}

int aif_range_labels_fold(struct aif_range_labels *l)
{
	size_t n = l->texts.len;
	uint32_t *to = malloc((n + 1) * sizeof(*to));
	uint32_t *variants =
		calloc(2 * n + 1, sizeof(*variants)); /* by label: folded ones are new */
	struct aif_buf text = {0};
	int r = to && variants ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !r; i++) {
		aif_buf_clear(&text);
		aif_range_without_numbers(aif_strset_get(&l->texts, (uint32_t)i, NULL), &text);
		to[i] = aif_buf_failed(&text) ? AIF_STR_NONE
					      : aif_strset_put(&l->texts, text.data, text.len);
		if (to[i] == AIF_STR_NONE)
			r = -ENOMEM;
		else
			variants[to[i]]++;
	}
	for (size_t i = 0; i < n && !r; i++)
		if (variants[to[i]] > AIF_RANGE_VARIANTS)
			r = aif_map_put(&l->folded, i, to[i]);
	free(to);
	free(variants);
	aif_buf_finish(&text);
	return r;
}

uint32_t aif_range_label(struct aif_range_labels *l, uint32_t name, uint32_t payload)
{
	uint64_t key = (uint64_t)name << 32 | payload, known;
	struct aif_buf text = {0};
	uint32_t label;

	if (aif_map_get(&l->known, key, &known))
		return folded(l, known);
	if (name != AIF_NONE)
		aif_xla_label(aif_profile_str(l->p, name),
			      payload == AIF_NONE ? "" : aif_profile_str(l->p, payload), &text);
	label = aif_buf_failed(&text) ? AIF_STR_NONE
				      : aif_strset_put(&l->texts, text.data, text.len);
	aif_buf_finish(&text);
	return label == AIF_STR_NONE || aif_map_put(&l->known, key, label) < 0 ? AIF_STR_NONE
									       : folded(l, label);
}

const char *aif_range_label_text(const struct aif_range_labels *l, uint32_t label)
{
	return aif_strset_get(&l->texts, label, NULL);
}

uint32_t aif_range_label_of_exec(struct aif_range_labels *l, const struct aif_exec_timeline *t,
				 const struct aif_timeline_exec *x)
{
	const struct aif_timeline_more *more = aif_timeline_more_of(t, x);
	uint32_t name, payload;

	return more->graph && aif_range_index_command(&l->index,
						      aif_timeline_work_of(t, x)->process,
						      more->graph, more->node, &name, &payload)
		       ? aif_range_label(l, name, payload)
		       : AIF_STR_NONE;
}
