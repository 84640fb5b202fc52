/* SPDX-License-Identifier: Apache-2.0 */
#include "top/keys.h"

static enum aif_key of_letter(uint8_t c)
{
	switch (c) {
	case 'A':
		return AIF_KEY_UP;
	case 'B':
		return AIF_KEY_DOWN;
	case 'C':
		return AIF_KEY_RIGHT;
	case 'D':
		return AIF_KEY_LEFT;
	case 'H':
		return AIF_KEY_HOME;
	case 'F':
		return AIF_KEY_END;
	default:
		return AIF_KEY_OTHER;
	}
}

static enum aif_key of_number(unsigned n)
{
	switch (n) {
	case 1:
	case 7:
		return AIF_KEY_HOME;
	case 4:
	case 8:
		return AIF_KEY_END;
	case 5:
		return AIF_KEY_PAGE_UP;
	case 6:
		return AIF_KEY_PAGE_DOWN;
	default:
		return AIF_KEY_OTHER;
	}
}

/* ESC [ parameters, intermediates, a final byte (ECMA-48, 5.4). */
static enum aif_key control_sequence(const uint8_t *bytes, size_t n, size_t *ret_used)
{
	unsigned number = 0;
	bool is_first = true;
	size_t i = 2;

	for (; i < n && bytes[i] >= 0x20 && bytes[i] < 0x40; i++) {
		is_first = is_first && bytes[i] >= '0' && bytes[i] <= '9';
		if (is_first && number < 1000)
			number = number * 10 + (unsigned)(bytes[i] - '0');
	}
	*ret_used = i < n ? i + 1 : n;
	if (i == n)
		return AIF_KEY_OTHER;
	return bytes[i] == '~' ? of_number(number) : of_letter(bytes[i]);
}

enum aif_key aif_key_next(const uint8_t *bytes, size_t n, size_t *ret_used)
{
	*ret_used = n ? 1 : 0;
	if (!n)
		return AIF_KEY_NONE;
	if (bytes[0] == '\n')
		return AIF_KEY_ENTER;
	if (bytes[0] == 8)
		return AIF_KEY_BACKSPACE;
	if (bytes[0] >= 0x80)
		return AIF_KEY_OTHER;
	if (bytes[0] != AIF_KEY_ESCAPE || n == 1)
		return (enum aif_key)bytes[0];
	if (bytes[1] == '[')
		return control_sequence(bytes, n, ret_used);
	*ret_used = AIF_MIN(n, (size_t)3);
	if (bytes[1] == 'O' && n >= 3)
		return of_letter(bytes[2]);
	*ret_used = 1;
	return AIF_KEY_ESCAPE;
}
