/* SPDX-License-Identifier: Apache-2.0 */
#include "base/build_id.h"

#include <elf.h>
#include <endian.h>
#include <string.h>

const uint8_t *aif_build_id_find(const void *notes, size_t size, bool is_big, size_t *ret_len)
{
	const uint8_t *from = notes;
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n; /* as in 32-bit files */
		size_t name = at + sizeof(n), name_n, desc, desc_n;

		memcpy(&n, from + at, sizeof(n));
		name_n = is_big ? be32toh(n.n_namesz) : le32toh(n.n_namesz);
		desc_n = is_big ? be32toh(n.n_descsz) : le32toh(n.n_descsz);
		desc = name + AIF_ALIGN_UP(name_n, 4);
		if (desc > size || desc_n > size - desc)
			return NULL;
		if ((is_big ? be32toh(n.n_type) : le32toh(n.n_type)) == NT_GNU_BUILD_ID &&
		    name_n == 4 && !memcmp(from + name, "GNU", 4) && desc_n) {
			*ret_len = desc_n;
			return from + desc;
		}
		at = desc + AIF_ALIGN_UP(desc_n, 4);
		if (at > size)
			return NULL;
	}
	return NULL;
}

void aif_build_id_text(const void *notes, size_t notes_size, bool is_big, char *text, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = 0;
	const uint8_t *id = aif_build_id_find(notes, notes_size, is_big, &len);

	if (len >= (size + 1) / 2)
		len = 0;
	for (size_t i = 0; id && i < len; i++) {
		*text++ = digits[id[i] >> 4];
		*text++ = digits[id[i] & 15];
	}
	*text = '\0';
}

const void *aif_segment_in_memory(const ElfW(Phdr) * segment, uintptr_t base,
				  const ElfW(Phdr) * headers, size_t headers_len)
{
	for (size_t i = 0; i < headers_len; i++) {
		const ElfW(Phdr) *h = &headers[i];

		/* A start below h's wraps, and is no offset into it. */
		if (h->p_type == PT_LOAD && (h->p_flags & PF_R) &&
		    segment->p_filesz <= h->p_filesz &&
		    segment->p_vaddr - h->p_vaddr <= h->p_filesz - segment->p_filesz)
			return (const void *)(base + segment->p_vaddr);
	}
	return NULL;
}
