/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/merge.h"

#include "base/human.h"
#include "base/name_sanitize.h"
#include "cmd/command.h"
#include "cmd/message.h"
#include "cmd/profile_arg.h"
#include "cmd/stop.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct values {
	const char *output;
	bool quiet;
};
static const struct aif_opt opts[] = {
	{'o', "output", "FILE", AIF_OPT_STRING, offsetof(struct values, output), 0,
	 "the profile to write (aiflame.data); an existing profile becomes FILE.old, any "
	 "other file is refused"},
	{'q', "quiet", NULL, AIF_OPT_FLAG, offsetof(struct values, quiet), 0,
	 "print no progress and no summary"},
	{0},
};
static const struct values defaults = {.output = AIF_DEFAULT_FILE};

struct live {
	const volatile sig_atomic_t *stopped;
	struct aif_redraw line;
};

static int progress(void *arg, const char *path, size_t done, size_t all)
{
	struct live *live = arg;
	struct aif_buf file = {0};

	if (*live->stopped)
		return -1;
	if (!aif_redraw_is_due(&live->line))
		return 0;
	aif_name_sanitize(path, strlen(path), &file);
	fprintf(stderr, "\raiflame: %s: %zu %%\033[K", aif_buf_str(&file),
		all ? done * 100 / all : 0);
	aif_buf_finish(&file);
	fflush(stderr);
	return 0;
}

/* Prints what was merged, and what to look at next: on standard error, as after a recording. */
static void summary(const struct aif_merge_sum *s, const char *path)
{
	struct aif_buf out = {0}, shown = {0};

	aif_buf_puts(&out, path);
	aif_buf_puts(&out, ": ");
	aif_human_counted(&out, s->files, "profile");
	aif_buf_puts(&out, " of ");
	aif_human_counted(&out, s->hosts, "host");
	if (s->ranks) {
		aif_buf_puts(&out, ", ");
		aif_human_counted(&out, s->ranks, "rank");
	}
	if (s->related) {
		aif_buf_puts(&out, "; clocks agree within ");
		aif_human_ns(&out, s->error_ns);
	}
	aif_buf_puts(&out, "\n");
	aif_buf_append(&out, s->notes.data, s->notes.len);
	aif_buf_puts(&out, "Next: aiflame why ");
	aif_buf_shell_path(&out, path);
	aif_buf_puts(&out, "; aiflame report --ranks ");
	aif_buf_shell_path(&out, path);
	aif_buf_puts(&out, "\n");
	aif_name_sanitize_lines(out.data, out.len, &shown);
	fputs(aif_buf_str(&shown), stderr);
	aif_buf_finish(&shown);
	aif_buf_finish(&out);
}

static int check(char **words, int n, const char *output, struct aif_err *err)
{
	struct aif_err place = {0};
	char old[4096];
	bool moves;
	int r;

	if (!*output)
		return aif_err_set(err, -EINVAL, "merge: -o: the name is empty; give one");
	moves = access(output, F_OK) == 0 &&
		(size_t)snprintf(old, sizeof(old), "%s.old", output) < sizeof(old);
	for (int i = 0; i < n; i++) {
		if (aif_view_is_same_file(words[i], output))
			return aif_err_set(err, -EINVAL,
					   "merge: %s would overwrite itself; choose another -o",
					   words[i]);
		if (moves && aif_view_is_same_file(words[i], old))
			return aif_err_set(
				err, -EINVAL,
				"merge: %s would be replaced by %s, which is kept under that name; "
				"choose another -o",
				words[i], output);
	}
	/* Not only after all was read. */
	r = aif_profile_check_place(output, &place);
	return r < 0 ? aif_err_set(err, r, "merge: %s", place.text) : 0;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	struct live live = {.line = aif_redraw_begin(!v->quiet)};
	struct aif_merge_opts o = {
		.progress = progress, .arg = &live, .scratch = aif_stop_scratch()};
	struct aif_merge_sum sum = {0};
	int r = check(words, words_len, v->output, err), stopped;

	if (r < 0)
		return AIF_EXIT_USAGE;
	live.stopped = aif_stop_begin();
	r = aif_merge_files((const char *const *)words, (size_t)words_len, v->output, &o, &sum,
			    err);
	stopped = aif_stop_end();
	aif_redraw_end(&live.line);
	if (!r && !v->quiet)
		summary(&sum, v->output);
	aif_merge_sum_finish(&sum);
	if (r == -EINTR && stopped)
		return 128 + stopped;
	return r ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

const struct aif_command aif_command_merge = {
	.name = "merge",
	.words = "FILE FILE...",
	.summary = "make one profile of those of a job's hosts",
	.description =
		"Puts the profiles of one job into one for all of aiflame's views: recordings of\n"
		"its hosts, or of its ranks (record -o job-%h.data, job-%r.data). Processes of\n"
		"different files stay apart, also where they have the same number; `aiflame why`\n"
		"and `report --ranks` then say which rank the others wait for, and where.\n\n"
		"Files of one host have one clock. Clocks of different hosts are related by the\n"
		"ends of the operations between their ranks, which all leave at the same moment:\n"
		"offset and drift, with the error, which is printed and kept (`aiflame info`). If\n"
		"they do not agree, the host's ranks are placed by its date and are not compared\n"
		"with others. Of what was left out by the overhead budget little is in common:\n"
		"record --all-launches where hosts' dates differ by more than some ms.\n\n"
		"Traces of other profilers are merged as they are imported: aiflame import FILE...",
	.examples = "aiflame merge job-*.data -o job.data\tthe hosts of a job\n"
		    "aiflame report --ranks job.data\teach rank's waits\n"
		    "aiflame why job.data\twhich rank is late, and on which line\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.min_words = 2,
	.max_words = -1,
	.run = run,
};
