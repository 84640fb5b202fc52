/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_entry(const struct aif_opt *o)
{
	return o && (o->name || o->letter); /* a command may have no table */
}

static bool is_further(const struct aif_opt *o)
{
	return o->type == AIF_OPT_HEADING && o->value;
}

/* True if `-h` of the command leaves out options. */
static bool hides_options(const struct aif_command *cmd)
{
	const struct aif_opt *o = cmd->opts;

	while (is_entry(o) && !is_further(o))
		o++;
	return is_entry(o);
}

const struct aif_opt *aif_opts_from(const struct aif_opt *o)
{
	while (is_entry(o) && o->type == AIF_OPT_HEADING)
		o++;
	return is_entry(o) ? o : NULL;
}

/* Widths of `-h`: the column of options, and the whole line. */
enum { LEFT_COLUMNS = 26, HELP_COLUMNS = 100 };

/* An option as the user sees it: "--leaf", or "-o" where there is no long form. */
static const char *shown(const struct aif_opt *o, char text[64])
{
	if (o->name)
		snprintf(text, 64, "--%s", o->name);
	else
		snprintf(text, 64, "-%c", o->letter);
	return text;
}

/* The index of `word` in "one|two|three", or -1. */
static int choice_of(const char *choices, const char *word)
{
	size_t len = strlen(word);
	int i = 0;

	for (const char *p = choices;; p++, i++) {
		const char *end = strchrnul(p, '|');

		if ((size_t)(end - p) == len && !memcmp(p, word, len))
			return i;
		if (!*end)
			return -1;
		p = end;
	}
}

/* The option other than `o` that has given the value that they share, or NULL. */
static const struct aif_opt *set_before(const struct aif_command *cmd, const struct aif_opt *o,
					int value)
{
	const char *defaults = cmd->defaults;

	if (value == o->value || value == (defaults ? *(const int *)(defaults + o->at) : 0))
		return NULL;
	AIF_OPTS_EACH (other, cmd)
		if (other->type == AIF_OPT_SET && other->at == o->at && other->value == value)
			return other;
	return NULL;
}

/* Refuses values that would do nothing, or the contrary of what was meant: 0 is not taken for
 * "without a limit". */
static int check_least(const struct aif_command *cmd, const struct aif_opt *o, const char *arg,
		       uint64_t value, struct aif_err *err)
{
	bool is_size = o->type == AIF_OPT_BYTES;
	int large = is_size ? 1 << 10 : 1000000;
	bool is_large = o->value % large == 0;
	char name[64];

	if (value >= (uint64_t)o->value)
		return 0;
	return aif_err_set(err, -EINVAL,
			   "%s: %s: '%s' is too little; give %d%s or more, or leave it out",
			   cmd->name, shown(o, name), arg, is_large ? o->value / large : o->value,
			   is_size ? (is_large ? "K" : "") : (is_large ? "ms" : "ns"));
}

static int store(const struct aif_command *cmd, const struct aif_opt *o, const char *arg,
		 void *values, struct aif_err *err)
{
	void *to = (char *)values + o->at;
	const struct aif_opt *before;
	const char *wanted = NULL;
	char name[64];
	int i;

	switch (o->type) {
	case AIF_OPT_FLAG:
		*(bool *)to = true;
		return 0;
	case AIF_OPT_SET:
		before = set_before(cmd, o, *(int *)to);
		if (before)
			return aif_err_set(err, -EINVAL,
					   "%s: --%s and --%s exclude each other; give one",
					   cmd->name, before->name, o->name);
		*(int *)to = o->value;
		return 0;
	case AIF_OPT_STRING:
		*(const char **)to = arg;
		return 0;
	case AIF_OPT_LIST:
		for (i = 0; i < o->value && ((const char **)to)[i]; i++)
			;
		if (i == o->value)
			return aif_err_set(err, -EINVAL, "%s: %s: give at most %d", cmd->name,
					   shown(o, name), o->value);
		((const char **)to)[i] = arg;
		return 0;
	case AIF_OPT_COUNT:
		if (aif_parse_count(arg, to) < 0)
			wanted = "a number";
		break;
	case AIF_OPT_BYTES:
		if (aif_parse_bytes(arg, to) < 0)
			wanted = "a size such as 500M or 2G";
		else
			return check_least(cmd, o, arg, *(uint64_t *)to, err);
		break;
	case AIF_OPT_TIME:
		if (aif_parse_time(arg, to) < 0)
			wanted = "a time such as 1.5 (seconds), 10ms or 2m";
		else
			return check_least(cmd, o, arg, *(uint64_t *)to, err);
		break;
	case AIF_OPT_PERCENT:
		if (aif_parse_percent(arg, to) < 0)
			wanted = "a percentage from 0 to 100, such as 2 or 0.5";
		break;
	case AIF_OPT_SPAN:
		i = aif_parse_span(arg, to);
		if (i == -ERANGE)
			wanted = "an end behind the beginning";
		else if (i < 0)
			wanted =
				"FROM,TO such as 1.5,2 or 10ms, or one of loop, startup, tail, step:3, steps:3-5";
		break;
	case AIF_OPT_CHOICE:
		i = choice_of(o->arg, arg);
		if (i < 0)
			wanted = o->arg;
		else
			*(int *)to = i;
		break;
	case AIF_OPT_HEADING:
		break;
	}
	if (!wanted)
		return 0;
	return aif_err_set(err, -EINVAL, "%s: %s: '%s' is not understood; use %s", cmd->name,
			   shown(o, name), arg, wanted);
}

/* "row_limit" is "row-limit": other programs' words may be given as they are. */
static bool is_name(const char *name, const char *word, size_t len)
{
	if (strlen(name) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] != word[i] && (name[i] != '-' || word[i] != '_'))
			return false;
	return true;
}

static const struct aif_opt *find_long(const struct aif_command *cmd, const char *name, size_t len)
{
	AIF_OPTS_EACH (o, cmd)
		if (o->name && is_name(o->name, name, len))
			return o;
	return NULL;
}

static const struct aif_opt *find_letter(const struct aif_command *cmd, char letter)
{
	AIF_OPTS_EACH (o, cmd)
		if (o->letter == letter)
			return o;
	return NULL;
}

static const char *nth_option(const void *arg, size_t i)
{
	AIF_OPTS_EACH (o, (const struct aif_command *)arg)
		if (o->name && i-- == 0)
			return o->name;
	return NULL;
}

/* Names an option that a word with one dash is near to: "-kernels" is no letters. */
static int unknown_letters(const struct aif_command *cmd, const char *word, char letter,
			   struct aif_err *err)
{
	size_t len = strcspn(word + 1, "=");
	const struct aif_opt *o = find_long(cmd, word + 1, len);
	char name[64];
	const char *near;

	snprintf(name, sizeof(name), "%.*s", (int)AIF_MIN(len, sizeof(name) - 1), word + 1);
	near = o ? o->name : len > 2 ? aif_nearest(name, nth_option, cmd) : NULL;
	if (near)
		return aif_err_set(err, -EINVAL, "%s: unknown option '-%c'; did you mean --%s?",
				   cmd->name, letter, near);
	return aif_err_set(err, -EINVAL, "%s: unknown option '-%c'; see aiflame %s -h%s", cmd->name,
			   letter, cmd->name, hides_options(cmd) ? " --all" : "");
}

static int unknown(const struct aif_command *cmd, const char *word, size_t len, struct aif_err *err)
{
	char name[64];
	const char *near;

	snprintf(name, sizeof(name), "%.*s", (int)AIF_MIN(len, sizeof(name) - 1), word + 2);
	near = word[1] == '-' ? aif_nearest(name, nth_option, cmd) : NULL;
	if (near)
		return aif_err_set(err, -EINVAL, "%s: unknown option '%.*s'; did you mean --%s?",
				   cmd->name, (int)len + 2, word, near);
	return aif_err_set(err, -EINVAL, "%s: unknown option '%.*s'; see aiflame %s -h%s",
			   cmd->name, (int)len + 2, word, cmd->name,
			   hides_options(cmd) ? " --all" : "");
}

/* A value that was forgotten would swallow the next option, and that option's value would be run
 * as a command. */
static bool is_option(const struct aif_command *cmd, const char *word)
{
	if (word[0] != '-' || !word[1])
		return false;
	return word[1] == '-' || word[1] == 'h' || find_letter(cmd, word[1]);
}

/* The value of `o` is the next word, on which *i is put. */
static int next_value(const struct aif_command *cmd, const struct aif_opt *o, bool is_long,
		      char **argv, int argc, int *i, struct aif_err *err)
{
	const char *dashes = is_long ? "--" : "-";
	char name[64];

	snprintf(name, sizeof(name), "%.*s", is_long ? 63 : 1, is_long ? o->name : &o->letter);
	if (*i + 1 >= argc)
		return aif_err_set(err, -EINVAL, "%s: %s%s wants an argument: %s", cmd->name,
				   dashes, name, o->arg);
	if (is_option(cmd, argv[*i + 1]))
		return aif_err_set(err, -EINVAL,
				   "%s: %s%s wants an argument: %s, not the option '%s'; give "
				   "%s%s%s%s if that is meant",
				   cmd->name, dashes, name, o->arg, argv[*i + 1], dashes, name,
				   is_long ? "=" : "", argv[*i + 1]);
	++*i;
	return 0;
}

/* "--name", "--name=ARG", "--name ARG". Moves *i over what was used. */
static int parse_long(const struct aif_command *cmd, char **argv, int argc, int *i, void *values,
		      struct aif_err *err)
{
	const char *word = argv[*i] + 2, *eq = strchr(word, '=');
	size_t len = eq ? (size_t)(eq - word) : strlen(word);
	const struct aif_opt *o = find_long(cmd, word, len);

	if (!o)
		return unknown(cmd, argv[*i], len, err);
	if (!o->arg) {
		if (eq)
			return aif_err_set(err, -EINVAL, "%s: --%s takes no argument", cmd->name,
					   o->name);
		return store(cmd, o, NULL, values, err);
	}
	if (!eq && next_value(cmd, o, true, argv, argc, i, err) < 0)
		return -EINVAL;
	return store(cmd, o, eq ? eq + 1 : argv[*i], values, err);
}

/* "-x", "-xyz", "-xARG", "-x ARG". */
static int parse_letters(const struct aif_command *cmd, char **argv, int argc, int *i, void *values,
			 struct aif_err *err)
{
	for (const char *p = argv[*i] + 1; *p; p++) {
		const struct aif_opt *o = find_letter(cmd, *p);
		int r;

		if (!o)
			return unknown_letters(cmd, argv[*i], *p, err);
		if (o->arg && !p[1] && next_value(cmd, o, false, argv, argc, i, err) < 0)
			return -EINVAL;
		r = store(cmd, o, !o->arg ? NULL : p[1] ? p + 1 : argv[*i], values, err);
		if (r < 0 || o->arg)
			return r;
	}
	return 0;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "-h") || !strcmp(word, "--help");
}

/* True if `--all` stands beside a `-h`, among the words up to "--". */
static bool wants_whole_help(int argc, char **argv)
{
	bool wants_help = false, wants_all = false;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		wants_help |= is_help(argv[i]);
		wants_all |= !strcmp(argv[i], "--all");
	}
	return wants_help && wants_all;
}

int aif_opts_parse(const struct aif_command *cmd, int argc, char **argv, void *values,
		   struct aif_words *ret, struct aif_err *err)
{
	int words = 0, i;

	*ret = (struct aif_words){.word = argv + 1};
	for (i = 1; i < argc; i++) {
		int r;

		/* An option --all of the command's own is parsed as such: -h is met behind it. */
		if (is_help(argv[i]) || (!strcmp(argv[i], "--all") && !find_long(cmd, "all", 3) &&
					 wants_whole_help(argc, argv))) {
			ret->help = true;
			ret->help_all = wants_whole_help(argc, argv);
			return 0;
		}
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (argv[i][0] != '-' || !argv[i][1]) {
			if (cmd->runs_command)
				break;
			ret->word[words++] = argv[i];
			continue;
		}
		r = argv[i][1] == '-' ? parse_long(cmd, argv, argc, &i, values, err)
				      : parse_letters(cmd, argv, argc, &i, values, err);
		if (r < 0)
			return r;
	}
	while (i < argc)
		ret->word[words++] = argv[i++];
	ret->word[words] = NULL; /* room is there: argv[0] was left out */
	ret->len = words;
	return 0;
}

/* Appends an option's left column, then its help beside it, or below where the column is too
 * narrow, in lines of at most HELP_COLUMNS; not `is_whole`: only what stands before a form feed. */
static void put_option(const char *left, const char *help, bool is_whole, struct aif_buf *out)
{
	size_t left_len = strlen(left), at = LEFT_COLUMNS + 3;

	aif_buf_printf(out, "  %-*s", LEFT_COLUMNS, left);
	if (left_len > LEFT_COLUMNS)
		aif_buf_printf(out, "\n%*s", LEFT_COLUMNS + 2, "");
	for (size_t word; *help && (is_whole || *help != '\f');
	     help += word + (help[word] == ' ')) {
		const char *more;

		word = strcspn(help, is_whole ? " " : " \f");
		more = memchr(help, '\f', word);
		if (at > LEFT_COLUMNS + 3 && at + word - !!more > HELP_COLUMNS) {
			aif_buf_printf(out, "\n%*s", LEFT_COLUMNS + 2, "");
			at = LEFT_COLUMNS + 3;
		}
		aif_buf_printf(out, " %.*s%.*s", (int)(more ? more - help : (ptrdiff_t)word), help,
			       more ? (int)(help + word - more - 1) : 0, more ? more + 1 : "");
		at += word - !!more + 1;
	}
	aif_buf_puts(out, "\n");
}

/* Appends an option with its help. */
static void put_help(const struct aif_opt *o, bool is_whole, struct aif_buf *out)
{
	char left[128];
	int n = 0;

	if (o->letter)
		n += snprintf(left, sizeof(left), "-%c%s", o->letter, o->name ? ", " : "");
	else
		n += snprintf(left, sizeof(left), "    ");
	if (o->name)
		n += snprintf(left + n, sizeof(left) - (size_t)n, "--%s", o->name);
	if (o->arg)
		snprintf(left + n, sizeof(left) - (size_t)n, " %s", o->arg);
	put_option(left, o->help, is_whole, out);
}

/* Appends the description; the text behind a form feed is shown by -h --all alone. */
static void put_description(const char *text, bool is_whole, struct aif_buf *out)
{
	const char *rest = strchrnul(text, '\f');
	size_t len = (size_t)(rest - text);

	while (!is_whole && *rest && len && text[len - 1] == '\n')
		len--;
	aif_buf_printf(out, "%.*s%s\n", (int)len, text, is_whole && *rest ? rest + 1 : "");
}

void aif_opts_help(const struct aif_command *cmd, bool is_whole, struct aif_buf *out)
{
	const struct aif_opt *o = cmd->opts;

	aif_buf_printf(out, "usage: aiflame %s%s%s%s\n\n", cmd->name,
		       is_entry(o) ? " [OPTIONS]" : "", cmd->words[0] ? " " : "", cmd->words);
	put_description(cmd->description, is_whole, out);
	if (is_entry(o))
		aif_buf_puts(out, "\noptions:\n");
	for (; is_entry(o) && (is_whole || !is_further(o)); o++)
		if (o->type == AIF_OPT_HEADING)
			aif_buf_printf(out, "%s:\n", o->help);
		else
			put_help(o, is_whole, out);
	aif_buf_puts(out, "\nexamples:\n");
	for (const char *p = cmd->examples; *p;) {
		const char *end = strchrnul(p, '\n'), *tab = memchr(p, '\t', (size_t)(end - p));

		aif_buf_printf(out, "  %-56.*s %.*s\n", (int)((tab ? tab : end) - p), p,
			       tab ? (int)(end - tab - 1) : 0, tab ? tab + 1 : "");
		p = *end ? end + 1 : end;
	}
	if (!is_whole && (is_entry(o) || strchr(cmd->description, '\f')))
		aif_buf_printf(out, "\n`aiflame %s -h --all` %s.\n", cmd->name,
			       is_entry(o) ? "has further options and says more" : "says more");
}

/* ---- words that nobody knows ------------------------------------------------------------------ */

enum { LONGEST = 40 };

/* Edits between a and b, where swapping two neighbours counts once; AIF distance is capped by the
 * length of words that anybody types as a command or an option. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[3][LONGEST + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > LONGEST || lb > LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= lb; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *cur = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

		cur[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned d = last[j - 1] + (a[i - 1] != b[j - 1]);

			d = AIF_MIN(d, last[j] + 1);
			d = AIF_MIN(d, cur[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d = AIF_MIN(d, before[j - 2] + 1);
			cur[j] = d;
		}
	}
	return row[la % 3][lb];
}

const char *aif_nearest(const char *word, const char *(*next)(const void *arg, size_t i),
			const void *arg)
{
	const char *best = NULL, *s;
	unsigned best_distance = LONGEST;

	for (size_t i = 0; (s = next(arg, i)); i++) {
		unsigned d = distance(word, s);

		/* A beginning is as good as a slip: "instr" for "instruction". */
		if (strlen(word) >= 3 && !strncmp(word, s, strlen(word)))
			d = 1;
		if (d < best_distance) {
			best_distance = d;
			best = s;
		}
	}
	/* Allows one slip in a short word, two in a longer one: "bogus" is no "focus". */
	return best_distance <= (strlen(word) < 6 ? 1 : 2) ? best : NULL;
}
