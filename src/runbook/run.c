/* SPDX-License-Identifier: Apache-2.0 */
/* aiflame runbook run: counts and records a command, and writes what was found. */
#include "runbook/runbook.h"

#include "names/selection_args.h"
#include "probe/tool.h"
#include "runbook/run_config.h"
#include "runbook/run_count.h"
#include "runbook/run_dir.h"
#include "runbook/run_own.h"
#include "runbook/run_tools.h"
#include "stat/result.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_MAX = AIF_RUNBOOK_MODES };

struct run {
	const struct aif_runbook_run_opts *v;
	const char *const *modes;
	size_t modes_len;
	char **argv;
	char *dir;                /* absolute */
	struct aif_buf data;      /* the recording's path */
	bool is_marked[LIST_MAX]; /* the program has ranges that are called as the mode */
	bool is_device;           /* flame graphs and entries are of device time, not CPU time */
	struct aif_buf svg[LIST_MAX], folded[LIST_MAX]; /* paths */
	struct aif_runbook_hotspots hotspots[LIST_MAX];
	struct aif_stat_result counts;
	double elapsed_s;
	struct aif_runbook_metric uarch[6];
	size_t uarch_len;
	struct aif_runbook_vtune_run vtune;
	struct aif_runbook_advisor_run advisor;
	struct aif_runbook_count_run counted; /* with with_roofline */
	struct aif_runbook_roofline roofline; /* .len is 0: there is none */
	struct aif_roofs roofs;               /* with has_roofs() */
};

static bool has_roofs(const struct run *r)
{
	return r->v->is_deep || r->v->with_roofline;
}

/* Keeps what topdown counted, under the names of VTune's uarch-exploration. */
static void find_uarch(struct run *r, const struct aif_stat_result *result)
{
	static const struct {
		enum aif_stat_derived of;
		const char *name;
	} metrics[] = {{AIF_STAT_RETIRING, "Retiring"},
		       {AIF_STAT_FRONTEND_BOUND, "Frontend Bound"},
		       {AIF_STAT_BAD_SPECULATION, "Bad Speculation"},
		       {AIF_STAT_BACKEND_BOUND, "Backend Bound"},
		       {AIF_STAT_MEMORY_BOUND, "Memory Bound"},
		       {AIF_STAT_CORE_BOUND, "Core Bound"}};

	static_assert(AIF_ARRAY_LEN(metrics) == AIF_ARRAY_LEN(r->uarch), "room for all");
	for (size_t i = 0; i < AIF_ARRAY_LEN(metrics); i++)
		if (result->derived[metrics[i].of].n)
			r->uarch[r->uarch_len++] = (struct aif_runbook_metric){
				metrics[i].name, 100 * result->derived[metrics[i].of].median};
}

static int run_once(const struct aif_stat_opts *o, struct aif_stat_run *ret, struct aif_err *err)
{
	int e;

	*ret = (struct aif_stat_run){0};
	e = aif_stat_run_once(o, ret, err);
	if (!e && ret->status)
		e = aif_err_set(err, -ECHILD,
				"runbook: the command ended with status %d: nothing is kept",
				ret->status);
	return e;
}

/* Counts the command, and writes perf_stat_summary.txt. */
static int count(struct run *r, struct aif_err *err)
{
	const struct aif_stat_opts o = {
		.argv = r->argv,
		.events = aif_stat_events_of(AIF_STAT_SET_ALL | AIF_STAT_SET_TOPDOWN),
		.threads = r->v->threads};
	struct aif_stat_result *result = &r->counts;
	struct aif_buf text = {0};
	int e = 0;

	*result = (struct aif_stat_result){.argv = r->argv, .events = o.events};
	result->runs = calloc(r->v->runs, sizeof(*result->runs));
	if (!result->runs)
		return aif_err_set(err, -ENOMEM, "runbook: out of memory");
	for (uint32_t i = 0; i < r->v->warmup && !e; i++)
		e = run_once(&o, &result->runs[0], err);
	while (result->len < r->v->runs && !e) {
		e = run_once(&o, &result->runs[result->len], err);
		result->len += !e;
	}
	if (!e)
		e = aif_stat_result_make(result);
	if (!e) {
		r->elapsed_s = result->usage[AIF_STAT_ELAPSED].median;
		find_uarch(r, result);
		aif_stat_text(result, &text);
		e = aif_runbook_dir_put(r->v->dir, "perf_stat_summary.txt", &text, err);
	}
	aif_buf_finish(&text);
	return e && !err->code ? aif_err_set(err, e, "runbook: %s", strerror(-e)) : e;
}

/* Writes perf_stat_summary.json: what was counted, and what devices did meanwhile. */
static int put_counts(struct run *r, const char *device, struct aif_err *err)
{
	struct aif_buf text = {0}, source = {0};
	int e;

	r->counts.device = device;
	r->counts.roofs = has_roofs(r) ? &r->roofs : NULL;
	aif_buf_printf(&source, "%s/perf_stat_summary.txt", r->dir);
	aif_stat_json(&r->counts, aif_buf_str(&source), &text);
	e = aif_runbook_dir_put(r->v->dir, "perf_stat_summary.json", &text, err);
	aif_buf_finish(&text);
	aif_buf_finish(&source);
	return e;
}

static int record(struct run *r, struct aif_err *err)
{
	/* A mode is a range of the program's: NVTX's, too. */
	const char *args[] = {
		"aiflame",  "record",      "--cpu",         "--nvtx", "-F",
		r->v->rate, "--cpu-clock", r->v->cpu_clock, "-o",     aif_buf_str(&r->data),
		"--"};
	size_t n = sizeof(args) / sizeof(*args), words = 0;
	char threads[16], **argv;
	int e;

	snprintf(threads, sizeof(threads), "%u", r->v->threads);
	if (r->v->threads) {
		setenv("CK_NUM_THREADS", threads, 1);
		setenv("OMP_NUM_THREADS", threads, 1);
		setenv("MKL_NUM_THREADS", threads, 1);
	}
	while (r->argv[words])
		words++;
	argv = calloc(n + words + 1, sizeof(*argv));
	if (!argv)
		return aif_err_set(err, -ENOMEM, "runbook: out of memory");
	memcpy(argv, args, sizeof(args));
	memcpy(argv + n, r->argv, words * sizeof(*argv));
	e = aif_tool_run(argv, true);
	free(argv);
	if (e)
		return aif_err_set(err, e < 0 ? e : -ECHILD,
				   "runbook: recording the command ended with status %d", e);
	return 0;
}

/* Appends the expression that a name alone matches. */
static void put_expression(const char *name, struct aif_buf *out)
{
	aif_buf_putc(out, '^');
	for (; *name; name++) {
		if (strchr(".[]()*+?{}|^$\\", *name))
			aif_buf_putc(out, '\\');
		aif_buf_putc(out, *name);
	}
	aif_buf_putc(out, '$');
}

/* Has `aiflame flame` draw a mode. */
static int draw(struct run *r, size_t mode, const char *to, struct aif_err *err)
{
	struct aif_buf range = {0};
	const char *args[11] = {"aiflame", "flame", aif_buf_str(&r->data), "-o", to};
	size_t n = 5;
	int e;

	if (!r->is_device) {
		args[n++] = "--of";
		args[n++] = "cpu";
	}
	if (r->is_marked[mode]) {
		put_expression(r->modes[mode], &range);
		args[n++] = "--range";
		args[n++] = aif_buf_str(&range);
	}
	e = aif_tool_run((char *const *)args, true);
	aif_buf_finish(&range);
	return e ? aif_err_set(err, e < 0 ? e : -EIO, "runbook: %s cannot be drawn", to) : 0;
}

/* True if a mode has a flame graph: a device's, or one of the samples that were taken in it. */
static bool is_drawn(const struct run *r, size_t mode)
{
	return r->is_device || r->hotspots[mode].len;
}

static int draw_modes(struct run *r, struct aif_err *err)
{
	int e = 0;

	for (size_t i = 0; i < r->modes_len && !e; i++) {
		if (!is_drawn(r, i))
			continue;
		aif_buf_printf(&r->svg[i], "%s/%s.svg", r->dir, r->modes[i]);
		aif_buf_printf(&r->folded[i], "%s/%s.folded", r->dir, r->modes[i]);
		e = draw(r, i, aif_buf_str(&r->svg[i]), err);
		if (!e)
			e = draw(r, i, aif_buf_str(&r->folded[i]), err);
	}
	return e;
}

/* Writes the entries of all modes of an opened profile. */
static int put_modes(struct run *r, const struct aif_names *names, struct aif_err *err)
{
	static void (*const write[])(const struct aif_runbook_entries *, size_t,
				     struct aif_buf *) = {
		aif_runbook_profile_summary, aif_runbook_profile_csv, aif_runbook_profile_json};
	static const char *const files[] = {"profile_summary.json", "profile_decode.csv",
					    "profile_decode.json"};
	struct aif_runbook_entries modes[LIST_MAX] = {{0}};
	struct aif_buf text = {0}, device = {0};
	int e = 0;

	for (size_t i = 0; i < r->modes_len && !e; i++) {
		e = aif_runbook_entries_find(names, r->modes[i], &modes[i], err);
		r->is_marked[i] = modes[i].tokens;
		r->is_device = modes[i].is_device;
		if (!e && !modes[i].tokens)
			r->v->say("runbook: no range of the program is called %s: its tokens are "
				  "not known, and all of the run is taken; mark them as "
				  "docs/program.md has it",
				  r->modes[i]);
	}
	for (size_t f = 0; f < 3 && !e; f++) {
		aif_buf_clear(&text);
		write[f](modes, r->modes_len, &text);
		e = aif_runbook_dir_put(r->v->dir, files[f], &text, err);
	}
	if (!e)
		e = aif_runbook_device(names, modes, r->modes_len, &device, err);
	if (!e)
		e = put_counts(r, aif_buf_str(&device), err);
	aif_buf_finish(&device);
	aif_buf_finish(&text);
	for (size_t i = 0; i < r->modes_len; i++)
		aif_runbook_entries_finish(&modes[i]);
	return e;
}

static int find_hotspots_of(struct run *r, const struct aif_names *names, size_t mode,
			    struct aif_err *err)
{
	struct aif_selection_args args = {0};
	struct aif_buf range = {0};
	struct aif_selection_values asked = {0};
	int e = 0;

	if (r->is_marked[mode]) {
		put_expression(r->modes[mode], &range);
		asked.range = aif_buf_str(&range);
		e = aif_selection_args_make(&asked, names->p, &args, err);
	}
	if (!e)
		e = aif_runbook_hotspots_find(names, r->is_marked[mode] ? &args.sel : NULL,
					      &r->hotspots[mode], err);
	aif_selection_args_finish(&args);
	aif_buf_finish(&range);
	return e;
}

/* Refuses a recording without any sample in a mode of its program: there is nothing to draw. */
static int find_hotspots(struct run *r, const struct aif_names *names, struct aif_err *err)
{
	size_t drawn = 0;
	int e = 0;

	for (size_t i = 0; i < r->modes_len && !e; i++) {
		e = find_hotspots_of(r, names, i, err);
		drawn += !e && is_drawn(r, i);
	}
	for (size_t i = 0; i < r->modes_len && !e; i++) {
		static const char why[] = "runbook: %s: no CPU samples in the %.3g s that the "
					  "command ran%s: give it work for a second or more";

		if (is_drawn(r, i))
			continue;
		if (drawn)
			r->v->say(why, r->modes[i], r->elapsed_s, ", so no flame graph");
		else
			e = aif_err_set(err, -ENODATA, why, r->modes[i], r->elapsed_s, "");
	}
	return e;
}

/* Writes vtune_summary.json: of VTune where it ran, else of our own samples and counters. */
static int put_vtune(struct run *r, const struct aif_runbook_flame *mode, struct aif_err *err)
{
	struct aif_runbook_analysis at[AIF_RUNBOOK_ANALYSES + 1] = {{0}};
	struct aif_runbook_vtune v = {.mode = mode, .analyses = at, .tool = "aiflame record"};
	struct aif_runbook_hotspots theirs = {0};
	struct aif_profile p = {0};
	struct aif_names names = {0};
	struct aif_buf text = {0};
	int e = 0;

	if (r->vtune.len) {
		v.tool = "vtune";
		e = r->v->open(aif_buf_str(&r->vtune.data), &p, &names, err);
		if (!e)
			e = aif_runbook_hotspots_find(&names, NULL, &theirs, err);
	} else {
		at[v.len++] = (struct aif_runbook_analysis){
			.name = "hotspots", .result = mode->data, .hotspots = mode->hotspots};
	}
	for (size_t i = 0; i < r->vtune.len; i++) {
		struct aif_runbook_vtune_analysis *a = &r->vtune.analyses[i];

		at[v.len++] = (struct aif_runbook_analysis){a->name,
							    aif_buf_str(&a->result),
							    aif_buf_str(&a->report),
							    aif_buf_str(&a->csv),
							    i ? NULL : &theirs,
							    &a->raw,
							    a->metrics,
							    a->metrics_len};
	}
	if (r->uarch_len && r->vtune.len <= 1)
		at[v.len++] = (struct aif_runbook_analysis){.name = "uarch-exploration",
							    .result = mode->data,
							    .metrics = r->uarch,
							    .metrics_len = r->uarch_len};
	v.skipped = r->vtune.why.len ? aif_buf_str(&r->vtune.why) : NULL;
	if (!e) {
		aif_runbook_vtune(&v, &text);
		e = aif_runbook_dir_put(r->v->dir, "vtune_summary.json", &text, err);
	}
	aif_buf_finish(&text);
	aif_runbook_hotspots_finish(&theirs);
	aif_names_finish(&names);
	aif_profile_finish(&p);
	return e;
}

static int put_advisor(struct run *r, const struct aif_runbook_flame *mode, struct aif_err *err)
{
	struct aif_runbook_advisor_run *a = &r->advisor;
	struct aif_runbook_advisor v = {
		.mode = mode,
		.elapsed_s = r->elapsed_s,
		.roofs = has_roofs(r) ? &r->roofs : NULL,
		.roofline = r->roofline.len ? &r->roofline : NULL,
		.not_counted = r->counted.why.len ? aif_buf_str(&r->counted.why) : NULL,
		.skipped = a->why.len ? aif_buf_str(&a->why) : NULL};
	struct aif_buf text = {0};
	int e;

	if (a->has_run) {
		v.project = aif_buf_str(&a->project);
		v.report = aif_buf_str(&a->report);
		v.csv = aif_buf_str(&a->csv);
		v.raw = &a->raw;
		v.rows = &a->rows;
	}
	aif_runbook_advisor(&v, &text);
	e = aif_runbook_dir_put(r->v->dir, "advisor_summary.json", &text, err);
	aif_buf_clear(&text);
	if (v.roofline)
		aif_runbook_roofline_svg(v.roofline, v.roofs, &text);
	if (!e && text.len)
		e = aif_runbook_dir_put(r->v->dir, "roofline.svg", &text, err);
	aif_buf_finish(&text);
	return e;
}

static int put_hotspots(struct run *r, struct aif_err *err)
{
	struct aif_runbook_flame flames[LIST_MAX] = {{0}};
	struct aif_buf text = {0};
	size_t len = 0;
	int e;

	for (size_t i = 0; i < r->modes_len; i++) {
		if (!is_drawn(r, i))
			continue;
		flames[len++] = (struct aif_runbook_flame){r->modes[i],
							   aif_buf_str(&r->svg[i]),
							   aif_buf_str(&r->folded[i]),
							   aif_buf_str(&r->data),
							   r->is_device,
							   &r->hotspots[i]};
	}
	aif_runbook_manifest(flames, len, &text);
	e = aif_runbook_dir_put(r->v->dir, "flamegraph_manifest.json", &text, err);
	if (!e)
		e = put_vtune(r, &flames[0], err);
	if (!e)
		e = put_advisor(r, &flames[0], err);
	aif_buf_finish(&text);
	return e;
}

/* Has other tools analyse the command, where they are asked for. */
static void run_tools(struct run *r)
{
	if (r->v->with_vtune)
		aif_runbook_vtune_run(r->dir, r->argv, r->v->is_deep, &r->vtune);
	if (r->vtune.why.len)
		r->v->say("runbook: without VTune: %s; the functions are of our own samples",
			  aif_buf_str(&r->vtune.why));
	if (r->v->with_advisor)
		aif_runbook_advisor_run(r->dir, r->argv, &r->advisor);
	if (r->advisor.why.len)
		r->v->say("runbook: without Advisor: %s", aif_buf_str(&r->advisor.why));
	if (r->v->with_roofline) {
		r->v->say("runbook: counting what the command computes and moves, which takes some "
			  "fifty times its time");
		aif_runbook_count_run(r->dir, r->argv, &r->counted);
	}
	if (r->counted.why.len)
		r->v->say("runbook: without a roofline: %s", aif_buf_str(&r->counted.why));
}

static int find_roofline(struct run *r, const struct aif_names *names, struct aif_err *err)
{
	return r->counted.len ? aif_runbook_roofline_find(names, r->counted.paths, r->counted.len,
							  r->elapsed_s, &r->roofline, err)
			      : 0;
}

static int measure_roofs(struct run *r, struct aif_err *err)
{
	if (!has_roofs(r))
		return 0;
	r->v->say("runbook: measuring what this machine can do, for some seconds");
	return aif_roofs_measure(&r->roofs, err);
}

int aif_runbook_run(const struct aif_runbook_run_opts *v, struct aif_err *err)
{
	struct run r = {.v = v, .argv = v->argv, .modes = v->modes, .modes_len = v->modes_len};
	struct aif_profile p = {0};
	struct aif_names names = {0};
	struct stat st = {0};
	bool is_new;
	int e = 0, lock = -1;

	is_new = mkdir(v->dir, 0777) == 0;
	if (!is_new && errno != EEXIST)
		return aif_err_set(err, -errno, "%s: %s", v->dir, strerror(errno));
	r.dir = realpath(v->dir, NULL);
	if (!r.dir)
		return aif_err_set(err, -errno, "%s: %s", v->dir, strerror(errno));
	aif_buf_printf(&r.data, "%s/%s.data", r.dir, r.modes[0]);
	/* Before the command is run for minutes. */
	if (stat(r.dir, &st) < 0 || !S_ISDIR(st.st_mode) || access(r.dir, W_OK | X_OK) < 0) {
		e = S_ISDIR(st.st_mode) ? -errno : -ENOTDIR;
		aif_err_set(err, e, "%s: %s", v->dir, strerror(-e));
	}
	if (!e)
		e = aif_runbook_dir_lock(r.dir, &lock, err);
	for (size_t i = 0; v->env && v->env[i] && !e; i++)
		if (putenv(v->env[i]) != 0)
			e = aif_err_set(err, -ENOMEM, "runbook: out of memory");
	/* The command and all that runs it inherit the CPUs of this process. */
	if (!e && v->cpus && sched_setaffinity(0, sizeof(*v->cpus), v->cpus) < 0)
		e = aif_err_set(err, -errno, "runbook: --cpus: %s", strerror(errno));
	if (!e)
		e = aif_runbook_own_begin(r.dir, r.modes, r.modes_len, err);
	if (!e)
		e = measure_roofs(&r, err);
	if (!e)
		e = count(&r, err);
	if (!e)
		e = record(&r, err);
	/* Before a profile is opened, which bounds the memory of all that is started. */
	if (!e)
		run_tools(&r);
	if (!e)
		e = v->open(aif_buf_str(&r.data), &p, &names, err);
	if (!e)
		e = aif_runbook_config_put(v->dir, v->words, v->threads, v->env, &p, err);
	if (!e)
		e = put_modes(&r, &names, err);
	if (!e)
		e = find_hotspots(&r, &names, err);
	if (!e)
		e = find_roofline(&r, &names, err);
	if (!e)
		e = draw_modes(&r, err);
	if (!e)
		e = put_hotspots(&r, err);
	if (!e)
		e = aif_runbook_dir_put_index(r.dir, err);
	aif_names_finish(&names);
	aif_profile_finish(&p);
	aif_buf_finish(&r.data);
	for (size_t i = 0; i < r.modes_len; i++) {
		aif_buf_finish(&r.svg[i]);
		aif_buf_finish(&r.folded[i]);
		aif_runbook_hotspots_finish(&r.hotspots[i]);
	}
	aif_runbook_vtune_run_finish(&r.vtune);
	aif_runbook_advisor_run_finish(&r.advisor);
	aif_runbook_count_run_finish(&r.counted);
	aif_runbook_roofline_finish(&r.roofline);
	free(r.counts.runs);
	if (lock >= 0)
		close(lock);
	if (e && is_new)
		aif_runbook_own_remove_empty(v->dir);
	free(r.dir);
	return e;
}
