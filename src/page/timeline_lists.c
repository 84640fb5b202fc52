/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that the parts of a time line have in common. */
#include "page/timeline.h"

uint32_t aif_page_what(struct aif_page_timeline *t, const char *name, uint32_t group,
		       uint32_t graph, unsigned class)
{
	uint32_t text = aif_strset_puts(&t->strings, name ? name : "");
	uint64_t key = aif_mix64(aif_mix64((uint64_t)group << 32 | text) ^
				 ((uint64_t)graph << 8 | class)),
		 i;

	if (text == AIF_STR_NONE)
		return AIF_NONE;
	if (aif_map_get(&t->what_of, key, &i))
		return (uint32_t)i;
	i = t->what_len;
	if (aif_grow(&t->what, &t->what_cap, i + 1, sizeof(*t->what)) < 0 ||
	    aif_map_put(&t->what_of, key, i) < 0)
		return AIF_NONE;
	t->what[t->what_len++] = (struct aif_page_what){text, group, graph, (uint8_t) class};
	return (uint32_t)i;
}

static bool is_process_drawn(const struct aif_page_timeline *t, uint32_t process)
{
	return !t->is_drawn || process == AIF_NONE || t->is_drawn[process];
}

uint32_t aif_page_thread(struct aif_page_timeline *t, uint32_t thread)
{
	uint64_t i;

	if (thread == AIF_NONE || !is_process_drawn(t, t->names->p->threads[thread].process))
		return AIF_NONE;
	if (aif_map_get(&t->thread_of, thread, &i))
		return (uint32_t)i;
	i = t->threads_len;
	if (aif_grow(&t->threads, &t->threads_cap, i + 1, sizeof(*t->threads)) < 0 ||
	    aif_map_put(&t->thread_of, thread, i) < 0)
		return AIF_NONE;
	t->threads[t->threads_len++] = thread;
	return (uint32_t)i;
}

void aif_page_bars_say(struct aif_page_timeline *t, const char *prefix,
		       const struct aif_page_bars *b, size_t events)
{
	aif_buf_printf(t->json, ",\"%s\":{\"events\":%zu,\"bars\":%zu,\"joined\":%zu,\"ns\":%llu}",
		       prefix, events, b->bars, b->joined, (unsigned long long)b->joined_ns);
}
