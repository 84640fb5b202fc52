/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "names/profile_names.h"
#include "profile/file.h"

/* The profile's name: `option` (-i FILE), else the first of the words that are left, else the
 * default. NULL with *err where both are given, which is misuse. */
const char *aif_view_path(const char *option, char **words, int words_len, struct aif_err *err);

/*
 * A profile may come from anywhere, and a small one can stand for much: identical rows, a name in every stack. What a view
 * of it takes is bounded in proportion to the file.
 *
 *   memory   AIF_VIEW_MEMORY and AIF_VIEW_MEMORY_PER_BYTE times the file, kept by the kernel (RLIMIT_DATA) from the moment
 *            on that the profile is opened. Of recordings views take up to 45 times the file: 458 MB for 10.9 MB with
 *            1.5 million launches; where replays of one graph repeat, more than 150 times: 22.5 million nodes that were
 *            executed took 30.4 MB in the file and more than 4.6 GiB (bench/results/h100-names.md).
 *   output   AIF_VIEW_OUTPUT or AIF_VIEW_OUTPUT_PER_BYTE times the file, whichever is more, unless --max-size allows
 *            another size. That recording as Chrome's JSON, the longest of all formats, is 56 times the file.
 */
#define AIF_VIEW_MEMORY          ((uint64_t)1 << 30)
#define AIF_VIEW_MEMORY_PER_BYTE 256
#define AIF_VIEW_OUTPUT          ((uint64_t)1 << 30)
#define AIF_VIEW_OUTPUT_PER_BYTE 256

/* Returns the default of --max-size, in bytes. */
uint64_t aif_view_max_size(const char *path);
#define AIF_VIEW_MAX_SIZE_OPT(at)                                                                \
	{                                                                                        \
		0, "max-size", "BYTES", AIF_OPT_BYTES, at, 1,                                    \
			"stop if the output becomes larger (256 times the profile, at least 1G)" \
	}

/* True, with what the bound on memory is, if it is this one and none of the user's own: for who
 * says that memory ran out. */
bool aif_view_memory_bound(uint64_t *ret_bytes);

/* Swaps FILE and another word if only the other one is a profile. */
void aif_view_put_in_order(char **file, char **other);

/* A whole profile and its attribution, for people. A zeroed struct may be finished. */
struct aif_view {
	struct aif_profile profile;
	struct aif_names names;
	struct aif_attribution attribution;
};

/* 0 or -errno with *err. Says nothing of a recording that was cut short. */
int aif_view_open(struct aif_view *v, const char *path, struct aif_err *err);
void aif_view_finish(struct aif_view *v);

/* True if both name one regular file: nothing is written over a profile that is read. */
bool aif_view_is_same_file(const char *a, const char *b);

/* Opens a profile, makes its names, and reports if it was cut short (aif_view_report_cut). Both are finished by the caller
 * in any case. 0 or -errno with *err. */
int aif_view_profile(const char *path, struct aif_profile *ret, struct aif_names *names,
		     struct aif_err *err);
/* The same, each name one line that a terminal may be sent. */
int aif_view_profile_for_people(const char *path, struct aif_profile *ret, struct aif_names *names,
				struct aif_err *err);
/* The profile's path as people are shown it; for free(), NULL when memory runs out. */
char *aif_view_path_for_people(const char *path);
/* Says on standard error that a recording was cut short, where it was. */
void aif_view_report_cut(const char *path, const struct aif_profile *p);

/* Returns the width of the terminal on standard output: $COLUMNS, or the terminal's own; 0: no
 * terminal. */
uint32_t aif_view_columns(void);

/* Writes to standard output; an exit status. */
int aif_view_print(const struct aif_buf *b, struct aif_err *err);
/* For people: what would be an order to a terminal comes out as a picture of it. */
int aif_view_print_text(const struct aif_buf *b, struct aif_err *err);

/* Opens a profile, prints what write() makes of it, for people or for programs, and closes it. An exit status. */
int aif_view_show(const char *path, bool is_for_people,
		  int (*write)(const void *values, const char *path, const struct aif_names *names,
			       struct aif_buf *out, struct aif_err *err),
		  const void *values, struct aif_err *err);
