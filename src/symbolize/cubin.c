/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/cubin.h"

#include <elf.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>

/*
 * Functions that were not inlined are local symbols $KERNEL$FUNCTION in the section of the kernel
 * that calls them (each caller has its copy), or have a section of their own (separate
 * compilation).
 *
 * The sm stands in e_flags: the lowest byte up to ABI version 7, the second one from version 8
 * (CUDA 12.8).
 */

enum {
	ABI_OF_SECOND_BYTE = 8,
	OTHER_IS_ENTRY = 0x10,
};

/* "$KERNEL$FUNCTION", "$__internal_0_$FUNCTION" -> "FUNCTION". */
static const char *own_name(const char *name)
{
	const char *second = name[0] == '$' ? strchr(name + 1, '$') : NULL;

	return second && second[1] ? second + 1 : name;
}

static bool accept(struct aif_device_function *f, uint8_t st_other,
		   const struct aif_device_section *in)
{
	(void)in;
	f->name = own_name(f->name);
	f->kernel = st_other & OTHER_IS_ENTRY;
	return true;
}

int aif_cubin_init(struct aif_cubin *c, const void *bytes, size_t n)
{
	static const struct aif_device_elf_kind kind = {.machine = AIF_CUBIN_MACHINE,
							.accept = accept};
	uint32_t flags;
	Elf64_Ehdr e;
	int r;

	*c = (struct aif_cubin){0};
	r = aif_device_elf_init(&c->elf, &kind, bytes, n);
	if (r < 0)
		return r;
	memcpy(&e, bytes, sizeof(e));
	flags = le32toh(e.e_flags);
	c->sm = (e.e_ident[EI_ABIVERSION] >= ABI_OF_SECOND_BYTE ? flags >> 8 : flags) & 0xff;
	snprintf(c->arch, sizeof(c->arch), "sm_%u", c->sm);
	return 0;
}

void aif_cubin_finish(struct aif_cubin *c)
{
	aif_device_elf_finish(&c->elf);
	*c = (struct aif_cubin){0};
}
