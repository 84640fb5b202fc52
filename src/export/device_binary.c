/* SPDX-License-Identifier: Apache-2.0 */
#include "export/device_binary.h"

#include "profile/code_pack.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *module_path(const struct aif_profile *p, uint32_t module)
{
	return module < p->modules_len ? aif_profile_str(p, p->modules[module].path) : "";
}

const char *aif_device_binary_path(const struct aif_profile *p, const struct aif_code *c)
{
	const char *path = module_path(p, c->module);
	size_t prefix = strlen(AIF_BINARY_PREFIX);

	if (strcmp(aif_profile_str(p, c->arch), AIF_BINARY_ARCH) != 0 ||
	    strncmp(path, AIF_BINARY_PREFIX, prefix) != 0)
		return NULL;
	return path + prefix;
}

/* Says that the sections around `offset` have contents, which the recorder said they have not as it left them out. */
static void restore_sections(uint8_t *bytes, size_t n, uint64_t offset)
{
	uint32_t type = htole32(SHT_PROGBITS);
	Elf64_Ehdr head;
	uint64_t at;

	if (n < sizeof(head) || memcmp(bytes, ELFMAG, SELFMAG) != 0 ||
	    bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB)
		return;
	memcpy(&head, bytes, sizeof(head));
	at = le64toh(head.e_shoff);
	for (unsigned i = 0; i < le16toh(head.e_shnum) && at < n && n - at >= sizeof(Elf64_Shdr);
	     i++, at += sizeof(Elf64_Shdr)) {
		Elf64_Shdr s;

		memcpy(&s, bytes + at, sizeof(s));
		if (le32toh(s.sh_type) == SHT_NOBITS && offset >= le64toh(s.sh_offset) &&
		    offset - le64toh(s.sh_offset) < le64toh(s.sh_size))
			memcpy(bytes + at + offsetof(Elf64_Shdr, sh_type), &type, sizeof(type));
	}
}

/* Puts what the row has, a function or lines of one, where it was. */
static int put_part(uint8_t *bytes, size_t n, const struct aif_code *part)
{
	uint8_t *from;
	int r;

	if (part->file_offset > n || part->size > n - part->file_offset)
		return 0;
	r = aif_code_unpack(part, &from);
	if (r < 0)
		return r == -ENODATA ? 0 : r;
	memcpy(bytes + part->file_offset, from, part->size);
	free(from);
	restore_sections(bytes, n, part->file_offset);
	return 0;
}

int aif_device_binary_read(const struct aif_profile *p, const struct aif_code *c, uint8_t **ret)
{
	const char *path = aif_device_binary_path(p, c);
	uint8_t *bytes;
	int r = path ? aif_code_unpack(c, &bytes) : -ENODATA;

	if (r < 0)
		return r;
	for (size_t i = 0; i < p->codes_len && r == 0; i++) {
		const struct aif_code *part = &p->codes[i];

		if (part->file_offset && part->size &&
		    (part->module == c->module || !strcmp(module_path(p, part->module), path)))
			r = put_part(bytes, c->size, part);
	}
	if (r < 0)
		free(bytes);
	else
		*ret = bytes;
	return r;
}
