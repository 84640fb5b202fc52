/* SPDX-License-Identifier: Apache-2.0 */
#include "base/human.h"
#include "cmd/command.h"
#include "cmd/message.h"
#include "cmd/profile_arg.h"
#include "cmd/selection.h"
#include "compare/run_file.h"
#include "compare/side.h"
#include "stats/change.h"
#include "text/out.h"
#include "text/table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Names the list of what was accepted, and why: a line each. */
#define ACCEPTED "accepted.txt"

struct values {
	const char *baselines, *label, *reason;
	bool whole;
};

#define AT(field) offsetof(struct values, field)
static const struct aif_opt opts[] = {
	AIF_BASELINES_OPT(AT(baselines)),
	{0, "label", "TEXT", AIF_OPT_STRING, AT(label), 0,
	 "kept with each run: a commit, a configuration"},
	{0, "whole", NULL, AIF_OPT_FLAG, AT(whole), 0,
	 "keep whole runs, for --unit run, in place of their loops (set, accept)"},
	{0, "reason", "TEXT", AIF_OPT_STRING, AT(reason), 0,
	 "why a change is accepted: kept in the baseline's " ACCEPTED},
	{0},
};

static int make_directory(const char *path, struct aif_err *err)
{
	if (mkdir(path, 0777) == 0 || errno == EEXIST)
		return 0;
	return aif_err_set(err, -errno, "%s: %s", path, strerror(errno));
}

static bool is_reduced_run(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name && !strcmp(dot, AIF_BASELINE_SUFFIX);
}

/* Calls fn with the path of each run of a baseline. 0, or the first error. */
static int each_run(const char *path, int (*fn)(const char *file, void *arg, struct aif_err *err),
		    void *arg, struct aif_err *err)
{
	struct dirent **list = NULL;
	int n = scandir(path, &list, NULL, alphasort), r = 0;

	if (n < 0)
		return aif_err_set(err, -errno, "%s: %s", path, strerror(errno));
	for (int i = 0; i < n; i++) {
		char *file = NULL;

		if (!r && is_reduced_run(list[i]->d_name)) {
			if (asprintf(&file, "%s/%s", path, list[i]->d_name) < 0)
				r = aif_err_set(err, -ENOMEM, "out of memory");
			else
				r = fn(file, arg, err);
			free(file);
		}
		free(list[i]);
	}
	free(list);
	return r;
}

/* ---- set, accept ----------------------------------------------------------------------------- */

/* Writes a run under a name that is a hash of what is in it: the same run twice is one file. */
static int write_run(const char *path, const struct aif_run *run, struct aif_strset *written,
		     struct aif_err *err)
{
	struct aif_buf text = {0}, file = {0};
	struct aif_out out;
	int r = aif_run_write(run, &text);

	aif_buf_printf(&file, "%s/%016" PRIx64 AIF_BASELINE_SUFFIX, path,
		       aif_hash_bytes(text.data, text.len));
	if (r || aif_buf_failed(&file) ||
	    aif_strset_puts(written, aif_buf_str(&file)) == AIF_STR_NONE)
		r = aif_err_set(err, -ENOMEM, "out of memory");
	if (!r)
		r = aif_out_open(&out, aif_buf_str(&file), err);
	if (!r) {
		aif_buf_append(aif_out_buf(&out), text.data, text.len);
		r = aif_out_commit(&out, err);
	}
	aif_buf_finish(&text);
	aif_buf_finish(&file);
	return r;
}

/* Runs of a baseline that is set: those that it has now, and how many it had. */
struct replacing {
	struct aif_strset written;
	size_t before;
};

static int count_old(const char *file, void *arg, struct aif_err *err)
{
	struct replacing *r = arg;

	(void)file;
	(void)err;
	r->before++;
	return 0;
}

static int remove_old(const char *file, void *arg, struct aif_err *err)
{
	const struct replacing *r = arg;

	if (aif_strset_find(&r->written, file, strlen(file)) != AIF_STR_NONE)
		return 0;
	return unlink(file) < 0 ? aif_err_set(err, -errno, "%s: %s", file, strerror(errno)) : 0;
}

/* Opens a file to append to, which a FIFO in its place is not: opening it would wait for a reader. */
static FILE *append_to(const char *path)
{
	int fd =
		open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fdopen(fd, "a");
	if (fd >= 0) {
		close(fd);
		errno = EINVAL;
	}
	return NULL;
}

/* Appends who accepted what, when and why. */
static int write_reason(const char *path, const char *reason, size_t runs, struct aif_err *err)
{
	struct aif_buf file = {0};
	const char *user = getenv("USER");
	time_t now = time(NULL);
	struct tm tm;
	char date[32] = "";
	FILE *f;
	int r = 0;

	if (gmtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &tm);
	aif_buf_printf(&file, "%s/" ACCEPTED, path);
	f = aif_buf_failed(&file) ? NULL : append_to(aif_buf_str(&file));
	if (!f || fprintf(f, "%s  %s  %zu runs  %s\n", date, user ? user : "?", runs, reason) < 0)
		r = aif_err_set(err, -errno, "%s: %s", aif_buf_str(&file), strerror(errno));
	if (f && fclose(f) && !r)
		r = aif_err_set(err, -errno, "%s: %s", aif_buf_str(&file), strerror(errno));
	aif_buf_finish(&file);
	return r;
}

/* Says what a baseline has now, and what that has replaced. */
static void print_set(const char *name, const char *path, const struct replacing *runs)
{
	struct aif_buf line = {0};

	aif_buf_printf(&line, "%s: ", name);
	aif_human_counted(&line, runs->written.len, "run");
	aif_buf_printf(&line, " in %s", path);
	if (runs->before)
		aif_buf_printf(&line, ", in place of %zu", runs->before);
	printf("%s\n", aif_buf_str(&line));
	aif_buf_finish(&line);
	if (runs->written.len < AIF_CHANGE_RUNS_MIN && runs->before >= AIF_CHANGE_RUNS_MIN)
		aif_message("baseline: %s has fewer than %d runs now: no gate decides by it", name,
			    AIF_CHANGE_RUNS_MIN);
}

/* Sets a baseline to the runs of a side; runs that it had are removed once the new ones are there. */
static int set(const struct values *v, const char *name, const char *spec, struct aif_err *err)
{
	const char *baselines = v->baselines ? v->baselines : AIF_BASELINES;
	char *path = aif_baseline_path(baselines, name, err);
	const struct aif_side_opts from = {.baselines = v->baselines,
					   .open = aif_view_profile_for_people};
	struct aif_side side = {0};
	struct replacing runs = {0};
	int r = path ? aif_side_arg(spec, &from, &side, err) : err->code;

	if (!r && v->whole)
		r = aif_side_read_whole(&side, err);
	for (size_t i = 0; i < side.len && !r; i++)
		if (side.runs[i].is_counts)
			r = aif_err_set(err, -EINVAL, "%s: counts without times are no baseline",
					side.runs[i].path);
	if (!r)
		r = make_directory(baselines, err);
	if (!r)
		r = make_directory(path, err);
	if (!r)
		r = each_run(path, count_old, &runs, err);
	for (size_t i = 0; i < side.len && !r; i++) {
		if (v->label && aif_run_set(&side.runs[i], AIF_RUN_LABEL, v->label) < 0)
			r = aif_err_set(err, -ENOMEM, "out of memory");
		if (!r)
			r = write_run(path, &side.runs[i], &runs.written, err);
	}
	if (!r)
		r = each_run(path, remove_old, &runs, err);
	if (!r && v->reason)
		r = write_reason(path, v->reason, side.len, err);
	if (!r)
		print_set(name, path, &runs);
	aif_strset_finish(&runs.written);
	aif_side_finish(&side);
	free(path);
	return r;
}

/* ---- list, rm -------------------------------------------------------------------------------- */

static const struct aif_table_column columns[] = {
	{"baseline", AIF_TABLE_TEXT}, {"date", AIF_TABLE_TEXT}, {"of", AIF_TABLE_TEXT},
	{"steps", AIF_TABLE_COUNT},   {"time", AIF_TABLE_NS},   {"machine", AIF_TABLE_TEXT},
	{"label", AIF_TABLE_TEXT},    {"file", AIF_TABLE_TEXT}, {"problem", AIF_TABLE_TEXT},
};

struct listing {
	struct aif_table table;
	const char *name;
	bool any_wrong;
};

/* A row that says what is wrong with a file, which *why says, and that is left behind. */
static void list_wrong(struct listing *l, const char *file, struct aif_err *why)
{
	size_t len = strlen(file);
	bool is_named = !strncmp(why->text, file, len) && !strncmp(why->text + len, ": ", 2);

	aif_table_text(&l->table, l->name);
	aif_table_text(&l->table, "");
	aif_table_text(&l->table, "");
	aif_table_number(&l->table, 0);
	aif_table_number(&l->table, 0);
	aif_table_text(&l->table, "");
	aif_table_text(&l->table, "");
	aif_table_text(&l->table, file);
	aif_table_text(&l->table, why->text + (is_named ? len + 2 : 0));
	l->any_wrong = true;
	*why = (struct aif_err){0};
}

/* Names what a reduced run has of its run, on which the units depend that it can be compared by. */
static const char *extent(const struct aif_run *r)
{
	if (r->is_part)
		return "part";
	return r->is_loop ? "loop" : r->is_whole ? "whole run" : "part";
}

static int list_run(const char *file, void *arg, struct aif_err *err)
{
	const struct aif_side_opts from = {.open = aif_view_profile_for_people};
	struct listing *l = arg;
	struct aif_side s = {0};
	int r = aif_side_arg(file, &from, &s, err);

	if (!r && s.len) {
		const struct aif_run *run = &s.runs[0];
		time_t start = (time_t)run->start_s;
		struct tm tm;
		char date[32] = "";

		if (start && gmtime_r(&start, &tm))
			strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &tm);
		aif_table_text(&l->table, l->name);
		aif_table_text(&l->table, date);
		aif_table_text(&l->table, extent(run));
		aif_table_number(&l->table, run->steps);
		aif_table_number(&l->table, run->amount[AIF_RUN_ELAPSED]);
		aif_table_text(&l->table, aif_run_text(run, AIF_RUN_MACHINE));
		aif_table_text(&l->table, aif_run_text(run, AIF_RUN_LABEL));
		aif_table_text(&l->table, file);
		aif_table_text(&l->table, "");
	} else if (r != -ENOMEM) {
		list_wrong(l, file, err);
		r = 0;
	}
	aif_side_finish(&s);
	return r;
}

/* Lists the runs of one baseline; `is_found`: one that was found, not asked for, and may be something else. */
static int list_one(const char *baselines, const char *name, bool is_found, struct listing *l,
		    struct aif_err *err)
{
	char *path = aif_baseline_path(baselines, name, err);
	int r = path ? 0 : err->code;

	l->name = name;
	if (!r)
		r = each_run(path, list_run, l, err);
	if (r && r != -ENOMEM && is_found) {
		list_wrong(l, path ? path : name, err);
		r = 0;
	}
	free(path);
	return r;
}

static int list(const struct values *v, const char *name, struct aif_err *err)
{
	const char *baselines = v->baselines ? v->baselines : AIF_BASELINES;
	struct listing l = {0};
	struct dirent **names = NULL;
	struct aif_buf out = {0};
	int n = name ? 0 : scandir(baselines, &names, NULL, alphasort), r = 0;

	aif_table_init(&l.table, columns, AIF_ARRAY_LEN(columns));
	if (n < 0)
		r = aif_err_set(err, -errno, "%s: %s", baselines, strerror(errno));
	else if (name)
		r = list_one(baselines, name, false, &l, err);
	for (int i = 0; i < n; i++) {
		if (!r && *names[i]->d_name != '.')
			r = list_one(baselines, names[i]->d_name, true, &l, err);
		free(names[i]);
	}
	free(names);
	if (!r && aif_table_print(&l.table, AIF_TABLE_PLAIN, 0, &out) < 0)
		r = aif_err_set(err, -ENOMEM, "out of memory");
	if (!r)
		aif_view_print_text(&out, err);
	if (!r && l.any_wrong)
		r = aif_err_set(
			err, -EINVAL,
			"baseline: not all could be read; restore what has a problem, or set "
			"its baseline again");
	aif_buf_finish(&out);
	aif_table_finish(&l.table);
	return r;
}

/* Removes a run, and goes on where it cannot: `arg` is the struct aif_err that keeps the first reason. */
static int remove_any(const char *file, void *arg, struct aif_err *err)
{
	struct aif_err *first = arg;

	(void)err;
	if (unlink(file) < 0 && !first->code)
		aif_err_set(first, -errno, "%s: %s; remove it by hand", file, strerror(errno));
	return 0;
}

static int rm(const struct values *v, const char *name, struct aif_err *err)
{
	char *path = aif_baseline_path(v->baselines, name, err), *accepted = NULL;
	struct aif_err first = {0};
	int r = path ? each_run(path, remove_any, &first, err) : err->code;

	if (!r && asprintf(&accepted, "%s/" ACCEPTED, path) < 0) {
		accepted = NULL;
		r = aif_err_set(err, -ENOMEM, "out of memory");
	}
	if (!r && unlink(accepted) < 0 && errno != ENOENT)
		r = aif_err_set(err, -errno, "%s: %s", accepted, strerror(errno));
	if (!r && first.code) {
		*err = first;
		r = first.code;
	} else if (!r && rmdir(path) < 0)
		r = aif_err_set(err, -errno, "%s: %s", path, strerror(errno));
	free(accepted);
	free(path);
	return r;
}

/* True if there is something to accept a change of; else *err says what to do. */
static bool is_there(const struct values *v, const char *name, struct aif_err *err)
{
	char *path = aif_baseline_path(v->baselines, name, err);
	bool is = path && access(path, F_OK) == 0;

	if (path && !is)
		aif_err_set(err, -ENOENT,
			    "baseline: %s: there is none to accept a change of; make it by aiflame "
			    "baseline set %s SIDE",
			    path, name);
	free(path);
	return is;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	bool is_accept = !strcmp(words[0], "accept"), is_set = !strcmp(words[0], "set");
	int r;

	if (is_accept && words_len == 3 && (!v->reason || !v->reason[strspn(v->reason, " \t\n")])) {
		aif_err_set(err, -EINVAL,
			    "baseline: accept: --reason is missing; say why the change is meant: "
			    "--reason TEXT");
		return AIF_EXIT_USAGE;
	}
	if (is_accept && words_len == 3 && !is_there(v, words[1], err))
		return AIF_EXIT_FAILURE;
	if ((is_set || is_accept) && words_len == 3 && is_accept == !!v->reason)
		r = set(v, words[1], words[2], err);
	else if (!strcmp(words[0], "list") && words_len <= 2)
		r = list(v, words[1], err);
	else if (!strcmp(words[0], "rm") && words_len == 2)
		r = rm(v, words[1], err);
	else {
		aif_err_set(err, -EINVAL,
			    "baseline: give set NAME SIDE, accept NAME SIDE --reason TEXT, list "
			    "[NAME], or rm NAME");
		return AIF_EXIT_USAGE;
	}
	return r ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

const struct aif_command aif_command_baseline = {
	.name = "baseline",
	.words = "set|accept|list|rm [NAME [SIDE]]",
	.summary = "keep reduced runs to compare with later",
	.description =
		"Keeps runs, reduced to what comparisons need: at most 100 kB of text each. A\n"
		"baseline is a directory in aiflame.baselines, with a file for each run that is\n"
		"called by a hash of what is in it, so that git, a CI cache or object storage may hold\n"
		"it. baseline:NAME is then a side for aiflame diff and gate.\n\n"
		"`set NAME SIDE` reduces the runs of a side and puts them in the baseline's place.\n"
		"`accept NAME SIDE --reason TEXT` does the same after a change that is meant, and\n"
		"writes who accepted it, when and why to accepted.txt. `list` shows the runs of one\n"
		"or all, and whether each is a loop, a part or a whole run; `rm` removes a baseline.\n"
		"Stacks with the least time are left out, their time is their callers'.",
	.examples =
		"aiflame baseline set main aiflame.bench/a --label v1.4\tof five runs\n"
		"aiflame gate baseline:main aiflame.bench/b\tjudge a change by it\n"
		"aiflame baseline accept main new --reason 'fp32 head'\ta change that is meant\n"
		"aiflame baseline list\twhat there is\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.min_words = 1,
	.max_words = 3,
	.run = run,
};
