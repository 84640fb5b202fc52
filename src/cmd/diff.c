/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "cmd/command.h"
#include "cmd/output.h"
#include "cmd/profile_arg.h"
#include "cmd/selection.h"
#include "cmd/stop.h"
#include "compare/side.h"
#include "compare/words.h"
#include "text/out.h"

#include <errno.h>
#include <string.h>

enum { FORMAT_TABLE, FORMAT_MARKDOWN, FORMAT_JSON, FORMAT_SVG, FORMAT_HTML };
enum { FORMAT_BY_NAME = -1 };

struct values {
	const char *baselines, *output, *unit;
	int format;
	uint32_t margin, limit;
	bool any_machine;
};

#define AT(field) offsetof(struct values, field)
static const struct aif_opt opts[] = {
	{'o', "output", "FILE", AIF_OPT_STRING, AT(output), 0,
	 "the file to write: .html is a page, .svg a picture, .json, .md, .txt (standard output)"},
	{0, "format", "table|md|json|svg|html", AIF_OPT_CHOICE, AT(format), 0,
	 "text for people, Markdown for a summary, JSON for programs, a flame graph, red where B "
	 "takes longer, or a page with it (by the name; table)"},
	AIF_UNIT_OPT(AT(unit)),
	{0, "margin", "PERCENT", AIF_OPT_PERCENT, AT(margin), 0,
	 "changes below that are none (3 %)"},
	AIF_OPTS_FURTHER,
	{0, "limit", "N", AIF_OPT_COUNT, AT(limit), 0, "rows of each table, 0 for all (10)"},
	AIF_BASELINES_OPT(AT(baselines)),
	{0, "any-machine", NULL, AIF_OPT_FLAG, AT(any_machine), 0,
	 "give verdicts though devices or drivers differ"},
	{0},
};
static const struct values defaults = {.margin = 30000, .limit = 10, .format = FORMAT_BY_NAME};

/* Returns the format that is asked for, or that a file's name has; FORMAT_BY_NAME: it has none of them. */
static int format_of(const struct values *v)
{
	static const struct {
		const char *end;
		int format;
	} by_name[] = {{".svg", FORMAT_SVG},     {".html", FORMAT_HTML}, {".json", FORMAT_JSON},
		       {".md", FORMAT_MARKDOWN}, {".txt", FORMAT_TABLE}, {".out", FORMAT_TABLE}};
	const char *slash = v->output ? strrchr(v->output, '/') : NULL,
		   *end = v->output ? strrchr(slash ? slash : v->output, '.') : NULL;

	if (v->format != FORMAT_BY_NAME || !end)
		return v->format == FORMAT_BY_NAME ? FORMAT_TABLE : v->format;
	for (size_t i = 0; i < AIF_ARRAY_LEN(by_name); i++)
		if (!strcmp(end, by_name[i].end))
			return by_name[i].format;
	return FORMAT_BY_NAME;
}

static int write_answer(const struct values *v, int format, const struct aif_comparison *c,
			struct aif_out *out)
{
	switch (format) {
	case FORMAT_SVG:
		return aif_comparison_svg(c, NULL, 0, out);
	case FORMAT_HTML:
		return aif_comparison_page(c, NULL, out);
	case FORMAT_JSON:
		aif_comparison_json(c, aif_out_buf(out));
		break;
	case FORMAT_MARKDOWN:
		aif_comparison_markdown(c, v->limit, aif_out_buf(out));
		break;
	default:
		aif_comparison_text(c, v->limit,
				    v->output && strcmp(v->output, "-") ? 0 : aif_view_columns(),
				    aif_out_buf(out));
		break;
	}
	return aif_buf_failed(aif_out_buf(out)) ? -ENOMEM : 0;
}

static int write_file(const struct values *v, const struct aif_comparison *c, struct aif_err *err)
{
	struct aif_out out;
	int r = v->output ? aif_output_check(v->output, err) : 0;

	if (r)
		return AIF_EXIT_FAILURE;
	r = aif_out_open_stoppable(&out, v->output ? v->output : "-", aif_stop_begin(),
				   aif_stop_scratch(), err);

	if (!r) {
		r = write_answer(v, format_of(v), c, &out);
		if (r || aif_memory_failed()) {
			aif_out_abort(&out);
			r = aif_err_set(err, -ENOMEM, "out of memory");
		} else {
			r = aif_out_commit(&out, err);
		}
	}
	aif_stop_end();
	return r ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

static int print(const struct values *v, const struct aif_comparison *c, struct aif_err *err)
{
	struct aif_out out = {.fd = -1};
	int format = format_of(v), status;

	if (write_answer(v, format, c, &out) < 0)
		aif_buf_clear(&out.buf);
	status = format == FORMAT_TABLE || format == FORMAT_MARKDOWN
			 ? aif_view_print_text(&out.buf, err)
			 : aif_view_print(&out.buf, err);
	aif_buf_finish(&out.buf);
	return status;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	struct aif_compare_opts o = {.margin = v->margin / 1e6, .any_machine = v->any_machine};
	const struct aif_side_opts from = {.baselines = v->baselines,
					   .open = aif_view_profile_for_people};
	struct aif_sides s = {0};
	bool to_file = v->output && strcmp(v->output, "-") != 0;
	int status = AIF_EXIT_FAILURE;

	(void)words_len;
	if (aif_unit_arg(v->unit, &o, err) < 0)
		return AIF_EXIT_USAGE;
	if (format_of(v) == FORMAT_BY_NAME) {
		aif_err_set(
			err, -EINVAL,
			"diff: -o %s: the suffix names no format; use .html, .svg, .json, .md or "
			".txt, or give --format",
			v->output);
		return AIF_EXIT_USAGE;
	}
	if (aif_sides_compare(words, &from, &o, &s, err) == 0)
		status = to_file || format_of(v) >= FORMAT_SVG ? write_file(v, &s.c, err)
							       : print(v, &s.c, err);
	aif_sides_finish(&s);
	return status;
}

const struct aif_command aif_command_diff = {
	.name = "diff",
	.words = "A B",
	.summary = "what got slower or faster between two sets of runs, and where",
	.description =
		"Compares side A (before) with side B (after). A side is one or several, between\n"
		"commas: profiles, imported ones too; directories of them (*.data); folded text;\n"
		"FILE@PART or DIRECTORY@PART, as --time takes it: run.data@steps:10-50; baseline:NAME\n"
		"(aiflame baseline).\n\n"
		"The run is what varies: three runs a side are the least for a verdict, five are\n"
		"better. One run a side gives differences and no verdict. There are four answers:\n"
		"slower, faster, the same (the whole 95 % interval lies within the margin), and\n"
		"cannot tell, with the number of runs that would. Of stacks and kernels these are\n"
		"more time and less time: they may be known where the whole is not. Nothing is\n"
		"decided between machines or clocks that differ, nor by recordings that were cut short.\n\n"
		"Values are given by step where all runs have steps, marked or found, else by run,\n"
		"which is all of it, start-up and end too; never scaled to equal totals. Stacks are\n"
		"compared from their callers on: time that moved between callees of one function is\n"
		"called moved, not more time.",
	.examples =
		"aiflame diff old.data new.data\tdifferences of two runs\n"
		"aiflame diff old new\tof two directories with five runs each: with verdicts\n"
		"aiflame diff run.data@steps:10-50 run.data@steps:110-150\tof two parts of a run\n"
		"aiflame diff old new -o diff.svg\ta flame graph of both: red takes longer\n"
		"aiflame diff old new -o diff.html\tthe same with tables, as one interactive page\n"
		"aiflame diff --format md old new\tfor a pull request\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(struct values),
	.min_words = 2,
	.max_words = 2,
	.run = run,
};
