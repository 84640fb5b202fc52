/* SPDX-License-Identifier: Apache-2.0 */
#include "record/record.h"

#include "analysis/attribution.h"
#include "cmd/command.h"
#include "cmd/joined_list.h"
#include "cmd/message.h"
#include "cmd/output.h"
#include "cmd/profile_arg.h"
#include "cmd/record_windows.h"
#include "cmd/view.h"
#include "flame/flame.h"
#include "names/filter.h"
#include "probe/counters_help.h"
#include "record/attach/agent_path.h"
#include "record/attach/attach_dir.h"
#include "record/cycles/cycles.h"
#include "record/outname.h"
#include "record/outside/outside.h"
#include "record/sources/cpu.h"
#include "record/sources/cpu_clock.h"
#include "record/sources/cpu_event.h"
#include "report/summary/summary.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OVERHEAD_NOT_GIVEN = UINT32_MAX, CPU_RATE_NOT_GIVEN = UINT32_MAX };
/* Events are written some milliseconds after they happened: of 2 s at 10,000 launches a second
 * --keep 1ms kept none, 20ms some. */
enum { LEAST_KEEP_NS = 100000000 };
/* Default of --keep for --snapshot-slow. */
#define SLOW_KEEP_NS (30 * AIF_NS_PER_S)
/* Bounds of --counters-period: hardware is not read more often than it averages, and a curve has a second's points. */
enum { LEAST_COUNTERS_NS = 1000000, MOST_COUNTERS_NS = 1000000000 };
/* A piece that is dropped as a whole holds what happened in up to a second: 45 KB, of busy
 * programs 160. */
enum { LEAST_SIZE = 64 << 10 };
/* Exit statuses: the command was not started; it ended with 0 and --flame has no picture. */
enum { NOT_STARTED = 125, NOT_DRAWN = 125 };

struct values {
	struct aif_record_opts record;
	const char *flame; /* the picture to draw at the end; NULL for none */
	const char *steps, *activate, *schedule, *on_cycle; /* as they were given */
	const char *snapshot_slow, *slow_range;
	const char *event;
	uint32_t period;
	bool verbose;
};
static const struct values defaults = {
	.record = {.output = "aiflame.data",
		   .device_rate = AIF_RECORD_DEFAULT_RATE,
		   .cpu_rate = CPU_RATE_NOT_GIVEN,
		   .reduce = AIF_REDUCE_NOT_GIVEN,
		   .overhead_ppm = OVERHEAD_NOT_GIVEN},
};

#define AT(field) offsetof(struct values, record.field)
/* Intel's GPUs have steps of 0.2 us; others do not go beyond AIF_RECORD_MAX_RATE. */
#define MAX_DEVICE_RATE 10000000

/* The choices of --runtime, and what the agent calls them. */
#define AIF_RUNTIME(id, option, name) "|" option
static const char runtime_choices[] = "all"
#include "agent/runtimes.def"
	;
#undef AIF_RUNTIME
#define AIF_RUNTIME(id, option, name) name,
static const char *const runtime_names[] = {
	NULL,
#include "agent/runtimes.def"
};
#undef AIF_RUNTIME

static const struct aif_opt opts[] = {
	{'o', "output", "FILE", AIF_OPT_STRING, AT(output), 0,
	 "the profile; %h host, %p pid, %r rank, %q{VAR} (aiflame.data)"},
	{0, "flame", "FILE", AIF_OPT_STRING, offsetof(struct values, flame), 0,
	 "at the end draw the flame graph, as `aiflame flame -o FILE` does: .svg, or .folded; or "
	 "write the page, as `aiflame view -o FILE` does: .html"},
	{'q', "quiet", NULL, AIF_OPT_FLAG, AT(quiet), 0, "print no live line and no summary"},
	AIF_OPTS_HEADING("processes that run"),
	{'p', "pid", "PID", AIF_OPT_LIST, AT(pids), AIF_RECORD_PIDS,
	 "record this running process and its children; may be given several times"},
	{'a', "all", NULL, AIF_OPT_FLAG, AT(all_processes), 0,
	 "record all of your processes on standby or with a device, as root of all users, also those that "
	 "start later\f; who was joined, and who not, is said at the end"},
	AIF_OPTS_HEADING("what to record"),
	{0, "cpu", NULL, AIF_OPT_FLAG, AT(cpu), 0,
	 "record CPU time, whether a device is used or not: of the command and all that it starts, from "
	 "their start on\f; ranks of MPI are recorded without it"},
	{0, "children", NULL, AIF_OPT_FLAG, AT(children), 0,
	 "CPU samples also of processes that use no device: programs that the command starts, data loaders' "
	 "workers\f, and what else recorded processes fork"},
	{0, "wall", NULL, AIF_OPT_FLAG, AT(wall), 0,
	 "take CPU samples by the wall clock, waits included\f; system calls of the command "
	 "may fail with EINTR"},
	{'F', "cpu-rate", "HZ", AIF_OPT_COUNT, AT(cpu_rate), 0,
	 "CPU samples for each second of a thread's CPU time (99; with --cpu 999)\f; 0 for none, and no waits"},
	{0, "ebpf", NULL, AIF_OPT_FLAG, AT(ebpf), 0,
	 "CPU samples with OS kernel frames, without the agent; needs root, or CAP_BPF and CAP_PERFMON"},
	{0, "device-rate", "HZ", AIF_OPT_COUNT, AT(device_rate), 0,
	 "samples of devices (999): for each second and thread, or SM of a GPU, up to 20000; 0 for "
	 "none\f; on GPUs about a million a second in all. Intel's GPUs take 0.8 to 6 million for each second "
	 "and EU, the nearest rate"},
	{0, "counters", "LIST", AIF_OPT_STRING, AT(counters), 0,
	 "read a GPU's counters over time through Level Zero: names of metrics or of a metric group, "
	 "separated by commas, or default; --counters help lists them\f: groups, and with help,GROUP the "
	 "metrics of one. Or around each kernel: query:GROUP (docs/counters.md)"},
	{0, "nvtx", NULL, AIF_OPT_FLAG, AT(nvtx), 0,
	 "record the ranges that the command and its libraries mark with NVTX (docs/nvtx.md)"},
	{0, "overhead", "PERCENT", AIF_OPT_PERCENT, AT(overhead_ppm), 0,
	 "how much slower the command may become (2); launches are left out to keep to it"},
	{0, "all-launches", NULL, AIF_OPT_FLAG, AT(all_launches), 0,
	 "capture every launch, whatever it costs"},
	AIF_OPTS_HEADING("when"),
	{0, "delay", "TIME", AIF_OPT_TIME, AT(delay_ns), 0,
	 "collect nothing before this time; --duration counts from then"},
	{0, "duration", "TIME", AIF_OPT_TIME, AT(duration_ns), 1, "stop recording after this time"},
	{0, "steps", "A:B", AIF_OPT_STRING, offsetof(struct values, steps), 0,
	 "collect the program's steps A to B - 1, as it counts them from 0\f, and a part of the step before "
	 "(aiflame.h, aiflame.py)"},
	{0, "schedule", "WAIT:WARMUP:ACTIVE[:REPEAT[:SKIP]]", AIF_OPT_STRING,
	 offsetof(struct values, schedule), 0,
	 "collect the program's steps in cycles, as torch.profiler.schedule() counts them, and write a "
	 "profile for each\f: run.1.data, run.2.data beside run.data. Without marked steps those that are "
	 "found in the launches (docs/program.md)"},
	{0, "keep", "TIME", AIF_OPT_TIME, AT(keep_ns), LEAST_KEEP_NS,
	 "keep only the last TIME of details, 100ms or more"},
	{0, "max-size", "BYTES", AIF_OPT_BYTES, AT(max_size), LEAST_SIZE,
	 "keep the file's details below this size, 64K or more, dropping the oldest"},
	AIF_OPTS_FURTHER,
	{0, "runtime", runtime_choices, AIF_OPT_CHOICE, AT(runtime_choice), 0,
	 "the accelerator runtimes to record (all)"},
	{0, "cupti", "auto|blocks|throughout|records|launches", AIF_OPT_CHOICE, AT(cupti), 0,
	 "how much of NVIDIA's CUPTI to use, from most to least: blocks, times switched on "
	 "and off to keep to --overhead, in turns with instruction samples; throughout, both "
	 "switched on once; records, no instruction samples; launches, no times; auto, what "
	 "is tested with the libcupti found, less if a recording has crashed in it"},
	{0, "nvml", "auto|off", AIF_OPT_CHOICE, AT(nvml), 0,
	 "read clocks, power, energy and use of the NVIDIA GPUs that the command uses, through NVML, in "
	 "the recorder: at most 1.5% of one CPU (auto); off: not"},
	{0, "counters-period", "TIME", AIF_OPT_TIME, AT(counters_period_ns), LEAST_COUNTERS_NS,
	 "with --counters: the time between two values of a counter, 1ms to 1s (10ms)"},
	{0, "calls", "auto|on|off", AIF_OPT_CHOICE, AT(calls), 0,
	 "record begin and end of calls that synchronise, allocate, load and compile: of CUDA those "
	 "of 5 us and more (auto), or of 1 us (on); none (off)"},
	{0, "device-lines", NULL, AIF_OPT_FLAG, AT(device_lines), 0,
	 "ask the device compiler for line information"},
	{0, "cpu-clock", "auto|perf|tick", AIF_OPT_CHOICE, AT(cpu_clock), 0,
	 "what starts CPU samples: perf, a perf_event of each thread, whatever it costs; tick, timers of "
	 "its CPU time, which need no permission, at most one sample in each of the kernel's ticks; auto, "
	 "perf at a rate that costs 1% at most, tick where perf_event is refused"},
	{'e', "event", "NAME", AIF_OPT_STRING, offsetof(struct values, event), 0,
	 "with --cpu: what starts samples, in place of CPU time: cycles, instructions, cache-misses, "
	 "branch-misses, page-faults, ... by perf's names; samples weigh events (docs/cpu.md)"},
	{0, "period", "N", AIF_OPT_COUNT, offsetof(struct values, period), 1,
	 "with -e: one sample for each N events (about 1000 samples a second)"},
	{0, "off-cpu", NULL, AIF_OPT_FLAG, AT(off_cpu), 0,
	 "with --ebpf: also record where threads are off CPU, for flame --of off-cpu"},
	{0, "inject", "auto|always|never", AIF_OPT_CHOICE, AT(inject), 0,
	 "with -p: put the agent into a process that was started without it, unless --cpu can sample it "
	 "from outside or --ebpf records it (auto), also then, for Python's functions (always), or leave it "
	 "alone (never); with -a: put it into your processes that use a device, as they appear (auto), into "
	 "all (always), or into none (never)"},
	{0, "name", "NAME", AIF_OPT_STRING, AT(name), 0,
	 "what `aiflame ctl` calls this recording (the output's file name)"},
	{'v', "verbose", NULL, AIF_OPT_FLAG, offsetof(struct values, verbose), 0,
	 "with -a: say of each process at once whether it was joined, and list all at the end, not a dozen"},
	{0, "activate", "/TIME|HH:MM:SS|@SECONDS", AIF_OPT_STRING,
	 offsetof(struct values, activate), 0,
	 "collect nothing before the wall clock shows a multiple of this time (/10s), this time of the day, or "
	 "these seconds since 1970: many hosts begin together; --duration counts from then"},
	{0, "kill", NULL, AIF_OPT_FLAG, AT(kill), 0, "with --duration: end the command too"},
	{0, "repeat", "N", AIF_OPT_COUNT, AT(repeat), 2,
	 "repeat --delay or --activate /TIME, and --duration, N times"},
	{0, "on-cycle", "COMMAND", AIF_OPT_STRING, offsetof(struct values, on_cycle), 0,
	 "with --schedule or --snapshot-slow: run this shell command for each profile that they write, its "
	 "name as $1 and $AIFLAME_PROFILE, its number as $AIFLAME_CYCLE"},
	{0, "snapshot-slow", "p99|FACTORx|TIME", AIF_OPT_STRING,
	 offsetof(struct values, snapshot_slow), 0,
	 "when a step took longer than 99 of 100 before it and than 1.5 medians, or than FACTOR medians, or "
	 "than TIME, write a profile of it and of the --keep (30s) before it, while the recording goes on: "
	 "run.slow1.data beside run.data, at most ten, 10 s apart (docs/standby.md)"},
	{0, "slow-range", "RE", AIF_OPT_STRING, offsetof(struct values, slow_range), 0,
	 "with --snapshot-slow: ranges whose name matches, in place of the steps that the program marks"},
	{0, "reduce", "N", AIF_OPT_COUNT, AT(reduce), 0,
	 "leave out the launches of steps some seconds after they ended, but for one step of N, the first and "
	 "slow ones, as aiflame reduce does; without --overhead's limit"},
	{0, "no-python", NULL, AIF_OPT_FLAG, AT(no_python), 0,
	 "record stacks without Python frames, and no ranges of PyTorch"},
	{0, "no-source", NULL, AIF_OPT_FLAG, AT(no_source), 0,
	 "do not store source text, of kernels and of the lines that launch them"},
	{0, "no-code", NULL, AIF_OPT_FLAG, AT(no_code), 0, "do not store kernels' machine code"},
	{0, "keep-code", NULL, AIF_OPT_FLAG, AT(keep_code), 0,
	 "store kernels' device binaries whole, not only the functions that were sampled"},
	{0},
};

/* Tells what was recorded. The recording itself has succeeded: trouble here is only said. */
static void first_screen(const char *path)
{
	struct aif_profile p = {0};
	struct aif_names names = {0};
	struct aif_buf text = {0}, shown = {0};
	char *name = aif_view_path_for_people(path);
	struct aif_err err = {0};

	if (aif_view_profile_for_people(path, &p, &names, &err) < 0 ||
	    aif_summary_within(&names, AIF_SUMMARY_MEMORY, name ? name : "", &text, &err) < 0) {
		aif_message("%s", err.text);
	} else {
		aif_name_sanitize_lines(text.data, text.len, &shown);
		fwrite(shown.data, 1, shown.len, stderr);
	}
	free(name);
	aif_buf_finish(&text);
	aif_buf_finish(&shown);
	aif_names_finish(&names);
	aif_profile_finish(&p);
}

static bool is_page(const char *path)
{
	size_t len = strlen(path);

	return len > 5 && !strcmp(path + len - 5, ".html");
}

static bool is_place_writable(const char *path, struct aif_err *err)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	bool is = folder && access(folder, W_OK | X_OK) == 0;

	if (!is)
		aif_err_set(err, -errno, "record: --flame: cannot write %s: %s; name another file",
			    path, strerror(errno));
	free(folder);
	return is;
}

/* Takes what starts CPU samples in place of CPU time. */
static bool is_event_right(const struct values *v, struct aif_record_opts *o, struct aif_err *err)
{
	const char *other = o->wall                             ? "--wall"
			    : o->ebpf                           ? "--ebpf"
			    : o->cpu_clock                      ? "--cpu-clock"
			    : o->cpu_rate != CPU_RATE_NOT_GIVEN ? "--cpu-rate"
								: NULL;

	if (v->period && !v->event)
		return aif_err_set(err, -EINVAL, "record: --period needs -e; give both") == 0;
	if (!v->event)
		return true;
	if (!o->cpu)
		return aif_err_set(err, -EINVAL, "record: -e needs --cpu; give both") == 0;
	if (other)
		return aif_err_set(err, -EINVAL,
				   "record: -e and %s exclude each other: samples are taken by the "
				   "event; give one, and --period for how often",
				   other) == 0;
	o->cpu_event = aif_cpu_event_find(v->event);
	if (!o->cpu_event)
		return aif_cpu_event_unknown(v->event, err) == 0;
	o->cpu_period = v->period ? v->period : o->cpu_event->period;
	return true;
}

/* Refuses a period of counters that nobody reads, or that is no curve any more. */
static bool is_period_right(const struct aif_record_opts *o, struct aif_err *err)
{
	if (o->counters_period_ns > MOST_COUNTERS_NS)
		return aif_err_set(err, -EINVAL, "record: --counters-period: give 1ms to 1s") == 0;
	if (o->counters_period_ns && (!o->counters || !strncmp(o->counters, "query:", 6)))
		return aif_err_set(
			       err, -EINVAL,
			       "record: --counters-period needs --counters with what is read over "
			       "time; give --counters default, or what --counters help lists") == 0;
	return true;
}

/* Refuses a picture that could not be written before anything is recorded for it. */
static bool is_flame_right(const struct values *v, struct aif_err *err)
{
	enum aif_flame_format format;

	if (!v->flame)
		return true;
	if (!strcmp(v->flame, "-"))
		return aif_err_set(err, -1,
				   "record: --flame: standard output is the command's; name a "
				   "file") == 0;
	if (!is_page(v->flame) && aif_flame_format_of(v->flame, &format, NULL) < 0)
		return aif_err_set(
			       err, -1,
			       "record: --flame %s: the suffix names no picture; use .svg, .html "
			       "or .folded",
			       v->flame) == 0;
	if (!strcmp(v->flame, v->record.output))
		return aif_err_set(err, -1, "record: --flame: %s is the profile; name another file",
				   v->flame) == 0;
	return aif_output_check(v->flame, err) == 0 && is_place_writable(v->flame, err);
}

/* Draws what was recorded, which takes seconds where there is much of it. False, which is said: it cannot be drawn. */
static bool draw(const char *profile, const char *picture, bool quiet)
{
	const struct aif_page_values page = {.input = profile, .output = picture};
	bool shows = !quiet && isatty(STDERR_FILENO), is_drawn;
	struct aif_err err = {0};

	if (shows)
		fprintf(stderr, "aiflame: drawing %s", picture);
	is_drawn = is_page(picture) ? aif_page_file(&page, false, NULL, 0, &err) == AIF_EXIT_OK
				    : aif_flame_draw(profile, picture, &err) == 0;
	if (shows)
		fputs("\r\033[K", stderr);
	if (!is_drawn)
		aif_message("%s", err.text);
	else if (!quiet)
		aif_message("%s is written", picture);
	return is_drawn;
}

/* A command, or processes that run already, but not both. */
static bool are_processes_right(const struct aif_record_opts *o, int words_len, struct aif_err *err)
{
	uint32_t pid;

	for (const char *const *p = o->pids; *p; p++)
		if (aif_parse_count(*p, &pid) < 0 || !pid || pid > INT32_MAX)
			return aif_err_set(err, -1, "record: -p: '%s' is not a process; see ps -e",
					   *p) == 0;
	if (!words_len && !o->pids[0] && !o->all_processes)
		return aif_err_set(err, -1,
				   "record: a command is missing; usage: aiflame record [OPTIONS] "
				   "[--] COMMAND [ARGUMENT]..., or -p PID, or -a") == 0;
	if (!!words_len + !!o->pids[0] + o->all_processes > 1)
		return aif_err_set(err, -1, "record: give one of a command, -p and -a") == 0;
	if (o->nvtx && !words_len)
		return aif_err_set(
			       err, -1,
			       "record: --nvtx applies to a COMMAND: NVTX looks for its tool when a "
			       "program first uses it; leave it out with -p and -a") == 0;
	if (o->kill && !words_len)
		return aif_err_set(err, -1,
				   "record: --kill applies to a COMMAND, not to -p and -a") == 0;
	return true;
}

static bool is_schedule_right(const struct values *v, struct aif_record_opts *o,
			      struct aif_err *err)
{
	if (v->on_cycle && !v->schedule && !v->snapshot_slow)
		return aif_err_set(err, -1,
				   "record: --on-cycle needs --schedule or --snapshot-slow; give "
				   "both") == 0;
	if (!v->schedule)
		return true;
	if (v->steps || o->repeat)
		return aif_err_set(err, -1,
				   "record: give one of --schedule, --steps and --repeat") == 0;
	if (aif_cycles_parse(v->schedule, &o->schedule) < 0)
		return aif_err_set(
			       err, -1,
			       "record: --schedule: '%s' is not "
			       "WAIT:WARMUP:ACTIVE[:REPEAT[:SKIP]] with an ACTIVE of 1 or more; "
			       "1:1:3:2 means the steps 2, 3 and 4, then 7, 8 and 9",
			       v->schedule) == 0;
	return true;
}

static bool is_slow_right(const struct values *v, struct aif_cycles_opts *cycles,
			  struct aif_err *err)
{
	if (v->slow_range && !v->snapshot_slow)
		return aif_err_set(err, -1,
				   "record: --slow-range needs --snapshot-slow; give both") == 0;
	if (!v->snapshot_slow)
		return true;
	if (v->schedule)
		return aif_err_set(err, -1, "record: give one of --schedule and --snapshot-slow") ==
		       0;
	if (aif_cycles_parse_slow(v->snapshot_slow, &cycles->slow) < 0)
		return aif_err_set(err, -1,
				   "record: --snapshot-slow: '%s' is not p99, FACTORx with more "
				   "than 1 (2x), or a time (80ms)",
				   v->snapshot_slow) == 0;
	return true;
}

static bool is_slow_range(void *regex, const char *name)
{
	return aif_regex_matches(regex, name);
}

/* Returns true if the process has ZET_ENABLE_METRICS in its environment, or that cannot be read:
 * Intel's driver looks for it once, at its start. */
static bool was_started_with_metrics(const char *pid)
{
	char value[2];
	int r = aif_standby_environment(atoi(pid), "ZET_ENABLE_METRICS", value, sizeof(value));

	return r == 0 ? !strcmp(value, "1") : r != -ENOENT;
}

/* Said before somebody waits for them in vain. */
static void warn_of_counters(const struct aif_record_opts *o)
{
	for (const char *const *p = o->pids; *p && o->counters && !o->quiet; p++)
		if (!was_started_with_metrics(*p))
			aif_message("process %s was not started with ZET_ENABLE_METRICS=1: its "
				    "counters cannot be read unless it has set that itself; "
				    "restart it with what aiflame env --metrics prints, or by "
				    "record",
				    *p);
}

/* A program that becomes another user's and starts another one hands the agent on, which the loader then cannot open. */
static void warn_of_closed_agent(const struct aif_record_opts *o)
{
	char closed[PATH_MAX];

	if (o->quiet || !o->argv || geteuid() != 0 ||
	    !aif_agent_is_closed(o->agent, closed, sizeof(closed)))
		return;
	aif_message("other users cannot read the agent, since %s is closed to them: programs that "
		    "change their user and start others will have an error of ld.so on stderr; "
		    "install aiflame where all can read it",
		    closed);
}

static void say_awaited(void *arg, int pid)
{
	(void)arg;
	aif_message("process %d: waiting for an accelerator runtime to start in it", pid);
}

/* Argument of the observer; the live line comes first, as its own functions expect it. */
struct watching {
	struct aif_live_line line;
	struct aif_joined_list joined;
	bool verbose;
};

static void say_injected(void *arg, int pid, const struct aif_inject_times *t)
{
	const struct aif_record_joined j = {.pid = pid, .uid = geteuid(), .times = *t, .why = ""};

	aif_joined_say(aif_joined_text, &j);
	if (((struct watching *)arg)->verbose)
		aif_joined_say(aif_joined_stops_text, &j);
}

static void say_became(void *arg, const struct aif_record_joined *j)
{
	(void)arg;
	aif_joined_say(aif_joined_became_text, j);
}

static void note_joined(void *arg, const struct aif_record_joined *j)
{
	struct watching *w = arg;

	aif_joined_list_add(&w->joined, j);
	if (w->verbose)
		aif_joined_say(aif_joined_text, j);
}

/* Prints what --counters could name; an exit status. */
static int print_counters(const char *list, struct aif_err *err)
{
	struct aif_buf out = {0};
	int status = aif_counters_help(list, &out, err) < 0 ? AIF_EXIT_FAILURE
							    : aif_view_print_text(&out, err);

	aif_buf_finish(&out);
	return status;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	struct aif_record_opts o = v->record;
	struct watching watching = {.verbose = v->verbose};
	const struct aif_record_observer observer = {.arg = &watching,
						     .progress = aif_live_line_progress,
						     .awaits = say_awaited,
						     .waits = o.quiet ? NULL : aif_record_say_waits,
						     .injected = say_injected,
						     .became = say_became,
						     .joined = note_joined};
	struct aif_record_result result;
	char agent[PATH_MAX], profile[PATH_MAX];
	struct aif_cycles_opts cycle_opts = {
		.profile = profile, .command = v->on_cycle, .say = aif_message};
	struct aif_regex slow_range = {.is_set = false};
	struct aif_cycles *cycles = NULL;

	if (o.counters && aif_counters_check(o.counters, err) < 0)
		return AIF_EXIT_USAGE;
	if (o.counters && aif_counters_is_help(o.counters)) {
		if (!words_len && !o.pids[0] && !o.all_processes)
			return print_counters(o.counters, err);
		aif_err_set(err, -1,
			    "record: --counters %s lists counters and records nothing; leave out "
			    "the command, -p and -a, or name counters",
			    o.counters);
		return AIF_EXIT_USAGE;
	}
	if (!aif_record_reduce_right(&o, err) || !is_period_right(&o, err) ||
	    !are_processes_right(&o, words_len, err) ||
	    !aif_record_windows_right(v->steps, v->activate, &o, err) ||
	    !is_schedule_right(v, &o, err) || !is_slow_right(v, &cycle_opts, err) ||
	    !is_flame_right(v, err))
		return AIF_EXIT_USAGE;
	if (o.device_rate > MAX_DEVICE_RATE) {
		aif_err_set(err, -1, "record: --device-rate: give at most %d samples a second",
			    MAX_DEVICE_RATE);
		return AIF_EXIT_USAGE;
	}
	if (!is_event_right(v, &o, err))
		return AIF_EXIT_USAGE;
	if (o.cpu_rate == CPU_RATE_NOT_GIVEN)
		o.cpu_rate = o.cpu ? AIF_RECORD_CPU_ONLY_RATE : AIF_RECORD_DEFAULT_CPU_RATE;
	if (o.cpu && !o.cpu_rate) {
		aif_err_set(err, -1, "record: --cpu and --cpu-rate 0 exclude each other; give one");
		return AIF_EXIT_USAGE;
	}
	if (o.wall && !o.cpu_rate) {
		aif_err_set(err, -1,
			    "record: --wall and --cpu-rate 0 exclude each other: --wall says what "
			    "samples are of, and there are none; give one");
		return AIF_EXIT_USAGE;
	}
	o.children |= o.cpu;
	if (o.cpu_rate > 10000) {
		aif_err_set(err, -1, "record: --cpu-rate: give at most 10000 samples a second");
		return AIF_EXIT_USAGE;
	}
	if (o.cpu_clock == AIF_RECORD_CPU_CLOCK_TICK && !aif_cpu_ticks_are_safe()) {
		aif_err_set(
			err, -1,
			"record: --cpu-clock tick: system calls of the command could fail with EINTR on "
			"this kernel, which needs to be Linux 5.10 on x86-64, or later; leave it out");
		return AIF_EXIT_USAGE;
	}
	if (!o.overhead_ppm) {
		aif_err_set(err, -1,
			    "record: --overhead: recording always costs something; give more "
			    "than 0 (0.1), or --all-launches");
		return AIF_EXIT_USAGE;
	}
	if ((o.all_launches || o.reduce) && o.overhead_ppm != OVERHEAD_NOT_GIVEN) {
		aif_err_set(err, -1, "record: --overhead and %s exclude each other; give one",
			    o.reduce ? "--reduce" : "--all-launches");
		return AIF_EXIT_USAGE;
	}
	o.all_launches |= o.reduce != 0;
	if (o.overhead_ppm == OVERHEAD_NOT_GIVEN)
		o.overhead_ppm = AIF_RECORD_DEFAULT_OVERHEAD;
	if (o.off_cpu && !o.ebpf) {
		aif_err_set(err, -1, "record: --off-cpu needs --ebpf; give both");
		return AIF_EXIT_USAGE;
	}
	if (o.kill && !o.duration_ns) {
		aif_err_set(err, -1, "record: --kill needs --duration; give both");
		return AIF_EXIT_USAGE;
	}
	if (aif_agent_why_none()) {
		aif_err_set(err, -ENOTSUP, "record: %s", aif_agent_why_none());
		return NOT_STARTED;
	}
	if (o.cpu_event && aif_cpu_sampler_probe(&o, err) < 0)
		return NOT_STARTED;
	warn_of_counters(&o);
	aif_agent_path(agent, sizeof(agent));
	o.agent = agent;
	o.runtime = runtime_names[o.runtime_choice];
	o.argv = words_len ? words : NULL;
	warn_of_closed_agent(&o);
	aif_outside_check(&o);
	/* Programs that such processes start by exec() have no agent. */
	if (o.inject == AIF_RECORD_INJECT_ALWAYS && o.pids[0])
		o.outside_refused = false;
	o.schedule.counts_from_attach = v->schedule && !words_len;
	cycle_opts.schedule = o.schedule;
	cycle_opts.ends = v->schedule && !words_len;
	cycle_opts.quiet = o.quiet;
	cycle_opts.keep_ns = o.keep_ns ? o.keep_ns : SLOW_KEEP_NS;
	o.can_have_metrics = aif_counters_can_be();
	aif_live_line_init(&watching.line, words_len > 0);
	if (aif_regex_init(&slow_range, "record: --slow-range", v->slow_range, err) < 0)
		return AIF_EXIT_USAGE;
	if (v->slow_range) {
		cycle_opts.is_step = is_slow_range;
		cycle_opts.arg = &slow_range;
	}
	if ((v->schedule || v->snapshot_slow) &&
	    (aif_outname(o.output, profile, sizeof(profile), err) < 0 ||
	     aif_cycles_start(&cycle_opts, &cycles, &o.watcher, err) < 0)) {
		aif_regex_finish(&slow_range);
		return NOT_STARTED;
	}
	if (aif_record_run(&o, o.quiet ? NULL : &observer, &result, err) == 0 &&
	    result.have_profile && !o.quiet) {
		aif_joined_list_print(&watching.joined, v->verbose);
		first_screen(result.path);
	}
	aif_joined_list_finish(&watching.joined);
	if (cycles)
		aif_cycles_finish(cycles);
	aif_regex_finish(&slow_range);
	if (v->flame && !result.have_profile && *result.path)
		aif_message("record: --flame: %s was not drawn: the profile is not whole",
			    v->flame);
	/* Scripts go on with the picture; the status of a command that failed comes first. */
	if (v->flame && (!result.have_profile || !draw(result.path, v->flame, o.quiet)) &&
	    !result.exit_code)
		result.exit_code = NOT_DRAWN;
	if (result.goes_on && !o.quiet && o.duration_ns)
		aif_message(
			"the command goes on and is not recorded any more (--kill ends it with --duration)");
	else if (result.goes_on && !o.quiet)
		aif_message("the command goes on and is not recorded any more; kill %d ends it",
			    result.goes_on);
	return result.exit_code;
}

const struct aif_command aif_command_record = {
	.name = "record",
	.words = "[--] COMMAND [ARGUMENT]...",
	.summary = "run a command under the profiler, or record running processes",
	.description =
		"Runs COMMAND with aiflame's agent in it and in its children, and writes a\n"
		"profile: each launch of a device kernel with its stack and times, and where\n"
		"kernels spent their time. Prints a summary on standard error at the end.\n\n\f"
		"Beyond about 20 million launches the summary is without what takes more than 1 GiB\n"
		"of memory to add up, which `aiflame report` shows. The exit status is that of the\n"
		"command (128 + number for a signal); 125, 126 and 127 mean that it could not be\n"
		"started, 125 also that it ended with 0 and --flame could not be drawn.\n\n"
		"Ctrl-C ends the command as usual, and the profile is written; a second Ctrl-C\n"
		"detaches from a command that goes on. While the profile is completed, a second\n"
		"Ctrl-C skips the names that are still missing, and a third ends the recorder at\n"
		"once: what it has written is valid. A command that stops itself (kill -STOP)\n"
		"stops the recorder, too, where that is the foreground job of a shell: fg continues\n"
		"both.\n\n"
		"With -p or -a, and no command, processes are recorded that were started with the\n"
		"variables that `aiflame env` prints, and with --cpu others, too. Into those of -p\n"
		"that were not, and with -a into those that use a device, the agent is put where\n"
		"that can be done safely, and for -p where --cpu does not do without it\n"
		"(docs/standby.md). They go on when the recording ends: by Ctrl-C,\n"
		"--duration, `aiflame ctl stop`, or when all named processes have ended.\n\n"
		"With --cpu a program needs no device: the threads of the command and of all that\n"
		"it starts are sampled 999 times for each second of their CPU time, unprivileged,\n"
		"with C, C++ and Python stacks: aiflame report --cpu, aiflame why. System calls are\n"
		"not interrupted; a sample weighs all CPU time since the last one (docs/cpu.md).\n"
		"Programs that call MPI are recorded without it, too (docs/analysis.md).\n\n"
		"With --cpu and -p or -a, processes without the agent are sampled from outside, with\n"
		"C and C++ stacks; Python's functions are shown of processes with the agent only, and\n"
		"time in the OS kernel as root only.\n\n"
		"With --children, processes that use no device are sampled on CPUs, too, from 0.1 s\n"
		"after their start: what the command starts, and what recorded processes fork.\n"
		"With -p and -a: what they fork from then on. A forked child gets a thread of the\n"
		"agent's, which is why this is an option: a child that insists on being single-threaded,\n"
		"as unshare() does, may fail.\n\n"
		"With --ebpf processes without the agent are sampled too, with OS kernel frames:\n"
		"the command and its children, the processes of -p and their children, or with -a\n"
		"the whole machine. Stacks of launches that enter a device's driver go on into it.",
	.examples = "aiflame record ./matmul\twrites aiflame.data\n"
		    "aiflame record --flame run.svg ./matmul\tand draws its flame graph\n"
		    "aiflame record -o run.data --device-rate 4999 ./a.out 512\tmore samples\n"
		    "aiflame record --counters help\twhat --counters may name here\n"
		    "aiflame record --children python train.py\tdata loaders' workers, too\n"
		    "aiflame record --cpu ./train\ta program without a device\n"
		    "aiflame record mpirun -n 4 ./job\tranks of MPI, with devices or without\n"
		    "aiflame record -p 4711 --duration 10\tten seconds of a running server\n"
		    "aiflame record -p 4711 --cpu --duration 10\tits CPU time, prepared or not\n"
		    "aiflame record -a --flame run.svg\tall that uses a device, until Ctrl-C\n"
		    "aiflame record --ebpf -a --duration 10\tCPUs of the whole machine\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.min_words = 0,
	.max_words = -1,
	.runs_command = true,
	.run = run,
};
