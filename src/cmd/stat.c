/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/result.h"

#include "cmd/command.h"
#include "cmd/message.h"
#include "cmd/output.h"
#include "names/names.h"
#include "stat/file.h"
#include "text/out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_BY_NAME = -1, FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON, RUNS_MAX = 1000 };

struct values {
	const char *events, *output, *separator, *cpus, *from;
	uint32_t runs, warm_up, threads;
	bool roofs;
	int format;
};

#define AT(field) offsetof(struct values, field)
static const struct aif_opt opts[] = {
	{'e', "events", "LIST", AIF_OPT_STRING, AT(events), 0,
	 "what to count, with commas between: sets (base, cache, tlb, topdown) and events by perf's names "
	 "(base,cache,tlb)"},
	{'r', "repeat", "N", AIF_OPT_COUNT, AT(runs), 1, "run the command N times (1)"},
	{0, "roofs", NULL, AIF_OPT_FLAG, AT(roofs), 0,
	 "measure what this machine can do, for some seconds before the command: FLOP/s, bytes/s of caches and memory"},
	{'o', "output", "FILE", AIF_OPT_STRING, AT(output), 0,
	 "the file to write, of JSON or CSV where its name ends so (.json, .csv); - is standard output (standard error)"},
	{0, "format", "text|csv|json", AIF_OPT_CHOICE, AT(format), 0,
	 "text in perf's layout; CSV as perf stat -x, has it; JSON with the keys of "
	 "perf_stat_summary.json"},
	{0, "from", "FILE", AIF_OPT_STRING, AT(from), 0,
	 "take the counters from what perf stat wrote, as text, with -x or -j; - is standard input"},
	{0, "warm-up", "N", AIF_OPT_COUNT, AT(warm_up), 0,
	 "runs before these, which do not count (0)"},
	{0, "threads", "N", AIF_OPT_COUNT, AT(threads), 1,
	 "set CK_NUM_THREADS, OMP_NUM_THREADS and MKL_NUM_THREADS of the command"},
	{0, "cpus", "LIST", AIF_OPT_STRING, AT(cpus), 0, "let it run on these CPUs only: 0-3,8"},
	{'x', "separator", "SEP", AIF_OPT_STRING, AT(separator), 0,
	 "lines as of perf stat -x SEP (,)"},
	{0},
};
static const struct values defaults = {.runs = 1, .format = FORMAT_BY_NAME};

static bool ends_with(const char *name, const char *end)
{
	size_t len = name ? strlen(name) : 0, n = strlen(end);

	return len > n && !strcmp(name + len - n, end);
}

/* Returns the format that was asked for, else that of the output's name. */
static int format_of(const struct values *v)
{
	if (v->separator)
		return FORMAT_CSV;
	if (v->format != FORMAT_BY_NAME)
		return v->format;
	return ends_with(v->output, ".json")  ? FORMAT_JSON
	       : ends_with(v->output, ".csv") ? FORMAT_CSV
					      : FORMAT_TEXT;
}

/* Writes text to the output, which has a format; standard error without one. Frees the text. */
static int write_text(const struct values *v, struct aif_buf *text, struct aif_err *err)
{
	struct aif_buf shown = {0};
	struct aif_out out;
	int e = 0;

	if (aif_buf_failed(text)) {
		e = aif_err_set(err, -ENOMEM, "stat: out of memory");
	} else if (v->output) {
		e = aif_out_open(&out, v->output, err);
		if (!e) {
			aif_buf_append(aif_out_buf(&out), text->data, text->len);
			e = aif_out_commit(&out, err);
		}
	} else {
		/* A command's words may control a terminal. */
		aif_name_sanitize_lines(text->data, text->len, &shown);
		fwrite(shown.data, 1, shown.len, stderr);
	}
	aif_buf_finish(text);
	aif_buf_finish(&shown);
	return e;
}

static int write_out(const struct values *v, const struct aif_stat_result *r, struct aif_err *err)
{
	int format = format_of(v);
	struct aif_buf text = {0};

	if (format == FORMAT_CSV)
		aif_stat_csv(r, v->separator ? v->separator : ",", &text);
	else if (format == FORMAT_JSON)
		aif_stat_json(r, "", &text);
	else
		aif_stat_text(r, &text);
	return write_text(v, &text, err);
}

/* Shows what the machine can do, without a command. */
static int show_roofs(const struct values *v, const struct aif_roofs *roofs, struct aif_err *err)
{
	struct aif_buf text = {0};

	if (format_of(v) == FORMAT_JSON) {
		aif_roofs_json(roofs, &text);
		aif_buf_putc(&text, '\n');
	} else {
		aif_roofs_text(roofs, &text);
	}
	return write_text(v, &text, err);
}

/* Runs the command as often as asked. Ends early where it fails: its counts are of something else. */
static int run_all(const struct values *v, const struct aif_stat_opts *o, struct aif_stat_result *r,
		   int *status, struct aif_err *err)
{
	struct aif_stat_run run;
	int e = 0;

	for (uint32_t i = 0; i < v->warm_up && !e && !*status; i++) {
		e = aif_stat_run_once(o, &run, err);
		*status = run.status;
	}
	while (r->len < v->runs && !e && !*status) {
		e = aif_stat_run_once(o, &r->runs[r->len], err);
		*status = r->runs[r->len].status;
		r->len += !e;
	}
	return e;
}

/* Shows the counters of a file: a run of another time, perhaps of another machine. */
static int run_from(const struct values *v, int words_len, struct aif_err *err)
{
	struct aif_stat_file file;
	char *argv[2] = {NULL, NULL};
	struct aif_stat_result r = {.argv = argv, .runs = &file.run, .len = 1, .is_foreign = true};
	int e;

	if (words_len || v->roofs || v->events || v->runs != 1 || v->warm_up || v->threads ||
	    v->cpus) {
		aif_err_set(
			err, -EINVAL,
			"stat: --from: counters of a file are shown, nothing is run; leave out the "
			"command, -e, -r, --warm-up, --threads, --cpus and --roofs");
		return AIF_EXIT_USAGE;
	}
	e = aif_stat_file_read(&file, v->from, err);
	if (e)
		return AIF_EXIT_FAILURE;
	r.events = file.events;
	if (file.command.len)
		argv[0] = (char *)aif_buf_str(&file.command);
	e = aif_stat_result_make(&r);
	if (!e)
		e = write_out(v, &r, err);
	if (!e && file.others_len)
		aif_message("stat: %s: %" PRIu64
			    " values of events that aiflame stat does not know were "
			    "left out: %s; aiflame import keeps them",
			    v->from, file.others_len, aif_buf_str(&file.others));
	if (!e && file.bad_lines)
		aif_message("stat: %s: %" PRIu64 " lines are none of perf stat's and were left out",
			    v->from, file.bad_lines);
	aif_stat_file_finish(&file);
	return e ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	struct aif_stat_opts o = {.argv = words, .threads = v->threads};
	struct aif_stat_result r = {.argv = words};
	struct aif_roofs roofs;
	int e = 0, status = 0;
	cpu_set_t cpus;

	if (v->from)
		return run_from(v, words_len, err);
	if (v->roofs && format_of(v) == FORMAT_CSV) {
		aif_err_set(err, -EINVAL,
			    "stat: --roofs: CSV has no place for roofs; leave out --roofs or -x");
		return AIF_EXIT_USAGE;
	}
	if (!words_len && !v->roofs) {
		aif_err_set(
			err, -EINVAL,
			"stat: what to count is missing; give a command, --from FILE or --roofs");
		return AIF_EXIT_USAGE;
	}
	if (v->runs > RUNS_MAX) {
		aif_err_set(err, -EINVAL, "stat: -r: give at most %d runs", RUNS_MAX);
		return AIF_EXIT_USAGE;
	}
	if (v->events)
		e = aif_stat_events_parse(v->events, &o.events, err);
	else
		o.events = aif_stat_events_of(AIF_STAT_SET_ALL);
	if (!e && v->cpus) {
		e = aif_parse_cpus("stat", v->cpus, &cpus, err);
		o.cpus = &cpus;
	}
	if (!e && v->output && strcmp(v->output, "-"))
		e = aif_output_check(v->output, err);
	if (e)
		return AIF_EXIT_USAGE;
	if (v->roofs) {
		e = aif_roofs_measure(&roofs, err);
		if (!e && !words_len)
			e = show_roofs(v, &roofs, err);
		if (e || !words_len)
			return e ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
		r.roofs = &roofs;
	}
	r.events = o.events;
	r.runs = calloc(v->runs, sizeof(*r.runs));
	if (!r.runs) {
		aif_err_set(err, -ENOMEM, "stat: out of memory");
		return AIF_EXIT_FAILURE;
	}
	e = run_all(v, &o, &r, &status, err);
	if (!e && r.len && (e = aif_stat_result_make(&r)) == 0)
		e = write_out(v, &r, err);
	if (!e && status && (r.len < v->runs || v->runs > 1))
		aif_message("stat: the command ended with status %d: %zu of %u runs were counted",
			    status, r.len, v->runs);
	free(r.runs);
	return status ? status : e ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

const struct aif_command aif_command_stat = {
	.name = "stat",
	.words = "[--] [COMMAND [ARGUMENT]...]",
	.summary = "counters of a command: time, CPUs, faults, instructions, misses",
	.description =
		"Runs COMMAND and counts it and all that it starts: task-clock, context switches,\n"
		"migrations and faults; where the machine has them, cycles, instructions, branches,\n"
		"caches and TLBs, in user space; elapsed, user and system time, memory, storage.\n"
		"Prints them at the end, as `perf stat` does. The exit status is the command's.\n\n"
		"Nothing needs privileges. What cannot be counted is named below, with the reason and\n"
		"what to do, and is <not supported> in CSV; it is never 0. Software events that the OS refuses come from\n"
		"rusage. With -r the median of the runs is shown, behind it the least and the most;\n"
		"ratios are taken within a run. Counters that took turns have the share of the time\n"
		"in which they counted, in percent, behind them. With --from nothing is run: the\n"
		"counters are a file's, with intervals, CPUs and the PMUs of a hybrid CPU summed up.",
	.examples =
		"aiflame stat ./train\tone run\n"
		"aiflame stat -r 5 --threads 8 --cpus 0-7 ./train\tfive runs, pinned\n"
		"aiflame stat -x, -o counters.csv ./train\tas perf stat -x, does\n"
		"aiflame stat --format json -o - ./train | jq .derived.ipc\tfor programs\n"
		"perf stat -j -o - ./train | aiflame stat --from - --format json\twhat perf counted, with ratios\n"
		"aiflame stat --roofs\twhat this machine can do\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.min_words = 0,
	.max_words = -1,
	.runs_command = true,
	.run = run,
};
