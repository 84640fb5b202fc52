/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/zebin.h"

#include "symbolize/line_cursor.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

/*
 * A kernel is section .text.KERNEL, with a symbol KERNEL at its beginning. "_entry" is a place in
 * it: where a thread begins whose payload the hardware has loaded already. Not all linkers write a
 * symbol for each section.
 */

enum {
	NOTE_PRODUCT_FAMILY = 1,
	NOTE_PRODUCT_CONFIG = 6,         /* instead of 1, in newer ones */
	TYPE_PATCHTOKENS_FIRST = 0xff01, /* source, SPIR-V, libraries, executables, debug data */
	TYPE_PATCHTOKENS_LAST = 0xff05,
};

static bool accept(struct aif_device_function *f, uint8_t st_other,
		   const struct aif_device_section *in)
{
	size_t prefix = strlen(AIF_DEVICE_TEXT);

	(void)st_other;
	if (strncmp(in->name, AIF_DEVICE_TEXT, prefix) != 0 || strcmp(f->name, "_entry") == 0)
		return false;
	f->kernel = f->start == 0 && strcmp(in->name + prefix, f->name) == 0;
	return true;
}

static const char *family_name(uint32_t family)
{
#define AIF_FAMILY(first, last, name)          \
	if (family >= first && family <= last) \
		return name;
#define AIF_IP(architecture, first, last, name)
#include "symbolize/zebin_families.def"
#undef AIF_FAMILY
#undef AIF_IP
	return NULL;
}

/* architecture: bits 22 to 31, release: 14 to 21, revision: the lowest six. */
static const char *ip_name(uint32_t version)
{
	int release = version >> 14 & 0xff;

#define AIF_FAMILY(first, last, name)
#define AIF_IP(architecture, first, last, name)                                     \
	if (version >> 22 == architecture && release >= (first) && release <= last) \
		return name;
#include "symbolize/zebin_families.def"
#undef AIF_FAMILY
#undef AIF_IP
	return NULL;
}

/* Returns the architecture from the last of several notes that has a known one. */
static const char *read_notes(const struct aif_device_section *s)
{
	struct line_cursor p = line_cursor(s->bytes, s->size);
	const char *arch = NULL;

	while (!p.failed && p.at < p.end) {
		uint64_t name_len = line_u32(&p), len = line_u32(&p);
		uint32_t type = line_u32(&p);
		struct line_cursor name = line_take(&p, name_len + (-name_len & 3)),
				   value = line_take(&p, AIF_MIN(len + (-len & 3), line_left(&p)));
		const char *known = NULL;

		if (p.failed || name_len != sizeof("IntelGT") ||
		    memcmp(name.at, "IntelGT", sizeof("IntelGT")) != 0)
			continue;
		if (type == NOTE_PRODUCT_FAMILY && len == 4)
			known = family_name(line_u32(&value));
		else if (type == NOTE_PRODUCT_CONFIG && len == 4)
			known = ip_name(line_u32(&value));
		arch = known ? known : arch;
	}
	return arch;
}

int aif_zebin_init(struct aif_zebin *z, const void *bytes, size_t n)
{
	static const struct aif_device_elf_kind kind = {
		.machine = AIF_ZEBIN_MACHINE, .accept = accept, .has_sections_as_functions = true};
	const struct aif_device_section *notes;
	const char *arch = NULL;
	int r;

	*z = (struct aif_zebin){0};
	r = aif_device_elf_init(&z->elf, &kind, bytes, n);
	if (r < 0)
		return r;
	notes = aif_device_elf_section(&z->elf, ".note.intelgt.compat");
	if (notes && notes->size)
		arch = read_notes(notes);
	snprintf(z->arch, sizeof(z->arch), "%s", arch ? arch : AIF_ZEBIN_ARCH_UNKNOWN);
	for (size_t i = 0; i < z->elf.sections_len && !z->spirv; i++)
		if (z->elf.sections[i].type == AIF_ZEBIN_SPIRV && z->elf.sections[i].size)
			z->spirv = &z->elf.sections[i];
	return 0;
}

void aif_zebin_finish(struct aif_zebin *z)
{
	aif_device_elf_finish(&z->elf);
	*z = (struct aif_zebin){0};
}

bool aif_zebin_is_patchtokens(const void *bytes, size_t n)
{
	struct line_cursor p = line_cursor(bytes, n);
	uint16_t type;

	if (n < sizeof(Elf64_Ehdr) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return false;
	line_take(&p, EI_NIDENT);
	type = line_u16(&p);
	return type >= TYPE_PATCHTOKENS_FIRST && type <= TYPE_PATCHTOKENS_LAST &&
	       line_u16(&p) == EM_NONE;
}
