/* SPDX-License-Identifier: Apache-2.0 */
#include "export/chrome.h"

#include <errno.h>

/* Appends what import needs to read a frame again: the label alone does not say what it is of. */
static void frame_put(struct chrome *c, const struct aif_host_stacks *h, uint32_t node)
{
	static const char *const kinds[] = {
		[AIF_FRAME_NATIVE] = "native", [AIF_FRAME_OS] = "os", [AIF_FRAME_PYTHON] = "python",
		[AIF_FRAME_MARK] = "mark",     [AIF_FRAME_OP] = "op", [AIF_FRAME_RANGE] = "range",
		[AIF_FRAME_CALL] = "call",
	};
	const struct aif_host_node *n = &h->nodes[node];
	uint32_t kind = n->frame == AIF_NONE ? AIF_FRAME_MARK : c->t.p->frames[n->frame].kind;

	AIF_JSON_LIT(c->t.b, ",\"kind\":\"");
	if (kind == AIF_FRAME_NATIVE && n->row != AIF_NONE &&
	    c->t.p->frame_names[n->row].inline_depth)
		AIF_JSON_LIT(c->t.b, "inlined");
	else
		aif_buf_puts(c->t.b,
			     kind < AIF_ARRAY_LEN(kinds) && kinds[kind] ? kinds[kind] : "native");
	AIF_JSON_LIT(c->t.b, "\"");
	/* Calls at two places of a function are two. */
	if (kind == AIF_FRAME_NATIVE && n->frame != AIF_NONE)
		chrome_u64_put(c, ",\"address\":", c->t.p->frames[n->frame].address);
	if (n->row == AIF_NONE)
		return;
	AIF_JSON_LIT(c->t.b, ",\"function\":");
	aif_out_json_text(c->t.b, aif_profile_str(c->t.p, c->t.p->frame_names[n->row].name));
	if (*aif_host_file(h, node)) {
		AIF_JSON_LIT(c->t.b, ",\"file\":");
		aif_out_json_text(c->t.b, aif_host_file(h, node));
	}
	if (aif_host_line(h, node))
		chrome_u64_put(c, ",\"line\":", aif_host_line(h, node));
}

static void frames_put(struct chrome *c, const struct aif_host_stacks *h)
{
	c->is_first = true;
	for (uint32_t i = 1; i < h->len; i++) {
		uint32_t module = aif_host_module(h, i);
		size_t len;
		const char *name = aif_host_name(h, i, &len);

		CHROME_EVENT(c, "\"");
		aif_out_json_u64(c->t.b, i);
		AIF_JSON_LIT(c->t.b, "\":{\"name\":");
		aif_out_json_string(c->t.b, name, len);
		AIF_JSON_LIT(c->t.b, ",\"category\":");
		aif_out_json_text(c->t.b,
				  module == AIF_NONE
					  ? ""
					  : aif_profile_str(c->t.p, c->t.p->modules[module].path));
		frame_put(c, h, i);
		if (h->nodes[i].parent)
			chrome_u64_put(c, ",\"parent\":", h->nodes[i].parent);
		aif_buf_putc(c->t.b, '}');
		aif_out_flush_if_full(c->t.out);
	}
}

int chrome_stack_put(struct chrome *c, uint32_t stack, uint32_t *ret_node)
{
	uint32_t full;

	*ret_node = aif_host_stacks_node(&c->t.stacks, stack);
	full = c->has_full ? aif_host_stacks_node(&c->full, stack) : AIF_NONE;
	if (!*ret_node || !full)
		return -ENOMEM;
	if (stack == AIF_NONE)
		return 0;
	chrome_u64_put(c, ",\"sf\":", *ret_node);
	if (full != AIF_NONE)
		chrome_u64_put(c, ",\"asf\":", full);
	return 0;
}

void chrome_stacks_put(struct chrome *c)
{
	if (c->has_full) {
		AIF_JSON_LIT(c->t.b, ",\n\"aiflameStackFrames\":{\n");
		frames_put(c, &c->full);
		AIF_JSON_LIT(c->t.b, "}");
	}
	AIF_JSON_LIT(c->t.b, ",\n\"stackFrames\":{\n");
	frames_put(c, &c->t.stacks);
	AIF_JSON_LIT(c->t.b, "}");
}
