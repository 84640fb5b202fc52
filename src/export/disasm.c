/* SPDX-License-Identifier: Apache-2.0 */
#include "export/disasm.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct arch {
	const char *name;
	cs_arch arch;
	cs_mode mode;
	uint32_t unit; /* size of what is skipped where nothing decodes */
} archs[] = {
	{"x86_64", CS_ARCH_X86, CS_MODE_64, 1},
	{"aarch64", CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, 4},
};

struct aif_disasm {
	const struct arch *arch;
	csh handle;
	cs_insn *insn;
};

int aif_disasm_new(const char *arch, struct aif_disasm **ret)
{
	struct aif_disasm *d;

	for (size_t i = 0; i < AIF_ARRAY_LEN(archs); i++) {
		if (strcmp(archs[i].name, arch))
			continue;
		d = calloc(1, sizeof(*d));
		if (!d)
			return -ENOMEM;
		d->arch = &archs[i];
		if (cs_open(d->arch->arch, d->arch->mode, &d->handle) != CS_ERR_OK) {
			free(d);
			return -ENOTSUP; /* capstone was built without it */
		}
		d->insn = cs_malloc(d->handle);
		if (!d->insn) {
			aif_disasm_free(d);
			return -ENOMEM;
		}
		*ret = d;
		return 0;
	}
	return -ENOTSUP;
}

void aif_disasm_free(struct aif_disasm *d)
{
	if (!d)
		return;
	if (d->insn)
		cs_free(d->insn, 1);
	cs_close(&d->handle);
	free(d);
}

static void no_instruction(const struct aif_disasm *d, const uint8_t *bytes, size_t n,
			   struct aif_insn *ret)
{
	uint32_t word;

	if (d->arch->unit == sizeof(word) && n >= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		ret->size = sizeof(word);
		strcpy(ret->mnemonic, ".inst");
		snprintf(ret->operands, sizeof(ret->operands), "0x%08" PRIx32, word);
	} else {
		ret->size = 1;
		strcpy(ret->mnemonic, ".byte");
		snprintf(ret->operands, sizeof(ret->operands), "0x%02x", bytes[0]);
	}
}

void aif_disasm_one(struct aif_disasm *d, const uint8_t *bytes, size_t n, uint64_t address,
		    struct aif_insn *ret)
{
	uint64_t at = address;
	const uint8_t *p = bytes;

	ret->address = address;
	if (cs_disasm_iter(d->handle, &p, &n, &at, d->insn)) {
		ret->size = d->insn->size;
		snprintf(ret->mnemonic, sizeof(ret->mnemonic), "%s", d->insn->mnemonic);
		snprintf(ret->operands, sizeof(ret->operands), "%s", d->insn->op_str);
	} else
		no_instruction(d, bytes, n, ret);
}
