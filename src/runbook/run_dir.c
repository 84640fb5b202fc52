/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/run_dir.h"

#include "base/open_regular.h"
#include "runbook/run_profile.h"
#include "text/json.h"
#include "text/json_value.h"
#include "text/out.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Returns a number of a JSON file, NAN where it has none at that way. */
static double number_of(const char *path, const char *way, const char *member)
{
	struct aif_err none = {0};
	struct aif_buf at = {0};
	double value;

	aif_buf_printf(&at, "%s%s", way, member);
	if (aif_json_value(path, aif_buf_str(&at), &value, &none) < 0)
		value = NAN;
	aif_buf_finish(&at);
	return value;
}

int aif_runbook_dir_values(const char *dir, const char *expect, struct aif_runbook_values *ret,
			   struct aif_err *err)
{
	struct aif_buf path = {0};
	int e;

	*ret = (struct aif_runbook_values){0};
	for (size_t i = 0; i < AIF_RUNBOOK_VALUES; i++)
		ret->of[i] = ret->least[i] = ret->most[i] = NAN;
	aif_buf_printf(&path, "%s/perf_stat_summary.json", dir);
	if (access(aif_buf_str(&path), R_OK) < 0)
		e = aif_err_set(err, -errno, "%s: %s; make it with aiflame runbook run",
				aif_buf_str(&path), strerror(errno));
	else {
		aif_buf_clear(&path);
		aif_buf_printf(&path, "%s/profile_summary.json", dir);
		e = aif_runbook_profile_read(aif_buf_str(&path), expect, ret, err);
	}
	for (unsigned i = 0; i < AIF_RUNBOOK_VALUES && !e; i++) {
		const char *file = aif_runbook_value_file((enum aif_runbook_value)i),
			   *runs = aif_runbook_value_runs((enum aif_runbook_value)i);

		if (!*file)
			continue;
		aif_buf_clear(&path);
		aif_buf_printf(&path, "%s/%s", dir, file);
		ret->of[i] = number_of(aif_buf_str(&path),
				       aif_runbook_value_way((enum aif_runbook_value)i), "");
		if (!*runs)
			continue;
		ret->least[i] = number_of(aif_buf_str(&path), runs, ".min");
		ret->most[i] = number_of(aif_buf_str(&path), runs, ".max");
	}
	aif_buf_finish(&path);
	return e;
}

#define MOST_FOLDED (64 << 20)

/* ---- files ----------------------------------------------------------------------------------- */

int aif_runbook_dir_lock(const char *dir, int *ret_fd, struct aif_err *err)
{
	*ret_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd < 0 || flock(*ret_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		aif_err_set(err, -EWOULDBLOCK,
			    "runbook: another aiflame works in %s; wait for it, or give --dir",
			    dir);
	close(*ret_fd);
	*ret_fd = -1;
	return err->code;
}

static int put_file(const char *path, const struct aif_buf *text, struct aif_err *err)
{
	struct aif_out out;
	int e = aif_out_open_here(&out, path, err);

	if (e)
		return e;
	aif_buf_append(aif_out_buf(&out), text->data, text->len);
	return aif_out_commit(&out, err);
}

int aif_runbook_dir_put(const char *dir, const char *name, const struct aif_buf *text,
			struct aif_err *err)
{
	struct aif_buf path = {0};
	struct stat st;
	int e;

	if (aif_buf_failed(text))
		return aif_err_set(err, -ENOMEM, "runbook: out of memory");
	aif_buf_printf(&path, "%s/%s", dir, name);
	e = put_file(aif_buf_str(&path), text, err);
	aif_buf_clear(&path);
	aif_buf_printf(&path, "%s/.ck_build", dir);
	if (!e && stat(aif_buf_str(&path), &st) == 0 && S_ISDIR(st.st_mode)) {
		aif_buf_printf(&path, "/%s", name);
		e = put_file(aif_buf_str(&path), text, err);
	}
	aif_buf_finish(&path);
	return e;
}

/* Removes `name` under a directory, where it is. 0 or -errno with *err. */
static int drop(const char *dir, const char *name, struct aif_err *err)
{
	struct aif_buf path = {0};
	int e = 0;

	aif_buf_printf(&path, "%s/%s", dir, name);
	if (unlink(aif_buf_str(&path)) < 0 && errno != ENOENT && errno != ENOTDIR)
		e = aif_err_set(err, -errno, "%s: %s", aif_buf_str(&path), strerror(errno));
	aif_buf_finish(&path);
	return e;
}

int aif_runbook_dir_drop(const char *dir, const char *name, struct aif_err *err)
{
	struct aif_buf build = {0};
	int e = drop(dir, name, err);

	aif_buf_printf(&build, "%s/.ck_build", dir);
	if (!e)
		e = drop(aif_buf_str(&build), name, err);
	aif_buf_finish(&build);
	return e;
}

int aif_runbook_dir_read(const char *dir, const char *name, size_t max, struct aif_buf *ret,
			 struct aif_err *err)
{
	struct aif_buf path = {0};
	struct stat st;
	int fd, e = 0;

	aif_buf_printf(&path, "%s/%s", dir, name);
	fd = aif_open_regular(AT_FDCWD, aif_buf_str(&path), O_RDONLY | O_NOFOLLOW);
	if (fd < 0)
		e = aif_err_set(err, fd, "%s: %s", aif_buf_str(&path),
				fd == -EINVAL || fd == -ELOOP ? "is a link or no file"
							      : strerror(-fd));
	else if (fstat(fd, &st) < 0 || (uint64_t)st.st_size > max ||
		 aif_read_regular(fd, (uint64_t)st.st_size, ret) < 0)
		e = aif_err_set(err, -EFBIG, "%s: cannot be read, or too large",
				aif_buf_str(&path));
	if (fd >= 0)
		close(fd);
	aif_buf_finish(&path);
	return e;
}

/* The manifest may be somebody else's: its paths are not followed. */
bool aif_runbook_dir_folded(const char *dir, struct aif_buf *ret)
{
	struct aif_buf path = {0}, mode = {0};
	struct aif_err none = {0};
	bool is_number, ok;

	aif_buf_printf(&path, "%s/flamegraph_manifest.json", dir);
	ok = aif_json_scalar(aif_buf_str(&path), ".mode", &mode, &is_number, &none) == 0 &&
	     mode.len && !memchr(mode.data, '/', mode.len);
	if (ok) {
		aif_buf_puts(&mode, ".folded");
		ok = aif_runbook_dir_read(dir, aif_buf_str(&mode), MOST_FOLDED, ret, &none) == 0;
	}
	aif_buf_finish(&path);
	aif_buf_finish(&mode);
	return ok;
}

static void put_index(const char *dir, struct aif_buf *out)
{
	static const char *const names[] = {
		"train_e2e_latest.json",
		"training_loss_curve_latest.json",
		"training_parity_latest.json",
		"training_grad_norms_latest.json",
		"training_step_profile_latest.json",
		"training_checkpoint_policy_latest.json",
		"memory_diagnostic_latest.json",
		"memory_verification_latest.json",
		"layout_train.json",
		"layout_train_audit.json",
		"generated_train_runtime_summary_v7.json",
		"ir1_train_forward.json",
		"ir2_train_backward.json",
		"profile_summary.json",
		"perf_stat_summary.json",
		"flamegraph_manifest.json",
		"cachegrind_summary.json",
		"asan_summary.json",
		"vtune_summary.json",
		"advisor_summary.json",
		"run_index.json",
		"perf_gate_report.json",
	};
	char *whole = realpath(dir, NULL);
	struct aif_buf path = {0};

	if (whole)
		dir = whole;
	aif_buf_printf(out,
		       "{\n  \"schema\": \"ck.run.index.v1\",\n  \"generated_by\": \"aiflame\",\n"
		       "  \"generated_at_epoch\": %lld,\n  \"run_dir\": ",
		       (long long)time(NULL));
	aif_out_json_escaped_text(out, dir);
	aif_buf_puts(out, ",\n  \"files\": {");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct stat st = {0};
		bool is_there;

		aif_buf_clear(&path);
		aif_buf_printf(&path, "%s/%s", dir, names[i]);
		is_there = stat(aif_buf_str(&path), &st) == 0;
		aif_buf_printf(out, "%s\n    \"%s\": {\"path\": ", i ? "," : "", names[i]);
		aif_out_json_escaped_text(out, aif_buf_str(&path));
		aif_buf_printf(out, ", \"exists\": %s, \"size_bytes\": %lld}",
			       is_there ? "true" : "false", is_there ? (long long)st.st_size : 0);
	}
	aif_buf_puts(out, "\n  }\n}\n");
	aif_buf_finish(&path);
	free(whole);
}

int aif_runbook_dir_put_index(const char *dir, struct aif_err *err)
{
	struct aif_buf text = {0};
	int e;

	put_index(dir, &text);
	e = aif_runbook_dir_put(dir, "run_index.json", &text, err);
	aif_buf_finish(&text);
	return e;
}

int aif_runbook_dir_judge(const char *dir, const char *family, const char *expect,
			  struct aif_runbook_judged *ret, struct aif_err *err)
{
	char *path = realpath(dir, NULL);
	int e = aif_runbook_dir_values(dir, expect, &ret->values, err);

	ret->family = family ? family : aif_runbook_family(path ? path : dir);
	free(path);
	if (e)
		return e;
	aif_runbook_budgets(ret->family, ret->budgets);
	ret->verdict = aif_runbook_judge(&ret->values, ret->budgets, ret->checks);
	ret->signals_len = aif_runbook_signals(&ret->values, NULL, ret->signals);
	return 0;
}
