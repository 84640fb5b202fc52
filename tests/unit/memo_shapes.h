/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Functions with every kind of unwind row, each in a library of its own, for stacks made by hand. */

#include "tiny_elf.h"

enum shape {
	SHAPE_SMALL,    /* CFA = rsp + 16 */
	SHAPE_LARGE,    /* CFA = rsp + 40 */
	SHAPE_SAVES_BP, /* CFA = rsp + 24, rbp at CFA - 16 */
	SHAPE_BY_BP,    /* CFA = rbp + 16, rbp at CFA - 16 */
	SHAPE_KEEPS_BP, /* CFA = rbp + 16, rbp stays */
#if defined(__x86_64__)
	SHAPE_ALIGNED,    /* CFA = *(rbp - 8), rbp at rbp */
	SHAPE_ALIGNED_SP, /* CFA = *(rsp + 8) */
	SHAPE_ALIGNED_2,  /* CFA = *(rsp + 8), rbp at rbp */
	SHAPE_ALIGNED_3,  /* CFA = *(rbp - 8), rbp stays */
	SHAPE_PLT,        /* CFA = rsp + 8, or 16 from the 11th byte of 16 on */
#endif
	SHAPE_SIGNAL, /* SHAPE_SIGNAL_BP and so on: the words from sp where the registers are */
	SHAPE_END,
#if defined(__aarch64__)
	SHAPE_LR,   /* CFA = sp + 16, the return address in x30 */
	SHAPE_LR_0, /* CFA = sp, ... */
#endif
	SHAPE_NO_TABLES,
	SHAPE_BAD, /* CFA in rbx */
	SHAPES
};

#if defined(__x86_64__)
enum { SHAPE_SIGNAL_BP = 3, SHAPE_SIGNAL_SP = 4, SHAPE_SIGNAL_PC = 5 };
#else
enum { SHAPE_SIGNAL_BP = 68, SHAPE_SIGNAL_LR, SHAPE_SIGNAL_SP, SHAPE_SIGNAL_PC };
#endif

struct shapes {
	void *handle[SHAPES];
	uint64_t entry[SHAPES];
};

#define SHAPE_PROGRAM(...)                         \
	.program = (const uint8_t[]){__VA_ARGS__}, \
	.program_len = sizeof((const uint8_t[]){__VA_ARGS__})

static inline void *shape_open(enum shape shape)
{
	const struct tiny_elf opts[SHAPES] = {
		[SHAPE_SMALL] = {.frame = 1048, SHAPE_PROGRAM(0x0e, 16)},
		[SHAPE_LARGE] = {.frame = 1048, SHAPE_PROGRAM(0x0e, 40)},
		[SHAPE_SAVES_BP] = {.frame = 1048, SHAPE_PROGRAM(0x0e, 24, 0x80 | TINY_BP, 2)},
		[SHAPE_BY_BP] = {.frame = 1048,
				 SHAPE_PROGRAM(0x0c, TINY_BP, 16, 0x80 | TINY_BP, 2)},
		[SHAPE_KEEPS_BP] = {.frame = 1048, SHAPE_PROGRAM(0x0c, TINY_BP, 16)},
#if defined(__x86_64__)
		[SHAPE_ALIGNED] = {.frame = 1048,
				   SHAPE_PROGRAM(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0)},
		[SHAPE_ALIGNED_SP] = {.frame = 1048, SHAPE_PROGRAM(0x0f, 3, 0x77, 8, 0x06)},
		[SHAPE_ALIGNED_2] = {.frame = 1048,
				     SHAPE_PROGRAM(0x0f, 3, 0x77, 8, 0x06, 0x10, 6, 2, 0x76, 0)},
		[SHAPE_ALIGNED_3] = {.frame = 1048, SHAPE_PROGRAM(0x0f, 3, 0x76, 0x78, 0x06)},
		[SHAPE_PLT] = {.frame = 1048,
			       SHAPE_PROGRAM(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a,
					     0x33, 0x24, 0x22)},
		[SHAPE_SIGNAL] = {.frame = 1048,
				  .signal_frame = true,
				  SHAPE_PROGRAM(0x0f, 3, 0x77, 32, 0x06, 0x10, 6, 2, 0x77, 24, 0x10,
						16, 2, 0x77, 40)},
#else
		[SHAPE_SIGNAL] = {.frame = 1048, .no_tables = true, .trampoline = true},
		[SHAPE_LR] = {.frame = 1048, SHAPE_PROGRAM(0x0e, 16, 0x08, TINY_RA)},
		[SHAPE_LR_0] = {.frame = 1048, SHAPE_PROGRAM(0x0e, 0, 0x08, TINY_RA)},
#endif
		[SHAPE_END] = {.frame = 1048, SHAPE_PROGRAM(0x07, TINY_RA)},
		[SHAPE_NO_TABLES] = {.frame = 1048, .no_tables = true},
		[SHAPE_BAD] = {.frame = 1048, SHAPE_PROGRAM(0x0d, 3)},
	};

	return tiny_elf_open(&opts[shape]);
}

static inline bool shapes_open(struct shapes *s)
{
	int taken[SHAPES];

	for (int i = 0; i < SHAPES; i++) {
		s->handle[i] = shape_open((enum shape)i);
		/* The next one's descriptor, which is its name, must be another. */
		taken[i] = dup(STDERR_FILENO);
		if (!s->handle[i] || taken[i] < 0)
			return false;
		s->entry[i] = (uint64_t)(uintptr_t)dlsym(s->handle[i], "entry");
		for (int k = 0; k < i; k++)
			if (s->entry[k] == s->entry[i])
				return false;
	}
	for (int i = 0; i < SHAPES; i++)
		close(taken[i]);
	return true;
}

static inline void shapes_close(struct shapes *s)
{
	for (int i = 0; i < SHAPES; i++)
		dlclose(s->handle[i]);
}

/* A return address in the function. */
static inline uint64_t shape_pc(const struct shapes *s, enum shape shape)
{
	return s->entry[shape] + 1;
}
