/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Keys of a terminal. Printable characters of ASCII are themselves. */
enum aif_key {
	AIF_KEY_NONE = 0,
	AIF_KEY_CTRL_C = 3,
	AIF_KEY_CTRL_L = 12,
	AIF_KEY_CTRL_Z = 26,
	AIF_KEY_TAB = '\t',
	AIF_KEY_ENTER = '\r',
	AIF_KEY_ESCAPE = 27,
	AIF_KEY_BACKSPACE = 127,
	AIF_KEY_UP = 256,
	AIF_KEY_DOWN,
	AIF_KEY_LEFT,
	AIF_KEY_RIGHT,
	AIF_KEY_PAGE_UP,
	AIF_KEY_PAGE_DOWN,
	AIF_KEY_HOME,
	AIF_KEY_END,
	AIF_KEY_OTHER, /* a sequence that means nothing here */
};

/* Takes the next key from n bytes; *ret_used: bytes of it. An escape alone is the key ESC: a terminal sends the sequence of
 * a key in one piece. AIF_KEY_NONE where there is none. */
enum aif_key aif_key_next(const uint8_t *bytes, size_t n, size_t *ret_used);
