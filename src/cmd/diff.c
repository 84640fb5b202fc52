/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/profile_arg.h"
#include "cmd/side_arg.h"
#include "compare/words.h"

#include <errno.h>
#include <string.h>

enum { FORMAT_TABLE, FORMAT_MARKDOWN, FORMAT_JSON };

struct values {
	const char *baselines;
	int format, unit;
	uint32_t margin, limit;
	bool any_machine;
};

#define AT(field) offsetof(struct values, field)
static const struct aif_opt opts[] = {
	{0, "unit", "auto|step|launch|second|run", AIF_OPT_CHOICE, AT(unit), 0,
	 "what values are given by (auto: a step where all runs have them, else a run)"},
	{0, "margin", "PERCENT", AIF_OPT_PERCENT, AT(margin), 0,
	 "changes below that are none (3 %)"},
	AIF_BASELINES_OPT(AT(baselines)),
	{0, "any-machine", NULL, AIF_OPT_FLAG, AT(any_machine), 0,
	 "give verdicts though devices or drivers differ"},
	{0, "limit", "N", AIF_OPT_COUNT, AT(limit), 0, "rows of each table, 0 for all (10)"},
	{0, "format", "table|md|json", AIF_OPT_CHOICE, AT(format), 0,
	 "text for people, Markdown for a summary, JSON for programs"},
	{0},
};
static const struct values defaults = {.margin = 30000, .limit = 10};

static void write_answer(const struct values *v, const struct aif_comparison *c,
			 struct aif_buf *out)
{
	switch (v->format) {
	case FORMAT_JSON:
		aif_comparison_json(c, out);
		break;
	case FORMAT_MARKDOWN:
		aif_comparison_markdown(c, v->limit, out);
		break;
	default:
		aif_comparison_text(c, v->limit, out);
		break;
	}
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	const struct aif_compare_opts o = {.unit = (enum aif_compare_unit)v->unit,
					   .margin = v->margin / 1e6,
					   .any_machine = v->any_machine};
	struct aif_side a = {0}, b = {0};
	struct aif_comparison c = {0};
	struct aif_buf out = {0};
	int r, status = AIF_EXIT_FAILURE;

	(void)words_len;
	r = aif_side_arg(words[0], v->baselines, &a, err);
	if (!r)
		r = aif_side_arg(words[1], v->baselines, &b, err);
	if (!r)
		r = aif_compare(&a, &b, &o, &c, err);
	if (!r) {
		write_answer(v, &c, &out);
		status = v->format == FORMAT_JSON ? aif_view_print(&out, err)
						  : aif_view_print_text(&out, err);
	}
	aif_buf_finish(&out);
	aif_comparison_finish(&c);
	aif_side_finish(&a);
	aif_side_finish(&b);
	return status;
}

const struct aif_command aif_command_diff = {
	.name = "diff",
	.words = "A B",
	.summary = "what got slower or faster between two sets of runs, and where",
	.description =
		"Compares side A (before) with side B (after). A side is one or several, between\n"
		"commas: profiles, imported ones too; directories of them (*.data); folded text;\n"
		"FILE@PART, a part of a run as --time takes it: run.data@steps:10-50; baseline:NAME\n"
		"(aiflame baseline).\n\n"
		"The run is what varies: three runs a side are the least for a verdict, five are\n"
		"better. One run a side gives differences and no verdict. There are four answers:\n"
		"slower, faster, the same (the whole 95 % interval lies within the margin), and\n"
		"cannot tell, with the number of runs that would. Nothing is decided between\n"
		"machines that differ, nor by recordings that were cut short.\n\n"
		"Values are given by step where all runs have steps, marked or found, else by run,\n"
		"never scaled to equal totals. Stacks are compared from their callers on: time that\n"
		"moved between callees of one function is called moved, not slower.",
	.examples =
		"aiflame diff old.data new.data\tdifferences of two runs\n"
		"aiflame diff old new\tof two directories with five runs each: with verdicts\n"
		"aiflame diff run.data@steps:10-50 run.data@steps:110-150\tof two parts of a run\n"
		"aiflame diff --format md old new\tfor a pull request\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(struct values),
	.min_words = 2,
	.max_words = 2,
	.run = run,
};
