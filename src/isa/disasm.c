/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/disasm.h"

#include "base/memory.h"

#include "isa/intel_eu.h"
#include "isa/sass.h"
#include "isa/x86_vector.h"

#include <capstone/capstone.h>
#include <endian.h>
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
	const struct arch *arch; /* NULL: a GPU's, which capstone does not know */
	csh handle;
	cs_insn *insn;
	/* the one of them that is not 0 */
	unsigned sm;
	enum aif_intel_eu gen;
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

/* Returns true for an architecture that has a table of our own. */
static bool is_gpu(const char *arch)
{
	return aif_disasm_sm(arch) || aif_intel_eu_of(arch) != AIF_INTEL_EU_NONE;
}

static int gpu_new(const char *arch, struct aif_disasm **ret)
{
	struct aif_disasm *d = aif_memory_calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->sm = aif_disasm_sm(arch);
	d->gen = aif_intel_eu_of(arch);
	*ret = d;
	return 0;
}

int aif_disasm_new(const char *arch, struct aif_disasm **ret)
{
	struct aif_disasm *d;

	if (is_gpu(arch))
		return gpu_new(arch, ret);
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
		cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
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

/* A name without operands, or at least its size and its place in the manual. */
static bool vector_one(const struct aif_disasm *d, const uint8_t *bytes, size_t n,
		       struct aif_insn *ret)
{
	struct aif_x86_vector v;
	char text[AIF_X86_VECTOR_TEXT];
	const char *name;

	if (!d->arch || d->arch->arch != CS_ARCH_X86 || aif_x86_vector(bytes, n, &v) < 0)
		return false;
	ret->size = v.size;
	name = aif_x86_vector_name(&v);
	snprintf(ret->mnemonic, sizeof(ret->mnemonic), "%s", name ? name : ".insn");
	if (!name) {
		aif_x86_vector_text(&v, text);
		snprintf(ret->operands, sizeof(ret->operands), "%s", text);
	}
	return true;
}

static void no_instruction(const struct aif_disasm *d, const uint8_t *bytes, size_t n,
			   struct aif_insn *ret)
{
	uint32_t word;

	if (d->arch && d->arch->unit == sizeof(word) && n >= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		ret->size = sizeof(word);
		strcpy(ret->mnemonic, ".inst");
		snprintf(ret->operands, sizeof(ret->operands), "0x%08" PRIx32, le32toh(word));
	} else {
		ret->size = 1;
		strcpy(ret->mnemonic, ".byte");
		snprintf(ret->operands, sizeof(ret->operands), "0x%02x", bytes[0]);
	}
}

/* Decodes an instruction of NVIDIA's. Its operands are not described: the result is a name, or the
 * operation's number. */
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

static void gen_one(const struct aif_disasm *d, const uint8_t *bytes, size_t n,
		    struct aif_insn *ret)
{
	struct aif_intel_eu_insn i;

	aif_intel_eu_decode(bytes, n, d->gen, &i);
	ret->size = i.size;
	aif_intel_eu_text(&i, ret->mnemonic);
}

static uint64_t immediate(const struct aif_disasm *d)
{
	const cs_detail *detail = d->insn->detail;
	uint64_t at = 0;

	if (d->arch->arch == CS_ARCH_X86 && detail->x86.op_count == 1 &&
	    detail->x86.operands[0].type == X86_OP_IMM)
		at = (uint64_t)detail->x86.operands[0].imm;
	else if (d->arch->arch == CS_ARCH_ARM64 && detail->arm64.op_count &&
		 detail->arm64.operands[detail->arm64.op_count - 1].type == ARM64_OP_IMM)
		at = (uint64_t)detail->arm64.operands[detail->arm64.op_count - 1].imm;
	return at;
}

/* Finds the target of a jump or call: the last operand. */
static void find_target(const struct aif_disasm *d, struct aif_insn *ret)
{
	const char *text = ret->operands, *last = strrchr(text, ' ');
	uint64_t at;

	if (!cs_insn_group(d->handle, d->insn, CS_GRP_JUMP) &&
	    !cs_insn_group(d->handle, d->insn, CS_GRP_CALL) &&
	    !cs_insn_group(d->handle, d->insn, CS_GRP_BRANCH_RELATIVE))
		return;
	at = immediate(d);
	last = last ? last + 1 : text;
	/* Only the same number in the text may be replaced by a name. */
	if (strtoull(*last == '#' ? last + 1 : last, NULL, 0) != at || !at)
		return;
	ret->has_target = true;
	ret->target = at;
	ret->target_at = (uint32_t)(last - text);
}

void aif_disasm_one(struct aif_disasm *d, const uint8_t *bytes, size_t n, uint64_t address,
		    struct aif_insn *ret)
{
	uint64_t at = address;
	const uint8_t *p = bytes;

	*ret = (struct aif_insn){.address = address};
	if (d->sm && n >= AIF_SASS_BYTES) {
		sass_one(d, bytes, ret);
	} else if (d->gen && n >= AIF_INTEL_EU_LEAST) {
		gen_one(d, bytes, n, ret);
	} else if (d->arch && cs_disasm_iter(d->handle, &p, &n, &at, d->insn)) {
		ret->size = d->insn->size;
		snprintf(ret->mnemonic, sizeof(ret->mnemonic), "%s", d->insn->mnemonic);
		snprintf(ret->operands, sizeof(ret->operands), "%s", d->insn->op_str);
		find_target(d, ret);
	} else if (!vector_one(d, bytes, n, ret)) {
		no_instruction(d, bytes, n, ret);
	}
}
