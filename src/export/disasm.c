/* SPDX-License-Identifier: Apache-2.0 */
#include "export/disasm.h"

#include "export/sass.h"

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
	const struct arch *arch; /* NULL: NVIDIA's, which capstone does not know */
	csh handle;
	cs_insn *insn;
	unsigned sm;
};

unsigned aif_disasm_sm(const char *arch)
{
	unsigned sm = 0;

	if (strncmp(arch, "sm_", 3))
		return 0;
	for (arch += 3; *arch >= '0' && *arch <= '9' && sm < 1000; arch++)
		sm = sm * 10 + (unsigned)(*arch - '0');
	return sm >= AIF_SASS_FIRST_SM ? sm : 0;
}

static int sass_new(unsigned sm, struct aif_disasm **ret)
{
	struct aif_disasm *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->sm = sm;
	*ret = d;
	return 0;
}

int aif_disasm_new(const char *arch, struct aif_disasm **ret)
{
	struct aif_disasm *d;

	if (aif_disasm_sm(arch))
		return sass_new(aif_disasm_sm(arch), ret);
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
	if (d->arch)
		cs_close(&d->handle);
	free(d);
}

static void no_instruction(const struct aif_disasm *d, const uint8_t *bytes, size_t n,
			   struct aif_insn *ret)
{
	uint32_t word;

	if (d->arch && d->arch->unit == sizeof(word) && n >= sizeof(word)) {
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

/* Of the operands there is no description: the name is all there is, or the operation's number. */
static void sass_one(const struct aif_disasm *d, const uint8_t *bytes, struct aif_insn *ret)
{
	struct aif_sass s;
	char text[AIF_SASS_TEXT];
	const char *name = text;

	aif_sass_decode(bytes, d->sm, &s);
	aif_sass_text(&s, text);
	if (*name == '@' && strchr(name, ' ')) {
		name = strchr(name, ' ') + 1;
		snprintf(ret->guard, sizeof(ret->guard), "%.*s", (int)(name - text - 1), text);
	}
	ret->size = AIF_SASS_BYTES;
	snprintf(ret->mnemonic, sizeof(ret->mnemonic), "%s", name);
}

void aif_disasm_one(struct aif_disasm *d, const uint8_t *bytes, size_t n, uint64_t address,
		    struct aif_insn *ret)
{
	uint64_t at = address;
	const uint8_t *p = bytes;

	*ret = (struct aif_insn){.address = address};
	if (!d->arch && n >= AIF_SASS_BYTES) {
		sass_one(d, bytes, ret);
	} else if (d->arch && cs_disasm_iter(d->handle, &p, &n, &at, d->insn)) {
		ret->size = d->insn->size;
		snprintf(ret->mnemonic, sizeof(ret->mnemonic), "%s", d->insn->mnemonic);
		snprintf(ret->operands, sizeof(ret->operands), "%s", d->insn->op_str);
	} else {
		no_instruction(d, bytes, n, ret);
	}
}
