/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <link.h>

/* The build id among ELF notes (a PT_NOTE segment or a SHT_NOTE section, big-endian or not, which may hold
 * anything): *ret_len bytes, at least 1, in `notes`. NULL: there is none. */
const uint8_t *aif_build_id_find(const void *notes, size_t size, bool is_big, size_t *ret_len);

/* The same as hexadecimal digits; "" if there is none, or not that much room. */
void aif_build_id_text(const void *notes, size_t notes_size, bool is_big, char *text, size_t size);

/* Returns a segment's bytes in this process, of a module at `base` with these headers; NULL if no segment that is loaded and
 * readable has all of them: tools that remove sections leave headers behind that lead to nowhere. */
const void *aif_segment_in_memory(const ElfW(Phdr) * segment, uintptr_t base,
				  const ElfW(Phdr) * headers, size_t headers_len);
