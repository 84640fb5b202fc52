/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/page_file.h"
#include "cmd/profile_arg.h"

static const struct aif_opt opts[] = {AIF_PAGE_OPTS};

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	return aif_page_file(values, false, words, words_len, err);
}

const struct aif_command aif_command_view = {
	.name = "view",
	.words = "[FILE]",
	.summary = "one interactive page for the whole profile, as a file",
	.description =
		"Writes a profile as one HTML file and opens it in a browser: what bounds the program,\n"
		"its devices over time, flame graphs, flame scopes, tables and listings of kernels. All\n"
		"views show the same selected time.\n\n"
		"The file has everything in it: it opens from disk, asks for nothing in the network, and\n"
		"runs no script but its own. With -o it is only written, for another machine, a ticket\n"
		"or a CI artefact. Its size grows with distinct stacks and with cells of time, not with\n"
		"launches or samples; what was joined to bound it is said in the page. docs/view.md has\n"
		"pictures and keys.",
	.examples = "aiflame view\topens a page of aiflame.data in a browser\n"
		    "aiflame view run.data -o run.html\twrites it, to send or to keep\n"
		    "aiflame view run.data -o small.html --frames 20000\ta smaller file\n",
	.opts = opts,
	.values_size = sizeof(struct aif_page_values),
	.max_words = 1,
	.run = run,
};
