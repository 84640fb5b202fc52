/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "text/values.h"

/*
 * Options: each command has one table; parsing, help and the check of its manual page come from it.
 * Values are stored into a struct of the command's own, at the offset that the table names.
 */

enum aif_opt_type {
	AIF_OPT_FLAG,    /* bool = true */
	AIF_OPT_SET,     /* int = .value: several flags that exclude each other share one int */
	AIF_OPT_STRING,  /* const char * */
	AIF_OPT_LIST,    /* const char *[.value + 1]: given several times; NULL behind the last */
	AIF_OPT_COUNT,   /* uint32_t: a decimal number */
	AIF_OPT_BYTES,   /* uint64_t: 500, 64K, 2G (powers of 1024) */
	AIF_OPT_TIME,    /* uint64_t ns: 1.5 (seconds), 10ms, 3us, 7ns, 2m, 1h */
	AIF_OPT_PERCENT, /* uint32_t in 1/1,000,000: 2, 0.5, 2% */
	AIF_OPT_SPAN,    /* struct aif_run_part: FROM,TO, either may be left out; loop, step:3 */
	AIF_OPT_CHOICE,  /* int: index of the word in .arg, "kernel|line|instruction" */
	AIF_OPT_HEADING, /* no option: a line above those that follow; .value 1: `-h` ends before it */
};

struct aif_opt {
	char letter;      /* 0: no short form */
	const char *name; /* without dashes */
	const char *arg;  /* what the help calls the argument; the words of a choice; NULL: none */
	enum aif_opt_type type;
	size_t at; /* offset of the value in the command's struct */
	int value; /* AIF_OPT_SET, AIF_OPT_LIST; of AIF_OPT_BYTES and AIF_OPT_TIME the least */
	const char *help; /* the text behind a form feed is shown by -h --all alone */
};

struct aif_command;

/* Entries that divide a table. Options behind AIF_OPTS_FURTHER, those that few need, are parsed, completed and in the manual
 * page like the others; `-h --all` shows them. */
/* clang-format off */
#define AIF_OPTS_HEADING(title) {0, "", NULL, AIF_OPT_HEADING, 0, 0, title}
#define AIF_OPTS_FURTHER {0, "", NULL, AIF_OPT_HEADING, 0, 1, "further options"}
/* clang-format on */

/* Returns the first option of `o` and the entries behind it, headings left out, or NULL; `o` may be
 * NULL. */
const struct aif_opt *aif_opts_from(const struct aif_opt *o);

#define AIF_OPTS_EACH(o, cmd) \
	for (const struct aif_opt *o = aif_opts_from((cmd)->opts); o; o = aif_opts_from(o + 1))

/* The result of parsing: words that are no options, in order (argv is reordered). */
struct aif_words {
	char **word;
	int len;
	bool help;     /* -h or --help: nothing behind it is read but --all */
	bool help_all; /* --all stands before or behind that */
};

/* Parses argv[1..] into *values, which holds the defaults. 0, or -EINVAL with *err. */
int aif_opts_parse(const struct aif_command *cmd, int argc, char **argv, void *values,
		   struct aif_words *ret, struct aif_err *err);

/* Appends the text of `aiflame NAME -h`, or with `is_whole` of `-h --all`, which is that of the manual
 * page: further options, and the description behind its form feed, where it has one. */
void aif_opts_help(const struct aif_command *cmd, bool is_whole, struct aif_buf *out);

/* Returns the string nearest to `word` among those that next(arg, i) gives until NULL, or NULL
 * if none is near enough to be a typing error. */
const char *aif_nearest(const char *word, const char *(*next)(const void *arg, size_t i),
			const void *arg);
