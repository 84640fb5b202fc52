/* SPDX-License-Identifier: Apache-2.0 */
#include "import/speedscope.h"

#include <stdio.h>
#include <string.h>

#define FRAMES_MAX (1u << 26)

/* The rest of the object or array that was the last token, which began at `depth`. */
static bool leave(struct aif_json *j, unsigned depth)
{
	while (aif_json_depth(j) > depth)
		if (aif_json_next(j) == AIF_JSON_ERROR)
			return false;
	return true;
}

static uint32_t string(struct speedscope *x)
{
	struct aif_buf text = {0};
	uint32_t id;

	aif_json_text(&x->json, &text);
	id = aif_builder_str(x->b, text.data ? text.data : (uint8_t *)"", text.len);
	x->is_memory |= aif_buf_failed(&text);
	aif_buf_finish(&text);
	return id;
}

/* The next value, if it is a string; else it is passed. False: the text is wrong. */
static bool next_string(struct speedscope *x, uint32_t *ret)
{
	unsigned depth = aif_json_depth(&x->json);
	enum aif_json_token t = aif_json_next(&x->json);

	if (t == AIF_JSON_STRING)
		*ret = string(x);
	return t != AIF_JSON_ERROR && leave(&x->json, depth);
}

/* The next element of the array that is `depth` deep, if it is what is `wanted`; others are passed and counted: damage costs
 * what it is in. CLOSE: there is none any more; ERROR: the text is wrong. *passed: how many were. */
static enum aif_json_token next_element(struct speedscope *x, enum aif_json_token wanted,
					uint64_t *passed)
{
	struct aif_json *j = &x->json;

	for (;;) {
		unsigned depth = aif_json_depth(j);
		enum aif_json_token t = aif_json_next(j);

		if (t == wanted || t == AIF_JSON_CLOSE)
			return t;
		if (t == AIF_JSON_ERROR || t == AIF_JSON_END || !leave(j, depth))
			return AIF_JSON_ERROR;
		x->bad++;
		if (passed)
			++*passed;
	}
}

/* Is the value that comes next an array or an object as `wanted`? Another one is passed. *ret_ok: the text is right. */
static bool enter(struct speedscope *x, enum aif_json_token wanted, bool *ret_ok)
{
	unsigned depth = aif_json_depth(&x->json);
	enum aif_json_token t = aif_json_next(&x->json);

	if (t == wanted)
		return true;
	x->bad++;
	*ret_ok = t != AIF_JSON_ERROR && leave(&x->json, depth);
	return false;
}

/* An array, each element of which is wanted so: read_one() goes on behind its first token. Where elements are known by their
 * numbers, `none` is put in the place of one that is none of them. False: the text is wrong, or memory ran out. */
static bool read_array(struct speedscope *x, enum aif_json_token wanted,
		       bool (*read_one)(struct speedscope *), bool (*none)(struct speedscope *))
{
	enum aif_json_token t;
	uint64_t passed = 0;
	bool ok;

	if (!enter(x, AIF_JSON_ARRAY, &ok))
		return ok;
	do {
		t = next_element(x, wanted, &passed);
		for (; none && passed; passed--)
			if (!none(x))
				return false;
		if (t == wanted && !read_one(x))
			return false;
	} while (t == wanted);
	return t == AIF_JSON_CLOSE;
}

/* The number that was the last token: as many of its digits as there is room for. */
static struct speedscope_number number(const struct speedscope *x)
{
	static const uint8_t shifts[] = {9, 3, 0};
	struct speedscope_number n = {.is_bad = true};

	for (size_t i = 0; i < AIF_ARRAY_LEN(shifts) && n.is_bad; i++) {
		n.shift = shifts[i];
		n.is_bad = aif_json_decimal(&x->json, n.shift, &n.v) < 0;
	}
	n.is_bad |= n.v < 0;
	return n;
}

/* In ns, now that the unit is known. */
static bool value(struct speedscope *x, struct speedscope_number n, uint64_t *ret)
{
	static const uint64_t units[] = {
		[UNIT_NS] = 1, [UNIT_US] = 1000, [UNIT_MS] = 1000000, [UNIT_S] = AIF_NS_PER_S};
	uint64_t each = x->unit == UNIT_NONE ? AIF_MAX(x->source->opts->count_ns, UINT64_C(1))
					     : units[x->unit];
	uint64_t part = 1;
	unsigned __int128 ns;

	if (n.is_bad)
		return false;
	for (unsigned i = 0; i < n.shift; i++)
		part *= 10;
	ns = ((unsigned __int128)(uint64_t)n.v * each + part / 2) / part;
	x->rounded += each == 1 && x->unit == UNIT_NONE && (uint64_t)n.v % part;
	*ret = (uint64_t)ns;
	return ns <= UINT64_MAX;
}

/* ---- stacks -------------------------------------------------------------------------------------- */

static uint32_t node_of(struct speedscope *x, uint32_t parent, uint32_t frame)
{
	uint64_t key = (uint64_t)parent << 32 | frame, id;

	if (aif_map_get(&x->node_ids, key, &id))
		return (uint32_t)id;
	if (x->nodes_len >= AIF_NONE - 1 ||
	    aif_grow(&x->nodes, &x->nodes_cap, x->nodes_len + 1, sizeof(*x->nodes)) < 0 ||
	    aif_map_put(&x->node_ids, key, x->nodes_len) < 0) {
		x->is_memory = true;
		return AIF_NONE;
	}
	x->nodes[x->nodes_len] = (struct speedscope_node){parent, frame};
	return (uint32_t)x->nodes_len++;
}

static bool stack_add(struct speedscope *x, uint32_t node)
{
	if (aif_grow(&x->stacks, &x->stacks_cap, x->stacks_len + 1, sizeof(*x->stacks)) < 0)
		x->is_memory = true;
	else
		x->stacks[x->stacks_len++] = node;
	return !x->is_memory;
}

/* [frame, frame, ...]: the root first. What is no frame's number makes it none. */
static bool read_stack(struct speedscope *x)
{
	struct aif_json *j = &x->json;
	uint32_t node = AIF_NONE;
	size_t depth = 0;
	uint64_t wrong = 0;
	enum aif_json_token t;

	while ((t = next_element(x, AIF_JSON_NUMBER, &wrong)) == AIF_JSON_NUMBER) {
		uint64_t frame;

		if (aif_json_u64(j, &frame) < 0 || frame >= FRAMES_MAX) {
			x->bad++;
			wrong++;
		} else if (depth++ < SPEEDSCOPE_DEPTH_MAX) {
			node = node_of(x, node, (uint32_t)frame);
		} else if (depth == SPEEDSCOPE_DEPTH_MAX + 1) {
			x->too_deep++;
		}
	}
	/* The sample says for how long, not what ran. */
	if (!wrong && !depth)
		node = node_of(x, AIF_NONE, SPEEDSCOPE_NO_STACK);
	return t == AIF_JSON_CLOSE && stack_add(x, wrong ? AIF_NONE : node);
}

static bool no_stack(struct speedscope *x)
{
	return stack_add(x, AIF_NONE);
}

static bool weight_add(struct speedscope *x, struct speedscope_number n)
{
	if (aif_grow(&x->weights, &x->weights_cap, x->weights_len + 1, sizeof(n)) < 0)
		x->is_memory = true;
	else
		x->weights[x->weights_len++] = n;
	return !x->is_memory;
}

static bool read_weight(struct speedscope *x)
{
	return weight_add(x, number(x));
}

static bool no_weight(struct speedscope *x)
{
	return weight_add(x, (struct speedscope_number){0});
}

static void sample_add(struct speedscope *x, uint32_t node, uint64_t at, uint64_t ns)
{
	struct speedscope_sample s = {
		.at = at, .ns = ns, .node = node, .profile = (uint32_t)x->profiles_len};

	if (node == AIF_NONE || !ns)
		return;
	if (aif_grow(&x->samples, &x->samples_cap, x->samples_len + 1, sizeof(s)) < 0)
		x->is_memory = true;
	else
		x->samples[x->samples_len++] = s;
	x->no_stack += x->nodes[node].frame == SPEEDSCOPE_NO_STACK;
	x->source->events++;
}

/* ---- events -------------------------------------------------------------------------------------- */

static void event_add(struct speedscope *x, bool is_open, uint32_t frame, uint64_t at)
{
	uint32_t top = x->open_len ? x->open[x->open_len - 1] : AIF_NONE;

	if (x->has_at && at < x->last_at) {
		x->bad++; /* they have to be in order */
		return;
	}
	if (x->has_at)
		sample_add(x, top, x->last_at, at - x->last_at);
	x->has_at = true;
	x->last_at = at;
	if (is_open && x->open_len == SPEEDSCOPE_DEPTH_MAX) {
		x->too_deep++;
		x->too_deep_now++;
	} else if (is_open) {
		x->open[x->open_len++] = node_of(x, top, frame);
	} else if (x->too_deep_now) {
		x->too_deep_now--;
	} else {
		size_t n = x->open_len;

		/* Frames may end in another order than the one that the format wants. */
		while (n && x->open_len - n < 64 && x->nodes[x->open[n - 1]].frame != frame)
			n--;
		if (!n || x->nodes[x->open[n - 1]].frame != frame) {
			x->bad++;
			return;
		}
		x->crossed += n < x->open_len;
		x->open_len--;
		for (n--; n < x->open_len; n++)
			x->open[n] = node_of(x, n ? x->open[n - 1] : AIF_NONE,
					     x->nodes[x->open[n + 1]].frame);
	}
}

static bool read_event(struct speedscope *x)
{
	struct aif_json *j = &x->json;
	struct speedscope_number at = {.is_bad = true};
	bool has_frame = false;
	char type = 0;
	uint64_t frame = 0;
	enum aif_json_token t;

	while ((t = aif_json_next(j)) == AIF_JSON_KEY) {
		bool is_type = AIF_JSON_IS(j, "type"), is_frame = AIF_JSON_IS(j, "frame"),
		     is_at = AIF_JSON_IS(j, "at");

		t = is_type || is_frame || is_at ? aif_json_raw(j) : aif_json_skip(j);
		if (t == AIF_JSON_ERROR)
			return false;
		if (is_type && t == AIF_JSON_STRING && j->len == 1)
			type = (char)*j->text;
		if (is_frame && t == AIF_JSON_NUMBER)
			has_frame = aif_json_u64(j, &frame) == 0 && frame < FRAMES_MAX;
		if (is_at && t == AIF_JSON_NUMBER)
			at = number(x);
	}
	if (t != AIF_JSON_CLOSE)
		return false;
	if (!has_frame || at.is_bad || (type != 'O' && type != 'C')) {
		x->bad++;
		return true;
	}
	if (aif_grow(&x->events, &x->events_cap, x->events_len + 1, sizeof(*x->events)) < 0)
		x->is_memory = true;
	else
		x->events[x->events_len++] = (struct speedscope_event){
			.at = at, .frame = (uint32_t)frame, .is_open = type == 'O'};
	return !x->is_memory;
}

/* ---- the file ------------------------------------------------------------------------------------ */

static bool read_unit(struct speedscope *x)
{
	static const char *const names[] = {[UNIT_NS] = "nanoseconds",
					    [UNIT_US] = "microseconds",
					    [UNIT_MS] = "milliseconds",
					    [UNIT_S] = "seconds"};
	enum aif_json_token t = aif_json_raw(&x->json);

	x->is_bytes |= t == AIF_JSON_STRING && aif_json_is(&x->json, "bytes", 5);
	for (unsigned i = UNIT_NS; t == AIF_JSON_STRING && i <= UNIT_S; i++)
		if (aif_json_is(&x->json, names[i], strlen(names[i])))
			x->unit = i;
	if (t == AIF_JSON_STRING && x->unit == UNIT_NONE && !x->is_bytes && !*x->own_unit &&
	    !aif_json_is(&x->json, "none", 4))
		snprintf(x->own_unit, sizeof(x->own_unit), "%.*s",
			 (int)AIF_MIN(x->json.len, sizeof(x->own_unit)), x->json.text);
	return t != AIF_JSON_ERROR;
}

static bool read_end(struct speedscope *x, struct speedscope_number *ret)
{
	enum aif_json_token t = aif_json_raw(&x->json);

	if (t == AIF_JSON_NUMBER)
		*ret = number(x);
	return t != AIF_JSON_ERROR;
}

/* Once the unit is known. Frames that never end last as long as the profile. */
static void events_add(struct speedscope *x, struct speedscope_number end)
{
	uint64_t last;

	for (size_t i = 0; i < x->events_len && !x->is_memory; i++) {
		const struct speedscope_event *e = &x->events[i];
		uint64_t at;

		if (value(x, e->at, &at))
			event_add(x, e->is_open, e->frame, at);
		else
			x->bad++;
	}
	x->events_len = 0;
	if (x->open_len && value(x, end, &last) && last > x->last_at)
		sample_add(x, x->open[x->open_len - 1], x->last_at, last - x->last_at);
}

static void samples_add(struct speedscope *x)
{
	uint64_t each = AIF_MAX(x->source->opts->count_ns, UINT64_C(1));

	for (size_t i = 0; i < x->stacks_len && !x->is_memory; i++) {
		uint64_t ns = 0;

		if (!x->weights_len) /* files without weights: a sample is one count */
			ns = each;
		else if (i < x->weights_len)
			x->bad += !value(x, x->weights[i], &ns);
		sample_add(x, x->stacks[i], 0, ns);
	}
	if (x->weights_len != x->stacks_len && x->weights_len)
		x->bad++;
}

static bool profile_end(struct speedscope *x, struct speedscope_profile *p)
{
	p->weighs = x->unit != UNIT_NONE || x->source->opts->count_ns ? SPEEDSCOPE_TIME
		    : x->is_bytes                                     ? SPEEDSCOPE_BYTES
								      : SPEEDSCOPE_COUNTS;
	events_add(x, p->end);
	p->is_timed |= x->has_at;
	samples_add(x);
	x->unended += x->open_len;
	if (aif_grow(&x->profiles, &x->profiles_cap, x->profiles_len + 1, sizeof(*p)) < 0)
		x->is_memory = true;
	else
		x->profiles[x->profiles_len++] = *p;
	x->stacks_len = x->weights_len = x->open_len = x->too_deep_now = 0;
	x->has_at = x->is_bytes = false;
	x->unit = UNIT_NONE;
	return !x->is_memory;
}

/* An object was entered. What is whole of a profile that is torn is kept. */
static bool read_profile(struct speedscope *x)
{
	struct aif_json *j = &x->json;
	struct speedscope_profile p = {.name = AIF_NONE, .end = {.is_bad = true}};
	enum aif_json_token t;
	bool ok = true;

	while (ok && (t = aif_json_next(j)) == AIF_JSON_KEY) {
		if (AIF_JSON_IS(j, "name"))
			ok = next_string(x, &p.name);
		else if (AIF_JSON_IS(j, "unit"))
			ok = read_unit(x);
		else if (AIF_JSON_IS(j, "endValue"))
			ok = read_end(x, &p.end);
		else if (AIF_JSON_IS(j, "samples"))
			ok = read_array(x, AIF_JSON_ARRAY, read_stack, no_stack);
		else if (AIF_JSON_IS(j, "weights"))
			ok = read_array(x, AIF_JSON_NUMBER, read_weight, no_weight);
		else if (AIF_JSON_IS(j, "events"))
			ok = read_array(x, AIF_JSON_OBJECT, read_event, NULL);
		else
			ok = aif_json_skip(j) != AIF_JSON_ERROR;
	}
	return profile_end(x, &p) && ok && t == AIF_JSON_CLOSE;
}

static bool frame_add(struct speedscope *x, const struct speedscope_frame *f)
{
	if (x->frames_len >= FRAMES_MAX ||
	    aif_grow(&x->frames, &x->frames_cap, x->frames_len + 1, sizeof(*f)) < 0)
		x->is_memory = true;
	else
		x->frames[x->frames_len++] = *f;
	return !x->is_memory;
}

static bool read_frame(struct speedscope *x)
{
	struct aif_json *j = &x->json;
	struct speedscope_frame f = {.name = AIF_NONE, .file = AIF_NONE};
	enum aif_json_token t;
	uint64_t line;

	while ((t = aif_json_next(j)) == AIF_JSON_KEY) {
		if (AIF_JSON_IS(j, "name")) {
			if (!next_string(x, &f.name))
				return false;
		} else if (AIF_JSON_IS(j, "file")) {
			if (!next_string(x, &f.file))
				return false;
		} else if (AIF_JSON_IS(j, "line")) {
			t = aif_json_raw(j);
			if (t == AIF_JSON_NUMBER && aif_json_u64(j, &line) == 0 &&
			    line < UINT32_MAX)
				f.line = (uint32_t)line;
			if (t == AIF_JSON_ERROR)
				return false;
		} else if (aif_json_skip(j) == AIF_JSON_ERROR) {
			return false;
		}
	}
	if (t != AIF_JSON_CLOSE)
		return false;
	return frame_add(x, &f);
}

static bool no_frame(struct speedscope *x)
{
	const struct speedscope_frame none = {.name = AIF_NONE, .file = AIF_NONE};

	return frame_add(x, &none);
}

static bool read_shared(struct speedscope *x)
{
	struct aif_json *j = &x->json;
	enum aif_json_token t;
	bool ok;

	if (!enter(x, AIF_JSON_OBJECT, &ok))
		return ok;
	while ((t = aif_json_next(j)) == AIF_JSON_KEY)
		if (AIF_JSON_IS(j, "frames") ? !read_array(x, AIF_JSON_OBJECT, read_frame, no_frame)
					     : aif_json_skip(j) == AIF_JSON_ERROR)
			return false;
	return t == AIF_JSON_CLOSE;
}

bool speedscope_read(struct speedscope *x)
{
	struct aif_json *j = &x->json;
	enum aif_json_token t = aif_json_next(j);
	bool ok = t == AIF_JSON_OBJECT;

	while (ok && (t = aif_json_next(j)) == AIF_JSON_KEY) {
		if (AIF_JSON_IS(j, "shared"))
			ok = read_shared(x);
		else if (AIF_JSON_IS(j, "profiles"))
			ok = read_array(x, AIF_JSON_OBJECT, read_profile, NULL);
		else
			ok = aif_json_skip(j) != AIF_JSON_ERROR;
	}
	return ok && t == AIF_JSON_CLOSE;
}
