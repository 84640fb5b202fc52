/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of callgrind, what instructions compute and move, and on which side of the roofs a function is. */
#include "isa/insn_work.h"
#include "rounds.h"
#include "runbook/roofline.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char counts[] = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\n"
			     "desc: LL cache: 1048576 B, 64 B, 16-way associative\n\n"
			     "positions: instr line\n"
			     "events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw ILdmr DLdmr DLdmw\n"
			     "summary: 1 2 3\n\n"
			     "ob=(1) /usr/bin/program\nfl=(1) a.c\nfn=(1) triad\n"
			     "0x1000 10 7 1 0 0 1 0 0 1 0 0 1\n"
			     "+4 +1 100 100 0 0 50 0 0 50 2 0 20 3\n"
			     "* * 5\n"
			     "cob=(2) /lib/other.so\ncfn=(2) other\ncalls=3 0x2000 1\n"
			     "* 11 9999 9999 9999 0 0 0 0 777 777 0 777 777\n"
			     "-4 * 1\n"
			     "+12 12 8\n\n"
			     "ob=(2)\nfn=(2)\n0x1004 1 3 0 0 0 0 0 0 4\n\n"
			     "ob=(1)\nfn=(1)\n0x1004 11 10\n";

static int read_text(const char *text, size_t n, struct aif_callgrind_range *ranges, size_t len,
		     struct aif_callgrind_totals *totals)
{
	FILE *f = fmemopen((void *)text, n, "r");
	int e;

	assert_non_null(f);
	e = aif_callgrind_read(f, ranges, len, totals);
	fclose(f);
	return e;
}

static void counts_of_a_function_are_summed_by_instruction(void **state)
{
	uint64_t executions[2][16] = {{0}};
	struct aif_callgrind_range ranges[] = {{.path = "/usr/bin/program",
						.address = 0x1000,
						.size = 16,
						.executions = executions[0]},
					       {.path = "/lib/other.so",
						.address = 0x1000,
						.size = 16,
						.executions = executions[1]}};
	struct aif_callgrind_totals totals = {0};

	(void)state;
	assert_int_equal(read_text(counts, strlen(counts), ranges, 2, &totals), 0);
	assert_int_equal(executions[0][0], 8);   /* 7, and 1 after the call */
	assert_int_equal(executions[0][4], 115); /* what the call cost is not of it */
	assert_int_equal(executions[0][12], 8);
	assert_int_equal(ranges[0].fetched, 1 + 50 + 2);
	assert_int_equal(ranges[0].written, 1 + 20 + 3);
	assert_int_equal(executions[1][4], 3);
	assert_int_equal(ranges[1].fetched, 4);
	assert_int_equal(ranges[1].written, 0);
	assert_int_equal(totals.fetched, 57);
	assert_int_equal(totals.line_bytes, 64);
	assert_int_equal(totals.files, 1);
	assert_string_equal(totals.cache, "1048576 B, 64 B, 16-way associative");
}

static void files_without_addresses_or_caches_are_refused(void **state)
{
	static const char *const texts[] = {"", "positions: line\nevents: Ir DLmr DLdmr\n1 2 3\n",
					    "positions: instr line\nevents: Ir\n0x1 1 3\n",
					    "\n\n\n"};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(texts); i++) {
		struct aif_callgrind_totals totals = {0};

		/* fmemopen() takes no empty text. */
		assert_int_equal(read_text(*texts[i] ? texts[i] : " ",
					   AIF_MAX(strlen(texts[i]), (size_t)1), NULL, 0, &totals),
				 -EINVAL);
		assert_int_equal(totals.files, 0);
	}
}

static void damaged_counts_are_read_within_the_function(void **state)
{
	(void)state;
	srand(7);
	for (unsigned round = 0; round < rounds(4000); round++) {
		char text[sizeof(counts)];
		uint64_t *executions = calloc(16, sizeof(*executions));
		struct aif_callgrind_range range = {.path = "/usr/bin/program",
						    .address = 0x1000,
						    .size = 16,
						    .executions = executions};
		struct aif_callgrind_totals totals = {0};
		size_t n = 1 + (size_t)rand() % (sizeof(counts) - 1);

		memcpy(text, counts, sizeof(counts));
		for (int i = 0; i < 8; i++)
			text[(size_t)rand() % n] = "0123456789+-*x=( )\n\xff"[rand() % 20];
		(void)read_text(text, n, &range, 1, &totals);
		free(executions);
	}
}

static void work_of_x86_instructions(void **state)
{
	static const struct {
		const char *mnemonic, *operands;
		uint32_t flops, load, store;
	} rows[] = {
		{"vfmadd213pd", "ymm0, ymm1, ymmword ptr [rsi + rax]", 8, 32, 0},
		{"vfmadd231ss", "xmm0, xmm1, dword ptr [rsi]", 2, 4, 0},
		{"vaddps", "zmm0, zmm1, zmm2", 16, 0, 0},
		{"addsd", "xmm0, qword ptr [rax]", 1, 8, 0},
		{"mulps", "xmm0, xmm1", 4, 0, 0},
		{"divsd", "xmm0, xmm1", 1, 0, 0},
		{"vsqrtpd", "ymm0, ymm1", 4, 0, 0},
		{"vhaddpd", "ymm0, ymm1, ymm2", 4, 0, 0},
		{"dpps", "xmm0, xmm1, 0xff", 7, 0, 0},
		{"vmovupd", "ymmword ptr [rdx + rax], ymm0", 0, 0, 32},
		{"vmovups", "xmm1, xmmword ptr [rcx]", 0, 16, 0},
		{"mov", "rax, qword ptr [rip + 8]", 0, 8, 0},
		{"mov", "byte ptr [rax], cl", 0, 0, 1},
		{"add", "dword ptr [rax], 1", 0, 4, 4},
		{"movzx", "eax, word ptr [rax]", 0, 2, 0},
		{"fadd", "qword ptr [rax]", 1, 8, 0},
		{"vpaddd", "ymm0, ymm1, ymm2", 0, 0, 0},
		{"mul", "rcx", 0, 0, 0},
		{"subs", "x", 0, 0, 0},
		{"cvtsi2sd", "xmm0, rax", 0, 0, 0},
		{"ucomisd", "xmm0, xmm1", 0, 0, 0},
		{"lea", "rax, [rax + 8]", 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++) {
		struct aif_insn insn = {.size = 4};
		struct aif_insn_work work;

		snprintf(insn.mnemonic, sizeof(insn.mnemonic), "%s", rows[i].mnemonic);
		snprintf(insn.operands, sizeof(insn.operands), "%s", rows[i].operands);
		assert_true(aif_insn_work("x86_64", &insn, &work));
		if (work.flops != rows[i].flops || work.load_bytes != rows[i].load ||
		    work.store_bytes != rows[i].store)
			print_error("%s %s: %u FLOP, %u and %u bytes\n", rows[i].mnemonic,
				    rows[i].operands, work.flops, work.load_bytes,
				    work.store_bytes);
		assert_int_equal(work.flops, rows[i].flops);
		assert_int_equal(work.load_bytes, rows[i].load);
		assert_int_equal(work.store_bytes, rows[i].store);
	}
	{
		struct aif_insn insn = {.size = 4, .mnemonic = "fadd"};
		struct aif_insn_work work;

		assert_false(aif_insn_work("aarch64", &insn, &work));
		snprintf(insn.mnemonic, sizeof(insn.mnemonic), ".byte");
		assert_false(aif_insn_work("x86_64", &insn, &work));
	}
}

static void the_lower_roof_binds(void **state)
{
	const struct aif_runbook_roof roof = {.flops = 50e9, .memory = 10e9};
	struct aif_runbook_point at[] = {
		{.seconds = 6, .is_counted = true, .flops = 3e9, .memory_bytes = 48e9},
		{.seconds = 3, .is_counted = true, .flops = 75e9, .memory_bytes = 3e9},
		{.seconds = 1, .is_counted = true, .memory_bytes = 9e9}};
	struct aif_runbook_roofline r = {.at = at, .len = 3, .seconds = 10};
	double of;

	(void)state;
	assert_int_equal(aif_runbook_bound(&at[0], &roof, &of), AIF_RUNBOOK_BOUND_MEMORY);
	assert_true(fabs(of - 0.8) < 1e-9);
	assert_int_equal(aif_runbook_bound(&at[1], &roof, &of), AIF_RUNBOOK_BOUND_COMPUTE);
	assert_true(fabs(of - 0.5) < 1e-9);
	assert_int_equal(aif_runbook_bound(&at[2], &roof, &of), AIF_RUNBOOK_BOUND_UNKNOWN);
	/* The copy moves as much as memory gives. */
	assert_true(fabs(aif_runbook_memory_bound(&r, &roof) - 70) < 1e-9);
	/* Far below the roof something else holds it up. */
	at[0].memory_bytes = 12e9;
	assert_true(fabs(aif_runbook_memory_bound(&r, &roof) - 10) < 1e-9);
	/* The run that was counted was in nothing of what takes the time. */
	at[0].is_counted = false;
	assert_true(isnan(aif_runbook_memory_bound(&r, &roof)));
	assert_int_equal(aif_runbook_bound(&at[0], &roof, &of), AIF_RUNBOOK_BOUND_UNKNOWN);
}

static void several_busy_cpus_share_the_roofs_of_all(void **state)
{
	struct aif_roofs roofs = {.threads = 4};
	struct aif_runbook_roofline r = {.seconds = 4, .elapsed_s = 1};
	struct aif_runbook_roof roof;

	(void)state;
	roofs.one[AIF_ROOF_FMA_DP] = (struct aif_spread){.n = 1, .max = 30};
	roofs.all[AIF_ROOF_FMA_DP] = (struct aif_spread){.n = 1, .max = 100};
	roofs.one[AIF_ROOF_DRAM] = (struct aif_spread){.n = 1, .max = 20};
	roofs.all[AIF_ROOF_DRAM] = (struct aif_spread){.n = 1, .max = 24};
	roof = aif_runbook_roof(&r, &roofs);
	assert_true(roof.flops == 25 && roof.memory == 6);
	r.elapsed_s = 4;
	roof = aif_runbook_roof(&r, &roofs);
	assert_true(roof.flops == 30 && roof.memory == 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_of_a_function_are_summed_by_instruction),
		cmocka_unit_test(files_without_addresses_or_caches_are_refused),
		cmocka_unit_test(damaged_counts_are_read_within_the_function),
		cmocka_unit_test(work_of_x86_instructions),
		cmocka_unit_test(the_lower_roof_binds),
		cmocka_unit_test(several_busy_cpus_share_the_roofs_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
