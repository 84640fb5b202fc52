/* SPDX-License-Identifier: Apache-2.0 */
#include "page/tree.h"

#include "flame/palette.h"
#include "profile/model.h"
#include "text/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int aif_page_entry_add(struct aif_page_entries *e, uint32_t node, uint32_t group,
		       enum aif_page_metric metric, uint64_t value)
{
	if (!value)
		return 0;
	if (aif_grow(&e->at, &e->cap, e->len + 1, sizeof(*e->at)) < 0)
		return -ENOMEM;
	e->at[e->len++] = (struct aif_page_entry){node, group, e->root, e->owner, metric, value};
	return 0;
}

/* ---- names --------------------------------------------------------------------------------------- */

void aif_page_names_finish(struct aif_page_names *n)
{
	aif_strset_finish(&n->names);
	aif_strset_finish(&n->full);
	aif_strset_finish(&n->modules);
	free(n->module_of);
}

static void texts_write(const struct aif_strset *s, const char *key, size_t skip,
			struct aif_buf *json)
{
	size_t len;

	aif_buf_printf(json, "\"%s\":[", key);
	for (uint32_t i = 0; i < s->len; i++) {
		const char *text = aif_strset_get(s, i, &len);

		if (i)
			aif_buf_putc(json, ',');
		aif_out_json_string(json, text + skip, len - skip);
	}
	aif_buf_putc(json, ']');
}

void aif_page_names_write(const struct aif_page_names *n, struct aif_page_columns *c,
			  struct aif_buf *json)
{
	struct aif_buf types = {0}, colours = {0};
	size_t len;

	for (uint32_t i = 0; i < n->names.len; i++) {
		const char *text = aif_strset_get(&n->names, i, &len);

		aif_buf_putc(&types, text[0]);
		aif_buf_putc(&colours, (char)aif_palette_of((uint8_t)text[0], text + 1, len - 1));
	}
	if (aif_buf_failed(&types) || aif_buf_failed(&colours)) {
		json->failed = true;
	} else {
		aif_page_u8(c, "name_type", types.data, types.len);
		aif_page_u8(c, "name_colour", colours.data, colours.len);
		aif_page_small(c, "name_module", n->module_of, n->module_of ? n->names.len : 0);
	}
	texts_write(&n->names, "names", 1, json);
	aif_buf_putc(json, ',');
	texts_write(&n->full, "full", 0, json);
	aif_buf_putc(json, ',');
	texts_write(&n->modules, "modules", 0, json);
	aif_buf_finish(&types);
	aif_buf_finish(&colours);
}

/* ---- frames -------------------------------------------------------------------------------------- */

struct walk {
	struct aif_page_tree *t;
	bool *kept;   /* by node */
	uint32_t *id; /* by node: its place in the walk */
	uint32_t *
		rest; /* by node: that of the frame into which its narrow callees are joined; 0: none */
	uint32_t *depth, *name, *full; /* by place */
	size_t len;
};

/* Marks what is at least that wide; returns how many frames this makes. Callers have smaller numbers. */
static size_t keep(struct walk *w, uint64_t least)
{
	const struct aif_tree *tree = w->t->tree;
	size_t n = 1;

	memset(w->rest, 0, tree->len * sizeof(*w->rest));
	w->kept[0] = true;
	for (size_t i = 1; i < tree->len; i++) {
		uint32_t parent = tree->nodes[i].parent;

		w->kept[i] = w->kept[parent] && tree->nodes[i].total >= least;
		n += w->kept[i] || (w->kept[parent] && !w->rest[parent]);
		if (!w->kept[i])
			w->rest[parent]++;
	}
	return n;
}

static int place_add(struct walk *w, uint32_t depth, uint32_t name, uint32_t full)
{
	w->depth[w->len] = depth;
	w->name[w->len] = name;
	w->full[w->len] = full;
	w->len++;
	return name == AIF_STR_NONE ? -ENOMEM : 0;
}

/* A library or file is known by its last part, a file of an installed package by the package. */
static const char *module_of_path(const char *path, size_t *ret_len)
{
	static const char *const before[] = {"site-packages/", "dist-packages/"};
	const char *name = strrchr(path, '/');

	for (size_t i = 0; i < AIF_ARRAY_LEN(before); i++) {
		const char *at = strstr(path, before[i]);

		if (!at)
			continue;
		at += strlen(before[i]);
		*ret_len = strcspn(at, "/");
		return at;
	}
	name = name ? name + 1 : path;
	*ret_len = strlen(name);
	return name;
}

/* Notes where the code of a name is, by the first frame that has the name. */
static int module_note(const struct walk *w, struct aif_page_names *names, uint32_t node,
		       uint32_t name)
{
	const struct aif_profile *p = w->t->p;
	uint32_t origin = w->t->tree->details ? w->t->tree->details[node].origin : 0, module;
	size_t cap = names->module_of_cap, len;
	const char *text;

	if (name == AIF_STR_NONE)
		return -ENOMEM;
	if (aif_grow(&names->module_of, &names->module_of_cap, name + 1,
		     sizeof(*names->module_of)) < 0)
		return -ENOMEM;
	if (names->module_of_cap > cap)
		memset(names->module_of + cap, 0,
		       (names->module_of_cap - cap) * sizeof(*names->module_of));
	if (!p || !origin || names->module_of[name])
		return 0;
	text = module_of_path(aif_profile_str(p, origin - 1), &len);
	module = aif_strset_put(&names->modules, text, len);
	if (module == AIF_STR_NONE)
		return -ENOMEM;
	names->module_of[name] = module + 1;
	return 0;
}

static int node_place(struct walk *w, struct aif_page_names *names, uint32_t node, uint32_t depth)
{
	const struct aif_tree *tree = w->t->tree;
	uint32_t full = tree->details ? tree->details[node].full : AIF_STR_NONE, name;
	size_t len;
	const char *text;

	w->id[node] = (uint32_t)w->len;
	if (full != AIF_STR_NONE) {
		text = aif_strset_get(&tree->full, full, &len);
		full = aif_strset_put(&names->full, text, len);
		if (full == AIF_STR_NONE)
			return -ENOMEM;
	}
	if (!node)
		return place_add(w, depth, aif_strset_put(&names->names, "\0all", 4), 0);
	text = aif_strset_get(&tree->names, tree->nodes[node].name, &len);
	name = aif_strset_put(&names->names, text, len);
	if (module_note(w, names, node, name) < 0)
		return -ENOMEM;
	return place_add(w, depth, name, full + 1); /* AIF_STR_NONE + 1 is 0 */
}

/* A frame for the callees of `node` that are not kept. */
static int rest_place(struct walk *w, struct aif_page_names *names, uint32_t node, uint32_t depth)
{
	char text[64];
	uint32_t name;
	int n = snprintf(text, sizeof(text), "%c[%" PRIu32 " narrow frames]", AIF_TREE_SYNTHETIC,
			 w->rest[node]);

	w->rest[node] = (uint32_t)w->len;
	name = aif_strset_put(&names->names, text, (size_t)n);
	if (name == AIF_STR_NONE || module_note(w, names, 0, name) < 0)
		return -ENOMEM;
	return place_add(w, depth, name, 0);
}

static int walk_all(struct walk *w, struct aif_page_names *names)
{
	const struct aif_tree_node *nodes = w->t->tree->nodes;
	uint32_t at = 0, depth = 0, next;
	int r = node_place(w, names, 0, 0);

	for (next = nodes[0].first; r == 0;) {
		while (next && !w->kept[next])
			next = nodes[next].next;
		if (next) {
			at = next;
			r = node_place(w, names, at, ++depth);
			next = nodes[at].first;
			continue;
		}
		if (w->rest[at])
			r = rest_place(w, names, at, depth + 1);
		if (!at)
			break;
		next = nodes[at].next;
		at = nodes[at].parent;
		depth--;
	}
	return r;
}

static void joined_place(struct walk *w)
{
	const struct aif_tree *tree = w->t->tree;

	w->t->joined = 0;
	for (size_t i = 1; i < tree->len; i++) {
		uint32_t parent = tree->nodes[i].parent;

		if (w->kept[i])
			continue;
		w->id[i] = w->kept[parent] ? w->rest[parent] : w->id[parent];
		w->t->joined++;
	}
}

/* ---- entries ------------------------------------------------------------------------------------- */

static int by_node(const void *pa, const void *pb)
{
	const struct aif_page_entry *a = pa, *b = pb;

	return AIF_ORDER(a->node, b->node) ?: AIF_ORDER(a->metric, b->metric)
	       ?: AIF_ORDER(a->root, b->root) ?: AIF_ORDER(a->owner, b->owner)
	       ?: AIF_ORDER(a->group, b->group);
}

static void entries_join(struct aif_page_entries *e, const uint32_t *id)
{
	size_t n = 0;

	for (size_t i = 0; i < e->len; i++)
		e->at[i].node = id[e->at[i].node];
	if (e->len)
		qsort(e->at, e->len, sizeof(*e->at), by_node);
	for (size_t i = 0; i < e->len; i++)
		if (n && by_node(&e->at[n - 1], &e->at[i]) == 0)
			e->at[n - 1].value += e->at[i].value;
		else
			e->at[n++] = e->at[i];
	e->len = n;
}

static const char *named(char *space, size_t size, const char *prefix, const char *name)
{
	snprintf(space, size, "%s%s", prefix, name);
	return space;
}
#define NAMED(name) named(space, sizeof(space), prefix, name)

static int entries_write(const struct aif_page_tree *t, const char *prefix,
			 struct aif_page_columns *c)
{
	const struct aif_page_entries *e = t->entries;
	size_t n = e->len + 1;
	uint32_t *a = malloc(n * sizeof(*a));
	uint64_t *v = malloc(n * sizeof(*v));
	uint8_t *m = malloc(n);
	char space[64];
	int r = a && v && m ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < e->len; i++) {
		a[i] = e->at[i].node;
		v[i] = e->at[i].value;
		m[i] = (uint8_t)e->at[i].metric;
	}
	if (!r) {
		aif_page_d32(c, NAMED("e_node"), a, e->len);
		aif_page_u64(c, NAMED("e_value"), v, e->len);
		aif_page_u8(c, NAMED("e_metric"), m, e->len);
		for (size_t i = 0; i < e->len; i++)
			a[i] = e->at[i].group;
		aif_page_u32(c, NAMED("e_group"), a, e->len);
		for (size_t i = 0; i < e->len; i++)
			a[i] = e->at[i].root;
		if (t->has_roots)
			aif_page_small(c, NAMED("e_root"), a, e->len);
		for (size_t i = 0; i < e->len; i++)
			a[i] = e->at[i].owner;
		if (t->has_owners)
			aif_page_small(c, NAMED("e_owner"), a, e->len);
	}
	free(a);
	free(v);
	free(m);
	return r;
}

static int cells_write(const struct aif_page_cells *cells, uint32_t groups, const char *prefix,
		       struct aif_page_columns *c)
{
	size_t len = cells ? cells->len : 0;
	uint32_t *pairs = calloc((size_t)groups + 1, sizeof(*pairs));
	uint32_t *cell = malloc((len + 1) * sizeof(*cell));
	uint64_t *ns = malloc((len + 1) * sizeof(*ns));
	char space[64];
	int r = pairs && cell && ns ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < len; i++) {
		if (cells->pairs[i].group < groups)
			pairs[cells->pairs[i].group]++;
		cell[i] = cells->pairs[i].cell;
		ns[i] = cells->pairs[i].ns;
	}
	if (!r) {
		aif_page_u32(c, NAMED("g_pairs"), pairs, groups);
		aif_page_d32(c, NAMED("p_cell"), cell, len);
		aif_page_u64(c, NAMED("p_weight"), ns, len);
	}
	free(pairs);
	free(cell);
	free(ns);
	return r;
}

static int marks_write(const struct walk *w, const char *prefix, struct aif_page_columns *c)
{
	uint8_t *marks = malloc(w->len + 1);
	char space[64];

	if (!marks)
		return -ENOMEM;
	memset(marks, AIF_PAGE_MARK_NONE, w->len);
	for (size_t i = 0; i < w->t->tree->len; i++)
		if (w->kept[i])
			marks[w->id[i]] = w->t->marks[i];
	aif_page_u8(c, NAMED("look"), marks, w->len);
	free(marks);
	return 0;
}

int aif_page_tree_write(struct aif_page_tree *t, const char *prefix, struct aif_page_names *names,
			struct aif_page_columns *c)
{
	size_t n = t->tree->len, most = t->frames_max ? t->frames_max : AIF_PAGE_FRAMES_MAX, room;
	struct walk w = {.t = t,
			 .kept = calloc(n, sizeof(*w.kept)),
			 .id = calloc(n, sizeof(*w.id)),
			 .rest = calloc(n, sizeof(*w.rest))};
	char space[64];
	int r = w.kept && w.id && w.rest ? 0 : -ENOMEM;

	t->joined_below = 0;
	if (!r) {
		room = keep(&w, 0);
		while (room > most && t->joined_below <= t->tree->nodes[0].total) {
			t->joined_below = t->joined_below ? t->joined_below * 2 : 1;
			room = keep(&w, t->joined_below);
		}
		w.depth = malloc(room * sizeof(*w.depth));
		w.name = malloc(room * sizeof(*w.name));
		w.full = malloc(room * sizeof(*w.full));
		r = w.depth && w.name && w.full ? walk_all(&w, names) : -ENOMEM;
	}
	if (!r) {
		joined_place(&w);
		aif_page_small(c, NAMED("depth"), w.depth, w.len);
		aif_page_small(c, NAMED("name"), w.name, w.len);
		aif_page_small(c, NAMED("full"), w.full, w.len);
		entries_join(t->entries, w.id);
		r = entries_write(t, prefix, c);
	}
	if (!r)
		r = cells_write(t->cells, t->groups, prefix, c);
	if (!r && t->marks)
		r = marks_write(&w, prefix, c);
	free(w.kept);
	free(w.id);
	free(w.rest);
	free(w.depth);
	free(w.name);
	free(w.full);
	return r;
}
