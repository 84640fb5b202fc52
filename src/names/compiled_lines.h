/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * Lines of the program that a file which Inductor generated stands for. They are rows of `programs`, each named as the file
 * with AIF_COMPILED_LINES behind it, which the recorder read from the program's memory (record/sources/linemaps.c):
 *
 *     12                                                  a line of the file, and those that follow
 *     <tab>  File "/home/me/train.py", line 34, in step   the stack of what it computes, as Python prints it
 *     <tab>    y = f(x)
 *     19
 *
 * They may hold anything.
 */
#define AIF_COMPILED_LINES ".lines"

/* Entries of one file that are read. */
#define AIF_COMPILED_LINES_MAX 65536

/* A place in the program; texts of the profile, not terminated. */
struct aif_compiled_place {
	const char *file, *function;
	size_t file_len, function_len;
	uint32_t line;
};

/* The entries of one file. */
struct aif_compiled_lines {
	struct aif_compiled_entry {
		uint32_t line;
		const char *stack;
		size_t stack_len;
	} * entries;
	size_t len, cap;
};

/* The text must outlive it. 0 or -ENOMEM. */
int aif_compiled_lines_read(struct aif_compiled_lines *l, const char *text, size_t len);
void aif_compiled_lines_finish(struct aif_compiled_lines *l);

/* Finds the program's own function in which a line of the file was written: the innermost that is no framework's, else the
 * innermost. False: none is known. */
bool aif_compiled_lines_find(const struct aif_compiled_lines *l, uint32_t line,
			     struct aif_compiled_place *ret);
