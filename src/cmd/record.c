/* SPDX-License-Identifier: Apache-2.0 */
#include "record/record.h"

#include "cmd/agent_path.h"
#include "cmd/command.h"
#include "cmd/counters_help.h"
#include "cmd/profile_arg.h"
#include "cmd/tell.h"
#include "export/names.h"
#include "export/summary.h"
#include "profile/attribution.h"
#include "profile/file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { OVERHEAD_NOT_GIVEN = UINT32_MAX };
/* By the time that all is written a process has ended for some milliseconds: of 2 s at 10,000 launches a second
 * --keep 1ms kept none, 20ms some. */
enum { LEAST_KEEP_NS = 100000000 };
/* A piece that is dropped as a whole holds what happened in up to a second: 45 KB, of busy programs 160. */
enum { LEAST_SIZE = 64 << 10 };

static const struct aif_record_opts defaults = {
	.output = "aiflame.data",
	.device_rate = AIF_RECORD_DEFAULT_RATE,
	.cpu_rate = AIF_RECORD_DEFAULT_CPU_RATE,
	.overhead_ppm = OVERHEAD_NOT_GIVEN,
};

#define AT(field) offsetof(struct aif_record_opts, field)
/* Intel's GPUs have steps of 0.2 us; others do not go beyond AIF_RECORD_MAX_RATE. */
#define MAX_DEVICE_RATE 10000000

static const struct aif_opt opts[] = {
	{'o', "output", "FILE", AIF_OPT_STRING, AT(output), 0,
	 "the profile; %h host, %p pid, %r rank, %q{VAR} (aiflame.data)"},
	{0, "runtime", "all|opencl", AIF_OPT_CHOICE, AT(runtime), 0,
	 "the accelerator runtimes to listen to (all)"},
	{0, "overhead", "PERCENT", AIF_OPT_PERCENT, AT(overhead_ppm), 0,
	 "how much slower the command may get (2); launches are left out to keep it"},
	{0, "all-launches", NULL, AIF_OPT_FLAG, AT(all_launches), 0,
	 "capture every launch, whatever it costs"},
	{0, "device-rate", "HZ", AIF_OPT_COUNT, AT(device_rate), 0,
	 "device samples a second and thread, on GPUs a second and SM, 0 for none (999; on GPUs about a "
	 "million a second in all); 20000 at most, but on Intel's GPUs, which take 0.8 to 6 million a "
	 "second and EU, whatever comes nearest"},
	{0, "cupti", "auto|blocks|throughout|records|launches", AIF_OPT_CHOICE, AT(cupti), 0,
	 "what NVIDIA's CUPTI is asked for, from most to least: blocks, times switched on and off to keep "
	 "--overhead, and instruction samples in turns; throughout, both switched on once; records, no "
	 "instruction samples; launches, no times; auto, what is proven for the libcupti that is there, "
	 "less where a recording has crashed in it"},
	{0, "counters", "LIST", AIF_OPT_STRING, AT(counters), 0,
	 "read a GPU's counters, 100 times a second: names of metrics or of a metric group, with commas "
	 "between, or default; through Level Zero (docs/counters.md). --counters help lists the groups, "
	 "help,GROUP what is in one"},
	{'F', "cpu-rate", "HZ", AIF_OPT_COUNT, AT(cpu_rate), 0,
	 "CPU samples for each second of a thread's CPU time, 0 for none, nor waits (99)"},
	{0, "wall", NULL, AIF_OPT_FLAG, AT(wall), 0,
	 "CPU samples by the wall clock, waits included; calls of the command may fail: EINTR"},
	{0, "ebpf", NULL, AIF_OPT_FLAG, AT(ebpf), 0,
	 "CPU samples with OS kernel frames, without the agent; needs root, or CAP_BPF and CAP_PERFMON"},
	{0, "off-cpu", NULL, AIF_OPT_FLAG, AT(off_cpu), 0,
	 "with --ebpf: and where threads are off CPU, for flame --of off-cpu"},
	{0, "device-lines", NULL, AIF_OPT_FLAG, AT(device_lines), 0,
	 "ask the device compiler for line information"},
	{'p', "pid", "PID", AIF_OPT_LIST, AT(pids), AIF_RECORD_PIDS,
	 "record this running process and its children; may be given several times"},
	{'a', "all", NULL, AIF_OPT_FLAG, AT(all_processes), 0,
	 "record all of your processes on standby, and those that start later"},
	{0, "name", "NAME", AIF_OPT_STRING, AT(name), 0,
	 "what `aiflame ctl` calls this recording (the output's file name)"},
	{0, "delay", "TIME", AIF_OPT_TIME, AT(delay_ns), 0,
	 "collect nothing before this time; --duration counts from then"},
	{0, "duration", "TIME", AIF_OPT_TIME, AT(duration_ns), 1, "stop recording after this time"},
	{0, "kill", NULL, AIF_OPT_FLAG, AT(kill), 0, "with --duration: end the command too"},
	{0, "repeat", "N", AIF_OPT_COUNT, AT(repeat), 2,
	 "--delay and --duration N times, one after the other"},
	{0, "steps", "A:B", AIF_OPT_STRING, AT(steps), 0,
	 "collect the program's steps from A up to B - 1, by its own count from 0, and some of the one "
	 "before (aiflame.h, aiflame.py)"},
	{0, "keep", "TIME", AIF_OPT_TIME, AT(keep_ns), LEAST_KEEP_NS,
	 "keep only the last TIME of details, 100ms or more"},
	{0, "max-size", "BYTES", AIF_OPT_BYTES, AT(max_size), LEAST_SIZE,
	 "keep the file's details below this size, 64K or more, dropping the oldest"},
	{0, "no-python", NULL, AIF_OPT_FLAG, AT(no_python), 0, "stacks without Python frames"},
	{0, "no-source", NULL, AIF_OPT_FLAG, AT(no_source), 0, "do not store kernels' source text"},
	{0, "no-code", NULL, AIF_OPT_FLAG, AT(no_code), 0, "do not store kernels' machine code"},
	{'q', "quiet", NULL, AIF_OPT_FLAG, AT(quiet), 0, "no live line and no summary"},
	{0},
};

/* Tells what was recorded. The recording itself has succeeded: trouble here is only said. */
static void first_screen(const char *path)
{
	struct aif_attribution attribution = {0};
	struct aif_profile p = {0};
	struct aif_buf text = {0}, shown = {0};
	char *name = aif_view_path_for_people(path);
	struct aif_err err = {0};

	if (aif_view_profile_for_people(path, &p, &err) < 0 ||
	    aif_attribution_compute(&p, NULL, &attribution, &err) < 0) {
		aif_tell("%s", err.text);
	} else {
		aif_summary_write(&p, &attribution, name ? name : "", &text);
		aif_name_sanitize_lines(text.data, text.len, &shown);
		fwrite(shown.data, 1, shown.len, stderr);
	}
	free(name);
	aif_buf_finish(&text);
	aif_buf_finish(&shown);
	aif_attribution_finish(&attribution);
	aif_profile_finish(&p);
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
		return aif_err_set(
			       err, -1,
			       "record: give a command, or -p, or -a; they exclude each other") ==
		       0;
	if (o->kill && !words_len)
		return aif_err_set(err, -1,
				   "record: --kill is for commands that record has started") == 0;
	return true;
}

static bool are_windows_right(struct aif_record_opts *o, struct aif_err *err)
{
	const char *colon = o->steps ? strchr(o->steps, ':') : NULL;
	char from[16] = "";

	if (o->repeat && (!o->delay_ns || !o->duration_ns))
		return aif_err_set(err, -1,
				   "record: --repeat: how long, and how long not? Give --duration "
				   "and --delay, too") == 0;
	if (!o->steps)
		return true;
	if (colon && (size_t)(colon - o->steps) < sizeof(from))
		memcpy(from, o->steps, (size_t)(colon - o->steps));
	if (aif_parse_count(from, &o->steps_from) < 0 ||
	    aif_parse_count(colon ? colon + 1 : "", &o->steps_to) < 0 ||
	    o->steps_from >= o->steps_to)
		return aif_err_set(
			       err, -1,
			       "record: --steps: '%s' is no A:B with A less than B; 10:13 is the "
			       "steps 10, 11 and 12",
			       o->steps) == 0;
	return true;
}

/* Its driver looks for it once, at its start. */
static bool was_started_with_metrics(const char *pid)
{
	char path[64], *one = NULL;
	bool found = false, known;
	size_t cap = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	f = fopen(path, "re");
	known = f && getdelim(&one, &cap, '\0', f) > 0;
	for (bool more = known; more && !found; more = getdelim(&one, &cap, '\0', f) > 0)
		found = !strcmp(one, "ZET_ENABLE_METRICS=1");
	free(one);
	if (f)
		fclose(f);
	return found || !known;
}

/* Said before somebody waits for them in vain. */
static void warn_of_counters(const struct aif_record_opts *o)
{
	for (const char *const *p = o->pids; *p && o->counters && !o->quiet; p++)
		if (!was_started_with_metrics(*p))
			aif_tell(
				"process %s was not started with ZET_ENABLE_METRICS=1: unless it has "
				"set that itself, its counters cannot be read; start it anew with what aiflame "
				"env --metrics prints, or by record",
				*p);
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	struct aif_record_opts o = *(const struct aif_record_opts *)values;
	struct aif_record_result result;
	char agent[PATH_MAX];

	if (o.counters && aif_counters_check(o.counters, err) < 0)
		return AIF_EXIT_USAGE;
	if (o.counters && aif_counters_is_help(o.counters)) {
		if (!words_len && !o.pids[0] && !o.all_processes)
			return aif_counters_help(o.counters, err);
		aif_err_set(
			err, -1,
			"record: --counters %s lists what there is and records nothing; leave out the "
			"command, -p and -a, or name counters",
			o.counters);
		return AIF_EXIT_USAGE;
	}
	if (!are_processes_right(&o, words_len, err) || !are_windows_right(&o, err))
		return AIF_EXIT_USAGE;
	if (o.device_rate > MAX_DEVICE_RATE) {
		aif_err_set(err, -1,
			    "record: --device-rate: at most %d samples a second are possible",
			    MAX_DEVICE_RATE);
		return AIF_EXIT_USAGE;
	}
	if (o.cpu_rate > 10000) {
		aif_err_set(err, -1,
			    "record: --cpu-rate: at most 10000 samples a second are possible");
		return AIF_EXIT_USAGE;
	}
	if (!o.overhead_ppm) {
		aif_err_set(err, -1,
			    "record: --overhead: nothing costs nothing; give more than 0 (0.1), or "
			    "--all-launches");
		return AIF_EXIT_USAGE;
	}
	if (o.all_launches && o.overhead_ppm != OVERHEAD_NOT_GIVEN) {
		aif_err_set(
			err, -1,
			"record: --overhead leaves launches out, --all-launches none; give one");
		return AIF_EXIT_USAGE;
	}
	if (o.overhead_ppm == OVERHEAD_NOT_GIVEN)
		o.overhead_ppm = AIF_RECORD_DEFAULT_OVERHEAD;
	if (o.off_cpu && !o.ebpf) {
		aif_err_set(err, -1, "record: --off-cpu is a part of --ebpf; give both");
		return AIF_EXIT_USAGE;
	}
	if (o.kill && !o.duration_ns) {
		aif_err_set(err, -1,
			    "record: --kill says what happens after --duration; give both");
		return AIF_EXIT_USAGE;
	}
	warn_of_counters(&o);
	aif_agent_path(agent, sizeof(agent));
	o.agent = agent;
	o.argv = words_len ? words : NULL;
	o.can_have_metrics = aif_counters_can_be();
	if (aif_record_run(&o, &result, err) == 0 && result.have_profile && !o.quiet)
		first_screen(result.path);
	return result.exit_code;
}

const struct aif_command aif_command_record = {
	.name = "record",
	.words = "[--] COMMAND [ARGUMENT]...",
	.summary = "run a command under the profiler, or record running processes",
	.description =
		"Runs COMMAND with aiflame's agent in it and in its children, and writes a profile: each\n"
		"launch of a device kernel with its stack and times, and where the kernels spent theirs.\n"
		"Ends with a summary on standard error. The exit status is the command's (128 + number\n"
		"for a signal); 125, 126 and 127 are failures to start it.\n\n"
		"Ctrl-C ends the command as usual, and the profile is written; a second one detaches. While the\n"
		"profile is being completed a second one gives up the names that are still missing, and one more\n"
		"ends the recorder at once: what it had written is valid.\n\n"
		"With -p or -a no command is given: processes are recorded that were started with the\n"
		"variables that `aiflame env` prints. They go on when the recording ends: by Ctrl-C,\n"
		"--duration, `aiflame ctl stop`, or when all that were named have ended.\n\n"
		"With --ebpf also processes without the agent are sampled, with OS kernel frames: the\n"
		"command and its children, those of -p and theirs, or with -a all of the machine.",
	.examples = "aiflame record ./matmul\twrites aiflame.data\n"
		    "aiflame record -o run.data --device-rate 4999 ./a.out 512\tmore samples\n"
		    "aiflame record --counters help\twhat --counters may name here\n"
		    "aiflame record -p 4711 --duration 10\tten seconds of a running server\n"
		    "aiflame record --ebpf -a --duration 10\tCPUs of the whole machine\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(defaults),
	.min_words = 0,
	.max_words = -1,
	.runs_command = true,
	.run = run,
};
