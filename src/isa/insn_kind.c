/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/insn_kind.h"

#include <ctype.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool begins_with_any(const char *text, const char *const *with, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (begins(text, with[i]))
			return true;
	return false;
}
#define BEGINS_WITH_ANY(text, table) begins_with_any(text, table, AIF_ARRAY_LEN(table))

/* ---- x86 ------------------------------------------------------------------------------------- */

/* Returns the kinds of SSE's and AVX's arithmetic, whose last letters say what its elements are. */
static unsigned x86_vector_fp(const char *m, const char *operands)
{
	static const char *const operations[] = {
		"add",   "sub",   "mul",    "div",      "sqrt",    "min",     "max",
		"fmadd", "fmsub", "fnmadd", "fnmsub",   "hadd",    "hsub",    "dp",
		"rcp",   "rsqrt", "round",  "rndscale", "range",   "reduce",  "scalef",
		"cmp",   "ucomi", "comi",   "getexp",   "getmant", "fixupimm"};
	size_t len;

	if (begins(m, "tdp")) /* AMX: products of tiles */
		return strstr(m, "ps") ? AIF_INSN_BIT(AIF_INSN_PACKED_FP) : 0;
	m += *m == 'v';
	if (begins(m, "cvt"))
		return AIF_INSN_BIT(strstr(m, "ps") || strstr(m, "pd") || strstr(m, "ph")
					    ? AIF_INSN_PACKED_FP
					    : AIF_INSN_SCALAR_FP);
	len = strlen(m);
	/* cmpsd is a string's, too. */
	if (len < 4 || !BEGINS_WITH_ANY(m, operations) ||
	    (begins(m, "cmps") && !strstr(operands, "mm")))
		return 0;
	if (m[len - 1] != 's' && m[len - 1] != 'd' && m[len - 1] != 'h')
		return 0;
	return m[len - 2] == 'p'   ? AIF_INSN_BIT(AIF_INSN_PACKED_FP)
	       : m[len - 2] == 's' ? AIF_INSN_BIT(AIF_INSN_SCALAR_FP)
				   : 0;
}

/* Returns the kinds of an instruction whose first operand is in memory. */
static unsigned x86_first_in_memory(const char *m)
{
	static const char *const reads[] = {"cmp",  "test", "ucomi", "vucomi", "comi", "vcomi",
					    "push", "call", "j",     "mul",    "imul", "div",
					    "idiv", "fld",  "fild",  "fadd",   "fsub", "fmul",
					    "fdiv", "fcom", "bt"};
	static const char *const writes[] = {
		"mov",        "vmov",     "set",       "pop",      "st",     "fst",
		"fist",       "fnst",     "vextract",  "extract",  "vpmov",  "vcompress",
		"vpcompress", "vscatter", "vpscatter", "pextr",    "vpextr", "vcvtps2ph",
		"ins",        "maskmov",  "vmaskmov",  "vpmaskmov"};

	bool is_both =
		begins(m, "cmpxchg") || !strcmp(m, "btc") || !strcmp(m, "btr") || !strcmp(m, "bts");

	if (!is_both && BEGINS_WITH_ANY(m, reads))
		return AIF_INSN_BIT(AIF_INSN_LOAD);
	if (BEGINS_WITH_ANY(m, writes))
		return AIF_INSN_BIT(AIF_INSN_STORE);
	return AIF_INSN_BIT(AIF_INSN_LOAD) | AIF_INSN_BIT(AIF_INSN_STORE);
}

static unsigned x86_memory(const char *m, const char *operands)
{
	static const char *const none[] = {"lea", "nop", "prefetch", "clflush", "clwb", "endbr"};
	const char *comma = strchr(operands, ','), *first = strchr(operands, '[');
	unsigned kinds = 0;

	if (!first || BEGINS_WITH_ANY(m, none))
		return 0;
	if (!comma || first < comma)
		kinds = x86_first_in_memory(m);
	if (comma && strchr(comma, '['))
		kinds |= AIF_INSN_BIT(AIF_INSN_LOAD);
	return kinds;
}

static unsigned x86(const struct aif_insn *insn)
{
	static const char *const x87[] = {"fadd",  "fsub",  "fmul",   "fdiv",   "fiadd",
					  "fisub", "fimul", "fidiv",  "fsqrt",  "fsin",
					  "fcos",  "fptan", "fpatan", "fyl2x",  "f2xm1",
					  "fprem", "fcom",  "fucom",  "fscale", "frndint"};
	/* Prefixes stand before it: "rep movsb", "bnd jmp". */
	const char *space = strrchr(insn->mnemonic, ' '), *m = space ? space + 1 : insn->mnemonic;
	unsigned kinds = x86_vector_fp(m, insn->operands) | x86_memory(m, insn->operands);

	if (BEGINS_WITH_ANY(m, x87))
		kinds |= AIF_INSN_BIT(AIF_INSN_SCALAR_FP);
	if (*m == 'j' || begins(m, "call") || begins(m, "ret") || begins(m, "loop"))
		kinds |= AIF_INSN_BIT(AIF_INSN_BRANCH);
	return kinds;
}

/* ---- Arm ------------------------------------------------------------------------------------- */

static unsigned arm(const struct aif_insn *insn)
{
	static const char *const exchanges[] = {"ldadd",  "ldclr",  "ldeor",  "ldset", "ldsmax",
						"ldsmin", "ldumax", "ldumin", "swp",   "cas"};
	static const char *const branches[] = {"b.",  "cbz",  "cbnz", "tbz", "tbnz",
					       "ret", "braa", "brab", "blra"};
	const char *m = insn->mnemonic, *operands = insn->operands;
	bool is_packed =
		*operands == 'v' && isdigit((unsigned char)operands[1]) && strchr(operands, '.');
	unsigned kinds = 0;

	if ((*m == 'f' && !begins(m, "fmov")) || begins(m, "scvtf") || begins(m, "ucvtf") ||
	    begins(m, "bfdot") || begins(m, "bfmmla") || begins(m, "bfmlal"))
		kinds |= AIF_INSN_BIT(is_packed || *operands == 'z' ? AIF_INSN_PACKED_FP
								    : AIF_INSN_SCALAR_FP);
	if (BEGINS_WITH_ANY(m, exchanges))
		kinds |= AIF_INSN_BIT(AIF_INSN_LOAD) | AIF_INSN_BIT(AIF_INSN_STORE);
	else if (begins(m, "ld"))
		kinds |= AIF_INSN_BIT(AIF_INSN_LOAD);
	else if (begins(m, "st"))
		kinds |= AIF_INSN_BIT(AIF_INSN_STORE);
	if (BEGINS_WITH_ANY(m, branches) || !strcmp(m, "b") || !strcmp(m, "bl") ||
	    !strcmp(m, "br") || !strcmp(m, "blr"))
		kinds |= AIF_INSN_BIT(AIF_INSN_BRANCH);
	return kinds;
}

unsigned aif_insn_kinds(const char *arch, const struct aif_insn *insn, bool *ret_is_known)
{
	bool is_x86 = !strcmp(arch, "x86_64"), is_arm = !strcmp(arch, "aarch64");

	*ret_is_known = (is_x86 || is_arm) && *insn->mnemonic != '.';
	if (!*ret_is_known)
		return 0;
	return is_x86 ? x86(insn) : arm(insn);
}

const char *aif_insn_kind_key(enum aif_insn_kind kind)
{
	static const char *const keys[AIF_INSN_KINDS] = {"packed_fp", "scalar_fp", "load", "store",
							 "branch"};

	return keys[kind];
}
