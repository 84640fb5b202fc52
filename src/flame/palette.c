/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/palette.h"

#include "analysis/idle/blame.h"
#include "names/stall_rules.h"

#include <string.h>

/* Black text has a contrast of at least 4.5 on each of these (WCAG AA). */
enum {
	STALL_MEMORY = AIF_TREE_TYPE_COUNT,
	STALL_EXECUTION,
	STALL_SYNC,
	STALL_FETCH,
	STALL_ISSUED,
	IDLE_HOST,
	IDLE_SYNC,
	IDLE_LATE,
	IDLE_INPUT,
	IDLE_COMPILE,
	IDLE_ALLOCATE,
	IDLE_PREPARE,
	IDLE_COLLECT,
	IDLE_GIL,
	IDLE_OFF_CPU,
	IDLE_NO_CPU,
	IDLE_DEMAND,
	IDLE_UNKNOWN,
};
static const uint8_t stall_colours[AIF_STALL_CLASS_COUNT] = {
	[AIF_STALL_MEMORY] = STALL_MEMORY, [AIF_STALL_EXECUTION] = STALL_EXECUTION,
	[AIF_STALL_SYNC] = STALL_SYNC,     [AIF_STALL_FETCH] = STALL_FETCH,
	[AIF_STALL_ISSUE] = STALL_ISSUED,  [AIF_STALL_OTHER] = AIF_TREE_STALL,
};
static const uint8_t idle_colours[AIF_IDLE_CAUSES] = {
	[AIF_IDLE_CAUSE_LAUNCH] = IDLE_HOST,       [AIF_IDLE_CAUSE_HOST] = IDLE_HOST,
	[AIF_IDLE_CAUSE_CPU] = IDLE_HOST,          [AIF_IDLE_CAUSE_LATE] = IDLE_LATE,
	[AIF_IDLE_CAUSE_WAIT] = IDLE_SYNC,         [AIF_IDLE_CAUSE_OFF_CPU] = IDLE_OFF_CPU,
	[AIF_IDLE_CAUSE_NO_CPU] = IDLE_NO_CPU,     [AIF_IDLE_CAUSE_COMPILE] = IDLE_COMPILE,
	[AIF_IDLE_CAUSE_ALLOCATE] = IDLE_ALLOCATE, [AIF_IDLE_CAUSE_COLLECT] = IDLE_COLLECT,
	[AIF_IDLE_CAUSE_GIL] = IDLE_GIL,           [AIF_IDLE_CAUSE_INPUT] = IDLE_INPUT,
	[AIF_IDLE_CAUSE_PREPARE] = IDLE_PREPARE,   [AIF_IDLE_CAUSE_DEMAND] = IDLE_DEMAND,
	[AIF_IDLE_CAUSE_RANKS] = IDLE_SYNC,        [AIF_IDLE_CAUSE_UNKNOWN] = IDLE_UNKNOWN,
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
	/* Colours of the page's groups of idle time (GROUPS in viewer/page/strip.js). */
	[IDLE_HOST] = {"idle: host, launch", "jh", {206, 136, 36}, {222, 156, 70}},
	[IDLE_SYNC] = {"idle: wait", "jw", {222, 190, 52}, {236, 210, 96}},
	[IDLE_LATE] = {"idle: late start", "jl", {176, 176, 206}, {194, 194, 222}},
	[IDLE_INPUT] = {"idle: data loader", "ji", {238, 92, 162}, {246, 134, 188}},
	[IDLE_COMPILE] = {"idle: compile", "jc", {218, 78, 60}, {234, 112, 96}},
	[IDLE_ALLOCATE] = {"idle: allocate", "ja", {144, 194, 116}, {166, 212, 142}},
	[IDLE_PREPARE] = {"idle: prepare", "jr", {144, 230, 168}, {172, 246, 196}},
	[IDLE_COLLECT] = {"idle: garbage collection", "jg", {198, 94, 90}, {216, 124, 120}},
	[IDLE_GIL] = {"idle: GIL", "jp", {120, 150, 246}, {150, 176, 252}},
	[IDLE_OFF_CPU] = {"idle: off CPU", "jo", {244, 230, 130}, {252, 242, 168}},
	[IDLE_NO_CPU] = {"idle: no CPU", "jm", {154, 194, 246}, {182, 214, 252}},
	[IDLE_DEMAND] = {"idle: no demand", "jd", {212, 226, 240}, {228, 238, 248}},
	[IDLE_UNKNOWN] = {"idle: unknown", "ju", {212, 184, 182}, {228, 206, 204}},
};

const struct aif_palette_colour *aif_palette(size_t *ret_len)
{
	*ret_len = AIF_ARRAY_LEN(colours);
	return colours;
}

/* Returns the colour of a note by the cause of idle time that it names; of others that of all notes. */
static size_t colour_of_note(const char *text, size_t len)
{
	static const char *const before[] = {"[idle: ", "[idle before it: "};

	for (size_t i = 0; i < AIF_ARRAY_LEN(before); i++) {
		size_t n = strlen(before[i]);

		for (unsigned c = 0; c < AIF_IDLE_CAUSES; c++) {
			const char *name = aif_idle_cause_name((enum aif_idle_cause)c);

			if (len == n + strlen(name) + 1 && !memcmp(text, before[i], n) &&
			    !memcmp(text + n, name, len - n - 1))
				return idle_colours[c];
		}
	}
	return AIF_TREE_SYNTHETIC;
}

size_t aif_palette_of(unsigned type, const char *text, size_t len)
{
	unsigned base = aif_tree_base_type(type);

	assert(base < AIF_TREE_TYPE_COUNT);
	if (base == AIF_TREE_STALL)
		return stall_colours[aif_stall_find(text, len)->of];
	if (base == AIF_TREE_SYNTHETIC)
		return colour_of_note(text, len);
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
