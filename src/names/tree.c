/* SPDX-License-Identifier: Apache-2.0 */
#include "names/tree.h"

#include "base/buf.h"

#include <errno.h>
#include <string.h>

int aif_tree_init(struct aif_tree *t, bool details)
{
	*t = (struct aif_tree){.scale = 1};
	if (aif_grow(&t->nodes, &t->nodes_cap, 1, sizeof(*t->nodes)) < 0 ||
	    (details && aif_grow(&t->details, &t->details_cap, 1, sizeof(*t->details)) < 0))
		goto fail;
	if (aif_tree_name(t, AIF_TREE_ROOT, "all", 3) == AIF_STR_NONE)
		goto fail;
	t->nodes[0] = (struct aif_tree_node){0};
	if (details)
		t->details[0] = (struct aif_tree_detail){.full = AIF_STR_NONE};
	t->len = 1;
	return 0;
fail:
	aif_tree_finish(t);
	return -ENOMEM;
}

void aif_tree_finish(struct aif_tree *t)
{
	aif_strset_finish(&t->names);
	aif_strset_finish(&t->full);
	free(t->nodes);
	free(t->details);
	free(t->slots);
	*t = (struct aif_tree){0};
}

uint32_t aif_tree_name(struct aif_tree *t, unsigned type, const char *text, size_t len)
{
	struct aif_buf key = {0};
	uint32_t id = AIF_STR_NONE;

	aif_buf_putc(&key, (char)type);
	aif_buf_append(&key, text, len);
	if (!aif_buf_failed(&key))
		id = aif_strset_put(&t->names, key.data, key.len);
	aif_buf_finish(&key);
	return id;
}

static inline size_t child_hash(uint32_t parent, uint32_t name)
{
	return aif_mix64((uint64_t)parent << 32 | name);
}

static int slots_grow(struct aif_tree *t)
{
	size_t cap = t->slots_cap ? t->slots_cap * 2 : 1024, i;
	uint32_t *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t n = 1; n < t->len; n++) {
		if (t->nodes[t->nodes[n].parent].first == n)
			continue;
		i = child_hash(t->nodes[n].parent, t->nodes[n].name) & (cap - 1);
		while (slots[i])
			i = (i + 1) & (cap - 1);
		slots[i] = n;
	}
	free(t->slots);
	t->slots = slots;
	t->slots_cap = cap;
	return 0;
}

static uint32_t node_make(struct aif_tree *t, uint32_t parent, uint32_t name)
{
	if (t->len >= UINT32_MAX ||
	    aif_grow(&t->nodes, &t->nodes_cap, t->len + 1, sizeof(*t->nodes)) < 0)
		return 0;
	if (t->details) {
		if (aif_grow(&t->details, &t->details_cap, t->len + 1, sizeof(*t->details)) < 0)
			return 0;
		t->details[t->len] = (struct aif_tree_detail){.full = AIF_STR_NONE};
	}
	t->nodes[t->len] = (struct aif_tree_node){.parent = parent, .name = name};
	return (uint32_t)t->len++;
}

uint32_t aif_tree_child(struct aif_tree *t, uint32_t parent, uint32_t name)
{
	uint32_t first = t->nodes[parent].first, n;
	size_t i;

	assert(!t->sealed && parent < t->len && name < t->names.len);
	if (!first) {
		n = node_make(t, parent, name);
		t->nodes[parent].first = n;
		return n;
	}
	if (t->nodes[first].name == name)
		return first;
	if (t->slots_len >= t->slots_cap / 2 && slots_grow(t) < 0)
		return 0;
	for (i = child_hash(parent, name) & (t->slots_cap - 1); (n = t->slots[i]) != 0;
	     i = (i + 1) & (t->slots_cap - 1))
		if (t->nodes[n].parent == parent && t->nodes[n].name == name)
			return n;
	n = node_make(t, parent, name);
	if (n) {
		t->slots[i] = n;
		t->slots_len++;
	}
	return n;
}

bool aif_tree_rescale(struct aif_tree *t)
{
	if (t->scale > UINT32_MAX / 10)
		return false;
	for (size_t i = 0; i < t->len; i++)
		if (t->nodes[i].self > UINT64_MAX / 10)
			return false;
	for (size_t i = 0; i < t->len; i++)
		t->nodes[i].self *= 10;
	t->scale *= 10;
	return true;
}

struct named {
	const char *text; /* type byte first */
	size_t len;
	uint32_t id;
};

/* Text first, type second: what stands side by side is what reads alike. */
static int named_compare(const void *pa, const void *pb)
{
	const struct named *a = pa, *b = pb;
	int order = memcmp(a->text + 1, b->text + 1, AIF_MIN(a->len, b->len) - 1);

	if (order)
		return order;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return (uint8_t)a->text[0] - (uint8_t)b->text[0];
}

/* names[i] -> its place in the order of texts. */
static int name_ranks(const struct aif_tree *t, uint32_t *ranks)
{
	size_t n = t->names.len;
	struct named *sorted = malloc(n * sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		sorted[i].text = aif_strset_get(&t->names, i, &sorted[i].len);
		sorted[i].id = i;
	}
	qsort(sorted, n, sizeof(*sorted), named_compare);
	for (uint32_t i = 0; i < n; i++)
		ranks[sorted[i].id] = i;
	free(sorted);
	return 0;
}

/* Returns, for each node, whether it has several children, and takes theirs from .first, where an only child stays. */
static bool *forks_take(struct aif_tree *t)
{
	bool *forks = calloc(t->len, sizeof(*forks));

	for (size_t n = 1; forks && n < t->len; n++)
		if (t->nodes[t->nodes[n].parent].first != n)
			forks[t->nodes[n].parent] = true;
	for (size_t n = 0; forks && n < t->len; n++)
		if (forks[n])
			t->nodes[n].first = 0;
	return forks;
}

/* Ordering all children of all nodes is one counting sort: visit the nodes from the last name to the
 * first and put each in front of its siblings. Nodes without siblings, which most are, need none. */
static int children_order(struct aif_tree *t)
{
	size_t names = t->names.len, at = 0, count;
	uint32_t *ranks = malloc(names * sizeof(*ranks)),
		 *places = calloc(names, sizeof(*places)), /* by rank */
			 *order = NULL;
	bool *forks = NULL;
	int r = -ENOMEM;

	if (!ranks || !places)
		goto done;
	r = name_ranks(t, ranks);
	if (r < 0)
		goto done;
	forks = forks_take(t);
	for (size_t n = 1; forks && n < t->len; n++)
		places[ranks[t->nodes[n].name]] += forks[t->nodes[n].parent];
	for (size_t i = 0; i < names; i++) {
		count = places[i];
		places[i] = (uint32_t)at;
		at += count;
	}
	order = malloc((at + 1) * sizeof(*order));
	if (!forks || !order) {
		r = -ENOMEM;
		goto done;
	}
	for (uint32_t n = 1; n < t->len; n++)
		if (forks[t->nodes[n].parent])
			order[places[ranks[t->nodes[n].name]]++] = n;
	while (at-- > 0) {
		struct aif_tree_node *node = &t->nodes[order[at]];

		node->next = t->nodes[node->parent].first;
		t->nodes[node->parent].first = order[at];
	}
done:
	free(ranks);
	free(places);
	free(order);
	free(forks);
	return r;
}

static bool detail_add(struct aif_tree_detail *to, const struct aif_tree_detail *d)
{
	to->grades |= d->grades;
	return !__builtin_add_overflow(to->time_ns, d->time_ns, &to->time_ns) &&
	       !__builtin_add_overflow(to->samples, d->samples, &to->samples) &&
	       !__builtin_add_overflow(to->launches, d->launches, &to->launches) &&
	       !__builtin_add_overflow(to->bytes, d->bytes, &to->bytes);
}

int aif_tree_seal(struct aif_tree *t)
{
	struct aif_tree_node *n = t->nodes;
	int r;

	if (t->sealed)
		return 0;
	for (size_t i = 0; i < t->len; i++)
		n[i].total = n[i].self;
	for (size_t i = t->len - 1; i > 0; i--) {
		if (__builtin_add_overflow(n[n[i].parent].total, n[i].total,
					   &n[n[i].parent].total) ||
		    (t->details && !detail_add(&t->details[n[i].parent], &t->details[i])))
			return -EOVERFLOW;
	}
	r = children_order(t);
	if (r < 0)
		return r;
	/* The tree grows no more. */
	free(t->slots);
	t->slots = NULL;
	t->slots_len = t->slots_cap = 0;
	t->sealed = true;
	return 0;
}
