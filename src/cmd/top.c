/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/top.h"

#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/message.h"
#include "cmd/profile_arg.h"
#include "probe/counters_help.h"
#include "record/attach/agent_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Time that --once waits for the first work of a command once it uses a device: compiling its
 * kernels may take long. */
#define NO_WORK_NS   (30 * AIF_NS_PER_S)
#define WINDOW_NS    (5 * AIF_NS_PER_S)
#define WINDOW_LEAST AIF_NS_PER_S
#define WINDOW_MOST  (60 * AIF_NS_PER_S)

enum { TEXT, JSON };

struct values {
	struct aif_record_opts record;
	const char *name;
	uint64_t window_ns;
	uint32_t limit;
	int format, view;
	bool once;
};
static const struct values defaults = {
	.record = {.device_rate = AIF_RECORD_DEFAULT_RATE,
		   .cpu_rate = AIF_RECORD_DEFAULT_CPU_RATE,
		   .overhead_ppm = AIF_RECORD_DEFAULT_OVERHEAD},
	.window_ns = WINDOW_NS,
	.limit = 20,
	.view = AIF_TOP_VIEWS,
};

#define AT(field) offsetof(struct values, field)

static const struct aif_opt opts[] = {
	{'p', "pid", "PID", AIF_OPT_LIST, AT(record.pids), AIF_RECORD_PIDS,
	 "this running process and its children; may be given several times"},
	{'a', "all", NULL, AIF_OPT_FLAG, AT(record.all_processes), 0,
	 "all of your processes on standby, also those that start later"},
	{'r', "recording", "NAME", AIF_OPT_STRING, AT(name), 0,
	 "watch this recording of `record` (aiflame ctl status)"},
	{0, "once", NULL, AIF_OPT_FLAG, AT(once), 0, "print one window and end"},
	{0, "format", "text|json", AIF_OPT_CHOICE, AT(format), 0, "with --once: its format (text)"},
	{0, "view", "kernel|stack|process|stall|idle|all", AIF_OPT_CHOICE, AT(view), 0,
	 "the table to begin with (kernel); with --once: the only one (all)"},
	AIF_OPTS_FURTHER,
	{0, "limit", "N", AIF_OPT_COUNT, AT(limit), 0,
	 "with --once: rows of each table, 0 for all (20)"},
	{0, "window", "TIME", AIF_OPT_TIME, AT(window_ns), 1,
	 "what is shown is of the last TIME, 1 to 60 s (5)"},
	{0, "device-rate", "HZ", AIF_OPT_COUNT, AT(record.device_rate), 0,
	 "samples of devices, as record --device-rate (999)"},
	{0, "overhead", "PCT", AIF_OPT_PERCENT, AT(record.overhead_ppm), 0,
	 "the slowdown that is allowed, as record --overhead (2)"},
	{0},
};

/* ---- --once ---------------------------------------------------------------------------------- */

/* True if work has run on a device. */
static bool has_work(const struct aif_profile *p)
{
	return aif_profile_rows(p, AIF_CHUNK_EXECS) || aif_profile_rows(p, AIF_CHUNK_SAMPLES);
}

/* Reads until the window is full or the stream ends. A command's window begins with its first work
 * on a device, or NO_WORK_NS after it opened one: a server may wait for requests. */
static int fill_window(struct aif_top_session *s, struct aif_err *err)
{
	uint64_t from = 0, used = 0;
	unsigned commits;
	int r = 0;

	while (!(r = aif_top_session_read(s, &commits, err))) {
		const struct aif_profile *p = aif_live_profile(s->reader);
		const struct aif_live_commit *c = aif_live_last(s->reader);

		if (!p || !commits)
			continue;
		aif_top_session_measure(s);
		if (!used && p->devices_len)
			used = c->now_ns;
		if (!from &&
		    (!s->o->has_command || has_work(p) || (used && c->now_ns - used >= NO_WORK_NS)))
			from = c->now_ns;
		if (from && c->now_ns - from >= s->o->window_ns)
			return 0;
	}
	return r == -ENODATA ? 0 : r;
}

/* False: the recorder could not begin, and says why in s->ended. */
static bool has_begun(struct aif_top_session *s)
{
	if (s->source.stream_ended)
		aif_top_source_end(&s->source, s->o->has_command, &s->ended);
	return !s->ended.err.code;
}

static int once(struct aif_top_session *s, struct aif_err *err)
{
	struct aif_buf out = {0};
	int status = AIF_EXIT_FAILURE;

	if (fill_window(s, err) == 0 && has_begun(s) && aif_live_profile(s->reader) &&
	    aif_top_session_analyse(s, (enum aif_top_view)s->o->view, err) == 0) {
		if (s->o->json)
			aif_top_json(s->model, aif_live_profile(s->reader), &s->info, s->o->limit,
				     &out);
		else
			aif_top_text(s->model, aif_live_profile(s->reader), &s->info, s->o->limit,
				     &out);
		status = s->o->json ? aif_view_print(&out, err) : aif_view_print_text(&out, err);
	}
	aif_buf_finish(&out);
	return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool are_options_right(const struct values *v, int words_len, struct aif_top_options *o,
			      struct aif_err *err)
{
	size_t n = 0;

	for (const char *const *p = v->record.pids; *p; p++)
		if (aif_parse_count(*p, &o->pids[n]) < 0 || !o->pids[n] || o->pids[n++] > INT32_MAX)
			return aif_err_set(err, -1, "top: -p: '%s' is not a process; see ps -e",
					   *p) == 0;
	if (!!words_len + !!n + v->record.all_processes + !!v->name > 1)
		return aif_err_set(err, -1, "top: give one of a command, -p, -a and -r") == 0;
	if (v->window_ns < WINDOW_LEAST || v->window_ns > WINDOW_MOST)
		return aif_err_set(err, -1, "top: --window: give 1 to 60 seconds") == 0;
	if (v->format == JSON && !v->once)
		return aif_err_set(err, -1, "top: --format json needs --once; give both") == 0;
	if (!v->record.overhead_ppm)
		return aif_err_set(err, -1,
				   "top: --overhead: recording always costs something; give more "
				   "than 0 (0.1)") == 0;
	return true;
}

static void describe(struct aif_top_options *o, const struct values *v, char **words,
		     const struct aif_top_source *s)
{
	struct aif_buf text = {0};

	for (char **w = words; o->has_command && *w; w++)
		aif_buf_printf(&text, "%s%s", w == words ? "" : " ", *w);
	if (*s->name)
		aif_buf_printf(&text, "recording %s", s->name);
	for (const char *const *p = v->record.pids; *p; p++)
		aif_buf_printf(&text, "%sprocess %s", text.len ? ", " : "", *p);
	if (!text.len)
		aif_buf_puts(&text, "all processes on standby");
	snprintf(o->what, sizeof(o->what), "%s", aif_buf_str(&text));
	aif_buf_finish(&text);
}

/* A recording that runs already is watched: a process is recorded by one recorder at a time. */
static int open_source(struct aif_top_session *s, const struct values *v, struct aif_top_options *o,
		       struct aif_err *err)
{
	struct aif_record_opts record = v->record;
	struct aif_err why = {0};
	char agent[PATH_MAX];
	int r = -ENOENT;

	if (v->name)
		return aif_top_source_watch(&s->source, v->name, 0, err);
	if (!o->has_command && !record.all_processes)
		r = aif_top_source_watch(&s->source, NULL, o->pids[0], &why);
	if (!r || (r == -EEXIST && !o->pids[0])) {
		if (r)
			*err = why;
		return r;
	}
	if (!o->has_command && !o->pids[0])
		record.all_processes = true;
	o->pids[0] = 0;
	if (aif_agent_why_none())
		return aif_err_set(err, -ENOTSUP, "top: %s", aif_agent_why_none());
	aif_agent_path(agent, sizeof(agent));
	record.agent = agent;
	record.inject = AIF_RECORD_INJECT_NEVER; /* top shows what a late agent does not see */
	record.name = "top";
	record.quiet = true;
	record.can_have_metrics = aif_counters_can_be();
	return aif_top_source_start(&s->source, &record, !v->once, err);
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	struct aif_top_options o = {.window_ns = v->window_ns,
				    .limit = v->limit,
				    .view = v->view,
				    .json = v->format == JSON,
				    .has_command = words_len > 0};
	struct aif_top_session s = {0};
	struct values with_command = *v;
	int status = AIF_EXIT_FAILURE;

	if (!are_options_right(v, words_len, &o, err) || (!v->once && aif_top_can_live(err) < 0))
		return AIF_EXIT_USAGE;
	with_command.record.argv = words_len ? words : NULL;
	if (open_source(&s, &with_command, &o, err) < 0)
		return AIF_EXIT_FAILURE;
	describe(&o, v, words, &s.source);
	if (aif_top_session_begin(&s, &o) < 0)
		aif_err_set(err, -ENOMEM, "out of memory");
	else
		status = v->once ? once(&s, err) : aif_top_live(&s, err);
	if (s.source.pid || s.source.stream >= 0)
		aif_top_source_end(&s.source, o.has_command, &s.ended);
	/* The recorder knows why nothing was recorded. */
	if (s.ended.err.code) {
		*err = s.ended.err;
		status = o.has_command ? s.ended.exit_code : AIF_EXIT_FAILURE;
	} else if (s.ended.goes_on) {
		aif_message("the command goes on and is not recorded any more");
	}
	if (status == AIF_EXIT_FAILURE && !err->code)
		aif_err_set(err, -ENODATA, "top: the recording ended before its first second");
	aif_top_session_end(&s);
	return status;
}

const struct aif_command aif_command_top = {
	.name = "top",
	.words = "[--] [COMMAND [ARGUMENT]...]",
	.summary = "the device work of the last seconds, live",
	.description =
		"Shows what devices do now: how busy each is, and the kernels, launch stacks,\n"
		"processes, stall reasons or causes of idle time of the last five seconds, anew\n"
		"each second. Enter shows who launched a row, `a` its instructions, `f` freezes,\n"
		"`w` writes the window as a profile for all other commands, `?` explains all keys.\n\n"
		"COMMAND is started under the profiler, and ended when top ends. With -p or -a,\n"
		"and no COMMAND, processes are recorded that were started with the variables that\n"
		"`aiflame env` prints; they go on. A process that another recorder has already is\n"
		"watched through that: `record` in one terminal, `top -r NAME` in another. Without\n"
		"any of them: the recording that runs, or else as -a.\n\n"
		"With --once it prints one window when that is full and ends, as text or, for\n"
		"programs, as JSON (docs/top.md has its members); a COMMAND's window begins when\n"
		"work first runs on a device. No file is written but by `w`; memory is bounded\n"
		"however long it runs.\n\n"
		"Colours are left out where NO_COLOR is set.",
	.examples = "aiflame top python train.py\tstart it and look\n"
		    "aiflame top -p 4711\ta server that carries the agent\n"
		    "aiflame top\twhat is recorded now, or all on standby\n"
		    "aiflame top --once --format json -p 4711 | jq .devices\tfor scripts\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.min_words = 0,
	.max_words = -1,
	.runs_command = true,
	.run = run,
};
