/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/insn_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct row {
	const char *mnemonic, *operands, *kinds; /* letters: Packed, sCalar, Load, Store, Branch */
};

static void expect(const char *arch, const struct row *rows, size_t len)
{
	static const char letters[AIF_INSN_KINDS + 1] = "PCLSB";

	for (size_t i = 0; i < len; i++) {
		struct aif_insn insn = {.size = 4};
		char got[AIF_INSN_KINDS + 1] = "";
		unsigned kinds;
		size_t n = 0;
		bool is_known;

		snprintf(insn.mnemonic, sizeof(insn.mnemonic), "%s", rows[i].mnemonic);
		snprintf(insn.operands, sizeof(insn.operands), "%s", rows[i].operands);
		kinds = aif_insn_kinds(arch, &insn, &is_known);
		for (unsigned k = 0; k < AIF_INSN_KINDS; k++)
			if (kinds & AIF_INSN_BIT(k))
				got[n++] = letters[k];
		assert_true(is_known);
		if (strcmp(got, rows[i].kinds))
			print_error("%s %s\n", rows[i].mnemonic, rows[i].operands);
		assert_string_equal(got, rows[i].kinds);
	}
}

static void kinds_of_x86(void **state)
{
	static const struct row rows[] = {
		{"vaddps", "ymm0, ymm1, ymmword ptr [rax + rcx*4]", "PL"},
		{"vfmadd231pd", "zmm0, zmm1, zmm2", "P"},
		{"mulss", "xmm0, xmm1", "C"},
		{"vfnmadd213sd", "xmm0, xmm1, qword ptr [rsi]", "CL"},
		{"cvtsi2sd", "xmm0, eax", "C"},
		{"cvttss2si", "eax, dword ptr [rdi]", "CL"},
		{"vcvtdq2ps", "ymm0, ymm1", "P"},
		{"ucomisd", "xmm0, qword ptr [rip + 0x10]", "CL"},
		{"cmpsd", "xmm0, xmm1, 1", "C"},
		{"cmpsd", "dword ptr [rsi], dword ptr [rdi]", "L"},
		{"tdpbf16ps", "tmm0, tmm1, tmm2", "P"},
		{"fmul", "st(0), st(1)", "C"},
		{"fadd", "qword ptr [rax]", "CL"},
		{"movaps", "xmm0, xmm1", ""},
		{"movaps", "xmm0, xmmword ptr [rax]", "L"},
		{"movaps", "xmmword ptr [rax], xmm0", "S"},
		{"vmovups", "zmmword ptr [rax] {k1}, zmm0", "S"},
		{"vpscatterdd", "zmmword ptr [rax + zmm1*4] {k1}, zmm0", "S"},
		{"vpgatherdd", "zmm0 {k1}, zmmword ptr [rax + zmm1*4]", "L"},
		{"xorps", "xmm0, xmm0", ""},
		{"paddd", "xmm0, xmm1", ""},
		{"sub", "rax, 8", ""},
		{"add", "qword ptr [rax], 8", "LS"},
		{"lock cmpxchg", "qword ptr [rax], rcx", "LS"},
		{"cmp", "byte ptr [rax], 0", "L"},
		{"lea", "rax, [rbx + 8]", ""},
		{"nop", "word ptr cs:[rax + rax]", ""},
		{"rep movsb", "byte ptr [rdi], byte ptr [rsi]", "LS"},
		{"rep stosq", "qword ptr [rdi], rax", "S"},
		{"push", "rbp", ""},
		{"jne", "0x1234", "B"},
		{"bnd jmp", "qword ptr [rip + 8]", "LB"},
		{"call", "rax", "B"},
		{"ret", "", "B"},
	};

	(void)state;
	expect("x86_64", rows, AIF_ARRAY_LEN(rows));
}

static void kinds_of_arm(void **state)
{
	static const struct row rows[] = {
		{"fmla", "v0.4s, v1.4s, v2.4s", "P"},
		{"fadd", "s0, s1, s2", "C"},
		{"fmadd", "d0, d1, d2, d3", "C"},
		{"fmla", "z0.s, p0/m, z1.s, z2.s", "P"},
		{"scvtf", "s0, w0", "C"},
		{"fmov", "d0, x0", ""},
		{"ldr", "q0, [x0]", "L"},
		{"stp", "x29, x30, [sp, #-16]!", "S"},
		{"ldadd", "x0, x1, [x2]", "LS"},
		{"add", "x0, x1, x2", ""},
		{"bic", "x0, x1, x2", ""},
		{"b.ne", "#0x10", "B"},
		{"bl", "#0x10", "B"},
		{"cbz", "x0, #0x10", "B"},
		{"ret", "", "B"},
	};

	(void)state;
	expect("aarch64", rows, AIF_ARRAY_LEN(rows));
}

static void what_is_no_instruction_is_not_known(void **state)
{
	struct aif_insn insn = {.size = 1, .mnemonic = ".byte"};
	bool is_known = true;

	(void)state;
	assert_int_equal(aif_insn_kinds("x86_64", &insn, &is_known), 0);
	assert_false(is_known);
	insn = (struct aif_insn){.size = 4, .mnemonic = "add"};
	is_known = true;
	aif_insn_kinds("riscv64", &insn, &is_known);
	assert_false(is_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_of_x86),
		cmocka_unit_test(kinds_of_arm),
		cmocka_unit_test(what_is_no_instruction_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
