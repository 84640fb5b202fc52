/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/message.h"
#include "cmd/profile_arg.h"
#include "compare/side.h"
#include "compare/words.h"
#include "probe/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LIST_MAX = 32, RUNS_MAX = 100 };
/* Rows of tables at the end. */
#define MOST_ROWS  10
#define CONDITIONS "conditions.txt"

extern char **environ;

struct values {
	const char *output, *against, *record[LIST_MAX + 1];
	uint32_t runs, warm_up;
};

#define AT(field) offsetof(struct values, field)
static const struct aif_opt opts[] = {
	{'n', "runs", "N", AIF_OPT_COUNT, AT(runs), 0, "runs a side (5)"},
	{0, "against", "COMMAND", AIF_OPT_STRING, AT(against), 0,
	 "side B, in one word, run in turns with CMD, which is side A"},
	{'o', "output", "DIR", AIF_OPT_STRING, AT(output), 0,
	 "where recordings go: DIR/a and DIR/b (aiflame.bench)"},
	{0, "warm-up", "N", AIF_OPT_COUNT, AT(warm_up), 0,
	 "runs a side before these, which are not kept (1)"},
	{0, "record", "OPTION", AIF_OPT_LIST, AT(record), LIST_MAX,
	 "an option of aiflame record: --record=--all-launches; may be given several times"},
	{0},
};
static const struct values defaults = {.runs = 5, .warm_up = 1, .output = "aiflame.bench"};

struct bench {
	const struct values *v;
	char **command;
	FILE *conditions;
};

/* ---- Ctrl-C ---------------------------------------------------------------------------------- */

static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t stopped; /* the signal */
static volatile sig_atomic_t is_sent; /* to this process alone: the recorder has not got it */
static volatile pid_t recorder;

/* Lets the recorder end its recording, which is waited for. A terminal sends its signals to both. */
static void on_stop(int number, siginfo_t *info, void *context)
{
	int e = errno;

	(void)context;
	stopped = number;
	if (info->si_code <= 0) {
		is_sent = 1;
		if (recorder > 0)
			kill(recorder, number);
	}
	errno = e;
}

static void catch_stops(void)
{
	struct sigaction stop = {.sa_sigaction = on_stop, .sa_flags = SA_SIGINFO}, before;

	sigemptyset(&stop.sa_mask);
	for (size_t i = 0; i < AIF_ARRAY_LEN(stops); i++)
		if (sigaction(stops[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(stops[i], &stop, NULL);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int make_directory(const char *dir, const char *in, struct aif_err *err)
{
	struct aif_buf path = {0};
	int r = 0;

	aif_buf_printf(&path, in ? "%s/%s" : "%s", dir, in);
	if (aif_buf_failed(&path))
		r = aif_err_set(err, -ENOMEM, "out of memory");
	else if (mkdir(aif_buf_str(&path), 0777) < 0)
		r = aif_err_set(err, -errno, "%s: %s%s", aif_buf_str(&path), strerror(errno),
				errno == EEXIST ? "; remove it, or give another -o" : "");
	aif_buf_finish(&path);
	return r;
}

/* True if one word is a command of a shell, and no program's name: of both sides alike. */
static bool is_for_shell(const char *word)
{
	return strpbrk(word, " \t\n|&;<>()$`\\\"'*?[#~=%") && access(word, X_OK) < 0;
}

/* Runs `aiflame record` with the command of a side; what both print goes to `log`. Returns the exit status, or -errno. */
static int record(const struct bench *b, bool is_b, const char *profile, const char *log)
{
	const char *args[LIST_MAX + 8] = {"aiflame", "record", "-o", profile};
	const char *const other[] = {b->v->against, NULL};
	const char *const *command = is_b ? other : (const char *const *)b->command;
	const char *const shell[] = {"/bin/sh", "-c", command[0], NULL};
	posix_spawn_file_actions_t files;
	size_t n = 4, words = 0;
	const char **argv;
	pid_t pid;
	int e;

	for (size_t i = 0; b->v->record[i]; i++)
		args[n++] = b->v->record[i];
	args[n++] = "--";
	if (!command[1] && is_for_shell(command[0]))
		command = shell;
	while (command[words])
		words++;
	argv = calloc(n + words + 1, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	memcpy(argv, args, n * sizeof(*argv));
	memcpy(argv + n, command, words * sizeof(*argv));
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	posix_spawn_file_actions_adddup2(&files, 1, 2);
	e = posix_spawn(&pid, "/proc/self/exe", &files, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	free(argv);
	if (e)
		return -e;
	recorder = pid;
	if (is_sent)
		kill(pid, stopped);
	e = aif_tool_wait(pid);
	recorder = 0;
	return e;
}

/* Appends the first line of a file, "?" where there is none. */
static void put_line(const char *path, FILE *out)
{
	char line[128] = "?";
	FILE *f = fopen(path, "re");

	if (f && !fgets(line, sizeof(line), f))
		strcpy(line, "?");
	line[strcspn(line, "\n")] = '\0';
	fputs(line, out);
	if (f)
		fclose(f);
}

/* Notes what a run had around it: when it began, the load and the temperature that the OS reports. */
static void note_conditions(const struct bench *b, char side, uint32_t number)
{
	time_t now = time(NULL);
	struct tm tm;
	char date[32] = "";

	if (gmtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fprintf(b->conditions, "%c %u  %s  load ", side, number, date);
	put_line("/proc/loadavg", b->conditions);
	fputs("  millidegrees ", b->conditions);
	put_line("/sys/class/thermal/thermal_zone0/temp", b->conditions);
	fputc('\n', b->conditions);
	fflush(b->conditions);
}

/* Makes one run; number 0: a warm-up, whose recording is removed. */
static int run_once(const struct bench *b, bool is_b, uint32_t number, struct aif_err *err)
{
	struct aif_buf profile = {0}, log = {0};
	char side = is_b ? 'b' : 'a', name[24];
	int status, r = 0;

	snprintf(name, sizeof(name), number ? "%u" : ".warm-up", number);
	aif_buf_printf(&profile, "%s/%c/%s.data", b->v->output, side, name);
	aif_buf_printf(&log, "%s/%c/%s.out", b->v->output, side, name);
	if (aif_buf_failed(&profile) || aif_buf_failed(&log)) {
		r = aif_err_set(err, -ENOMEM, "out of memory");
		goto done;
	}
	if (number)
		note_conditions(b, side, number);
	status = stopped ? 0 : record(b, is_b, aif_buf_str(&profile), aif_buf_str(&log));
	if (stopped) {
		r = aif_err_set(err, -EINTR,
				"bench: interrupted in %s %u of side %c, which is removed; runs "
				"before it are in %s",
				number ? "run" : "warm-up", number, is_b ? 'B' : 'A', b->v->output);
		number = 0;
	} else if (status < 0)
		r = aif_err_set(err, status, "bench: %s", strerror(-status));
	else if (status)
		r = aif_err_set(err, -ECHILD,
				"bench: side %c ended with status %d: no run to compare; %s has "
				"what it printed",
				is_b ? 'B' : 'A', status, aif_buf_str(&log));
	if (!number && (!r || stopped)) {
		unlink(aif_buf_str(&profile));
		unlink(aif_buf_str(&log));
	}
done:
	aif_buf_finish(&profile);
	aif_buf_finish(&log);
	return r;
}

/* Makes one run of each side: A before B and B before A in turns. */
static int run_round(const struct bench *b, uint32_t round, uint32_t number, struct aif_err *err)
{
	bool two = b->v->against;
	bool first = two && round % 2;
	int r = run_once(b, first, number, err);

	return r || !two ? r : run_once(b, !first, number, err);
}

static int run_all(const struct bench *b, struct aif_err *err)
{
	int r = 0;

	for (uint32_t i = 0; i < b->v->warm_up && !r; i++)
		r = run_round(b, i, 0, err);
	for (uint32_t i = 0; i < b->v->runs && !r; i++) {
		r = run_round(b, i, i + 1, err);
		if (!r)
			aif_message("bench: %u of %u", i + 1, b->v->runs);
	}
	return r;
}

static int compare(const struct values *v, struct aif_err *err)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	struct aif_buf a = {0}, b = {0}, out = {0};
	const struct aif_side_opts from = {.open = aif_view_profile_for_people};
	struct aif_sides s = {0};
	int r = 0;

	aif_buf_printf(&a, "%s/a", v->output);
	aif_buf_printf(&b, "%s/b", v->output);
	if (aif_buf_failed(&a) || aif_buf_failed(&b))
		r = aif_err_set(err, -ENOMEM, "out of memory");
	if (!r)
		r = aif_sides_compare((char *[]){(char *)aif_buf_str(&a), (char *)aif_buf_str(&b)},
				      &from, &o, &s, err);
	if (!r) {
		aif_comparison_text(&s.c, MOST_ROWS, aif_view_columns(), &out);
		aif_view_print_text(&out, err);
	}
	aif_buf_finish(&out);
	aif_sides_finish(&s);
	aif_buf_finish(&a);
	aif_buf_finish(&b);
	return r;
}

static int prepare(struct bench *b, struct aif_err *err)
{
	struct aif_buf path = {0};
	int r = make_directory(b->v->output, NULL, err);

	if (!r)
		r = make_directory(b->v->output, "a", err);
	if (!r && b->v->against)
		r = make_directory(b->v->output, "b", err);
	aif_buf_printf(&path, "%s/" CONDITIONS, b->v->output);
	if (!r) {
		b->conditions = aif_buf_failed(&path) ? NULL : fopen(aif_buf_str(&path), "we");
		if (!b->conditions)
			r = aif_err_set(err, -errno, "%s: %s", aif_buf_str(&path), strerror(errno));
	}
	aif_buf_finish(&path);
	return r;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *v = values;
	struct bench b = {.v = v, .command = words};
	int r;

	if (words_len > 1 && is_for_shell(words[0])) {
		aif_err_set(err, -EINVAL,
			    "bench: '%s' is no program; a shell's command is one word, and options "
			    "stand before it",
			    words[0]);
		return AIF_EXIT_USAGE;
	}
	if (!v->runs || v->runs > RUNS_MAX) {
		aif_err_set(err, -EINVAL, "-n: 1 to %d runs", RUNS_MAX);
		return AIF_EXIT_USAGE;
	}
	r = prepare(&b, err);
	catch_stops();
	if (!r)
		r = run_all(&b, err);
	if (b.conditions)
		fclose(b.conditions);
	if (!r && v->against)
		r = compare(v, err);
	else if (!r)
		printf("%u runs in %s/a\n", v->runs, v->output);
	return r == -EINTR && stopped ? 128 + stopped : r ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
}

const struct aif_command aif_command_bench = {
	.name = "bench",
	.words = "[--] CMD...",
	.summary = "record sets of runs to compare, two commands in turns",
	.description =
		"Records CMD several times, and with --against another command in turns with it, A B\n"
		"B A, so that a machine that warms up or gets busy favours neither; then compares\n"
		"them as aiflame diff does. A command in one word goes to a shell where it has blanks\n"
		"or a shell's characters, on both sides. Recordings stay in DIR/a and DIR/b, each with what its\n"
		"run printed (1.out) beside it: sides of aiflame diff and gate.\n\n"
		"DIR/conditions.txt has the date of each run, and the load and temperature that the\n"
		"OS reports. Clocks of NVIDIA's GPUs are in the recordings. A run\n"
		"that ends with a status other than 0 ends the bench. So does Ctrl-C, which removes\n"
		"the run it came in.",
	.examples = "aiflame bench -n 5 -- python3 train.py\tfive runs, for a baseline\n"
		    "aiflame bench --against 'python3 new.py' 'python3 old.py'\tA and B in turns\n"
		    "aiflame gate aiflame.bench/a aiflame.bench/b\tjudge them\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(struct values),
	.min_words = 1,
	.max_words = -1,
	.runs_command = true,
	.run = run,
};
