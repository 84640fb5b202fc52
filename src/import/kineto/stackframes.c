/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/kineto.h"

#include <errno.h>
#include <string.h>

/*
 * Stacks that a trace has in full: `stackFrames`, a tree of frames by number, whose numbers events have as `sf`. The
 * layout is Trace Event Format's ("Stack frames"). aiflame's own export says in further keys of a frame what a name
 * alone does not: `kind`, and `function`, `file` and `line` in place of a label. Frames of others are of their CPU
 * samples only, and are passed. What --detail left out of the export is in `aiflameStackFrames`, which has all frames,
 * and whose numbers events have as `asf`: by these a backward's launches are found their forward.
 *
 * Ours are numbered from 1 on, callers first. So nothing of a damaged table makes a cycle, or more memory than its text.
 */

/* Same limit as in stacks.c. */
#define DEPTH_MAX 1100

static const struct {
	const char *word;
	uint8_t frame, class; /* enum aif_frame_kind; enum kineto_class of what events make, too */
	bool is_inlined;
} kinds[] = {
	{"native", AIF_FRAME_NATIVE, 0, false},
	{"inlined", AIF_FRAME_NATIVE, 0, true},
	{"os", AIF_FRAME_OS, 0, false},
	{"python", AIF_FRAME_PYTHON, 0, false},
	{"mark", AIF_FRAME_MARK, 0, false},
	{"op", AIF_FRAME_OP, KINETO_OP, false},
	{"range", AIF_FRAME_RANGE, KINETO_RANGE, false},
	{"call", AIF_FRAME_CALL, KINETO_CALL, false},
};

/* A frame as it stands in the file. */
struct frame {
	struct aif_buf name, category, kind, function, file;
	uint64_t parent, line, address;
};

static uint32_t str(struct kineto *k, const struct aif_buf *b)
{
	return b->len ? aif_builder_str(k->b, b->data, b->len) : AIF_NONE;
}

static int frame_add(struct kineto *k, const struct frame *f)
{
	const struct aif_buf *name = f->function.len ? &f->function : &f->name;
	struct kineto_stackframe place = {.stack = AIF_NONE};
	uint32_t frame, parent = AIF_NONE;
	size_t i = 0;

	k->stackframes.host.b = k->b;
	while (i < AIF_ARRAY_LEN(kinds) && (f->kind.len != strlen(kinds[i].word) ||
					    memcmp(f->kind.data, kinds[i].word, f->kind.len)))
		i++;
	i = i < AIF_ARRAY_LEN(kinds) ? i : 0;
	if (f->parent && f->parent <= k->stackframes.places_len)
		parent = k->stackframes.places[f->parent - 1].stack;
	place.name = name->len ? str(k, name) : aif_builder_puts(k->b, "[?]");
	if (kinds[i].class && name->len) {
		uint32_t id = kineto_name(k, (const char *)name->data, name->len);

		if (id == AIF_STR_NONE)
			return -ENOMEM;
		frame = kineto_frame(k, id, (enum kineto_class)kinds[i].class);
	} else if (kinds[i].is_inlined) {
		frame = aif_host_inlined(&k->stackframes.host, AIF_FRAME_NATIVE,
					 str(k, &f->category), place.name, str(k, &f->file),
					 (uint32_t)AIF_MIN(f->line, UINT32_MAX));
	} else if (kinds[i].frame == AIF_FRAME_NATIVE) {
		frame = aif_host_native(&k->stackframes.host, str(k, &f->category), place.name,
					str(k, &f->file), (uint32_t)AIF_MIN(f->line, UINT32_MAX),
					f->address);
	} else {
		frame = aif_host_frame(&k->stackframes.host, (enum aif_frame_kind)kinds[i].frame,
				       AIF_NONE, place.name, str(k, &f->file),
				       (uint32_t)AIF_MIN(f->line, UINT32_MAX));
	}
	if (parent != AIF_NONE && k->b->p.stacks[parent].depth >= DEPTH_MAX) {
		place.stack = parent;
		k->counts.too_deep++;
	} else if (frame != AIF_NONE) {
		place.stack = aif_builder_stack(k->b, parent, frame, 0);
	}
	if (k->b->failed || k->is_failed ||
	    aif_grow(&k->stackframes.places, &k->stackframes.places_cap,
		     k->stackframes.places_len + 1, sizeof(place)) < 0)
		return -ENOMEM;
	k->stackframes.places[k->stackframes.places_len++] = place;
	return 0;
}

/* Reads the object that was entered; false: the text is wrong there. */
static bool frame_read(struct aif_json *j, struct frame *f)
{
	const struct {
		const char *key;
		struct aif_buf *text;
		uint64_t *number;
	} keys[] = {
		{"name", &f->name, NULL},     {"category", &f->category, NULL},
		{"kind", &f->kind, NULL},     {"function", &f->function, NULL},
		{"file", &f->file, NULL},     {"line", NULL, &f->line},
		{"parent", NULL, &f->parent}, {"address", NULL, &f->address},
	};
	enum aif_json_token t;

	while ((t = aif_json_next(j)) == AIF_JSON_KEY) {
		size_t i = 0;

		while (i < AIF_ARRAY_LEN(keys) && !aif_json_is(j, keys[i].key, strlen(keys[i].key)))
			i++;
		t = i < AIF_ARRAY_LEN(keys) ? aif_json_raw(j) : aif_json_skip(j);
		if (t == AIF_JSON_ERROR)
			return false;
		if (i == AIF_ARRAY_LEN(keys) || (t != AIF_JSON_STRING && t != AIF_JSON_NUMBER))
			continue;
		if (keys[i].number)
			aif_json_u64(j, keys[i].number);
		else
			aif_json_text(j, keys[i].text);
	}
	return t == AIF_JSON_CLOSE;
}

int kineto_stackframes_read(struct kineto *k, bool is_full)
{
	struct aif_json *j = &k->json;
	unsigned depth = aif_json_depth(j);
	struct frame f = {.line = 0};
	enum aif_json_token t = aif_json_next(j);
	bool is_table = t == AIF_JSON_OBJECT;
	int r = 0;

	/* Numbers are of one table: of the one with all frames, if events have them. */
	is_table &= is_full == k->stackframes.has_full && !k->stackframes.is_full_read;
	k->stackframes.is_full_read |= is_full && is_table;
	while (!r && t != AIF_JSON_ERROR && aif_json_depth(j) > depth) {
		uint64_t id = 0;

		t = aif_json_next(j);
		if (!is_table || t != AIF_JSON_KEY || aif_json_depth(j) != depth + 1)
			continue;
		aif_json_u64(j, &id);
		t = aif_json_next(j);
		if (t != AIF_JSON_OBJECT)
			continue;
		aif_buf_clear(&f.name);
		aif_buf_clear(&f.category);
		aif_buf_clear(&f.kind);
		aif_buf_clear(&f.function);
		aif_buf_clear(&f.file);
		f.parent = f.line = f.address = 0;
		if (!frame_read(j, &f))
			t = AIF_JSON_ERROR;
		else if (f.kind.len && id == k->stackframes.places_len + 1)
			r = frame_add(k, &f);
	}
	if (aif_buf_failed(&f.name) || aif_buf_failed(&f.category) || aif_buf_failed(&f.kind) ||
	    aif_buf_failed(&f.function) || aif_buf_failed(&f.file))
		r = -ENOMEM;
	aif_buf_finish(&f.name);
	aif_buf_finish(&f.category);
	aif_buf_finish(&f.kind);
	aif_buf_finish(&f.function);
	aif_buf_finish(&f.file);
	return r;
}

bool kineto_stackframe_of(const struct kineto *k, const struct kineto_span *s,
			  struct kineto_stackframe *ret)
{
	if (!k->stackframes.places_len || s->class == KINETO_PYTHON ||
	    s->frames > k->stackframes.places_len)
		return false;
	*ret = s->frames ? k->stackframes.places[s->frames - 1]
			 : (struct kineto_stackframe){.stack = AIF_NONE, .name = AIF_NONE};
	return true;
}

void kineto_stackframes_finish(struct kineto_stackframes *f)
{
	free(f->places);
	aif_host_finish(&f->host);
}
