/* SPDX-License-Identifier: Apache-2.0 */
#include "base/build_id.h"

#include <elf.h>
#include <string.h>

const uint8_t *aif_build_id_find(const void *notes, size_t size, size_t *ret_len)
{
	const uint8_t *from = notes;
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n; /* as in 32-bit files */
		size_t name = at + sizeof(n), desc;

		memcpy(&n, from + at, sizeof(n));
		desc = name + AIF_ALIGN_UP((size_t)n.n_namesz, 4);
		if (desc > size || n.n_descsz > size - desc)
			return NULL;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(from + name, "GNU", 4) && n.n_descsz) {
			*ret_len = n.n_descsz;
			return from + desc;
		}
		at = desc + AIF_ALIGN_UP((size_t)n.n_descsz, 4);
		if (at > size)
			return NULL;
	}
	return NULL;
}

void aif_build_id_text(const void *notes, size_t notes_size, char *text, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = 0;
	const uint8_t *id = aif_build_id_find(notes, notes_size, &len);

	if (len >= (size + 1) / 2)
		len = 0;
	for (size_t i = 0; id && i < len; i++) {
		*text++ = digits[id[i] >> 4];
		*text++ = digits[id[i] & 15];
	}
	*text = '\0';
}
