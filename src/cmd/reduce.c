/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/reduce.h"

#include "base/human.h"
#include "base/name_sanitize.h"
#include "cmd/command.h"
#include "cmd/profile_arg.h"
#include "cmd/stop.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct values {
	const char *output;
	uint32_t every;
	bool quiet;
};
static const struct aif_opt opts[] = {
	{'o', "output", "FILE", AIF_OPT_STRING, offsetof(struct values, output), 0,
	 "the profile to write; an existing profile becomes FILE.old, any other file is refused"},
	{0, "every", "N", AIF_OPT_COUNT, offsetof(struct values, every), 0,
	 "keep one step of N, in runs of four, the same ones of all ranks (16)"},
	{'q', "quiet", NULL, AIF_OPT_FLAG, offsetof(struct values, quiet), 0, "print no summary"},
	{0},
};
static const struct values defaults = {.every = 16};

static void put_bytes(struct aif_buf *b, uint64_t bytes, const struct aif_reduce_sum *s)
{
	aif_human_bytes(b, bytes);
	aif_buf_puts(b, " (");
	aif_human_bytes(b, bytes / s->steps);
	aif_buf_puts(b, " a step)");
}

/* Prints what is left, on standard error as after a recording. */
static void summary(const struct aif_reduce_sum *s, const char *path)
{
	struct aif_buf out = {0}, shown = {0};

	aif_buf_printf(&out, "%s: ", path);
	aif_human_count(&out, s->by_lot);
	aif_buf_puts(&out, " steps by lot, the first ");
	aif_human_count(&out, s->first);
	aif_buf_puts(&out, " and ");
	aif_human_count(&out, s->slow);
	aif_buf_puts(&out, " slow ones of ");
	aif_human_count(&out, s->steps);
	if (s->ranks > 1) {
		aif_buf_puts(&out, " of ");
		aif_human_counted(&out, s->ranks, "process");
	}
	aif_buf_puts(&out, ", ");
	aif_human_count(&out, s->launches - s->left_out);
	aif_buf_puts(&out, " of ");
	aif_human_counted(&out, s->launches, "launch");
	if (s->whole) {
		aif_buf_puts(&out, " (");
		aif_human_count(&out, s->whole);
		aif_buf_puts(&out, " of threads that launch less than once a step)");
	}
	aif_buf_puts(&out, "; ");
	put_bytes(&out, s->reduced_bytes, s);
	aif_buf_puts(&out, " of ");
	put_bytes(&out, s->bytes, s);
	aif_buf_puts(&out, "\n");
	aif_name_sanitize_lines(out.data, out.len, &shown);
	fputs(aif_buf_str(&shown), stderr);
	aif_buf_finish(&shown);
	aif_buf_finish(&out);
}

static int check(const char *input, const char *output, struct aif_err *err)
{
	struct aif_err place = {0};
	char old[4096];
	int r;

	if (!output || !*output)
		return aif_err_set(err, -EINVAL,
				   "reduce: -o is missing; name the profile to write");
	if (aif_view_is_same_file(input, output))
		return aif_err_set(err, -EINVAL,
				   "reduce: %s would overwrite itself; choose another -o", input);
	if (access(output, F_OK) == 0 &&
	    (size_t)snprintf(old, sizeof(old), "%s.old", output) < sizeof(old) &&
	    aif_view_is_same_file(input, old))
		return aif_err_set(
			err, -EINVAL,
			"reduce: %s would be replaced by %s, which is kept under that name; "
			"choose another -o",
			input, output);
	r = aif_profile_check_place(output, &place);
	return r < 0 ? aif_err_set(err, r, "reduce: %s", place.text) : 0;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	struct aif_reduce_opts o = {.every = v->every, .scratch = aif_stop_scratch()};
	struct aif_reduce_sum sum = {0};
	int r;

	(void)words_len;
	if (v->every < 2) {
		aif_err_set(err, -EINVAL,
			    "reduce: --every: give 2 or more; with less nothing is left out");
		return AIF_EXIT_USAGE;
	}
	if (check(words[0], v->output, err) < 0)
		return AIF_EXIT_USAGE;
	aif_stop_begin_at_once();
	r = aif_reduce_file(words[0], v->output, &o, &sum, err);
	aif_stop_end();
	if (!r && !v->quiet)
		summary(&sum, v->output);
	return r ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

const struct aif_command aif_command_reduce = {
	.name = "reduce",
	.words = "FILE",
	.summary = "make a smaller profile that keeps some steps whole",
	.description =
		"Leaves the launches of most steps out of a profile, for jobs of many ranks or\n"
		"hours. Kept are one step of --every, by lot and in runs of four, the same ones of all\n"
		"ranks; the first eight; those that took 1.5 times the median or more (the slowest\n"
		"hundredth of all at most); and what ran before, between and behind steps. What is\n"
		"kept by lot stands for the rest, as where record --overhead leaves launches out:\n"
		"views say what they estimate, and how well they know it. Where a thread has fewer\n"
		"than 32 launches by lot between two slow steps, more steps are kept; one that does\n"
		"not launch in each step keeps all of its launches there. CPU samples, ranges,\n"
		"counters and allocations stay whole. The time of each stack and kernel in each step,\n"
		"kept or not, is summed up in few rows: report --changes shows which became slower,\n"
		"and in which steps.\n\n"
		"Reduce the profile of each rank or host with the same --every, then merge. Steps\n"
		"are those that the program marks (docs/program.md), and must count alike on all\n"
		"ranks; or the turns of the loop that aiflame why finds. Record with --all-launches:\n"
		"what was left out once cannot be again.",
	.examples =
		"aiflame reduce -o small.data run.data\tone step of 16\n"
		"aiflame reduce --every 64 -o r7-small.data r7.data\tthe same of each rank, then\n"
		"aiflame merge r*-small.data -o job.data\tthe job\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
