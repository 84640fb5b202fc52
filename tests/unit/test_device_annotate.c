/* SPDX-License-Identifier: Apache-2.0 */
/* Tests listings of NVIDIA's kernels: instructions with their samples, reasons, sources and waits. */
#include "isa/sass_text.h"
#include "report/annotate_waits.h"

#include <endian.h>
#include <errno.h>

#include "fixture_device.h"

static void golden_listing(void *arg, const struct aif_code *code, const char *arch,
			   struct aif_buf *ret)
{
	char path[4096];
	FILE *f;

	(void)arg;
	assert_string_equal(arch, "sm_90");
	if (code->size != 640)
		return;
	snprintf(path, sizeof(path), "%s/cubin/shared_sum_sm90a.nvdisasm", GOLDEN);
	f = fopen(path, "r");
	assert_non_null(f);
	ret->len += fread(aif_buf_reserve(ret, 100000), 1, 100000, f);
	fclose(f);
}

#define LONG_OPERANDS "R9, R9, 3.000000000000000000000, R10.reuse, P0.and.not.P1.and.P2"
/* The same with an instruction that is too long for a terminal. */
static void long_listing(void *arg, const struct aif_code *code, const char *arch,
			 struct aif_buf *ret)
{
	static const char was[] = "R9, R9, 3 ";
	struct aif_buf golden = {0};
	const char *at;

	golden_listing(arg, code, arch, &golden);
	at = golden.len ? strstr(aif_buf_str(&golden), was) : NULL;
	if (at)
		aif_buf_printf(ret, "%.*s" LONG_OPERANDS " %s",
			       (int)(at - (const char *)golden.data), (const char *)golden.data,
			       at + strlen(was));
	aif_buf_finish(&golden);
}

/* The longest line, in bytes. */
static size_t widest_line(const char *text)
{
	size_t widest = 0;

	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		widest = AIF_MAX(widest, n);
	}
	return widest;
}

/* Cut for a terminal only, and only as far as that is narrow. */
static void listings_are_cut_for_terminals_only(void **state)
{
	struct world w;
	char *text, *at;

	(void)state;
	world_init(&w);
	samples(&w);
	text = annotate(&w, (struct aif_annotate_opts){.disassemble = long_listing});
	assert_non_null(strstr(text, "FMUL " LONG_OPERANDS "  long_scoreboard 95 %"));
	/* The others' reasons are not pushed away by it. */
	at = strstr(text, "+0x00f0  LDG");
	assert_non_null(at);
	assert_in_range(strstr(at, "barrier") - at, 20, 80);
	free(text);
	text = annotate(&w,
			(struct aif_annotate_opts){.disassemble = long_listing, .columns = 200});
	assert_non_null(strstr(text, "FMUL " LONG_OPERANDS "  long_scoreboard 95 %"));
	free(text);
	text = annotate(&w,
			(struct aif_annotate_opts){.disassemble = long_listing, .columns = 120});
	assert_null(strstr(text, LONG_OPERANDS));
	assert_non_null(strstr(text, "FMUL R9, R9, 3.00000000000000000000"));
	assert_true(widest_line(text) <= 124); /* a cut is three bytes */
	free(text);
	text = annotate(&w, (struct aif_annotate_opts){.disassemble = long_listing, .columns = 20});
	assert_non_null(strstr(text, "FMUL R9, R9, 3.0000"));
	free(text);
	world_finish(&w);
}

/* Two instructions by what control bits say: the first sets scoreboard 0, the second waits for it. */
static void put_sass(uint8_t *to, uint64_t opcode, uint64_t control)
{
	const uint64_t words[2] = {htole64(opcode), htole64(control << 41)};

	memcpy(to, words, sizeof(words));
}

/* Matrix products of Hopper's wait in this way for what is copied meanwhile: they try an mbarrier, and sleep a
 * little. */
static void test_waits_for_an_mbarrier(void **state)
{
	enum { SYNCS = 0x5b2, NOP = 0x918, NO_SCOREBOARDS = 7 << 5 | 7 << 8 };
	struct aif_waits_code c;
	struct aif_waits waits;
	struct aif_hit hit = {.offset = 16, .samples = 100};
	struct aif_code code;
	uint8_t bytes[32];
	struct world w;

	(void)state;
	world_init(&w);
	put_sass(bytes, SYNCS, 0 << 5 | 7 << 8);
	put_sass(bytes + 16, NOP, NO_SCOREBOARDS | 1 << 11);
	code = (struct aif_code){.bytes = bytes, .size = sizeof(bytes), .arch = str(&w, "sm_90a")};
	hit.reason = str(&w, "long_scoreboard");
	assert_int_equal(aif_waits_code_init(&c, &w.p, &code), 0);
	aif_waits_find(&w.p, &hit, 1, &c, 16, &waits);
	assert_int_equal(waits.sources_len, 1);
	assert_int_equal(waits.sources[0], 0);
	assert_string_equal(waits.names[0], "SYNCS");
	aif_waits_code_finish(&c);
	world_finish(&w);
}

static void annotate_lists_lines_and_instructions(void **state)
{
	struct world w;
	char *text;

	(void)state;
	world_init(&w);
	samples(&w);
	text = annotate(&w, (struct aif_annotate_opts){.min_ppm = 10000});
	assert_string_equal(
		text,
		"shared_sum(float*, float const*)\n"
		"100.0 % of busy time: 721 us in 7 launches; 721 samples\n"
		"stalls: long_scoreboard 55 % (42 % exposed), barrier 28 % (28 % exposed), "
		"short_scoreboard 11 %\n"
		"\n"
		"shared_sum: 100.0 % of its samples; sm_90, 640 bytes\n"
		"\n"
		" 86.0 %  #####   kernels.cu:13 (inner)\n"
		" 13.9 %  #       kernels.cu:45\n"
		"\n"
		" 0.14 %          ...      14 instructions\n"
		"                 +0x00e0  BAR\n"
		"kernels.cu:13 (inner)\n"
		" 27.7 %  ##      +0x00f0  LDG          barrier 100 % waits for +0x00e0 BAR\n"
		"                 +0x0100  LDG\n"
		"                 ...      2 instructions\n"
		"                 +0x0130  LDS\n"
		" 58.3 %  ###     +0x0140  FMUL         long_scoreboard 95 % waits for +0x00f0 LDG\n"
		"                 +0x0150  FFMA\n"
		"kernels.cu:45\n"
		" 13.9 %  #       +0x0160  FADD         short_scoreboard 80 % waits for +0x0130 LDS\n"
		"                 +0x0170  STG\n"
		"                 ...      16 instructions\n");
	free(text);
	/* In full, with all that a disassembler knows. */
	text = annotate(&w, (struct aif_annotate_opts){.disassemble = golden_listing});
	assert_non_null(strstr(text, "  +0x0050  LDG.E R0, desc[UR6][R2.64]\n"));
	assert_non_null(
		strstr(text, "+0x0140  FMUL R9, R9, 3                   long_scoreboard 95 %"));
	assert_non_null(strstr(text, "  +0x0270  NOP\n"));
	assert_null(strstr(text, "..."));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 104);
	free(text);
	world_finish(&w);
}

static void annotate_lists_kernels_without_code(void **state)
{
	struct world w;
	struct aif_buf out = {0};
	struct aif_err err = {0};
	char *text;
	uint32_t stray;

	(void)state;
	world_init(&w);
	samples(&w);
	/* calls: hotter, no code of it; a sample outside of all code; a called function's module. */
	row(&w, w.calls, frame(&w, w.calls_module, CALLS, 0x20), "wait", 2000);
	stray = frame(&w, w.shared_module, SHARED, 0x10);
	w.p.frames[stray].address = UINT64_MAX;
	row(&w, w.shared, stray, "misc", 279);
	free((void *)(uintptr_t)w.p.codes[1].bytes);
	w.p.codes[1].bytes = NULL;
	text = annotate(&w, (struct aif_annotate_opts){.min_ppm = 10000});
	assert_ptr_equal(strstr(text, "calls(float*, float const*, int)\n"), text);
	assert_non_null(strstr(text, "its code is not in the profile\n"));
	assert_non_null(strstr(text, "100.0 %  ######  +0x0020               wait 100 %\n"));
	assert_non_null(strstr(text, "\n\n\nshared_sum("));
	assert_non_null(strstr(text, "\nshared_sum: 27.9 % of its samples; its "
				     "code is not in the profile\n"));
	free(text);
	/* An instruction set that is not known here. */
	w.p.codes[0].arch = str(&w, "gfx90a");
	text = annotate(&w, (struct aif_annotate_opts){.kernel = "^shared"});
	assert_non_null(strstr(text, "; no disassembler for it was found\n"));
	assert_non_null(strstr(text, "+0x0140"));
	free(text);
	assert_int_equal(aif_annotate_write(AIF_NAMES_OF(&w.p), &w.a,
					    &(struct aif_annotate_opts){.kernel = "nothing"}, &out,
					    &err),
			 -ENODATA);
	assert_non_null(strstr(err.text, "matches 'nothing'; one is 'calls(float*"));
	assert_int_equal(aif_annotate_write(AIF_NAMES_OF(&w.p), &w.a,
					    &(struct aif_annotate_opts){.kernel = "("}, &out, &err),
			 -ENODATA); /* no expression: a name, which no kernel has */
	aif_buf_finish(&out);
	world_finish(&w);
}

/* The text of lines comes from the program that the line table means. */
static void annotate_has_the_text_of_source_lines(void **state)
{
	struct world w;
	char *text;

	(void)state;
	world_init(&w);
	samples(&w);
	FIXTURE_ADD(&w.p, programs, .process = AIF_NONE, .options = AIF_NONE,
		    .source = str(&w, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n\tthe line\r\n14\n"),
		    .source_name = str(&w, "/src/aiflame/kernels.cu"));
	text = annotate(&w, (struct aif_annotate_opts){.min_ppm = 10000});
	assert_non_null(strstr(text, "kernels.cu:13 (inner)      the line\n"));
	assert_non_null(strstr(text, "kernels.cu:45\n")); /* behind its end */
	free(text);
	world_finish(&w);
}

static void listings_of_nvdisasm_are_read(void **state)
{
	static const char text[] = "\t.headerflags\t@\"x\"\n"
				   "        /*0000*/                   LDC R1, c[0x0][0x28] ;\r\n"
				   "   /*0010*/  @!P0 EXIT;\n"
				   "/*0018*/ ODD ;\n/*0020*/ ;\n/*0040*/ BEHIND ;\n"
				   "/*fffffffffffffffff0*/ FAR ;\n/*0030*/ NOP";
	struct aif_sass_line lines[4];
	char *copy;

	(void)state;
	assert_int_equal(aif_sass_listing(text, sizeof(text) - 1, 16, lines, 4), 3);
	assert_int_equal(lines[0].len, strlen("LDC R1, c[0x0][0x28]"));
	assert_memory_equal(lines[0].text, "LDC R1, c[0x0][0x28]", lines[0].len);
	assert_int_equal(lines[1].len, strlen("@!P0 EXIT"));
	assert_null(lines[2].text);
	assert_memory_equal(lines[3].text, "NOP", 3);
	/* Cut anywhere, with nothing behind it. */
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		copy = malloc(AIF_MAX(n, 1));
		memcpy(copy, text, n);
		aif_sass_listing(copy, n, 16, lines, 4);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(annotate_lists_lines_and_instructions),
		cmocka_unit_test(test_waits_for_an_mbarrier),
		cmocka_unit_test(listings_are_cut_for_terminals_only),
		cmocka_unit_test(annotate_lists_kernels_without_code),
		cmocka_unit_test(annotate_has_the_text_of_source_lines),
		cmocka_unit_test(listings_of_nvdisasm_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
