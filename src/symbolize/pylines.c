/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/pylines.h"

/*
 * Three formats, each a run of entries in the order of the bytecode:
 *
 * to 3.9   (u8 address step, i8 line step): the line changes after so many bytes.
 * 3.10     (u8 length, i8 line step): the next so many bytes are on one line; -128: on none.
 * 3.11     one byte 1cccclll, then what the code c asks for: the next l + 1 units of two bytes. Codes 0 to
 *          9 stay on the line, 10 to 12 step by 0 to 2, 13 and 14 by a number that follows, 15 is on
 *          none. Only an entry's first byte has its top bit set.
 */

/* A line that cannot be: sums of hostile steps stay far from overflow by this. */
#define LINE_MAX_ (INT32_MAX / 2)

static int32_t line_or_none(int64_t line)
{
	return line >= 0 && line <= LINE_MAX_ ? (int32_t)line : AIF_PYLINES_NONE;
}

static int32_t find_steps(const uint8_t *p, const uint8_t *end, int64_t line, int32_t lasti)
{
	int64_t address = 0;

	for (; end - p >= 2; p += 2) {
		address += p[0];
		if (address > lasti)
			break;
		line += (int8_t)p[1];
	}
	return line_or_none(line);
}

static int32_t find_ranges(const uint8_t *p, const uint8_t *end, int64_t line, int32_t lasti)
{
	int64_t address = 0;

	for (; end - p >= 2; p += 2) {
		bool has_line = (int8_t)p[1] != -128;

		if (has_line)
			line += (int8_t)p[1];
		address += p[0];
		if (address > lasti)
			return has_line ? line_or_none(line) : AIF_PYLINES_NONE;
	}
	return AIF_PYLINES_NONE;
}

/* Six bits a byte, lowest first, bit 6: more follow. The lowest bit of the whole is the sign. */
static int64_t signed_number(const uint8_t *p, const uint8_t *end)
{
	uint64_t v = 0;

	for (unsigned shift = 0; p < end && shift < 36; p++, shift += 6) {
		v |= (uint64_t)(*p & 63) << shift;
		if (!(*p & 64))
			break;
	}
	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

static int32_t find_locations(const uint8_t *p, const uint8_t *end, int64_t line, int32_t lasti)
{
	enum { STEP_0 = 10, STEP_2 = 12, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15 };
	int64_t address = 0;

	while (p < end) {
		unsigned code = *p >> 3 & 15;

		address += ((*p & 7) + 1) * 2;
		p++;
		if (code >= STEP_0 && code <= STEP_2)
			line += code - STEP_0;
		else if (code == NO_COLUMNS || code == LONG)
			line += signed_number(p, end);
		if (address > lasti)
			return code == NO_LINE ? AIF_PYLINES_NONE : line_or_none(line);
		while (p < end && !(*p & 0x80))
			p++;
	}
	return AIF_PYLINES_NONE;
}

int32_t aif_pylines_find(unsigned minor, const uint8_t *table, size_t len, int32_t first_line,
			 int32_t lasti)
{
	const uint8_t *end = len ? table + len : table;

	if (minor < 8 || minor > 14)
		return AIF_PYLINES_NONE;
	if (lasti < 0)
		return line_or_none(first_line);
	if (minor < 10)
		return find_steps(table, end, first_line, lasti);
	if (minor == 10)
		return find_ranges(table, end, first_line, lasti);
	return find_locations(table, end, first_line, lasti);
}
