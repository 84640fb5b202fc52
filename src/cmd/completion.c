/* SPDX-License-Identifier: Apache-2.0 */
/* Writes completions of shells from the tables of commands and options, which parse and help, too. */
#include "cmd/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_file(const struct aif_opt *o)
{
	return o->type == AIF_OPT_STRING && o->arg &&
	       (!strcmp(o->arg, "FILE") || !strcmp(o->arg, "DIR") || !strcmp(o->arg, "OUT"));
}

/* Appends a text inside of single quotes of the shell; `colons`: zsh's, which divides at them. */
static void put_quoted(struct aif_buf *b, const char *text, bool colons)
{
	for (; *text; text++)
		if (*text == '\'')
			aif_buf_puts(b, colons ? "'\\''" : "\\'");
		else if (*text == '\\')
			aif_buf_puts(b, "\\\\");
		else if (colons && strchr(":[]", *text))
			aif_buf_printf(b, "\\%c", *text);
		else if (*text != '\f')
			aif_buf_putc(b, *text);
}

/* Appends the words of a choice, "a|b|c", with spaces between. */
static void put_words(struct aif_buf *b, const char *words)
{
	for (; *words; words++)
		aif_buf_putc(b, *words == '|' ? ' ' : *words);
}

static void put_commands(struct aif_buf *b)
{
	for (size_t i = 0; aif_commands[i]; i++)
		aif_buf_printf(b, "%s ", aif_commands[i]->name);
	aif_buf_puts(b, "help");
}

/* ---- bash ---------------------------------------------------------------------------------------- */

/* Appends "record.-o|record.--output", as the cases of the script below compare. */
static void bash_case(struct aif_buf *b, const char *command, const struct aif_opt *o)
{
	if (o->letter)
		aif_buf_printf(b, "%s.-%c%s", command, o->letter, o->name ? "|" : "");
	if (o->name)
		aif_buf_printf(b, "%s.--%s", command, o->name);
}

/* Appends the cases of options whose values are words. */
static void bash_values(struct aif_buf *b, const struct aif_command *c)
{
	AIF_OPTS_EACH (o, c) {
		if (!o->arg || is_file(o))
			continue;
		aif_buf_puts(b, "\t");
		bash_case(b, c->name, o);
		aif_buf_puts(b, ") values=\"");
		if (o->type == AIF_OPT_CHOICE)
			put_words(b, o->arg);
		else if (o->type == AIF_OPT_SPAN)
			aif_buf_puts(b, "loop startup tail");
		aif_buf_puts(b, "\" ;;\n");
	}
}

/* Appends the cases of options whose value is a file. */
static void bash_files(struct aif_buf *b, const struct aif_command *c)
{
	AIF_OPTS_EACH (o, c)
		if (is_file(o)) {
			aif_buf_puts(b, "\t");
			bash_case(b, c->name, o);
			aif_buf_puts(b, ") return ;;\n");
		}
}

static void bash_write(struct aif_buf *b)
{
	aif_buf_puts(b, "# Completion of aiflame for bash, written by `aiflame completion bash`.\n"
			"_aiflame() {\n"
			"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
			"\tlocal command=${COMP_WORDS[1]} options= values=none\n"
			"\tCOMPREPLY=()\n"
			"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
			"\t\tCOMPREPLY=($(compgen -W '");
	put_commands(b);
	aif_buf_puts(b, " -h --help -V --version' -- \"$cur\"))\n"
			"\t\treturn\n"
			"\tfi\n"
			"\tcase $command.$prev in\n");
	for (size_t i = 0; aif_commands[i]; i++) {
		bash_files(b, aif_commands[i]);
		bash_values(b, aif_commands[i]);
	}
	aif_buf_puts(b, "\tesac\n"
			"\tif [ \"$values\" != none ]; then\n"
			"\t\tCOMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n"
			"\t\treturn\n"
			"\tfi\n"
			"\tcase $command in\n");
	aif_buf_puts(b, "\thelp) COMPREPLY=($(compgen -W '");
	put_commands(b);
	aif_buf_puts(b, " --all' -- \"$cur\")); return ;;\n");
	for (size_t i = 0; aif_commands[i]; i++) {
		const struct aif_command *c = aif_commands[i];

		aif_buf_printf(b, "\t%s) options='", c->name);
		AIF_OPTS_EACH (o, c) {
			if (o->letter)
				aif_buf_printf(b, "-%c ", o->letter);
			if (o->name)
				aif_buf_printf(b, "--%s ", o->name);
		}
		aif_buf_puts(b, "-h --help' ;;\n");
	}
	aif_buf_puts(
		b,
		"\tesac\n"
		"\tcase \" ${COMP_WORDS[*]:2:COMP_CWORD-2} \" in\n"
		"\t*' -h '* | *' --help '*) COMPREPLY=($(compgen -W --all -- \"$cur\")); return ;;\n"
		"\tesac\n"
		"\tcase $cur in\n"
		"\t-*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
		"\tesac\n"
		"}\n"
		"complete -o default -o bashdefault -F _aiflame aiflame\n");
}

/* ---- zsh ----------------------------------------------------------------------------------------- */

/* Appends one specification of _arguments: '--name=[help]:ARG:values'. */
static void zsh_option(struct aif_buf *b, const struct aif_opt *o, bool is_long)
{
	aif_buf_puts(b, " \\\n\t\t\t'*");
	if (is_long)
		aif_buf_printf(b, "--%s%s", o->name, o->arg ? "=" : "");
	else
		aif_buf_printf(b, "-%c%s", o->letter, o->arg ? "+" : "");
	aif_buf_putc(b, '[');
	put_quoted(b, o->help, true);
	aif_buf_putc(b, ']');
	if (o->arg) {
		aif_buf_putc(b, ':');
		put_quoted(b, o->type == AIF_OPT_CHOICE ? "word" : o->arg, true);
		aif_buf_putc(b, ':');
		if (o->type == AIF_OPT_CHOICE) {
			aif_buf_putc(b, '(');
			put_words(b, o->arg);
			aif_buf_putc(b, ')');
		} else if (o->type == AIF_OPT_SPAN) {
			aif_buf_puts(b, "(loop startup tail)");
		} else if (is_file(o)) {
			aif_buf_puts(b, "_files");
		}
	}
	aif_buf_putc(b, '\'');
}

/* True if the command has an option --all of its own. */
static bool has_all(const struct aif_command *c)
{
	AIF_OPTS_EACH (o, c)
		if (o->name && !strcmp(o->name, "all"))
			return true;
	return false;
}

static void zsh_write(struct aif_buf *b)
{
	aif_buf_puts(b, "#compdef aiflame\n"
			"# Completion of aiflame for zsh, written by `aiflame completion zsh`.\n"
			"_aiflame() {\n"
			"\tlocal -a commands=(\n");
	for (size_t i = 0; aif_commands[i]; i++) {
		aif_buf_printf(b, "\t\t'%s:", aif_commands[i]->name);
		put_quoted(b, aif_commands[i]->summary, true);
		aif_buf_puts(b, "'\n");
	}
	aif_buf_puts(b, "\t)\n"
			"\tif (( CURRENT == 2 )); then\n"
			"\t\t_describe command commands\n"
			"\t\treturn\n"
			"\tfi\n"
			"\tlocal command=$words[2]\n"
			"\twords=(\"aiflame $command\" \"${(@)words[3,-1]}\")\n"
			"\t(( CURRENT-- ))\n"
			"\tcase $command in\n");
	for (size_t i = 0; aif_commands[i]; i++) {
		const struct aif_command *c = aif_commands[i];

		aif_buf_printf(b, "\t%s)\n\t\t_arguments '(-h --help)'{-h,--help}'[help]'",
			       c->name);
		if (!has_all(c))
			aif_buf_puts(b, " \\\n\t\t\t'--all[with -h\\: the whole help]'");
		AIF_OPTS_EACH (o, c) {
			if (o->letter)
				zsh_option(b, o, false);
			if (o->name)
				zsh_option(b, o, true);
		}
		aif_buf_printf(b, " \\\n\t\t\t'%s' ;;\n",
			       c->runs_command ? "*::command:_normal" : "*:file:_files");
	}
	aif_buf_puts(b, "\tesac\n}\n_aiflame \"$@\"\n");
}

/* ---- fish ---------------------------------------------------------------------------------------- */

static void fish_write(struct aif_buf *b)
{
	aif_buf_puts(
		b,
		"# Completion of aiflame for fish, written by `aiflame completion fish`.\n"
		"complete -c aiflame -n '__fish_contains_opt -s h help' -l all -d 'with -h: the whole help'\n");
	for (size_t i = 0; aif_commands[i]; i++) {
		const struct aif_command *c = aif_commands[i];

		aif_buf_printf(b, "complete -c aiflame -n __fish_use_subcommand -f -a %s -d '",
			       c->name);
		put_quoted(b, c->summary, false);
		aif_buf_puts(b, "'\n");
		AIF_OPTS_EACH (o, c) {
			aif_buf_printf(b, "complete -c aiflame -n '__fish_seen_subcommand_from %s'",
				       c->name);
			if (o->letter)
				aif_buf_printf(b, " -s %c", o->letter);
			if (o->name)
				aif_buf_printf(b, " -l %s", o->name);
			if (o->arg)
				aif_buf_puts(b, is_file(o) ? " -r -F" : " -x");
			if (o->type == AIF_OPT_CHOICE || o->type == AIF_OPT_SPAN) {
				aif_buf_puts(b, " -a '");
				put_words(b,
					  o->type == AIF_OPT_CHOICE ? o->arg : "loop|startup|tail");
				aif_buf_putc(b, '\'');
			}
			aif_buf_puts(b, " -d '");
			put_quoted(b, o->help, false);
			aif_buf_puts(b, "'\n");
		}
	}
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	static const struct {
		const char *name;
		void (*write)(struct aif_buf *b);
	} shells[] = {{"bash", bash_write}, {"zsh", zsh_write}, {"fish", fish_write}};
	struct aif_buf b = {0};

	(void)values, (void)words_len;
	for (size_t i = 0; i < AIF_ARRAY_LEN(shells); i++)
		if (!strcmp(words[0], shells[i].name)) {
			shells[i].write(&b);
			if (aif_buf_failed(&b))
				aif_err_set(err, -ENOMEM, "completion: out of memory");
			else
				fwrite(b.data, 1, b.len, stdout);
			aif_buf_finish(&b);
			return err->code ? AIF_EXIT_FAILURE : AIF_EXIT_OK;
		}
	aif_err_set(err, -EINVAL, "completion: '%s' is not understood; use bash|zsh|fish",
		    words[0]);
	return AIF_EXIT_USAGE;
}

const struct aif_command aif_command_completion = {
	.name = "completion",
	.words = "bash|zsh|fish",
	.summary = "what a shell completes: commands, options, their values",
	.description =
		"Writes the completion of a shell, made of the same tables that parse the options.\n"
		"Installing aiflame puts it where the shells look; without that, as in a bundle, the\n"
		"examples load it into the shell that runs.",
	.examples = "eval \"$(aiflame completion bash)\"\tin ~/.bashrc\n"
		    "aiflame completion zsh >~/.zfunc/_aiflame\tin a directory of $fpath\n"
		    "aiflame completion fish | source\tin config.fish\n",
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
