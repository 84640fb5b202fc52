/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* The build id among ELF notes (a PT_NOTE segment or a SHT_NOTE section, big-endian or not, which may hold
 * anything): *ret_len bytes, at least 1, in `notes`. NULL: there is none. */
const uint8_t *aif_build_id_find(const void *notes, size_t size, bool is_big, size_t *ret_len);

/* The same as hexadecimal digits; "" if there is none, or not that much room. */
void aif_build_id_text(const void *notes, size_t notes_size, bool is_big, char *text, size_t size);
