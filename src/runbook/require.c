/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/require.h"

#include "base/buf.h"
#include "text/json_value.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define ENDING ".json:"

/* Splits FILE.json:WAY=VALUE. A word with a blank or a sign of the shell before the colon is a command. */
static bool split(const char *arg, size_t *ret_file, const char **ret_way, const char **ret_value)
{
	const char *colon = strstr(arg, ENDING), *is;

	if (!colon || colon == arg || strcspn(arg, " \t\n=|&;<>()$`'\"") < (size_t)(colon - arg))
		return false;
	colon += strlen(ENDING) - 1;
	is = strchr(colon, '=');
	if (!is || is == colon + 1 || !is[1])
		return false;
	*ret_file = (size_t)(colon - arg);
	*ret_way = colon + 1;
	*ret_value = is + 1;
	return true;
}

int aif_require_check(const char *who, const char *const *args, struct aif_err *err)
{
	for (size_t i = 0; args[i]; i++)
		if (strspn(args[i], " \t\r\n") == strlen(args[i]))
			return aif_err_set(err, -EINVAL,
					   "%s: --require '%s' is empty; give a shell command, or "
					   "FILE.json:WAY=VALUE",
					   who, args[i]);
	return 0;
}

/* True if `arg` is a value of a file; else it is a command. */
static bool is_value(const char *arg)
{
	const char *way, *value;
	size_t file;

	return split(arg, &file, &way, &value);
}

bool aif_require_is_of_each(const char *arg)
{
	const char *way, *value;
	size_t file;

	return split(arg, &file, &way, &value) && memmem(arg, file, "{}", 2);
}

/* True if both are the same text, or, where the file has a number, the same number. */
static bool is_same(struct aif_buf *is, bool is_number, const char *value)
{
	char *end;
	double want = strtod(value, &end);

	if (is->len == strlen(value) && !memcmp(aif_buf_str(is), value, is->len))
		return true;
	return is_number && end != value && !*end && isfinite(want) &&
	       strtod(aif_buf_str(is), NULL) == want;
}

static bool holds(const char *arg, const char *of, struct aif_err *ret)
{
	struct aif_buf path = {0}, from = {0}, is = {0};
	const char *way, *value;
	struct aif_err why = {0};
	size_t file;
	bool ok, is_number = false;

	split(arg, &file, &way, &value);
	aif_json_path(arg, file, of, strlen(of), &path);
	aif_buf_printf(&from, "%s%.*s", *way == '.' || *way == '[' ? "" : ".",
		       (int)(value - 1 - way), way);
	ok = !aif_buf_failed(&path) && !aif_buf_failed(&from) &&
	     aif_json_scalar(aif_buf_str(&path), aif_buf_str(&from), &is, &is_number, &why) == 0 &&
	     !aif_buf_failed(&is) && is_same(&is, is_number, value);
	if (!ok && why.code)
		aif_err_set(ret, -EPERM, "--require %s: %s: nothing is judged", arg, why.text);
	else if (!ok)
		aif_err_set(ret, -EPERM, "--require %s: it is %.200s in %s: nothing is judged", arg,
			    aif_buf_str(&is), aif_buf_str(&path));
	aif_buf_finish(&path);
	aif_buf_finish(&from);
	aif_buf_finish(&is);
	return ok;
}

/* True for what system() returns after Ctrl-C, of the shell or of what it ran. */
static bool is_interrupt(int status)
{
	return status > 0 && (WIFEXITED(status) ? WEXITSTATUS(status) == 128 + SIGINT
						: WTERMSIG(status) == SIGINT);
}

static bool succeeds(const char *command, struct aif_err *ret)
{
	struct aif_buf line = {0};
	int status;

	aif_buf_printf(&line, "{ %s\n} >&2", command);
	status = aif_buf_failed(&line) ? -1 : system(aif_buf_str(&line));
	aif_buf_finish(&line);
	if (status)
		aif_err_set(ret, -EPERM, "--require '%s' %s: nothing is judged", command,
			    is_interrupt(status) ? "was interrupted" : "failed");
	return !status;
}

int aif_require(const char *who, const char *arg, const char *of, aif_say *say, struct aif_err *why)
{
	struct aif_err is = {0};
	bool ok = is_value(arg) ? holds(arg, of, &is) : succeeds(arg, &is);

	if (ok)
		return 0;
	say("%s: %s", who, is.text);
	if (why)
		*why = is;
	return AIF_EXIT_REQUIRED;
}
