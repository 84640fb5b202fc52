/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/pycode.h"

#include "symbolize/pylines.h"

#include <stdio.h>
#include <string.h>

#define INSTR_BITS 20
#define MAX_CODES  1000000 /* beside what its process pays for */
#define CODE_COST  64      /* of its place in `ids`, and of malloc */

static_assert(MAX_CODES < UINT64_C(1) << (48 - INSTR_BITS), "a frame's address");

void aif_pycodes_finish(struct aif_pycodes *c)
{
	for (size_t i = 0; i < c->len; i++)
		free(c->codes[i].lines);
	free(c->codes);
	aif_map_finish(&c->ids);
}

/* "<lambda>" alone says little, and a file has many: those get their line. */
static uint32_t name_of(struct aif_store *s, const char *name, size_t len, int32_t line)
{
	char text[UINT16_MAX + 16];
	int n = 0;

	memcpy(text, name, len);
	if (len && name[len - 1] == '>' && !(len == 8 && !memcmp(name, "<module>", 8)))
		n = snprintf(text + len, sizeof(text) - len, ":%d", (int)line);
	return aif_store_str(s, text, len + (size_t)n);
}

uint32_t aif_pycodes_add(struct aif_pycodes *c, struct aif_store *s,
			 const struct aif_wire_pycode *r)
{
	const char *name = (const char *)(r + 1), *file = name + r->name_len,
		   *lines = file + r->file_len;
	/* All but the id in its head. */
	uint64_t hash = aif_hash_bytes((const char *)r + sizeof(r->head),
				       sizeof(*r) - sizeof(r->head) + r->name_len + r->file_len +
					       r->lines_len),
		 id;
	struct aif_pycode code = {.first_line = (uint32_t)AIF_MAX(r->first_line, 0),
				  .minor = r->minor,
				  .lines_len = r->lines_len};

	if (aif_map_get(&c->ids, hash, &id))
		return (uint32_t)id;
	if (!aif_store_charge(s, sizeof(code) + CODE_COST + r->lines_len))
		return AIF_NONE;
	if (c->len >= MAX_CODES || aif_grow(&c->codes, &c->cap, c->len + 1, sizeof(code)) < 0)
		return AIF_NONE;
	code.module = aif_store_module(s, AIF_MODULE_SOURCE, file, r->file_len, "", 0);
	code.name = name_of(s, name, r->name_len, r->first_line);
	code.lines = malloc(AIF_MAX(r->lines_len, 1));
	if (code.module == AIF_NONE || !code.lines || aif_map_put(&c->ids, hash, c->len) < 0) {
		free(code.lines);
		return AIF_NONE;
	}
	memcpy(code.lines, lines, r->lines_len);
	c->codes[c->len] = code;
	return (uint32_t)c->len++;
}

uint32_t aif_pycodes_frame(struct aif_pycodes *c, struct aif_store *s, uint32_t code, int32_t lasti)
{
	const struct aif_pycode *k;
	size_t known = s->p.frames_len;
	uint64_t address;
	uint32_t frame;
	int32_t line;

	if (code >= c->len)
		return AIF_NONE;
	k = &c->codes[code];
	address = (uint64_t)code << INSTR_BITS;
	if (lasti >= 0)
		address |= AIF_MIN((uint32_t)lasti / 2 + 1, (1u << INSTR_BITS) - 1);
	frame = aif_store_frame(s, AIF_FRAME_PYTHON, k->module, address);
	if (frame == AIF_NONE || s->p.frames_len == known)
		return frame;
	line = aif_pylines_find(k->minor, k->lines, k->lines_len, (int32_t)k->first_line, lasti);
	aif_store_name(s, &(struct aif_frame_name){
				  .frame = frame,
				  .name = k->name,
				  .file = s->p.modules[k->module].path,
				  .line = line > 0 ? (uint32_t)line : k->first_line,
			  });
	return frame;
}
