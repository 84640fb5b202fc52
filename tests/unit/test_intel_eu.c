/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/intel_eu.h"
#include "names/insn_start.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* after those */
#include <cmocka.h>

/* Instructions of Intel's EUs: some that IGC made, and what IGA 1.1.0 says of them. All of several real kernels are in
 * tests/e2e/zebin.sh. */

static size_t from_hex(const char *hex, uint8_t *to)
{
	size_t n = 0;
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		to[n++] = (uint8_t)byte;
	return n;
}

static void instructions_of_intel_are_decoded(void **state)
{
	static const struct {
		enum aif_intel_eu gen;
		const char *hex, *text;
		unsigned size;
		int marks;
		uint32_t waits;
		enum aif_intel_eu_kind kind;
	} cases[] = {
		/* send.ugm (32|M0) {A@1,$4} */
		{AIF_INTEL_EU_XE_HPC, "3124150000001420241c00fb00000000", "send.ugm", 16, 4, 0,
		 AIF_INTEL_EU_SEND},
		/* send.ugm (1|M0) {I@1,$2} */
		{AIF_INTEL_EU_XE_HPC, "3122030000000c048f7f00fa030034f6", "send.ugm", 16, 2, 0,
		 AIF_INTEL_EU_SEND},
		/* send.gtwy (8|M0) {EOT,I@1} */
		{AIF_INTEL_EU_XE_HPC, "31190c80040000000c7f203000000000", "send.gtwy", 16, -1, 0,
		 AIF_INTEL_EU_SEND},
		/* math.sqt (32|M0) {$4.dst} */
		{AIF_INTEL_EU_XE_HPC, "38841400a00a05240420104000000000", "math.sqt", 16, -1,
		 1u << 4, AIF_INTEL_EU_MATH},
		/* the same on Xe-HPG: {@0,$4}, as its functions end late */
		{AIF_INTEL_EU_XE_HPG, "38841400a00a05240420104000000000", "math.sqt", 16, 4, 0,
		 AIF_INTEL_EU_MATH},
		/* add (32|M0) {I@1} */
		{AIF_INTEL_EU_XE_HPC, "401914006006050b040a000104011000", "add", 16, -1, 0,
		 AIF_INTEL_EU_MATH},
		/* add (1|M0) {Compacted,$2.src} */
		{AIF_INTEL_EU_XE_HPC, "40a284f47f7f0004", "add", 8, -1, 1u << 2, AIF_INTEL_EU_MATH},
		/* mul (1|M0) {Compacted,A@1,$3.dst} */
		{AIF_INTEL_EU_XE_HPC, "412387e02005a200", "mul", 8, -1, 1u << 3, AIF_INTEL_EU_MATH},
		/* sync.nop {Compacted,I@2}, and those that wait for several */
		{AIF_INTEL_EU_XE_HPC, "011a8c2400000000", "sync.nop", 8, -1, 0, AIF_INTEL_EU_SYNC},
		{AIF_INTEL_EU_XE_HPC, "01858c2400000000", "sync.nop", 8, -1, 1u << 5,
		 AIF_INTEL_EU_SYNC},
		{AIF_INTEL_EU_XE_HPC, "0100c4ac00009000", "sync.allrd", 8, -1, 0x9,
		 AIF_INTEL_EU_SYNC},
		{AIF_INTEL_EU_XE_HPC, "0100ccac0000000c", "sync.allwr", 8, -1, 0xc0,
		 AIF_INTEL_EU_SYNC},
		{AIF_INTEL_EU_XE_HPC, "0100cc2400000000", "sync.allwr", 8, -1, UINT32_MAX,
		 AIF_INTEL_EU_SYNC},
		{AIF_INTEL_EU_XE_HPG, "010000000042010000000030c0000000", "sync.allwr", 16, -1,
		 0xc0, AIF_INTEL_EU_SYNC},
		{AIF_INTEL_EU_XE_LP, "012500e801001100", "sync.nop", 8, -1, 1u << 5,
		 AIF_INTEL_EU_SYNC},
		{AIF_INTEL_EU_XE_HPC, "0100002000000000", "sync", 8, -1, 0,
		 AIF_INTEL_EU_SYNC}, /* not seen yet */
		{AIF_INTEL_EU_XE_HPC, "010000000000000000000030", "sync", 12, -1, 0,
		 AIF_INTEL_EU_SYNC},
		{AIF_INTEL_EU_XE_HPC, "01000000000000000000003000000000", "sync.allwr", 16, -1,
		 UINT32_MAX, AIF_INTEL_EU_SYNC},
		/* what a generation lacks is a number */
		{AIF_INTEL_EU_XE_LP, "52000000000000000000000000000000", "0x52", 16, -1, 0,
		 AIF_INTEL_EU_UNKNOWN},
		{AIF_INTEL_EU_XE_HPC, "52000000000000000000000000000000", "add3", 16, -1, 0,
		 AIF_INTEL_EU_MATH},
		{AIF_INTEL_EU_XE_LP, "310000000000000000000000000000f0", "send.null", 16, -1, 0,
		 AIF_INTEL_EU_SEND},
		{AIF_INTEL_EU_XE_LP, "31000000000000000000000f00000000", "send.null", 16, -1, 0,
		 AIF_INTEL_EU_SEND},
		{AIF_INTEL_EU_XE_LP, "3100000000000000000000f000000000", "send", 16, -1, 0,
		 AIF_INTEL_EU_SEND},
		{AIF_INTEL_EU_XE_HPG, "3200000000000000000000e000000000", "sendc.slm", 16, -1, 0,
		 AIF_INTEL_EU_SEND},
		/* the first of its bytes alone */
		{AIF_INTEL_EU_XE_HPC, "61", "mov", 1, -1, 0, AIF_INTEL_EU_OTHER},
	};
	uint8_t bytes[16];
	char text[AIF_INTEL_EU_TEXT];

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_intel_eu_insn insn;
		size_t n = from_hex(cases[i].hex, bytes);

		assert_int_equal(aif_intel_eu_decode(bytes, n, cases[i].gen, &insn),
				 cases[i].kind != AIF_INTEL_EU_UNKNOWN);
		aif_intel_eu_text(&insn, text);
		assert_string_equal(text, cases[i].text);
		assert_int_equal(insn.size, cases[i].size);
		assert_int_equal(insn.marks, cases[i].marks);
		assert_int_equal(insn.waits, cases[i].waits);
		assert_int_equal(insn.kind, cases[i].kind);
	}
}

/* {$5.dst}, {$5.src}, {$5}, {@3,$5}, {@3} of each generation, of an addition and of a message. */
static void scoreboards_of_each_generation_are_read(void **state)
{
	static const struct {
		enum aif_intel_eu gen;
		uint8_t bits, mode; /* 8..15, 16..17 */
		int add_marks, add_waits, send_marks, send_waits;
	} cases[] = {
		{AIF_INTEL_EU_XE_LP, 0x25, 0, -1, 5, -1, 5},
		{AIF_INTEL_EU_XE_LP, 0x35, 0, -1, 5, -1, 5},
		{AIF_INTEL_EU_XE_LP, 0x45, 0, 5, -1, 5, -1},
		{AIF_INTEL_EU_XE_LP, 0xb5, 0, -1, 5, 5, -1},
		{AIF_INTEL_EU_XE_LP, 0x03, 0, -1, -1, -1, -1},
		{AIF_INTEL_EU_XE_HPG, 0x51, 0, -1, -1, -1, -1},
		{AIF_INTEL_EU_XE_HPG, 0x25, 3, -1, 5, -1, 5},
		{AIF_INTEL_EU_XE_HPC, 0x85, 0, -1, 5, -1, 5},
		{AIF_INTEL_EU_XE_HPC, 0xa5, 0, -1, 5, -1, 5},
		{AIF_INTEL_EU_XE_HPC, 0xc5, 0, 5, -1, 5, -1},
		{AIF_INTEL_EU_XE_HPC, 0x9f, 0, -1, 31, -1, 31},
		{AIF_INTEL_EU_XE_HPC, 0x65, 1, -1, 5, 5, -1},
		{AIF_INTEL_EU_XE_HPC, 0x65, 2, -1, 5, 5, -1},
		{AIF_INTEL_EU_XE_HPC, 0xff, 3, -1, 31, 31, -1},
		{AIF_INTEL_EU_XE_HPC, 0x1b, 0, -1, -1, -1, -1},
		{AIF_INTEL_EU_XE_HPC, 0xf0, 0, -1, -1, -1, -1},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		uint8_t bytes[16] = {0x40, cases[i].bits, cases[i].mode};
		struct aif_intel_eu_insn insn;

		aif_intel_eu_decode(bytes, sizeof(bytes), cases[i].gen, &insn);
		assert_int_equal(insn.marks, cases[i].add_marks);
		assert_int_equal(insn.waits, cases[i].add_waits < 0 ? 0 : 1u << cases[i].add_waits);
		bytes[0] = 0x31;
		aif_intel_eu_decode(bytes, sizeof(bytes), cases[i].gen, &insn);
		assert_int_equal(insn.marks, cases[i].send_marks);
		assert_int_equal(insn.waits,
				 cases[i].send_waits < 0 ? 0 : 1u << cases[i].send_waits);
	}
}

/* Instructions of a matrix product on Xe-HPC, as IGA has them: beside a distance each marks, or waits for its sources
 * or its result. */
static void scoreboards_of_dpas(void **state)
{
	static const struct {
		uint8_t bits, mode;
		int marks;
		uint32_t waits;
	} cases[] = {{0x25, 1, 5, 0},
		     {0x25, 2, -1, 1u << 5},
		     {0x25, 3, -1, 1u << 5},
		     {0x85, 0, -1, 1u << 5},
		     {0xc5, 0, 5, 0}};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		const uint8_t bytes[16] = {0x59, cases[i].bits, cases[i].mode};
		struct aif_intel_eu_insn insn;

		assert_true(aif_intel_eu_decode(bytes, sizeof(bytes), AIF_INTEL_EU_XE_HPC, &insn));
		assert_int_equal(insn.marks, cases[i].marks);
		assert_int_equal(insn.waits, cases[i].waits);
	}
}

static void a_wait_leads_to_what_produces_its_value(void **state)
{
	static const uint8_t code[] = {
		0x31, 0xc4, 0, 0,    0, 0, 0, 0, 0, 0, 0, 0xf0, 0, 0, 0, 0, /* 0: send {$4} */
		0x31, 0xc5, 0, 0,    0, 0, 0, 0, 0, 0, 0, 0xf0, 0, 0, 0, 0, /* 16: send {$5} */
		0x40, 0x85, 0, 0x20, 0, 0, 0, 0, /* 32: short add {$5.dst} */
		0x31, 0xc4, 0, 0,    0, 0, 0, 0, 0, 0, 0, 0xf0, 0, 0, 0, 0, /* 40: send {$4} */
		0x40, 0x84, 0, 0x20, 0, 0, 0, 0,                            /* 56: add {$4.dst} */
		0x40, 0x86, 0, 0x20, 0, 0, 0, 0, /* 64: add {$6.dst}: nobody's */
		0x40, 0x84, 0, 0,                /* cut */
	};
	uint32_t at[sizeof(code) / 8 + 1];

	(void)state;
	at[sizeof(code) / 8] = 77;
	aif_intel_eu_producers(code, sizeof(code), AIF_INTEL_EU_XE_HPC, at);
	for (size_t i = 0; i < sizeof(code) / 8; i++)
		assert_int_equal(at[i], i == 4 ? 16 : i == 7 || i == 9 ? 40 : AIF_INTEL_EU_NOTHING);
	assert_int_equal(at[sizeof(code) / 8], 77);
	aif_intel_eu_producers(code, 0, AIF_INTEL_EU_XE_HPC, at);
}

/* Finds the instruction that covers a place: Intel's by all before it, NVIDIA's by size, a CPU's each for itself. */
static void the_instruction_that_covers_a_place_is_found(void **state)
{
	static const uint8_t code[] = {
		0x31, 0xc4, 0, 0,    0, 0, 0, 0, 0,    0, 0, 0xf0, 0, 0, 0, 0, /* 0 */
		0x40, 0x85, 0, 0x20, 0, 0, 0, 0,                               /* 16: short */
		0x31, 0xc4, 0, 0,    0, 0, 0, 0, 0x24, 0, 0, 0xf0, 0, 0, 0, 0, /* 24 */
		0x40, 0x85, 0, 0x20, 0, 0, 0, 0, 0,    0 /* 40: short; two bytes */
	};
	static const struct {
		const char *arch;
		uint64_t offset, start;
	} cases[] = {
		{"xe_hpc", 0, 0},   {"xe_hpc", 15, 0},  {"xe_hpc", 16, 16},     {"xe_hpc", 20, 16},
		{"xe_hpc", 24, 24}, {"xe_hpc", 32, 24}, {"xe_hpc", 39, 24},     {"xe_hpc", 47, 40},
		{"xe_hpc", 49, 49}, {"xe_hpc", 50, 50}, {"xe_hpc", 1000, 1000}, {"sm_90", 17, 16},
		{"sm_90", 32, 32},  {"sm_90", 47, 32},  {"sm_90", 49, 49},      {"x86_64", 17, 17},
		{"", 17, 17},
	};
	struct aif_profile p = {0};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_code codes[] = {
			{.arch = aif_strset_puts(&p.strings, ""), .size = 8, .bytes = code},
			{.arch = aif_strset_puts(&p.strings, cases[i].arch),
			 .size = sizeof(code),
			 .bytes = code},
			{.arch = aif_strset_puts(&p.strings, cases[i].arch),
			 .size = 32,
			 .bytes = code + 16},
			{.arch = aif_strset_puts(&p.strings, cases[i].arch), .size = sizeof(code)},
		};
		struct aif_insn_starts s = {0};

		p.codes = codes;
		p.codes_len = AIF_ARRAY_LEN(codes);
		for (unsigned twice = 0; twice < 2; twice++)
			assert_int_equal(aif_insn_start(&s, &p, &codes[1], cases[i].offset),
					 cases[i].start);
		assert_int_equal(aif_insn_start(&s, &p, &codes[3], cases[i].offset),
				 cases[i].offset);
		/* The next function's bits lie behind. */
		if (!strcmp(cases[i].arch, "xe_hpc"))
			assert_int_equal(aif_insn_start(&s, &p, &codes[2], 16), 8);
		aif_insn_starts_finish(&s);
	}
	aif_strset_finish(&p.strings);
}

static void names_give_the_generation(void **state)
{
	(void)state;
	assert_int_equal(aif_intel_eu_of("xe_lp"), AIF_INTEL_EU_XE_LP);
	assert_int_equal(aif_intel_eu_of("xe_lpg"), AIF_INTEL_EU_XE_HPG);
	assert_int_equal(aif_intel_eu_of("xe2"), AIF_INTEL_EU_XE_HPC);
	assert_int_equal(aif_intel_eu_of("gen9"), AIF_INTEL_EU_NONE); /* another encoding */
	assert_int_equal(aif_intel_eu_of("sm_90"), AIF_INTEL_EU_NONE);
	assert_int_equal(aif_intel_eu_of(""), AIF_INTEL_EU_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_of_intel_are_decoded),
		cmocka_unit_test(scoreboards_of_each_generation_are_read),
		cmocka_unit_test(scoreboards_of_dpas),
		cmocka_unit_test(a_wait_leads_to_what_produces_its_value),
		cmocka_unit_test(names_give_the_generation),
		cmocka_unit_test(the_instruction_that_covers_a_place_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
