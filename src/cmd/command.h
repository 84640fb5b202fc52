/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cmd/opts.h"

/*
 * A command is one file and one line in commands.def. To add one: write `src/cmd/NAME.c` with a
 * `const struct aif_command aif_command_NAME`, add the line, add docs/man/aiflame-NAME.md;
 * tests/e2e/commands.sh finds the rest (help works, manual and options agree).
 */

struct aif_command {
	const char *name;
	const char *words;       /* what stands behind the options, for the usage line: "[FILE]" */
	const char *summary;     /* one line, no full stop: the list of commands */
	const char *description; /* paragraphs, for -h */
	const char *examples;    /* lines "command line<tab>what it does" */
	const struct aif_opt *opts; /* ends with an entry without name; NULL: none but -h */
	const void *defaults;       /* the values before parsing; NULL: zeroes */
	size_t values_size;
	int min_words, max_words; /* max -1: any number */
	bool runs_command;        /* the first word ends the options: all behind it is a command */
	/* Returns the exit status. If *err is set it is printed first. */
	int (*run)(const void *values, char **words, int words_len, struct aif_err *err);
};

/* Ends with NULL; the order is that of `aiflame help`. */
extern const struct aif_command *const aif_commands[];

/* Draws a profile as `aiflame flame -i profile -o output` does: .svg, or .folded and .txt. 0, or -1 with *err. */
int aif_flame_draw(const char *profile, const char *output, struct aif_err *err);
