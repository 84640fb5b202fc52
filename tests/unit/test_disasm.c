/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "isa/disasm.h"

#include "symbolize/symbolize.h"

#include "fixture_pocl.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

/* Same instruction boundaries, same mnemonics where there are any (".insn" for AVX-512 that capstone does not know). Some padding aside, which objdump spells by its
 * encoding ("data16 cs nopw", "xchg ax,ax") and capstone as the "nop" that it is. */
static void kernel_as_objdump(const struct fixture *fx, const char *path, size_t *seen,
			      size_t *differ, size_t *unnamed)
{
	char *text = fixture_run(fx, "objdump -d -M intel '%s'", path), *save = NULL;
	struct aif_buf code = {0};
	struct aif_symbols *s;
	struct aif_disasm *d;
	uint64_t start = 0, size = 0;
	size_t at = 0;

	assert_int_equal(aif_symbols_new(&s), 0);
	assert_int_equal(aif_symbols_module(s, 0, open(path, O_RDONLY | O_CLOEXEC), path, NULL), 0);
	assert_int_equal(aif_disasm_new(aif_symbols_arch(s, 0), &d), 0);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *tab = strchr(line, '\t'), *mnemonic = tab ? strchr(tab + 1, '\t') : NULL;
		uint64_t address = strtoull(line, NULL, 16);
		struct aif_insn insn;
		const char *name;
		size_t n;

		if (line[0] != ' ') { /* "ADDRESS <function>:" */
			aif_buf_clear(&code);
			at = size = 0;
			if (strstr(line, "<_pocl_kernel_") && !strstr(line, "-0x")) {
				assert_int_equal(
					aif_symbols_function(s, 0, address, &start, &size, &name),
					0);
				assert_int_equal(start, address);
				assert_int_equal(aif_symbols_code(s, 0, start, size, &code), 0);
			}
			continue;
		}
		if (!mnemonic || at >= size)
			continue; /* the rest of a long instruction's bytes; padding */
		aif_disasm_one(d, code.data + at, code.len - at, start + at, &insn);
		assert_int_equal(insn.address, address); /* all lengths so far agree */
		at += insn.size;
		mnemonic++;
		if (!strncmp(mnemonic, "{evex} ", 7)) /* where VEX would do */
			mnemonic += 7;
		n = strcspn(mnemonic, " ");
		mnemonic[n] = 0;
		(*seen)++;
		if (!strcmp(insn.mnemonic, ".insn")) {
			++*unnamed;
			assert_string_not_equal(mnemonic, "(bad)");
		} else if (strcmp(mnemonic, insn.mnemonic)) {
			if (++*differ < 10)
				printf("%" PRIx64 ": %s here, %s there\n", address, insn.mnemonic,
				       mnemonic);
		}
	}
	aif_disasm_free(d);
	aif_symbols_free(s);
	aif_buf_finish(&code);
	free(text);
}

static void pocl_kernels_as_objdump(void **state)
{
	static const char *const kernels[] = {"mm_tiled", "odd_workgroup"};
	size_t seen = 0, differ = 0, unnamed = 0;
	struct fixture fx;
	char path[PATH_MAX], *list;

	(void)state;
	fixture_init(&fx);
	list = fixture_pocl(&fx, "cache", "");
	for (size_t i = 0; i < AIF_ARRAY_LEN(kernels); i++) {
		fixture_pocl_path(list, kernels[i], path);
		kernel_as_objdump(&fx, path, &seen, &differ, &unnamed);
	}
	printf("%zu instructions, %zu differ, %zu without a name\n", seen, differ, unnamed);
	assert_true(seen > 1000);
	assert_true(differ * 100 < seen);
	free(list);
	fixture_finish(&fx);
}

static void instructions_are_decoded_with_length_and_target(void **state)
{
	static const struct {
		const char *arch;
		uint8_t bytes[16];
		size_t n, size;
		const char *mnemonic, *operands;
		uint64_t target; /* 0: none */
		uint32_t target_at;
	} cases[] = {
		{"x86_64", {0xc3}, 1, 1, "ret", "", 0, 0},
		{"x86_64", {0xc5, 0xf8, 0x77}, 3, 3, "vzeroupper", "", 0, 0},
		{"x86_64",
		 {0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0},
		 8,
		 8,
		 "mov",
		 "rax, qword ptr [0]",
		 0,
		 0},
		{"x86_64", {0x75, 0xfe}, 2, 2, "jne", "0x1000", 0x1000, 0},
		{"x86_64", {0xe8, 0x10, 0, 0, 0}, 5, 5, "call", "0x1015", 0x1015, 0},
		{"x86_64", {0xe2, 0xf0}, 2, 2, "loop", "0xff2", 0xff2, 0},
		{"x86_64", {0xff, 0xe0}, 2, 2, "jmp", "rax", 0, 0},
		{"x86_64", {0x68, 0, 0x10, 0, 0}, 5, 5, "push", "0x1000", 0, 0},
		{"x86_64", {0xf3, 0xa4}, 2, 2, "rep movsb", "byte ptr [rdi], byte ptr [rsi]", 0, 0},
		/* vpermt2d xmm0, xmm1, xmm2; vcvtqq2ps ymm0, zmmword ptr [rax + 0x40]; vpternlogq with SIB and 32 bits; by VEX:
		 * vpdpbusd ymm0, ymm1, ymmword ptr [rip]; tdpbusd tmm0, tmm1, tmm2: capstone 4 knows none of them */
		{"x86_64", {0x62, 0xf2, 0x75, 0x08, 0x7e, 0xc2}, 6, 6, "vpermt2d", "", 0, 0},
		{"x86_64", {0x62, 0xf1, 0xfc, 0x48, 0x5b, 0x40, 1}, 7, 7, "vcvtqq2ps", "", 0, 0},
		{"x86_64",
		 {0x62, 0xf3, 0xf5, 0x4d, 0x25, 0x84, 0x58, 0, 1, 0, 0, 0xca},
		 12,
		 12,
		 "vpternlogq",
		 "",
		 0,
		 0},
		{"x86_64", {0xc4, 0xe2, 0x75, 0x50, 0x05, 0, 0, 0, 0}, 9, 9, "vpdpbusd", "", 0, 0},
		{"x86_64", {0xc4, 0xe2, 0x69, 0x5e, 0xc1}, 5, 5, "tdpbusd", "", 0, 0},
		{"x86_64", {0x62, 0xf1, 0xf5, 0x08, 0x73, 0xf2, 3}, 7, 7, "vpsllq", "", 0, 0},
		/* nobody's yet */
		{"x86_64",
		 {0x62, 0xf2, 0x75, 0x48, 0xf9, 0xc2},
		 6,
		 6,
		 ".insn",
		 "EVEX.512.66.0F38.W0 F9",
		 0,
		 0},
		{"x86_64", {0x62, 0xf2, 0x75, 0x48, 0x7e}, 5, 1, ".byte", "0x62", 0, 0},
		/* cut off, and what is no instruction: one byte at a time */
		{"x86_64", {0x48, 0x8b, 0x04}, 3, 1, ".byte", "0x48", 0, 0},
		{"x86_64", {0x06, 0xc3}, 2, 1, ".byte", "0x06", 0, 0},
		{"aarch64", {0xc0, 0x03, 0x5f, 0xd6}, 4, 4, "ret", "", 0, 0},
		{"aarch64", {0x40, 0, 0, 0x54}, 4, 4, "b.eq", "#0x1008", 0x1008, 0},
		{"aarch64", {0x42, 0, 0, 0xb4}, 4, 4, "cbz", "x2, #0x1008", 0x1008, 4},
		{"aarch64", {0x43, 0, 0x28, 0x36}, 4, 4, "tbz", "w3, #5, #0x1008", 0x1008, 8},
		{"aarch64", {0x02, 0, 0, 0x94}, 4, 4, "bl", "#0x1008", 0x1008, 0},
		{"aarch64", {0, 0x02, 0x3f, 0xd6}, 4, 4, "blr", "x16", 0, 0},
		{"aarch64", {0xff, 0xff, 0xff, 0xff}, 4, 4, ".inst", "0xffffffff", 0, 0},
		{"aarch64", {0xc0, 0x03}, 2, 1, ".byte", "0xc0", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_disasm *d;
		struct aif_insn insn;

		assert_int_equal(aif_disasm_new(cases[i].arch, &d), 0);
		aif_disasm_one(d, cases[i].bytes, cases[i].n, 0x1000, &insn);
		assert_int_equal(insn.address, 0x1000);
		assert_int_equal(insn.size, cases[i].size);
		assert_string_equal(insn.mnemonic, cases[i].mnemonic);
		assert_string_equal(insn.operands, cases[i].operands);
		assert_int_equal(insn.has_target, cases[i].target != 0);
		assert_int_equal(insn.target, cases[i].target);
		assert_int_equal(insn.target_at, cases[i].target_at);
		aif_disasm_free(d);
	}
}

static void unknown_architectures_are_refused(void **state)
{
	struct aif_disasm *d = NULL;

	(void)state;
	assert_int_equal(aif_disasm_new("gfx90a", &d), -ENOTSUP);
	assert_int_equal(aif_disasm_new("sm_61", &d), -ENOTSUP); /* instructions of 8 bytes */
	assert_int_equal(aif_disasm_new("sm_", &d), -ENOTSUP);
	assert_int_equal(aif_disasm_new("", &d), -ENOTSUP);
	assert_null(d);
}

/* NVIDIA's, of which there are no operands: @!P0 EXIT, and what stands at the end cut off. */
static void nvidia_instructions_have_guard_and_name(void **state)
{
	static const uint8_t bytes[20] = {0x4d, 0x89, 0, 0, 0,    0,   0, 0,   0,
					  0,    0x80, 3, 0, 0xea, 0xf, 0, 0xff};
	struct aif_disasm *d;
	struct aif_insn insn;

	(void)state;
	assert_int_equal(aif_disasm_sm("sm_90a"), 90);
	assert_int_equal(aif_disasm_sm("x86_64"), 0);
	assert_int_equal(aif_disasm_new("sm_90", &d), 0);
	aif_disasm_one(d, bytes, sizeof(bytes), 0x40, &insn);
	assert_int_equal(insn.address, 0x40);
	assert_int_equal(insn.size, 16);
	assert_string_equal(insn.guard, "@!P0");
	assert_string_equal(insn.mnemonic, "EXIT");
	assert_string_equal(insn.operands, "");
	aif_disasm_one(d, bytes + 16, 4, 0x50, &insn);
	assert_int_equal(insn.size, 1);
	assert_string_equal(insn.mnemonic, ".byte");
	assert_string_equal(insn.guard, "");
	aif_disasm_free(d);
}

/* Any bytes: always one instruction that lies within them. */
static void random_bytes_give_instructions_within_them(void **state)
{
	static const char *const archs[] = {"x86_64", "aarch64", "sm_90"};
	uint64_t random = 0x9e3779b97f4a7c15;
	uint8_t bytes[4096];

	(void)state;
	for (size_t a = 0; a < AIF_ARRAY_LEN(archs); a++) {
		struct aif_disasm *d;

		assert_int_equal(aif_disasm_new(archs[a], &d), 0);
		for (size_t i = 0; i < sizeof(bytes); i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			bytes[i] = (uint8_t)(random >> 32);
		}
		for (size_t at = 0, n; at < sizeof(bytes); at += n) {
			struct aif_insn insn;
			/* its own copy, so that reading past the end is seen */
			size_t len = AIF_MIN(sizeof(bytes) - at, 1 + random % 16);
			uint8_t *part = malloc(len);

			memcpy(part, bytes + at, len);
			aif_disasm_one(d, part, len, at, &insn);
			free(part);
			n = insn.size;
			assert_in_range(n, 1, len);
			assert_true(insn.mnemonic[0] != 0);
			random = random * 6364136223846793005u + 1;
		}
		aif_disasm_free(d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_are_decoded_with_length_and_target),
		cmocka_unit_test(unknown_architectures_are_refused),
		cmocka_unit_test(nvidia_instructions_have_guard_and_name),
		cmocka_unit_test(random_bytes_give_instructions_within_them),
		cmocka_unit_test(pocl_kernels_as_objdump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
