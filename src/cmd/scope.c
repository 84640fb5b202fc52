/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "cmd/profile_arg.h"

static const struct aif_opt opts[] = {AIF_PAGE_OPTS};

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	return aif_page_file(values, true, words, words_len, err);
}

const struct aif_command aif_command_scope = {
	.name = "scope",
	.words = "[FILE]",
	.summary = "a flame scope: activity below a second as a heat map, as a page",
	.description =
		"Writes heat maps of how busy devices were, of samples of devices and of CPUs: a column\n"
		"is a stretch of time, from below to above; what recurs makes a pattern. Two clicks\n"
		"select a time, whose flame graph is in the same page. It is the page of aiflame view\n"
		"without its other views, and a smaller file.",
	.examples = "aiflame scope\topens it in a browser\n"
		    "aiflame scope run.data -o scope.html\twrites it\n",
	.opts = opts,
	.values_size = sizeof(struct aif_page_values),
	.max_words = 1,
	.run = run,
};
