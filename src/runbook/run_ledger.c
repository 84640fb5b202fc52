/* SPDX-License-Identifier: Apache-2.0 */
/* aiflame runbook ledger: adds a line to ledger.jsonl. */
#include "runbook/run_ledger.h"

#include "base/hash.h"
#include "probe/tool.h"
#include "runbook/grown.h"
#include "runbook/run_config.h"
#include "runbook/run_dir.h"
#include "text/values.h"
#include "text/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* Appends the first word that a tool prints; nothing where it fails. */
static bool tool_word(const char *const *argv, struct aif_buf *out)
{
	posix_spawn_file_actions_t files;
	struct aif_buf text = {0};
	int ends[2], e;
	pid_t pid;
	bool ok = false;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[1], 1);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	e = posix_spawnp(&pid, argv[0], &files, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	close(ends[1]);
	if (aif_tool_output(e ? -1 : pid, ends[0], 1 << 20, &text) == 0) {
		const char *word = aif_buf_str(&text);

		aif_buf_append(out, word, strcspn(word, " \n"));
		ok = true;
	}
	aif_buf_finish(&text);
	return ok;
}

static void put_artifacts(const char *dir, struct aif_buf *out)
{
	static const char *const names[] = {"profile_summary.json",     "perf_stat_summary.json",
					    "flamegraph_manifest.json", "vtune_summary.json",
					    "advisor_summary.json",     "perf_gate_report.json"};
	const char *before = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct aif_buf path = {0}, sum = {0};
		const char *argv[] = {"sha256sum", "--", NULL, NULL};

		aif_buf_printf(&path, "%s/%s", dir, names[i]);
		argv[2] = aif_buf_str(&path);
		if (tool_word(argv, &sum)) {
			/* Before the sum of a file whose path needs escapes stands a backslash. */
			const char *hex = aif_buf_str(&sum) + (*aif_buf_str(&sum) == '\\');

			aif_buf_printf(out, "%s\"%s\": {\"path\": ", before, names[i]);
			aif_out_json_escaped_text(out, aif_buf_str(&path));
			aif_buf_puts(out, ", \"sha256\": ");
			aif_out_json_escaped_text(out, hex);
			aif_buf_putc(out, '}');
			before = ", ";
		}
		aif_buf_finish(&path);
		aif_buf_finish(&sum);
	}
}

/*
 * The repository may be somebody else's, unpacked from an archive, and its configuration names programs that git would run:
 * a file system monitor, hooks, filters of changed files, helpers that fetch what is missing, the same in submodules.
 */
#define GIT                                                               \
	"git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", \
		"core.hooksPath=/dev/null", "-c", "protocol.allow=never"

static void put_git(struct aif_buf *out)
{
	static const char *const commit[] = {GIT, "rev-parse", "HEAD", NULL};
	static const char *const filters[] = {GIT,
					      "config",
					      "--local",
					      "--includes",
					      "--name-only",
					      "--get-regexp",
					      "^filter[.].*[.](clean|process)$",
					      NULL};
	static const char *const changed[] = {
		GIT, "status", "--porcelain", "-uno", "--ignore-submodules=all", NULL};
	struct aif_buf id = {0}, dirty = {0};

	if (tool_word(commit, &id)) {
		/* Filters cannot be switched off: what they would say is not known. */
		const char *is_dirty = tool_word(filters, &dirty)   ? "null"
				       : tool_word(changed, &dirty) ? "true"
								    : "false";

		aif_buf_puts(out, "{\"commit\": ");
		aif_out_json_escaped_text(out, aif_buf_str(&id));
		aif_buf_printf(out, ", \"dirty\": %s}", is_dirty);
	} else {
		aif_buf_puts(out, "null");
	}
	aif_buf_finish(&id);
	aif_buf_finish(&dirty);
}

/* Appends the stacks that grew since the baseline, null where that is no run directory. */
static void put_grown(const char *dir, const char *baseline, struct aif_buf *out)
{
	struct aif_buf before = {0}, after = {0};

	if (!baseline || !aif_runbook_dir_folded(baseline, &before) ||
	    !aif_runbook_dir_folded(dir, &after) || !aif_runbook_grown(&before, &after, out))
		aif_buf_puts(out, "null");
	aif_buf_finish(&before);
	aif_buf_finish(&after);
}

static void put_metrics(const struct aif_runbook_ledger_opts *v,
			const struct aif_runbook_values *values, struct aif_buf *out)
{
	const char *before = "";

	aif_buf_puts(out, ", \"metrics\": {");
	for (unsigned i = 0; i < AIF_RUNBOOK_VALUES; i++) {
		if (isnan(values->of[i]))
			continue;
		aif_buf_printf(out, "%s\"%s\": %.10g", before,
			       aif_runbook_value_key((enum aif_runbook_value)i), values->of[i]);
		before = ", ";
	}
	for (size_t i = 0; i < v->plan->metrics.len; i++) {
		size_t n;
		double value = aif_runbook_plan_metric(v->plan, i, v->dir, &n);

		if (!isfinite(value))
			continue;
		aif_buf_puts(out, before);
		aif_out_json_escaped(out, v->plan->metrics.at[i], n);
		aif_buf_printf(out, ": %.10g", value);
		before = ", ";
	}
	aif_buf_putc(out, '}');
}

/* Appends the line's members behind its id. */
static void put_members(const struct aif_runbook_ledger_opts *v, const struct aif_runbook_judged *j,
			struct aif_buf *line)
{
	struct aif_buf hash = {0};

	aif_buf_puts(line, "\"at\": \"");
	aif_iso_time_now(line);
	aif_buf_puts(line, "\", \"git\": ");
	put_git(line);
	aif_buf_puts(line, ", \"note\": ");
	aif_out_json_escaped_text(line, v->note ? v->note : "");
	aif_buf_puts(line, ", \"baseline\": ");
	if (v->baseline)
		aif_out_json_escaped_text(line, v->baseline);
	else
		aif_buf_puts(line, "null");
	aif_runbook_config_hash(v->dir, &hash);
	aif_buf_puts(line, ", \"config_hash\": ");
	aif_out_json_escaped_text(line, aif_buf_str(&hash));
	put_metrics(v, &j->values, line);
	aif_buf_printf(line,
		       ", \"verdict\": \"%s\", \"grown\": ", aif_runbook_verdict_word(j->verdict));
	put_grown(v->dir, v->baseline, line);
	aif_buf_puts(line, ", \"artifacts\": {");
	put_artifacts(v->dir, line);
	aif_buf_puts(line, "}}\n");
	aif_buf_finish(&hash);
}

/* Appends to a file all or nothing. */
static int append(const char *path, const struct aif_buf *line, struct aif_err *err)
{
	/* O_NONBLOCK: a FIFO that nobody reads is no reason to wait. */
	int fd = open(path,
		      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW |
			      O_NONBLOCK,
		      0666),
	    e = 0;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		e = fd < 0 ? -errno : -EINVAL;
		aif_err_set(err, e, "%s: %s", path,
			    e == -ELOOP || e == -ENXIO || e == -EINVAL ? "is a link or no file"
								       : strerror(-e));
	} else if (st.st_nlink > 1) {
		e = aif_err_set(
			err, -EMLINK,
			"%s: is another file, too (a hard link), which the line would go to; "
			"replace it by a copy",
			path);
	} else {
		n = write(fd, line->data, line->len);
		if (n != (ssize_t)line->len) {
			e = n < 0 ? -errno : -ENOSPC;
			aif_err_set(err, e, "%s: %s", path, strerror(-e));
			if (n > 0 && ftruncate(fd, st.st_size) < 0)
				aif_err_set(err, e, "%s: %s; its last line is torn", path,
					    strerror(-e));
		}
	}
	if (fd >= 0)
		close(fd);
	return e;
}

int aif_runbook_ledger(const struct aif_runbook_ledger_opts *v, struct aif_err *err)
{
	struct aif_runbook_judged j = {0};
	struct aif_buf line = {0}, rest = {0}, path = {0};
	int lock = -1, e = aif_runbook_dir_lock(v->dir, &lock, err);

	if (!e)
		e = aif_runbook_dir_judge(v->dir, v->family, v->expect, &j, err);
	if (!e) {
		put_members(v, &j, &rest);
		/* The id is a hash of all that the line says. */
		aif_buf_printf(&line,
			       "{\"schema\": \"aiflame.ledger.v1\", \"id\": \"%016" PRIx64 "\", %s",
			       aif_hash_bytes(rest.data, rest.len), aif_buf_str(&rest));
		aif_buf_printf(&path, "%s/ledger.jsonl", v->dir);
		e = aif_buf_failed(&line) || aif_buf_failed(&rest) || aif_buf_failed(&path)
			    ? aif_err_set(err, -ENOMEM, "runbook: out of memory")
			    : append(aif_buf_str(&path), &line, err);
	}
	if (lock >= 0)
		close(lock);
	aif_buf_finish(&line);
	aif_buf_finish(&rest);
	aif_buf_finish(&path);
	aif_buf_finish(&j.values.outside);
	return e;
}
