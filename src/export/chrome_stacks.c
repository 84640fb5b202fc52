/* SPDX-License-Identifier: Apache-2.0 */
#include "export/chrome.h"

/* What import reads again: the label alone does not say what it is of. */
static void frame_put(struct chrome *c, uint32_t node)
{
	static const char *const kinds[] = {
		[AIF_FRAME_NATIVE] = "native", [AIF_FRAME_OS] = "os", [AIF_FRAME_PYTHON] = "python",
		[AIF_FRAME_MARK] = "mark",     [AIF_FRAME_OP] = "op", [AIF_FRAME_RANGE] = "range",
		[AIF_FRAME_CALL] = "call",
	};
	const struct aif_host_node *n = &c->stacks.nodes[node];
	uint32_t kind = n->frame == AIF_NONE ? AIF_FRAME_MARK : c->p->frames[n->frame].kind;

	AIF_JSON_LIT(c->b, ",\"kind\":\"");
	if (kind == AIF_FRAME_NATIVE && n->row != AIF_NONE &&
	    c->p->frame_names[n->row].inline_depth)
		AIF_JSON_LIT(c->b, "inlined");
	else
		aif_buf_puts(c->b,
			     kind < AIF_ARRAY_LEN(kinds) && kinds[kind] ? kinds[kind] : "native");
	AIF_JSON_LIT(c->b, "\"");
	if (n->row == AIF_NONE)
		return;
	AIF_JSON_LIT(c->b, ",\"function\":");
	aif_out_json_text(c->b, aif_profile_str(c->p, c->p->frame_names[n->row].name));
	if (*aif_host_file(&c->stacks, node)) {
		AIF_JSON_LIT(c->b, ",\"file\":");
		aif_out_json_text(c->b, aif_host_file(&c->stacks, node));
	}
	if (aif_host_line(&c->stacks, node))
		chrome_u64_put(c, ",\"line\":", aif_host_line(&c->stacks, node));
}

void chrome_stacks_put(struct chrome *c)
{
	const struct aif_host_stacks *h = &c->stacks;

	c->is_first = true;
	for (uint32_t i = 1; i < h->len; i++) {
		uint32_t module = aif_host_module(h, i);
		size_t len;
		const char *name = aif_host_name(h, i, &len);

		CHROME_EVENT(c, "\"");
		aif_out_json_u64(c->b, i);
		AIF_JSON_LIT(c->b, "\":{\"name\":");
		aif_out_json_string(c->b, name, len);
		AIF_JSON_LIT(c->b, ",\"category\":");
		aif_out_json_text(c->b,
				  module == AIF_NONE
					  ? ""
					  : aif_profile_str(c->p, c->p->modules[module].path));
		frame_put(c, i);
		if (h->nodes[i].parent)
			chrome_u64_put(c, ",\"parent\":", h->nodes[i].parent);
		aif_buf_putc(c->b, '}');
		aif_out_flush_if_full(c->out);
	}
}
