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
	aif_range_index_finish(&l->index);
	*l = (struct aif_range_labels){0};
}

uint32_t aif_range_label(struct aif_range_labels *l, uint32_t name, uint32_t payload)
{
	uint64_t key = (uint64_t)name << 32 | payload, known;
	struct aif_buf text = {0};
	uint32_t label;

	if (aif_map_get(&l->known, key, &known))
		return (uint32_t)known;
	if (name != AIF_NONE)
		aif_xla_label(aif_profile_str(l->p, name),
			      payload == AIF_NONE ? "" : aif_profile_str(l->p, payload), &text);
	label = aif_buf_failed(&text) ? AIF_STR_NONE
				      : aif_strset_put(&l->texts, text.data, text.len);
	aif_buf_finish(&text);
	return label == AIF_STR_NONE || aif_map_put(&l->known, key, label) < 0 ? AIF_STR_NONE
									       : label;
}

const char *aif_range_label_text(const struct aif_range_labels *l, uint32_t label)
{
	return aif_strset_get(&l->texts, label, NULL);
}

uint32_t aif_range_label_of_exec(struct aif_range_labels *l, const struct aif_timeline_exec *x)
{
	uint32_t name, payload;

	return aif_range_index_command(&l->index, x->process, x->graph, x->node, &name, &payload)
		       ? aif_range_label(l, name, payload)
		       : AIF_STR_NONE;
}
