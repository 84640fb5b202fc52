/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/palette.h"

#include "names/stall_rules.h"

/* Black text has a contrast of at least 4.5 on each of these (WCAG AA). */
enum {
	STALL_MEMORY = AIF_TREE_TYPE_COUNT,
	STALL_EXECUTION,
	STALL_SYNC,
	STALL_FETCH,
	STALL_ISSUED,
};
static const uint8_t stall_colours[AIF_STALL_CLASS_COUNT] = {
	[AIF_STALL_MEMORY] = STALL_MEMORY, [AIF_STALL_EXECUTION] = STALL_EXECUTION,
	[AIF_STALL_SYNC] = STALL_SYNC,     [AIF_STALL_FETCH] = STALL_FETCH,
	[AIF_STALL_ISSUE] = STALL_ISSUED,  [AIF_STALL_OTHER] = AIF_TREE_STALL,
};

static const struct aif_palette_colour colours[] = {
	[AIF_TREE_ROOT] = {"all", "r", {206, 206, 210}, {214, 214, 218}},
	[AIF_TREE_PYTHON] = {"Python", "p", {240, 142, 186}, {252, 184, 212}},
	[AIF_TREE_C] = {"C", "c", {226, 92, 84}, {246, 132, 118}},
	[AIF_TREE_CXX] = {"C++", "x", {228, 188, 58}, {246, 216, 108}},
	[AIF_TREE_OS] = {"OS kernel", "k", {238, 142, 44}, {250, 172, 90}},
	[AIF_TREE_API] = {"runtime, driver", "a", {196, 128, 124}, {216, 158, 152}},
	[AIF_TREE_KERNEL] = {"device kernel", "g", {64, 190, 196}, {112, 214, 216}},
	[AIF_TREE_COPY] = {"device copy", "m", {124, 186, 152}, {156, 208, 176}},
	[AIF_TREE_LINE] = {"source line", "l", {150, 218, 220}, {186, 234, 234}},
	[AIF_TREE_INSTRUCTION] = {"instruction", "i", {106, 148, 232}, {148, 180, 246}},
	[AIF_TREE_STALL] = {"other stall", "so", {176, 176, 190}, {198, 198, 210}},
	[AIF_TREE_SYNTHETIC] = {"note", "n", {190, 190, 190}, {204, 204, 204}},
	[AIF_TREE_RANGE] = {"range", "e", {206, 190, 250}, {226, 216, 255}},
	[STALL_MEMORY] = {"memory stall", "sm", {196, 128, 214}, {220, 164, 232}},
	[STALL_EXECUTION] = {"execution stall", "sp", {150, 190, 90}, {180, 212, 126}},
	[STALL_SYNC] = {"sync stall", "sy", {204, 168, 110}, {224, 194, 144}},
	[STALL_FETCH] = {"fetch stall", "sf", {170, 176, 120}, {194, 200, 150}},
	[STALL_ISSUED] = {"issue", "si", {126, 206, 126}, {160, 226, 160}},
};

const struct aif_palette_colour *aif_palette(size_t *ret_len)
{
	*ret_len = AIF_ARRAY_LEN(colours);
	return colours;
}

size_t aif_palette_of(unsigned type, const char *text, size_t len)
{
	unsigned base = aif_tree_base_type(type);

	assert(base < AIF_TREE_TYPE_COUNT);
	if (base == AIF_TREE_STALL)
		return stall_colours[aif_stall_find(text, len)->of];
	return base;
}

unsigned aif_palette_shade(const char *text, size_t len)
{
	return (unsigned)(aif_hash_bytes(text, len) % AIF_PALETTE_SHADES);
}

void aif_palette_rgb(const struct aif_palette_colour *c, unsigned shade, uint8_t ret_rgb[3])
{
	for (unsigned i = 0; i < 3; i++)
		ret_rgb[i] = (uint8_t)(c->low[i] + (c->high[i] - c->low[i]) * (int)shade /
							   (AIF_PALETTE_SHADES - 1));
}
