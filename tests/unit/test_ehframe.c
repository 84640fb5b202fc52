/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "unwind/cfi.h"
#include "unwind/ehframe.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

/* Tables made by hand at the end of a page that nothing follows, and at the start of one that nothing
 * precedes: reading too far is a fault. */

#define PAGE       4096
#define FUNCTION   0x10000 /* from the page's start; only a number, never read */
#define FUNCTION_N 0x100   /* bytes of each function */

struct tables {
	uint8_t *page; /* between two that cannot be read */
	uint8_t *hdr, *frames, *end;
	unsigned n; /* functions; the i-th begins at FUNCTION + 2 * i * FUNCTION_N */
	struct aif_span span;
};

struct bytes {
	const char *at;
	size_t len;
};
#define BYTES(s) ((struct bytes){(s), sizeof(s) - 1})

static uint8_t *put(uint8_t *p, uint64_t v, size_t n)
{
	memcpy(p, &v, n);
	return p + n;
}

/* Common parts of all CIEs here: factors 1 and -8, the return address's register, sp + 8, ra at CFA - 8. */
#if defined(__x86_64__)
#define RA          "\x10"
#define CIE_PROGRAM "\x0c\x07\x08\x90\x01"
#define BY_SP(off)  ROW(RSP, 0, 0, off)
#else
#define RA          "\x1e"
#define CIE_PROGRAM "\x0c\x1f\x08\x9e\x01"
#define BY_SP(off)  ROW(RSP, 0, -1, off)
#endif
#define CIE_HEAD "\x01\x78" RA

/* Lays out header, one CIE, and n FDEs with `program` each, then the terminator. */
static void make(struct tables *t, unsigned n, struct bytes cie, struct bytes program, bool index)
{
	size_t cie_len = 4 + cie.len, fde_len = 4 + 4 + 4 + 1 + program.len;
	size_t hdr_len = index ? 12 + 8 * n : 8;
	size_t frames_len = 4 + cie_len + n * (4 + fde_len) + 4;
	uint8_t *p, *cie_at;

	t->end = t->page + PAGE;
	t->frames = t->end - frames_len;
	t->hdr = t->frames - hdr_len;
	t->n = n;
	t->span = (struct aif_span){t->hdr, t->end};
	memset(t->page, 0xee, PAGE);

	p = t->frames;
	cie_at = p;
	p = put(p, cie_len, 4);
	p = put(p, 0, 4);
	memcpy(p, cie.at, cie.len);
	p += cie.len;
	for (unsigned i = 0; i < n; i++) {
		uint8_t *fde = p;

		p = put(p, fde_len, 4);
		p = put(p, (uint64_t)(p - cie_at), 4);
		p = put(p, (uint64_t)(t->page + FUNCTION + 2 * i * FUNCTION_N - p), 4);
		p = put(p, FUNCTION_N, 4);
		p = put(p, 0, 1);
		memcpy(p, program.at, program.len);
		p += program.len;
		if (index) {
			put(t->hdr + 12 + 8 * i,
			    (uint64_t)(t->page + FUNCTION + 2 * i * FUNCTION_N - t->hdr), 4);
			put(t->hdr + 12 + 8 * i + 4, (uint64_t)(fde - t->hdr), 4);
		}
	}
	put(p, 0, 4);
	memcpy(t->hdr, index ? "\x01\x1b\x03\x3b" : "\x01\x1b\xff\xff", 4);
	put(t->hdr + 4, (uint64_t)(t->frames - (t->hdr + 4)), 4);
	if (index)
		put(t->hdr + 8, n, 4);
}

static int init(const struct tables *t, struct aif_ehframe *e)
{
	return aif_ehframe_init(e, t->hdr, (size_t)(t->frames - t->hdr), &t->span, 1);
}

static uint64_t row_at(const struct tables *t, unsigned function, unsigned offset)
{
	struct aif_ehframe e;

	assert_int_equal(init(t, &e), 0);
	return aif_ehframe_row(&e, (uint64_t)(uintptr_t)t->page + FUNCTION +
					   2 * function * FUNCTION_N + offset);
}

#define ZR BYTES("\x01zR\0" CIE_HEAD "\x01\x1b" CIE_PROGRAM)

static uint64_t row_of(struct tables *t, struct bytes program, unsigned offset)
{
	make(t, 1, ZR, program, true);
	return row_at(t, 0, offset);
}

static int setup(void **state)
{
	static struct tables t;
	uint8_t *p = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + PAGE, PAGE, PROT_READ | PROT_WRITE))
		return -1;
	t.page = p + PAGE;
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	struct tables *t = *state;

	return munmap(t->page - PAGE, 3 * PAGE);
}

/* ---- shapes ---- */

#define ROW(kind, bp, aux, off) aif_row_make(AIF_ROW_##kind, (bp), (aux), (off))
#define BAD_FOR(why)            aif_row_make(AIF_ROW_BAD, 0, AIF_ROW_BAD_##why, 0)

static void instructions_of_call_frames_become_rows(void **state)
{
	const struct {
		struct bytes program;
		uint64_t row;
	} cases[] = {
#if defined(__x86_64__)
		{BYTES(""), ROW(RSP, 0, 0, 8)},
		{BYTES("\x0e\x10\x86\x02"), ROW(RSP, -2, 0, 16)},
		{BYTES("\x0e\x10\x86\x02\x0d\x06"), ROW(RBP, -2, 0, 16)},
		{BYTES("\x0e\x80\x80\x04"), ROW(RSP, 0, 0, 0x10000)},
		{BYTES("\x13\x7e"), ROW(RSP, 0, 0, 16)},        /* offset_sf: -2 * -8 */
		{BYTES("\x12\x06\x7e"), ROW(RBP, 0, 0, 16)},    /* def_cfa_sf */
		{BYTES("\x05\x06\x03"), ROW(RSP, -3, 0, 8)},    /* offset_extended */
		{BYTES("\x11\x06\x03"), ROW(RSP, -3, 0, 8)},    /* offset_extended_sf */
		{BYTES("\x2f\x06\x03"), ROW(RSP, 3, 0, 8)},     /* negative_offset */
		{BYTES("\x86\x02\xc6"), ROW(RSP, 0, 0, 8)},     /* restore */
		{BYTES("\x86\x02\x06\x06"), ROW(RSP, 0, 0, 8)}, /* restore_extended */
		{BYTES("\x86\x02\x08\x06"), ROW(RSP, 0, 0, 8)}, /* same_value */
		{BYTES("\x2e\x20\x00\x83\x04\x09\x03\x0c"), ROW(RSP, 0, 0, 8)}, /* others' rules */
		{BYTES("\x0a\x0e\x10\x86\x02\x0b"), ROW(RSP, 0, 0, 8)}, /* remember, restore */
		/* PLT, both forms of it */
		{BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"), ROW(PLT, 0, 11, 0)},
		{BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3a\x2a\x33\x24\x22"), ROW(PLT, 0, 10, 0)},
		/* over-aligned: CFA at *(rbp - 8), rbp at *rbp */
		{BYTES("\x10\x06\x02\x76\x00\x0f\x03\x76\x78\x06"),
		 ROW(RBP_DEREF, AIF_ROW_BP_AT_BP, -8, 0)},
		{BYTES("\x0f\x03\x77\x10\x06"), ROW(RSP_DEREF, 0, 16, 0)},
		/* at its `ret` the rule for rbp is stale; with a frame it is not to be trusted */
		{BYTES("\x10\x06\x02\x76\x00"), ROW(RSP, 0, 0, 8)},
		{BYTES("\x0d\x06\x10\x06\x02\x76\x00"), BAD_FOR(BP)},
		{BYTES("\x0e\x10\x10\x06\x02\x76\x00"), BAD_FOR(BP)},
		{BYTES("\x07\x10"), ROW(END, 0, 0, 0)},
		/* what a row cannot hold */
		{BYTES("\x0e\x88\x80\x80\x80\x08"), BAD_FOR(CFA)}, /* more than 2 GB */
		{BYTES("\x0f\x04\x76\x78\x06\x96"), BAD_FOR(CFA)},
		{BYTES("\x0f\x0b\x77\x10\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"), BAD_FOR(CFA)},
		{BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x1c"), BAD_FOR(CFA)},
		{BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x50\x2a\x33\x24\x22"), BAD_FOR(CFA)},
		{BYTES("\x0c\x0a\x00"), aif_row_make(AIF_ROW_REG, 0, 10, 0)},
		{BYTES("\x0c\x0d\x08\x86\x02"), aif_row_make(AIF_ROW_REG, -2, 13, 8)},
		{BYTES("\x0c\x0a\x00\x10\x06\x02\x76\x00"),
		 aif_row_make(AIF_ROW_REG, AIF_ROW_BP_AT_BP, 10, 0)},
		{BYTES("\x0c\x03\x20"), aif_row_make(AIF_ROW_REG, 0, 3, 32)},
		{BYTES("\x0c\x0b\x88\x20"), aif_row_make(AIF_ROW_REG, 0, 11, 4104)},
		{BYTES("\x0c\x0c\x00"), BAD_FOR(CFA)},     /* r12 */
		{BYTES("\x0f\x02\x77\x08"), BAD_FOR(CFA)}, /* rsp + 8 as expression */
		{BYTES("\x0f\x0c\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22\x96"), BAD_FOR(CFA)},
		{BYTES("\x09\x06\x03"), BAD_FOR(BP)},         /* rbp in rbx */
		{BYTES("\x07\x06"), BAD_FOR(BP)},             /* rbp lost */
		{BYTES("\x14\x06\x02"), BAD_FOR(BP)},         /* val_offset */
		{BYTES("\x15\x06\x02"), BAD_FOR(BP)},         /* val_offset_sf */
		{BYTES("\x16\x06\x02\x77\x08"), BAD_FOR(BP)}, /* val_expression */
		{BYTES("\x10\x06\x02\x76\x08"), BAD_FOR(BP)}, /* *(rbp + 8) */
		{BYTES("\x86\x80\x02"), BAD_FOR(BP)},         /* too far: 256 words */
		{BYTES("\x90\x02"), BAD_FOR(RA)},
		{BYTES("\x08\x10"), BAD_FOR(RA)},
		{BYTES("\x10\x10\x02\x77\x00"), BAD_FOR(RA)},
#else
		{BYTES(""), ROW(RSP, 0, -1, 8)},
		/* no frame; a frame; both saved; known by x29 */
		{BYTES("\x0e\x00\x08\x1e"), ROW(LR, 0, 0, 0)},
		{BYTES("\x0e\x20\x08\x1e"), ROW(LR, 0, 0, 32)},
		{BYTES("\x0e\x20\x08\x1e\x9d\x04"), ROW(LR, -4, 0, 32)},
		{BYTES("\x0e\x20\x9d\x04\x9e\x03"), ROW(RSP, -1, -3, 32)},
		{BYTES("\x0e\x20\x9d\x04\x9e\x03\x0d\x1d"), ROW(RBP, -1, -3, 32)},
		{BYTES("\x0c\x1d\x20\x9d\x04\x9e\x03"), ROW(RBP, -1, -3, 32)},
		/* at the lower end of 256 KB, and below */
		{BYTES("\x0e\x80\x80\x10\x9d\x80\x80\x02\x9e\xff\xff\x01"),
		 ROW(RSP, -1, -32767, 262144)},
		{BYTES("\x9e\x80\x80\x02"), ROW(RSP, 0, -32768, 8)},
		{BYTES("\x9e\x81\x80\x02"), BAD_FOR(RA)},
		{BYTES("\x9d\x7f"), ROW(RSP, -126, -1, 8)},
		{BYTES("\x9d\x80\x01"), BAD_FOR(BP)},
		{BYTES("\x2f\x1d\x7d"), ROW(RSP, 126, -1, 8)},
		{BYTES("\x2f\x1d\x7e"), BAD_FOR(BP)},
		{BYTES("\x9d\x01"), BAD_FOR(BP)}, /* both in one place */
		/* signed: to us the same */
		{BYTES("\x2d\x0e\x10\x2d"), ROW(RSP, 0, -1, 16)},
		{BYTES("\x2c"), ROW(RSP, 0, -1, 8)},
		{BYTES("\x9d\x02\xdd"), ROW(RSP, 0, -1, 8)},     /* restore */
		{BYTES("\x9d\x02\x06\x1d"), ROW(RSP, 0, -1, 8)}, /* restore_extended */
		{BYTES("\x08\x1e\xde"), ROW(RSP, 0, -1, 8)},
		{BYTES("\x2e\x20\x00\x93\x04\x09\x03\x0c"), ROW(RSP, 0, -1, 8)}, /* others' rules */
		{BYTES("\x05\x48\x02"), ROW(RSP, 0, -1, 8)},                     /* d8 */
		{BYTES("\x0a\x0e\x10\x9d\x02\x0b"), ROW(RSP, 0, -1, 8)}, /* remember, restore */
		{BYTES("\x07\x1e"), ROW(END, 0, 0, 0)},
		/* what a row cannot hold */
		{BYTES("\x0e\x88\x80\x80\x80\x08"), BAD_FOR(CFA)}, /* more than 2 GB */
		{BYTES("\x0c\x0c\x00"), BAD_FOR(CFA)},        /* x12, while a stack is probed */
		{BYTES("\x0f\x02\x8f\x08"), BAD_FOR(CFA)},    /* by an expression */
		{BYTES("\x0c\x1d\x10\x08\x1e"), BAD_FOR(RA)}, /* by x29, which was not saved */
		{BYTES("\x09\x1e\x1b"), BAD_FOR(RA)},         /* in x27 */
		{BYTES("\x10\x1e\x02\x8f\x00"), BAD_FOR(RA)},
		{BYTES("\x2f\x1e\x01"), BAD_FOR(RA)}, /* above the CFA */
		{BYTES("\x9e\x00"), BAD_FOR(RA)},
		{BYTES("\x09\x1d\x03"), BAD_FOR(BP)},
		{BYTES("\x07\x1d"), BAD_FOR(BP)},
		{BYTES("\x10\x1d\x02\x8d\x00"), BAD_FOR(BP)},
#endif
		/* malformed */
		{BYTES("\x0b"), BAD_FOR(TABLE)}, /* nothing remembered */
		{BYTES("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"), BAD_FOR(TABLE)},
		{BYTES("\x3f"), BAD_FOR(TABLE)},     /* unknown instruction */
		{BYTES("\x0e"), BAD_FOR(TABLE)},     /* no operand */
		{BYTES("\x0e\x80"), BAD_FOR(TABLE)}, /* half an operand */
		{BYTES("\x0e\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"), BAD_FOR(TABLE)},
		{BYTES("\x0f\x7f\x77"), BAD_FOR(TABLE)}, /* block too long */
		{BYTES("\x03\x01"), BAD_FOR(TABLE)},     /* half a distance */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t row = row_of(*state, cases[i].program, 5);

		if (row != cases[i].row)
			print_error("case %zu\n", i);
		assert_int_equal(row, cases[i].row);
	}
}

#if defined(__x86_64__)
static void a_signal_frame_is_known_by_its_program(void **state)
{
	struct tables *t = *state;
	static const char program[] = "\x0f\x04\x77\xa0\x01\x06"  /* CFA = *(rsp + 160) */
				      "\x10\x06\x03\x77\xf8\x00"  /* rbp: rsp + 120 */
				      "\x10\x10\x03\x77\xa8\x01"; /* rip: rsp + 168 */
	struct bytes zrs = BYTES("\x01zRS\0" CIE_HEAD "\x01\x1b" CIE_PROGRAM);

	make(t, 1, zrs, BYTES(program), true);
	assert_int_equal(row_at(t, 0, 0), ROW(SIGNAL, 15, 168, 160));
	/* the same program in an ordinary function is no row */
	assert_int_equal(aif_row_kind(row_of(t, BYTES(program), 0)), AIF_ROW_BAD);
	/* and an ordinary program is no signal frame */
	make(t, 1, zrs, BYTES("\x0e\x10"), true);
	assert_int_equal(row_at(t, 0, 0), BAD_FOR(CFA));
}

/* The rule of rbx at `offset` of a function with the program. */
static int64_t bx_at(struct tables *t, struct bytes program, unsigned offset)
{
	struct aif_ehframe e;

	make(t, 1, ZR, program, true);
	assert_int_equal(init(t, &e), 0);
	return aif_ehframe_bx(&e, (uint64_t)(uintptr_t)t->page + FUNCTION + offset);
}

static void test_where_rbx_is_saved(void **state)
{
	struct tables *t = *state;
	static const char saved[] = "\x41\x83\x04\x41\xc3"; /* from 1 to 2: at CFA - 32 */

	assert_int_equal(bx_at(t, BYTES(""), 0), AIF_CFI_SAME);
	assert_int_equal(bx_at(t, BYTES(saved), 0), AIF_CFI_SAME);
	assert_int_equal(bx_at(t, BYTES(saved), 1), -32);
	assert_int_equal(bx_at(t, BYTES(saved), 2), AIF_CFI_SAME);
	assert_int_equal(bx_at(t, BYTES(saved), FUNCTION_N), AIF_CFI_UNKNOWN); /* of none */
	assert_int_equal(bx_at(t, BYTES("\x07\x03"), 0), AIF_CFI_UNKNOWN);     /* lost */
	assert_int_equal(bx_at(t, BYTES("\x09\x03\x06"), 0), AIF_CFI_UNKNOWN); /* in rbp */
	assert_int_equal(bx_at(t, BYTES("\x83\x00"), 0), AIF_CFI_UNKNOWN);     /* at the CFA */
	assert_int_equal(bx_at(t, BYTES("\x83\x02\x3f"), 0), AIF_CFI_UNKNOWN); /* malformed */
}
#else
static void a_signal_frame_is_known_by_its_program(void **state)
{
	struct tables *t = *state;

	/* The kernel's, up to Linux 5.7: not followed (stub.h) */
	make(t, 1, BYTES("\x01zRS\0" CIE_HEAD "\x01\x1b" CIE_PROGRAM),
	     BYTES("\x0c\x1d\x00\x9d\x00\x05\x1e\x01"), true);
	assert_int_equal(row_at(t, 0, 0), BAD_FOR(RA));
	/* Signed with the other key, tagged: as without. */
	make(t, 1, BYTES("\x01zRBG\0" CIE_HEAD "\x01\x1b" CIE_PROGRAM), BYTES("\x0e\x10"), true);
	assert_int_equal(row_at(t, 0, 0), BY_SP(16));
}
#endif

static void test_rows_follow_the_pc(void **state)
{
	struct tables *t = *state;
	/* 4: +16; 4+0x20 (loc1): +24; 0x124 (loc2) lies beyond the function */
	static const char program[] = "\x44\x0e\x10\x02\x20\x0e\x18\x04\x10\x00\x00\x00\x0e\x20"
				      "\x03\x00\x01\x0e\x28";
	static const struct {
		unsigned offset;
		int32_t cfa;
	} cases[] = {{0, 8},     {3, 8},     {4, 16},    {0x23, 16},
		     {0x24, 24}, {0x33, 24}, {0x34, 32}, {FUNCTION_N - 1, 32}};

	make(t, 3, ZR, BYTES(program), true);
	for (unsigned f = 0; f < 3; f++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			assert_int_equal(row_at(t, f, cases[i].offset), BY_SP(cases[i].cfa));
		assert_int_equal(aif_row_kind(row_at(t, f, FUNCTION_N)), AIF_ROW_NONE);
		assert_int_equal(aif_row_kind(row_at(t, f, (unsigned)-1)), AIF_ROW_NONE);
	}
	/* loc8 and a factor; locations that run backwards */
	assert_int_equal(row_of(t, BYTES("\x1d\x08\0\0\0\0\0\0\0\x0e\x10"), 7), BY_SP(8));
	assert_int_equal(row_of(t, BYTES("\x1d\x08\0\0\0\0\0\0\0\x0e\x10"), 8), BY_SP(16));
	assert_int_equal(row_of(t, BYTES("\x48\x1d\xff\xff\xff\xff\xff\xff\xff\xff\x0e\x10"), 9),
			 BAD_FOR(TABLE));
	make(t, 1, BYTES("\x01zR\0\x04\x78" RA "\x01\x1b" CIE_PROGRAM), BYTES("\x42\x0e\x10"),
	     true);
	assert_int_equal(row_at(t, 0, 7), BY_SP(8));
	assert_int_equal(row_at(t, 0, 8), BY_SP(16));
}

static void tables_of_any_size_are_searched(void **state)
{
	struct tables *t = *state;

	for (unsigned n = 1; n < 80; n++) {
		make(t, n, ZR, BYTES("\x0e\x10"), n % 2);
		for (unsigned f = 0; f < n; f++) {
			assert_int_equal(row_at(t, f, 0), BY_SP(16));
			assert_int_equal(row_at(t, f, FUNCTION_N - 1), BY_SP(16));
			assert_int_equal(aif_row_kind(row_at(t, f, FUNCTION_N)), AIF_ROW_NONE);
		}
		assert_int_equal(aif_row_kind(row_at(t, 0, (unsigned)-1)), AIF_ROW_NONE);
	}
}

/* Without an index a large .eh_frame is not walked through: what lies beyond is not found. */
static void test_linear_search_is_bounded(void **state)
{
	enum { N = 4000, LEN = 32 };
	static uint8_t bytes[8 + 24 + N * LEN + 4];
	struct aif_span span = {bytes, bytes + sizeof(bytes)};
	struct aif_ehframe e;
	uint8_t *p = bytes + 8;
	uint64_t base = (uint64_t)(uintptr_t)bytes + FUNCTION * 16;

	(void)state;
	memcpy(bytes, "\x01\x1b\xff\xff\x04\0\0\0", 8);
	memcpy(p, "\x14\0\0\0\0\0\0\0\x01zR\0" CIE_HEAD "\x01\x1b" CIE_PROGRAM "\0\0", 24);
	for (unsigned i = 0; i < N; i++) {
		uint8_t *fde = p + 24 + i * LEN;

		put(fde, LEN - 4, 4);
		put(fde + 4, (uint64_t)(fde + 4 - p), 4);
		put(fde + 8, base + i * 16 - (uint64_t)(uintptr_t)(fde + 8), 4);
		put(fde + 12, 16, 4);
	}
	assert_int_equal(aif_ehframe_init(&e, bytes, 8, &span, 1), 0);
	assert_int_equal(aif_ehframe_row(&e, base), BY_SP(8));
	assert_int_equal(aif_ehframe_row(&e, base + 1000 * 16), BY_SP(8));
	assert_int_equal(aif_row_kind(aif_ehframe_row(&e, base + (N - 1) * 16)), AIF_ROW_NONE);
}

/* ---- encodings and versions ---- */

static void entries_that_are_not_known_are_refused(void **state)
{
	struct tables *t = *state;
	static const struct {
		struct bytes cie;
		bool good;
	} cases[] = {
		{BYTES("\x03zR\0" CIE_HEAD "\x01\x1b" CIE_PROGRAM), true},
		{BYTES("\x04zR\0\x08\0" CIE_HEAD "\x01\x1b" CIE_PROGRAM), true},
		{BYTES("\x01zPLR\0" CIE_HEAD "\x07\x9b\1\2\3\4\x1b\x1b" CIE_PROGRAM), true},
		{BYTES("\x01zR\0" CIE_HEAD "\x03\x1b\xaa\xbb" CIE_PROGRAM), true}, /* more data */
		{BYTES("\x02zR\0" CIE_HEAD "\x01\x1b" CIE_PROGRAM), false},        /* version */
		{BYTES("\x04zR\0\x04\0" CIE_HEAD "\x01\x1b" CIE_PROGRAM), false},  /* 32-bit */
		{BYTES("\x01zR\0\x01\x78\x11\x01\x1b" CIE_PROGRAM), false},        /* ra in 17 */
		{BYTES("\x01zXR\0" CIE_HEAD "\x02\x1b\x1b" CIE_PROGRAM), false},   /* unknown */
		{BYTES("\x01"
		       "eh\0" CIE_HEAD CIE_PROGRAM),
		 false},
		{BYTES("\x01zR\0" CIE_HEAD "\x01\x9b" CIE_PROGRAM), false}, /* indirect */
		{BYTES("\x01zR\0" CIE_HEAD "\x01\x2b" CIE_PROGRAM), false}, /* textrel */
		{BYTES("\x01zR\0" CIE_HEAD "\x01\x1e" CIE_PROGRAM), false}, /* no such format */
		{BYTES("\x01zR\0" CIE_HEAD "\x00\x1b" CIE_PROGRAM), false}, /* data too short */
		{BYTES("\x01zRL\0" CIE_HEAD "\x01\x1b\x00" CIE_PROGRAM), false},
		{BYTES("\x01zR\0" CIE_HEAD "\x7f\x1b" CIE_PROGRAM), false}, /* too long */
		{BYTES("\x01zR"), false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t row;

		make(t, 1, cases[i].cie, BYTES("\x0e\x10"), true);
		row = row_at(t, 0, 0);
		if ((row == BY_SP(16)) != cases[i].good)
			print_error("case %zu\n", i);
		assert_int_equal(row, cases[i].good ? BY_SP(16) : BAD_FOR(TABLE));
	}
}

static void headers_that_are_not_known_are_refused(void **state)
{
	struct tables *t = *state;
	struct aif_ehframe e;

	make(t, 2, ZR, BYTES(""), true);
	assert_int_equal(init(t, &e), 0);
	t->hdr[0] = 2;
	assert_int_equal(init(t, &e), -ENOTSUP);
	t->hdr[0] = 1;
	t->hdr[1] = 0xff;
	assert_int_equal(init(t, &e), -ENOTSUP);
	t->hdr[1] = 0x9b; /* indirect */
	assert_int_equal(init(t, &e), -EINVAL);
	t->hdr[1] = 0x1b;
	put(t->hdr + 4, (uint64_t)(t->end - (t->hdr + 4)), 4); /* just outside */
	assert_int_equal(init(t, &e), -EINVAL);
	put(t->hdr + 4, (uint64_t)(t->frames - (t->hdr + 4)), 4);
	put(t->hdr + 8, 3, 4); /* more than there is room for */
	assert_int_equal(init(t, &e), -EINVAL);
	put(t->hdr + 8, 0, 4);
	assert_int_equal(aif_row_kind(row_at(t, 0, 0)), AIF_ROW_NONE);
	put(t->hdr + 8, 2, 4);
	t->hdr[3] = 0x1b; /* a table of another encoding: search linearly */
	assert_int_equal(init(t, &e), 0);
	assert_null(e.table);
	assert_int_equal(row_at(t, 1, 0), BY_SP(8));
	t->hdr[3] = 0x3b;
	for (size_t len = 0; len < 12 + 16; len++)
		assert_int_equal(aif_ehframe_init(&e, t->hdr, len, &t->span, 1), -EINVAL);
	assert_int_equal(aif_ehframe_init(&e, t->hdr, 28, &t->span, 0), -EINVAL);
}

static void pointers_out_of_the_table_are_refused(void **state)
{
	struct tables *t = *state;
	static const uint32_t wild[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0};
	uint8_t *fde;

	for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
		make(t, 1, ZR, BYTES("\x0e\x10"), true);
		fde = t->frames + 4 + 4 + ZR.len;
		put(t->hdr + 16, wild[i], 4); /* to the FDE */
		assert_int_equal(row_at(t, 0, 0), BAD_FOR(TABLE));
		put(t->hdr + 16, (uint64_t)(fde - t->hdr), 4);
		assert_int_equal(row_at(t, 0, 0), BY_SP(16));
		put(fde + 4, wild[i], 4); /* back to the CIE */
		assert_int_equal(row_at(t, 0, 0), BAD_FOR(TABLE));
		put(fde + 4, (uint64_t)(fde + 4 - t->frames), 4);
		put(fde, wild[i], 4); /* the FDE's length */
		assert_int_equal(row_at(t, 0, 0), BAD_FOR(TABLE));
	}
	/* the CIE pointer leads to before .eh_frame: into the header */
	make(t, 1, ZR, BYTES("\x0e\x10"), true);
	fde = t->frames + 4 + 4 + ZR.len;
	put(fde + 4, (uint64_t)(fde + 4 - t->hdr), 4);
	assert_int_equal(row_at(t, 0, 0), BAD_FOR(TABLE));
}

/* Each byte set to each of some values: never a fault, whatever the answer. */
static void test_every_byte_may_be_wrong(void **state)
{
	struct tables *t = *state;
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x0f, 0x16};
	static const char program[] = "\x0a\x0e\x10\x44\x86\x02\x0d\x06\x48\x0b\x0f\x03\x77\x10\x06"
				      "\x10\x06\x02\x76\x00\x03\x10\x00\x11\x10\x01";
	unsigned kinds[AIF_ROW_KIND_COUNT] = {0};

	for (int index = 0; index < 2; index++) {
		make(t, 2, ZR, BYTES(program), index);
		for (uint8_t *p = t->hdr; p < t->end; p++) {
			uint8_t good = *p;

			for (size_t i = 0; i < sizeof(values); i++) {
				struct aif_ehframe e;

				*p = values[i];
				if (init(t, &e))
					continue;
				for (unsigned offset = 0; offset < 2 * FUNCTION_N; offset += 3) {
					uint64_t pc =
						(uint64_t)(uintptr_t)t->page + FUNCTION + offset;
					enum aif_row_kind kind =
						aif_row_kind(aif_ehframe_row(&e, pc));

					assert_in_range(kind, 0, AIF_ROW_KIND_COUNT - 1);
					kinds[kind]++;
				}
			}
			*p = good;
		}
	}
	assert_true(kinds[AIF_ROW_RSP] && kinds[AIF_ROW_BAD] && kinds[AIF_ROW_NONE]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_of_call_frames_become_rows),
		cmocka_unit_test(a_signal_frame_is_known_by_its_program),
#if defined(__x86_64__)
		cmocka_unit_test(test_where_rbx_is_saved),
#endif
		cmocka_unit_test(test_rows_follow_the_pc),
		cmocka_unit_test(tables_of_any_size_are_searched),
		cmocka_unit_test(test_linear_search_is_bounded),
		cmocka_unit_test(entries_that_are_not_known_are_refused),
		cmocka_unit_test(headers_that_are_not_known_are_refused),
		cmocka_unit_test(pointers_out_of_the_table_are_refused),
		cmocka_unit_test(test_every_byte_may_be_wrong),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
