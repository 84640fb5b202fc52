/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"
#include "text/json.h"
#include "export/trees.h"

#include <errno.h>

/*
 * speedscope's own JSON (www.speedscope.app/file-format-schema.json): `sampled` profiles, one for each device and
 * process and one for the CPUs of each process. A sample is a stack of the tree; its weight the ns that end there.
 *
 * The frames, which all profiles share, stand behind the profiles: members of an object are in any order, and they
 * are known only then. A frame's `file`, by which speedscope colours, is what kind of code it is, where that is no host
 * code: `aiflame import` reads it, too.
 */
struct speedscope {
	struct aif_out *out;
	struct aif_strset frames; /* a byte of enum aif_tree_type, and the text */
	struct aif_buf key;
	uint32_t *path;
	size_t path_cap;
	uint64_t total;
	bool is_first;
};

/* Calls for each node with time of its own. */
static int nodes_each(struct speedscope *s, const struct aif_tree *t,
		      int (*fn)(struct speedscope *s, const struct aif_tree *t, uint32_t node,
				bool is_first))
{
	bool is_first = true;
	int r = 0;

	for (uint32_t i = 0; i < t->len && !r && !s->out->error; i++)
		if (t->nodes[i].self) {
			r = fn(s, t, i, is_first);
			is_first = false;
			aif_out_flush_if_full(s->out);
		}
	return r;
}

static int sample_put(struct speedscope *s, const struct aif_tree *t, uint32_t node, bool is_first)
{
	struct aif_buf *b = aif_out_buf(s->out);
	size_t n = 0;

	for (; node; node = t->nodes[node].parent) {
		size_t len;
		const char *text = aif_tree_text(t, t->nodes[node].name, &len);
		uint32_t frame;

		aif_buf_clear(&s->key);
		aif_buf_putc(&s->key,
			     (char)aif_tree_base_type(aif_tree_type_of(t, t->nodes[node].name)));
		aif_buf_append(&s->key, text, len);
		frame = aif_strset_put(&s->frames, s->key.data, s->key.len);
		if (aif_buf_failed(&s->key) || frame == AIF_STR_NONE ||
		    aif_grow(&s->path, &s->path_cap, n + 1, sizeof(*s->path)) < 0)
			return -ENOMEM;
		s->path[n++] = frame;
	}
	aif_buf_puts(b, is_first ? "[" : ",\n[");
	while (n) {
		aif_out_json_u64(b, s->path[--n]);
		if (n)
			aif_buf_putc(b, ',');
	}
	aif_buf_putc(b, ']');
	return 0;
}

static int weight_put(struct speedscope *s, const struct aif_tree *t, uint32_t node, bool is_first)
{
	struct aif_buf *b = aif_out_buf(s->out);

	if (!is_first)
		aif_buf_putc(b, ',');
	aif_out_json_u64(b, t->nodes[node].self);
	return 0;
}

static int profile_put(void *arg, const char *name, const char *unit, const struct aif_tree *t)
{
	struct speedscope *s = arg;
	struct aif_buf *b = aif_out_buf(s->out);
	int r;

	aif_buf_puts(b, s->is_first ? "\n" : ",\n");
	s->is_first = false;
	AIF_JSON_LIT(b, "{\"type\":\"sampled\",\"name\":");
	aif_out_json_text(b, name);
	AIF_JSON_LIT(b, ",\"unit\":");
	aif_out_json_text(b, unit);
	AIF_JSON_LIT(b, ",\"startValue\":0,\"endValue\":");
	aif_out_json_u64(b, t->nodes[0].total);
	AIF_JSON_LIT(b, ",\"samples\":[");
	r = nodes_each(s, t, sample_put);
	AIF_JSON_LIT(b, "],\n\"weights\":[");
	if (!r)
		r = nodes_each(s, t, weight_put);
	AIF_JSON_LIT(b, "]}");
	return r;
}

/* "": host code. */
static const char *file_of(unsigned type)
{
	switch (type) {
	case AIF_TREE_PYTHON:
		return "[Python]";
	case AIF_TREE_OS:
		return "[OS kernel]";
	case AIF_TREE_KERNEL:
	case AIF_TREE_COPY:
	case AIF_TREE_LINE:
	case AIF_TREE_INSTRUCTION:
	case AIF_TREE_STALL:
		return "[device]";
	default:
		return "";
	}
}

static int speedscope_write(const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	struct speedscope s = {.out = out, .is_first = true};
	struct aif_buf *b = aif_out_buf(out);
	int r;

	AIF_JSON_LIT(b, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
			"\"exporter\":\"aiflame " AIF_VERSION "\",\"name\":");
	aif_out_json_text(b, aif_profile_meta(x->profile, "command"));
	AIF_JSON_LIT(b, ",\"activeProfileIndex\":0,\n\"profiles\":[");
	r = aif_trees_each(x, profile_put, &s, err);
	AIF_JSON_LIT(b, "],\n\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < s.frames.len && !r; i++) {
		size_t len;
		const char *text = aif_strset_get(&s.frames, i, &len),
			   *file = file_of((unsigned char)*text);

		AIF_JSON_LIT(b, "\n{\"name\":");
		aif_out_json_string(b, text + 1, len - 1);
		if (*file) {
			AIF_JSON_LIT(b, ",\"file\":");
			aif_out_json_text(b, file);
		}
		aif_buf_puts(b, i + 1 < s.frames.len ? "}," : "}");
		aif_out_flush_if_full(out);
	}
	AIF_JSON_LIT(b, "]}}\n");
	aif_strset_finish(&s.frames);
	aif_buf_finish(&s.key);
	free(s.path);
	return r;
}

const struct aif_exporter aif_exporter_speedscope = {
	.name = "speedscope",
	.output = "aiflame.speedscope.json",
	.suffixes = ".speedscope.json",
	.is_text = true,
	.by_range = true,
	.write = speedscope_write,
};
