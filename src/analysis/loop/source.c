/* SPDX-License-Identifier: Apache-2.0 */
/* Positions of a program: its stacks by functions and statements, and the loops of the source that are around them. */
#include "analysis/loop/source.h"

#include "base/hash.h"

#include <errno.h>
#include <string.h>

static int source_init(struct aif_loop_source *s, const struct aif_profile *p)
{
	*s = (struct aif_loop_source){.p = p};
	for (size_t i = 0; i < p->programs_len; i++) {
		const struct aif_program *program = &p->programs[i];

		if (program->process != AIF_NONE || program->source == AIF_NONE ||
		    program->source_name == AIF_NONE)
			continue;
		if (aif_grow(&s->texts, &s->texts_cap, s->texts_len + 1, sizeof(*s->texts)) < 0 ||
		    aif_map_put(&s->by_name, program->source_name, s->texts_len) < 0)
			return -ENOMEM;
		s->texts[s->texts_len++] = (struct aif_loop_text){.name = program->source_name,
								  .source = program->source};
	}
	return 0;
}

static void source_finish(struct aif_loop_source *s)
{
	for (size_t i = 0; i < s->texts_len; i++) {
		aif_source_blocks_finish(&s->texts[i].blocks);
		aif_map_finish(&s->texts[i].places);
	}
	free(s->texts);
	free(s->places);
	aif_map_finish(&s->by_name);
}

/* Sets *ret_text and *ret_place to where a line is; *ret_place is AIF_NONE where the profile does not tell. 0 or -ENOMEM. */
static int source_find(struct aif_loop_source *s, const struct aif_frame_name *at,
		       uint32_t *ret_text, uint32_t *ret_place)
{
	struct aif_source_place place;
	struct aif_loop_text *t;
	const char *text;
	uint64_t i, known;
	size_t len;

	*ret_text = *ret_place = AIF_NONE;
	if (!at->line || at->file == AIF_NONE || !aif_map_get(&s->by_name, at->file, &i))
		return 0;
	*ret_text = (uint32_t)i;
	t = &s->texts[i];
	if (!t->blocks.text) {
		text = aif_strset_get(&s->p->strings, t->source, &len);
		if (aif_source_blocks_init(&t->blocks, text, len) < 0)
			return -ENOMEM;
	}
	if (!aif_map_get(&t->places, at->line, &known)) {
		known = AIF_NONE;
		if (aif_source_place_find(&t->blocks, at->line, &place)) {
			if (aif_grow(&s->places, &s->places_cap, s->places_len + 1,
				     sizeof(*s->places)) < 0)
				return -ENOMEM;
			known = s->places_len;
			s->places[s->places_len++] = place;
		}
		if (aif_map_put(&t->places, at->line, known) < 0)
			return -ENOMEM;
	}
	*ret_place = (uint32_t)known;
	return 0;
}

/* ---- positions ------------------------------------------------------------------------------- */

/* Puts a pair of numbers into a set; its number, or AIF_NONE: no memory. */
static uint32_t put_pair(struct aif_map *set, uint32_t a, uint32_t b)
{
	uint64_t n, key = (uint64_t)a << 32 | b;

	if (aif_map_get(set, key, &n))
		return (uint32_t)n;
	n = set->len;
	return aif_map_put(set, key, n) < 0 ? AIF_NONE : (uint32_t)n;
}

/* Returns the loop at `line` of the function of a position, a new one if it is not known; AIF_NONE: no memory. */
static uint32_t node_at(struct aif_loop_positions *s, uint32_t position, uint32_t line,
			uint32_t outer)
{
	const struct aif_loop_position *at = &s->at[position];
	uint32_t callee = put_pair(&s->callees, at->parent, at->function);
	uint32_t n = callee == AIF_NONE ? AIF_NONE : put_pair(&s->loops, callee, line);

	if (n == AIF_NONE || n < s->nodes_len)
		return n;
	if (aif_grow(&s->nodes, &s->nodes_cap, s->nodes_len + 1, sizeof(*s->nodes)) < 0)
		return AIF_NONE;
	s->nodes[s->nodes_len++] = (struct aif_loop_node){.parent = at->parent,
							  .text = at->text,
							  .line = line,
							  .outer = outer,
							  .position = position};
	return n;
}

/* Finds the loops around a position, outer ones first. 0 or -ENOMEM. */
static int find_loops(struct aif_loop_positions *s, uint32_t position)
{
	struct aif_loop_position *at = &s->at[position];
	const struct aif_source_place *place = &s->source.places[at->place];
	const struct aif_source_blocks *text = &s->source.texts[at->text].blocks;

	for (uint32_t i = place->len; i-- > 0;) {
		if (!aif_source_is_loop(text, place->blocks[i]))
			continue;
		at->own = node_at(s, position, place->blocks[i], at->loop);
		if (at->own == AIF_NONE)
			return -ENOMEM;
		at->loop = at->own;
	}
	return 0;
}

/* Goes on to a position that is called from `parent`. `at` NULL: to a gap. AIF_NONE: no memory. */
static uint32_t position_below(struct aif_loop_positions *s, uint32_t parent, uint32_t stack,
			       const struct aif_frame_name *at, uint32_t text, uint32_t place)
{
	uint32_t function = AIF_NONE, statement = AIF_NONE, n;

	if (at) {
		function = put_pair(&s->functions, at->name, at->file);
		if (function != AIF_NONE)
			statement = put_pair(&s->statements, function,
					     s->source.places[place].statement);
		if (statement == AIF_NONE)
			return AIF_NONE;
	} else if (s->at[parent].function == AIF_NONE) {
		return parent;
	}
	n = put_pair(&s->calls, parent, statement);
	if (n == AIF_NONE || n < s->len)
		return n;
	if (aif_grow(&s->at, &s->cap, s->len + 1, sizeof(*s->at)) < 0)
		return AIF_NONE;
	s->at[s->len++] = (struct aif_loop_position){
		.parent = parent,
		.function = function,
		.text = text,
		.place = place,
		.line = at ? at->line : 0,
		.inlined = at ? at->inline_depth : 0,
		.stack = stack,
		.depth = parent == AIF_NONE ? 1 : s->at[parent].depth + 1,
		.loop = parent == AIF_NONE ? AIF_NONE : s->at[parent].loop,
		.own = AIF_NONE,
		.order = AIF_NONE,
	};
	return at && find_loops(s, n) < 0 ? AIF_NONE : n;
}

/* Finds the position of a stack, whose caller's is known: that of its frame, with what is inlined into it. */
static int place_stack(struct aif_loop_positions *s, const struct aif_profile *p, uint32_t stack,
		       uint32_t parent)
{
	uint32_t frame = p->stacks[stack].frame,
		 at = parent == AIF_NONE ? AIF_NONE : s->of_stack[parent];
	const struct aif_frame_name *last =
		frame == AIF_NONE ? NULL : aif_profile_frame_name(p, frame);
	const struct aif_frame_name *n = last;
	uint32_t text, place;

	s->of_stack[stack] = at;
	if (frame == AIF_NONE || (p->frames[frame].kind != AIF_FRAME_NATIVE &&
				  p->frames[frame].kind != AIF_FRAME_PYTHON))
		return 0;
	while (n && n > p->frame_names && n[-1].frame == frame)
		n--;
	for (; !last || n <= last; n++) {
		place = AIF_NONE;
		if (last && source_find(&s->source, n, &text, &place) < 0)
			return -ENOMEM;
		if (place == AIF_NONE) {
			/* At the root there is none: nothing of the program is outside of it. */
			if (at != AIF_NONE)
				at = position_below(s, at, stack, NULL, AIF_NONE, AIF_NONE);
		} else {
			at = position_below(s, at, stack, n, text, place);
		}
		if (at == AIF_NONE && place != AIF_NONE)
			return -ENOMEM;
		if (!last)
			break;
	}
	s->of_stack[stack] = at;
	return 0;
}

int aif_loop_positions_make(const struct aif_profile *p, const struct aif_loop_calls *c,
			    struct aif_loop_positions *ret)
{
	bool *is_used = calloc(p->stacks_len + 1, sizeof(*is_used));
	int r;

	*ret = (struct aif_loop_positions){0};
	r = source_init(&ret->source, p);
	ret->of_stack = malloc((p->stacks_len + 1) * sizeof(*ret->of_stack));
	ret->order = malloc((p->stacks_len + 1) * sizeof(*ret->order));
	if (!is_used || !ret->of_stack || !ret->order)
		r = -ENOMEM;
	for (size_t i = 0; i < c->sites_len && !r; i++)
		for (uint32_t at = c->sites[i].stack; at != AIF_NONE && !is_used[at];
		     at = c->parent[at])
			is_used[at] = true;
	for (uint32_t i = 0; i < p->stacks_len && !r; i++)
		ret->of_stack[i] = ret->order[i] = AIF_NONE;
	if (!r)
		r = aif_loop_positions_add(ret, c, is_used);
	free(is_used);
	return r;
}

int aif_loop_positions_add(struct aif_loop_positions *s, const struct aif_loop_calls *c,
			   const bool *is_used)
{
	const struct aif_profile *p = s->source.p;
	int r = 0;

	/* Callers come before those whom they call. */
	for (uint32_t i = 0; i < p->stacks_len && !r; i++)
		if (is_used[i] && s->of_stack[i] == AIF_NONE)
			r = place_stack(s, p, i, c->parent[i]);
	return r;
}

void aif_loop_positions_finish(struct aif_loop_positions *s)
{
	source_finish(&s->source);
	free(s->at);
	free(s->nodes);
	free(s->of_stack);
	free(s->order);
	aif_map_finish(&s->functions);
	aif_map_finish(&s->statements);
	aif_map_finish(&s->calls);
	aif_map_finish(&s->callees);
	aif_map_finish(&s->loops);
}

uint32_t aif_loop_leaf(const struct aif_loop_positions *s, uint32_t stack)
{
	uint32_t at = stack == AIF_NONE ? AIF_NONE : s->of_stack[stack];

	return at != AIF_NONE && s->at[at].function == AIF_NONE ? s->at[at].parent : at;
}

int aif_loop_place_of_node(const struct aif_loop_positions *s, uint32_t node, uint64_t *ret)
{
	const struct aif_loop_node *n = &s->nodes[node];
	const struct aif_profile *p = s->source.p;
	const char *file = aif_profile_str(p, s->source.texts[n->text].name);
	uint32_t *path = NULL;
	size_t len = 0, cap = 0;

	for (uint32_t at = n->parent; at != AIF_NONE; at = s->at[at].parent) {
		if (aif_grow(&path, &cap, len + 1, sizeof(*path)) < 0) {
			free(path);
			return -ENOMEM;
		}
		path[len++] = s->at[at].stack;
	}
	*ret = 0;
	while (len)
		*ret = aif_loop_place_of_call(p, *ret, p->stacks[path[--len]].frame);
	free(path);
	*ret = aif_mix64(*ret + aif_mix64(aif_hash_bytes(file, strlen(file)) + n->line)) | 1;
	return 0;
}
