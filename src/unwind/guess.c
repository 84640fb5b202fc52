/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/guess.h"

/* Bytes of `call *...` (0xff with 2 in the middle of the second byte) with this second byte; 0:
 * it is no such call, or jumps. `third` is a SIB byte if the second asks for one. */
static unsigned call_len(uint8_t second, uint8_t third)
{
	unsigned mod = second >> 6, rm = second & 7, len = 2;

	if ((second >> 3 & 7) != 2)
		return 0;
	if (mod != 3 && rm == 4) {
		len++;
		if (mod == 0 && (third & 7) == 5)
			len += 4;
	} else if (mod == 0 && rm == 5) {
		len += 4; /* relative to rip */
	}
	return len + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

bool aif_guess_is_after_call(const uint8_t bytes[AIF_GUESS_BEFORE])
{
	const uint8_t *end = bytes + AIF_GUESS_BEFORE;

	if (end[-5] == 0xe8) /* call rel32 */
		return true;
	for (unsigned len = 2; len <= AIF_GUESS_BEFORE; len++)
		if (end[-(int)len] == 0xff &&
		    call_len(end[-(int)len + 1], len > 2 ? end[-(int)len + 2] : 0) == len)
			return true;
	return false;
}

uint64_t aif_guess_row_of_end(const uint8_t bytes[AIF_GUESS_AFTER])
{
	static const uint8_t add_rsp[] = {0x48, 0x83, 0xc4}; /* then imm8, ret */

	if (bytes[0] == add_rsp[0] && bytes[1] == add_rsp[1] && bytes[2] == add_rsp[2] &&
	    bytes[3] < 0x80 && bytes[3] % 8 == 0 && bytes[4] == 0xc3)
		return aif_row_make(AIF_ROW_RSP, 0, 0, bytes[3] + 8);
	if (bytes[0] == 0x5d && bytes[1] == 0xc3) /* pop rbp; ret */
		return aif_row_make(AIF_ROW_RSP, -2, 0, 16);
	if (bytes[0] == 0xc9 && bytes[1] == 0xc3) /* leave; ret */
		return AIF_GUESS_ROW;
	return aif_row_make(AIF_ROW_NONE, 0, 0, 0);
}
