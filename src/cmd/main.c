/* SPDX-License-Identifier: Apache-2.0 */
#include "base/human.h"
#include "cmd/command.h"
#include "cmd/message.h"
#include "cmd/profile_arg.h"
#include "base/spill.h"
#include "record/attach/agent_path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define AIF_COMMAND(name) extern const struct aif_command aif_command_##name;
#include "cmd/commands.def"
#undef AIF_COMMAND

const struct aif_command *const aif_commands[] = {
#define AIF_COMMAND(name) &aif_command_##name,
#include "cmd/commands.def"
#undef AIF_COMMAND
	NULL,
};

static const struct aif_command *command_find(const char *name)
{
	for (size_t i = 0; aif_commands[i]; i++)
		if (!strcmp(aif_commands[i]->name, name))
			return aif_commands[i];
	return NULL;
}

static const char *nth_command(const void *arg, size_t i)
{
	(void)arg;
	return aif_commands[i] ? aif_commands[i]->name : NULL;
}

static int print(struct aif_buf *b, FILE *to, int status)
{
	fwrite(b->data, 1, b->len, to);
	aif_buf_finish(b);
	return status;
}

static int overview(FILE *to, int status)
{
	struct aif_buf b = {0};

	aif_buf_puts(
		&b,
		"aiflame shows where an AI workload's accelerator time goes, as one stack.\n\n"
		"usage: aiflame COMMAND [OPTIONS] ...\n\n"
		"  aiflame record ./my-program      run it under the profiler, write aiflame.data\n"
		"  aiflame flame                    draw aiflame.svg; open it in a browser\n\n"
		"commands:\n");
	for (size_t i = 0; aif_commands[i]; i++)
		aif_buf_printf(&b, "  %-10s %s\n", aif_commands[i]->name, aif_commands[i]->summary);
	aif_buf_puts(
		&b,
		"\n`aiflame COMMAND -h` explains a command, `-h --all` and `man aiflame-COMMAND` in full.\n"
		"`aiflame -V, --version` says which version this is, and what it can do.\n");
	return print(&b, to, status);
}

static int help(const struct aif_command *cmd, bool is_whole)
{
	struct aif_buf b = {0};

	aif_opts_help(cmd, is_whole, &b);
	return print(&b, stdout, AIF_EXIT_OK);
}

static int version(void)
{
	printf("aiflame %s (%s: %s sqlite zstd dwarf disassembly)\n", AIF_VERSION, AIF_MACHINE,
	       aif_agent_why_none() ? "no recording;" : "cuda opencl perf-event timers");
	return AIF_EXIT_OK;
}

static int usage_error(const char *text)
{
	fprintf(stderr, "aiflame %s\n", text);
	return AIF_EXIT_USAGE;
}

/* Names the word that is missing where there are too few: the next of those that are no option and in no brackets. */
static void wrong_words(const struct aif_command *cmd, int words_len)
{
	const char *word = cmd->words;
	bool are_few = words_len < cmd->min_words;

	while (*word == '[' && strchr(word, ' '))
		word = strchr(word, ' ') + 1;
	for (int i = 0; are_few && i < words_len && strchr(word, ' '); i++)
		word = strchr(word, ' ') + 1;
	fprintf(stderr, "aiflame %s: ", cmd->name);
	if (are_few)
		fprintf(stderr, "%.*s is missing", (int)strcspn(word, " "), word);
	else
		fputs("too many arguments", stderr);
	fprintf(stderr, "; usage: aiflame %s%s%s%s\n", cmd->name, cmd->opts ? " [OPTIONS]" : "",
		*cmd->words ? " " : "", cmd->words);
}

/* Options of the command that choose a part of a profile: "; choose a part of it with --time,
 * --process". */
static void put_part_options(const struct aif_command *cmd, struct aif_buf *to)
{
	static const char *const parts[] = {"time", "process", "kernel", "limit"};
	const char *before = "; select a part of it with --";

	AIF_OPTS_EACH (o, cmd)
		for (size_t i = 0; i < AIF_ARRAY_LEN(parts); i++)
			if (o->name && !strcmp(o->name, parts[i])) {
				aif_buf_printf(to, "%s%s", before, o->name);
				before = ", --";
			}
}

/* Explains the bound on memory, if aiflame has set one of its own. */
static void explain_memory(const struct aif_command *cmd)
{
	struct aif_buf size = {0}, parts = {0};
	uint64_t bytes;

	if (!aif_view_memory_bound(&bytes))
		return;
	aif_human_bytes(&size, bytes);
	put_part_options(cmd, &parts);
	aif_message("memory is bounded at %s, by what profiles of this size need%s",
		    aif_buf_str(&size), aif_buf_str(&parts));
	aif_buf_finish(&size);
	aif_buf_finish(&parts);
}

static int run(const struct aif_command *cmd, int argc, char **argv)
{
	struct aif_err err = {0};
	struct aif_words words;
	void *values = calloc(1, AIF_MAX(cmd->values_size, 1));
	int status;

	/* A limit on the size of files is an error of write(2), which is told, and after which
	 * nothing is left behind. What is run for the user has the signal as it was: record sees
	 * to that. */
	if (!cmd->runs_command) {
		signal(SIGXFSZ, SIG_IGN);
		aif_spill_begin(AIF_SPILL_ROOM);
	}
	if (!values) {
		aif_message("out of memory");
		return AIF_EXIT_FAILURE;
	}
	if (cmd->defaults)
		memcpy(values, cmd->defaults, cmd->values_size);
	if (aif_opts_parse(cmd, argc, argv, values, &words, &err) < 0) {
		status = usage_error(err.text);
	} else if (words.help) {
		status = help(cmd, words.help_all);
	} else if (words.len < cmd->min_words ||
		   (cmd->max_words >= 0 && words.len > cmd->max_words)) {
		wrong_words(cmd, words.len);
		status = AIF_EXIT_USAGE;
	} else {
		status = cmd->run(values, words.word, words.len, &err);
		if (status == AIF_EXIT_OK && !err.code && !cmd->runs_command &&
		    (fflush(stdout) || ferror(stdout)) && errno != EPIPE) {
			aif_err_set(&err, -errno, "standard output: %s", strerror(errno));
			status = AIF_EXIT_FAILURE;
		}
		if (err.code)
			aif_message("%s", err.text);
		if (err.code == -ENOMEM)
			explain_memory(cmd);
	}
	free(values);
	return status;
}

/* A closed standard descriptor's number would be given to the next file, a profile perhaps, and
 * messages written into it. Opened for reading only, it refuses them as before; the command does
 * not inherit it. */
static void occupy_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			return;
}

static int unknown_command(const char *name)
{
	const char *near = aif_nearest(name, nth_command, NULL);

	if (near)
		aif_message("unknown command '%s'; did you mean '%s'?", name, near);
	else
		aif_message("unknown command '%s'; see aiflame help", name);
	return AIF_EXIT_USAGE;
}

/* Helps as the words behind `help` ask for: a command, --all, in any order. */
static int help_words(char **words)
{
	const struct aif_command *cmd;
	const char *name = NULL;
	bool is_whole = false;

	for (; *words; words++)
		if (!strcmp(*words, "--all"))
			is_whole = true;
		else if (!name)
			name = *words;
	if (!name)
		return overview(stdout, AIF_EXIT_OK);
	cmd = command_find(name);
	return cmd ? help(cmd, is_whole) : unknown_command(name);
}

int main(int argc, char **argv)
{
	const struct aif_command *cmd;

	occupy_standard_descriptors();
	if (argc < 2)
		return overview(stderr, AIF_EXIT_USAGE);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return version();
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))
		return help_words(argv + 2);
	cmd = command_find(argv[1]);
	return cmd ? run(cmd, argc - 1, argv + 1) : unknown_command(argv[1]);
}
