/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cmd/opts.h"
#include "page/page.h"

/* The options of commands that write a page: `view`, `scope`. */
struct aif_page_values {
	const char *input, *output, *title;
	uint32_t frames;
	uint64_t max_bytes;
};
/* clang-format off */
#define AIF_PAGE_OPTS \
	{'i', "input", "FILE", AIF_OPT_STRING, offsetof(struct aif_page_values, input), 0, \
	 "the profile (aiflame.data)"}, \
	{'o', "output", "FILE", AIF_OPT_STRING, offsetof(struct aif_page_values, output), 0, \
	 "the file to write, - is standard output; without it the page goes into the cache directory, and a browser " \
	 "is asked to show it"}, \
	{0, "title", "TEXT", AIF_OPT_STRING, offsetof(struct aif_page_values, title), 0, \
	 "the page's title (the recorded command)"}, \
	{0, "frames", "N", AIF_OPT_COUNT, offsetof(struct aif_page_values, frames), 1, \
	 "join the narrowest frames of a call tree with more (2000000)"}, \
	AIF_VIEW_MAX_SIZE_OPT(offsetof(struct aif_page_values, max_bytes)), \
	{0}
/* clang-format on */

/* Writes the page that the options ask for. An exit status. */
int aif_page_file(const struct aif_page_values *v, bool is_scope, char **words, int words_len,
		  struct aif_err *err);
