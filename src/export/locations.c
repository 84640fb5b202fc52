/* SPDX-License-Identifier: Apache-2.0 */
#include "export/locations.h"

#include <errno.h>
#include <string.h>

/* The location that ends at a node, and the node of its caller's. */
struct aif_location_of {
	uint32_t location, caller;
	bool is_known;
};

int aif_locations_init(struct aif_locations *l, struct aif_host_stacks *stacks)
{
	*l = (struct aif_locations){.stacks = stacks};
	return aif_strset_puts(&l->strings, "") == 0 ? 0 : -ENOMEM;
}

void aif_locations_finish(struct aif_locations *l)
{
	aif_strset_finish(&l->strings);
	aif_strset_finish(&l->functions);
	aif_strset_finish(&l->locations);
	free(l->of);
	free(l->ids);
	aif_buf_finish(&l->key);
	*l = (struct aif_locations){0};
}

uint32_t aif_locations_string(struct aif_locations *l, const char *text)
{
	uint32_t id = aif_strset_puts(&l->strings, text);

	return id == AIF_STR_NONE ? 0 : id;
}

static uint32_t function_of(struct aif_locations *l, uint32_t node)
{
	struct aif_location_function f;
	size_t len;
	const char *text = aif_host_name(l->stacks, node, &len);

	f.name = aif_strset_put(&l->strings, text, len);
	text = aif_host_full(l->stacks, node, &len);
	f.system_name = aif_strset_put(&l->strings, text, len);
	f.file = aif_strset_puts(&l->strings, aif_host_file(l->stacks, node));
	if (f.name == AIF_STR_NONE || f.system_name == AIF_STR_NONE || f.file == AIF_STR_NONE)
		return AIF_STR_NONE;
	return aif_strset_put(&l->functions, &f, sizeof(f));
}

/* True for a note, which stands in no code: its module and address are numbers of the recorder's. */
static bool is_mark(const struct aif_host_stacks *h, uint32_t frame)
{
	return frame != AIF_NONE && h->p->frames[frame].kind == AIF_FRAME_MARK;
}

/* True if the node gets a line. A frame without names gets none: a viewer that has the module may find some. A node without
 * a name of its frame's is the operators of generated code, which stand on that frame. */
static bool has_line(const struct aif_host_stacks *h, uint32_t node)
{
	const struct aif_host_node *n = &h->nodes[node];

	return n->frame == AIF_NONE || n->row != AIF_NONE ||
	       h->names[n->frame] != h->names[n->frame + 1] ||
	       aif_host_type(h, node) == AIF_TREE_KERNEL || is_mark(h, n->frame) ||
	       h->p->frames[n->frame].module == AIF_NONE;
}

/* The nodes of one frame, from the innermost on, are one location. */
static int location_make(struct aif_locations *l, uint32_t node, struct aif_location_of *ret)
{
	const struct aif_host_stacks *h = l->stacks;
	uint32_t frame = h->nodes[node].frame, of = is_mark(h, frame) ? AIF_NONE : frame;

	aif_buf_clear(&l->key);
	aif_buf_append(&l->key, &of, sizeof(of));
	do {
		struct aif_location_line line = {.line = aif_host_line(h, node)};

		if (has_line(h, node)) {
			line.function = function_of(l, node);
			if (line.function == AIF_STR_NONE)
				return -ENOMEM;
			aif_buf_append(&l->key, &line, sizeof(line));
		}
		node = h->nodes[node].parent;
	} while (frame != AIF_NONE && node && h->nodes[node].frame == frame &&
		 h->nodes[node].row != AIF_NONE);
	*ret = (struct aif_location_of){.caller = node, .is_known = true};
	if (!aif_buf_failed(&l->key))
		ret->location = aif_strset_put(&l->locations, l->key.data, l->key.len);
	return aif_buf_failed(&l->key) || ret->location == AIF_STR_NONE ? -ENOMEM : 0;
}

const uint32_t *aif_locations_get(struct aif_locations *l, uint32_t node, size_t *ret_len)
{
	size_t n = 0;

	if (aif_grow(&l->of, &l->of_cap, l->stacks->len, sizeof(*l->of)) < 0 ||
	    aif_grow(&l->ids, &l->ids_cap, l->stacks->nodes[node].depth + 1, sizeof(*l->ids)) < 0)
		return NULL;
	if (l->of_len < l->stacks->len)
		memset(l->of + l->of_len, 0, (l->stacks->len - l->of_len) * sizeof(*l->of));
	l->of_len = l->stacks->len;
	for (; node; node = l->of[node].caller) {
		if (!l->of[node].is_known && location_make(l, node, &l->of[node]) < 0)
			return NULL;
		l->ids[n++] = l->of[node].location;
	}
	*ret_len = n;
	return l->ids;
}

struct aif_location_function aif_locations_function(const struct aif_locations *l, uint32_t i)
{
	struct aif_location_function f;

	memcpy(&f, aif_strset_get(&l->functions, i, NULL), sizeof(f));
	return f;
}

uint32_t aif_locations_frame(const struct aif_locations *l, uint32_t location, size_t *ret_lines)
{
	size_t len;
	const char *key = aif_strset_get(&l->locations, location, &len);
	uint32_t frame;

	memcpy(&frame, key, sizeof(frame));
	*ret_lines = (len - sizeof(frame)) / sizeof(struct aif_location_line);
	return frame;
}

struct aif_location_line aif_locations_line(const struct aif_locations *l, uint32_t location,
					    size_t i)
{
	struct aif_location_line line;

	memcpy(&line,
	       aif_strset_get(&l->locations, location, NULL) + sizeof(uint32_t) + i * sizeof(line),
	       sizeof(line));
	return line;
}
