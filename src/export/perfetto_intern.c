/* SPDX-License-Identifier: Apache-2.0 */
#include "export/perfetto.h"

#include <errno.h>
#include <string.h>

void perfetto_interned_flush(struct perfetto *w)
{
	if (!w->interned.len)
		return;
	perfetto_packet_begin(w);
	aif_proto_bytes(w->t.b, INTERNED_DATA, w->interned.data, w->interned.len);
	perfetto_packet_end(w);
	w->t.b->failed |= aif_buf_failed(&w->interned);
	aif_buf_clear(&w->interned);
}

/* True if it has to be, now. */
static bool is_new(struct perfetto *w, unsigned table, uint32_t number)
{
	uint64_t key = (uint64_t)table << 32 | number, known;

	if (aif_map_get(&w->known, key, &known))
		return false;
	if (aif_map_put(&w->known, key, 0) < 0)
		w->t.b->failed = true;
	return true;
}

static void intern(struct perfetto *w, unsigned table, uint64_t iid, const char *text, size_t len)
{
	size_t at = aif_proto_begin(&w->interned, table);

	aif_proto_u64(&w->interned, 1, iid);
	aif_proto_string(&w->interned, 2, text, len);
	aif_proto_end(&w->interned, at);
}

/* A string of the profile in a table of strings; 0 if there is none. */
static uint64_t string_iid(struct perfetto *w, unsigned table, uint32_t string)
{
	size_t len;
	const char *text;

	if (string == AIF_NONE)
		return 0;
	if (is_new(w, table, string)) {
		text = aif_strset_get(&w->t.p->strings, string, &len);
		intern(w, table, (uint64_t)string + 1, text, len);
	}
	return (uint64_t)string + 1;
}

/* A string as the name of an event. Those of the stacks' tree have numbers of 32 bits. */
uint64_t perfetto_string(struct perfetto *w, uint32_t string)
{
	enum { STRINGS = EVENT_NAMES + 1000 }; /* of .known */
	uint64_t iid = (UINT64_C(1) << 32) + string;
	const char *text = string == AIF_NONE ? "" : aif_profile_str(w->t.p, string);

	if (is_new(w, STRINGS, string))
		intern(w, EVENT_NAMES, iid, text, strlen(text));
	return iid;
}

/* A name of the stacks' tree, as that of events or of functions. */
uint64_t perfetto_name(struct perfetto *w, unsigned table, uint32_t name)
{
	size_t len;
	const char *text;

	if (is_new(w, table, name)) {
		text = aif_tree_text(&w->t.stacks.tree, name, &len);
		intern(w, table, (uint64_t)name + 1, text, len);
	}
	return (uint64_t)name + 1;
}

static uint64_t mapping_iid(struct perfetto *w, uint32_t module)
{
	const struct aif_module *m;
	uint64_t build_id, path;
	size_t at;

	if (module == AIF_NONE)
		return 0;
	if (!is_new(w, MAPPINGS, module))
		return (uint64_t)module + 1;
	m = &w->t.p->modules[module];
	build_id = string_iid(w, BUILD_IDS, m->build_id);
	path = string_iid(w, MAPPING_PATHS, m->path);
	at = aif_proto_begin_small(&w->interned, MAPPINGS);
	aif_proto_u64(&w->interned, 1, (uint64_t)module + 1);
	if (build_id)
		aif_proto_u64(&w->interned, 2, build_id);
	if (path)
		aif_proto_u64(&w->interned, 7, path);
	aif_proto_end_small(&w->interned, at);
	return (uint64_t)module + 1;
}

/* For colours: Frame.kind_str takes any word. */
static const char *kind_of(enum aif_tree_type type)
{
	switch (type) {
	case AIF_TREE_PYTHON:
		return "interpreted";
	case AIF_TREE_OS:
		return "kernel";
	case AIF_TREE_API:
		return "runtime";
	default:
		return "native";
	}
}

static void frame_intern(struct perfetto *w, uint32_t node)
{
	const struct aif_host_stacks *h = &w->t.stacks;
	const struct aif_host_node *n = &h->nodes[node];
	uint64_t function = perfetto_name(w, FUNCTION_NAMES, n->name),
		 mapping = mapping_iid(w, aif_host_module(h, node)),
		 source = n->row == AIF_NONE
				  ? 0
				  : string_iid(w, SOURCE_PATHS, w->t.p->frame_names[n->row].file);
	size_t at = aif_proto_begin_small(&w->interned, FRAMES);

	aif_proto_u64(&w->interned, 1, node);
	aif_proto_u64(&w->interned, 2, function);
	if (mapping) {
		aif_proto_u64(&w->interned, 3, mapping);
		aif_proto_u64(&w->interned, 4, w->t.p->frames[n->frame].address);
	}
	if (source)
		aif_proto_u64(&w->interned, 5, source);
	if (aif_host_line(h, node))
		aif_proto_u64(&w->interned, 6, aif_host_line(h, node));
	aif_proto_text(&w->interned, 8, kind_of(aif_host_type(h, node)));
	aif_proto_end_small(&w->interned, at);
}

/* The stack that ends at a node; its number is the node's, and so are those of its frames. */
int perfetto_callstack(struct perfetto *w, uint32_t node)
{
	const struct aif_host_stacks *h = &w->t.stacks;
	uint32_t depth = h->nodes[node].depth, *path;
	size_t at;

	if (!is_new(w, CALLSTACKS, node))
		return 0;
	path = calloc((size_t)depth + 1, sizeof(*path));
	if (!path)
		return -ENOMEM;
	for (uint32_t n = node, i = depth; n && i; n = h->nodes[n].parent) {
		path[--i] = n;
		if (is_new(w, FRAMES, n))
			frame_intern(w, n);
	}
	at = aif_proto_begin(&w->interned, CALLSTACKS);
	aif_proto_u64(&w->interned, 1, node);
	for (uint32_t i = 0; i < depth; i++)
		aif_proto_u64(&w->interned, 2, path[i]);
	aif_proto_end(&w->interned, at);
	free(path);
	return 0;
}

void perfetto_constants(struct perfetto *w)
{
	static const char *const categories[CATEGORY_COUNT] = {
		NULL,    "launch", "kernel", "copy",         "operator",
		"range", "python", "call",   "not_collected"};
	static const char *const args[ARG_COUNT] = {NULL,    "launch",    "bytes",  "grid",
						    "block", "registers", "shared", "graph",
						    "node",  "shapes"};

	for (unsigned i = 1; i < CATEGORY_COUNT; i++)
		intern(w, CATEGORIES, i, categories[i], strlen(categories[i]));
	intern(w, EVENT_NAMES, GAP_NAME, AIF_EVENT_GAP, strlen(AIF_EVENT_GAP));
	for (unsigned i = 1; i < ARG_COUNT; i++)
		intern(w, ANNOTATION_NAMES, i, args[i], strlen(args[i]));
}
