/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/spirv.h"

#include "symbolize/line_cursor.h"

#include <string.h>

/* A header of five words, then instructions: their number of words << 16 | what they are. SPIR-V
 * specification 2.3, 3.42. */
enum {
	MAGIC = 0x07230203,
	HEADER_WORDS = 5,
	OP_LINE = 8,
	OP_EXT_INST_IMPORT = 11,
};

/* "OpenCL.DebugInfo.100", "NonSemantic.Shader.DebugInfo.100" ... */
static bool is_debug_set(struct line_cursor operands)
{
	const char *name;

	line_u32(&operands);
	name = line_text(&operands);
	return name && strstr(name, "DebugInfo");
}

bool aif_spirv_is(const uint8_t *bytes, size_t n)
{
	struct line_cursor p = line_cursor(bytes, n);

	return line_u32(&p) == MAGIC && n >= 4 * HEADER_WORDS && n % 4 == 0;
}

bool aif_spirv_has_lines(const uint8_t *bytes, size_t n)
{
	struct line_cursor p = line_cursor(bytes, n);

	if (line_u32(&p) != MAGIC)
		return false;
	line_take(&p, 4 * (HEADER_WORDS - 1));
	while (!p.failed && p.at < p.end) {
		uint32_t head = line_u32(&p), words = head >> 16;
		struct line_cursor operands = line_take(&p, words ? 4 * (words - 1) : UINT64_MAX);

		if (p.failed)
			return false;
		if ((head & 0xffff) == OP_LINE ||
		    ((head & 0xffff) == OP_EXT_INST_IMPORT && is_debug_set(operands)))
			return true;
	}
	return false;
}
