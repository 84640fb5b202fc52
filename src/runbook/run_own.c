/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/run_own.h"

#include "base/buf.h"
#include "runbook/run_dir.h"
#include "runbook/run_tools.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_LISTED (64 << 10)

static const char *const fixed[] = {
	"profile_summary.json",
	"profile_decode.csv",
	"profile_decode.json",
	"perf_stat_summary.txt",
	"perf_stat_summary.json",
	"flamegraph_manifest.json",
	"vtune_summary.json",
	"advisor_summary.json",
	"perf_gate_report.json",
	"run_index.json",
	"config.json",
	"hub.html",
	"advisor",
	"advisor.txt",
	"advisor.csv",
	"callgrind",
	"roofline.svg",
};
/* Ends of names that begin with that of a mode or of a VTune analysis. */
static const char *const of_mode[] = {".svg", ".folded", ".html"};
static const char *const of_vtune[] = {"", ".txt", ".csv", ".data", ".html"};

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && !strcmp(name + n - m, end);
}

/* True for a name that a run may have given: the list may be somebody else's, too. */
static bool may_be_own(const char *name)
{
	if (strchr(name, '/') || *name == '.')
		return false;
	for (size_t i = 0; i < AIF_ARRAY_LEN(fixed); i++)
		if (!strcmp(name, fixed[i]))
			return true;
	for (size_t i = 0; i < AIF_ARRAY_LEN(of_mode); i++)
		if (ends_with(name, of_mode[i]))
			return true;
	return !strncmp(name, "vtune-", 6);
}

static void list_names(const char *const *modes, size_t modes_len, struct aif_buf *out)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(fixed); i++)
		aif_buf_printf(out, "%s\n", fixed[i]);
	for (size_t i = 0; i < modes_len; i++)
		for (size_t k = 0; k < AIF_ARRAY_LEN(of_mode); k++)
			aif_buf_printf(out, "%s%s\n", modes[i], of_mode[k]);
	for (size_t i = 0; i < AIF_RUNBOOK_ANALYSES; i++)
		for (size_t k = 0; k < AIF_ARRAY_LEN(of_vtune); k++)
			aif_buf_printf(out, "vtune-%s%s\n", aif_runbook_analysis_name(i),
				       of_vtune[k]);
}

/* Calls each(dir, name, arg) for every line of a list until it fails. The list is changed. */
static int each_name(const char *dir, char *list,
		     int (*each)(const char *dir, const char *name, void *arg, struct aif_err *err),
		     void *arg, struct aif_err *err)
{
	int e = 0;

	for (char *name = list, *end; *name && !e; name = end) {
		end = name + strcspn(name, "\n");
		if (*end)
			*end++ = '\0';
		if (*name && may_be_own(name))
			e = each(dir, name, arg, err);
	}
	return e;
}

static bool is_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = list; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (!strncmp(at, name, n) && (at[n] == '\n' || !at[n]))
			return true;
	return false;
}

/* Refuses what is there and in no list. */
static int refuse_others(const char *dir, const char *name, void *arg, struct aif_err *err)
{
	struct aif_buf path = {0};
	struct stat st;
	int e = 0;

	aif_buf_printf(&path, "%s/%s", dir, name);
	if (!is_listed(arg, name) && lstat(aif_buf_str(&path), &st) == 0)
		e = aif_err_set(err, -EEXIST,
				"%s: is there, and no run of aiflame made it; move it, or give "
				"another --dir",
				aif_buf_str(&path));
	aif_buf_finish(&path);
	return e;
}

/* True for what is a directory if a run made it. */
static bool is_directory_of_run(const char *name)
{
	return !strcmp(name, "advisor") || (!strncmp(name, "vtune-", 6) && !strchr(name, '.'));
}

/* Refuses a directory where a run made a file: what is in it is the user's. */
static int refuse_directory(const char *dir, const char *name, void *arg, struct aif_err *err)
{
	struct aif_buf path = {0};
	struct stat st;
	int e = 0;

	(void)arg;
	aif_buf_printf(&path, "%s/%s", dir, name);
	if (!is_directory_of_run(name) && lstat(aif_buf_str(&path), &st) == 0 &&
	    S_ISDIR(st.st_mode))
		e = aif_err_set(err, -EEXIST,
				"%s: is a directory, and no run of aiflame made it; move it, or "
				"give another --dir",
				aif_buf_str(&path));
	aif_buf_finish(&path);
	return e;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int remove_own(const char *dir, const char *name, void *arg, struct aif_err *err)
{
	struct aif_buf path = {0};
	struct stat st;
	int e = 0;

	(void)arg;
	aif_buf_printf(&path, "%s/%s", dir, name);
	if (lstat(aif_buf_str(&path), &st) == 0 && S_ISDIR(st.st_mode)) {
		if (nftw(aif_buf_str(&path), remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
			e = aif_err_set(err, -errno, "%s: %s", aif_buf_str(&path), strerror(errno));
	} else {
		e = aif_runbook_dir_drop(dir, name, err);
	}
	aif_buf_finish(&path);
	return e;
}

int aif_runbook_own_begin(const char *dir, const char *const *modes, size_t modes_len,
			  struct aif_err *err)
{
	struct aif_buf old = {0}, now = {0}, check = {0}, listed = {0};
	struct aif_err none = {0};
	int e = aif_runbook_dir_read(dir, AIF_RUNBOOK_MARK, MOST_LISTED, &old, &none);

	if (e && e != -ENOENT) {
		aif_err_set(err, e, "%s", none.text);
	} else {
		list_names(modes, modes_len, &now);
		aif_buf_append(&check, now.data, now.len);
		aif_buf_append(&listed, old.data, old.len);
		e = aif_buf_failed(&now) || aif_buf_failed(&check) || aif_buf_failed(&old) ||
				    aif_buf_failed(&listed)
			    ? aif_err_set(err, -ENOMEM, "runbook: out of memory")
			    : each_name(dir, (char *)aif_buf_str(&check), refuse_others,
					(void *)aif_buf_str(&old), err);
		if (!e)
			e = each_name(dir, (char *)aif_buf_str(&listed), refuse_directory, NULL,
				      err);
		if (!e)
			e = each_name(dir, (char *)aif_buf_str(&old), remove_own, NULL, err);
		if (!e)
			e = aif_runbook_dir_put(dir, AIF_RUNBOOK_MARK, &now, err);
	}
	aif_buf_finish(&old);
	aif_buf_finish(&now);
	aif_buf_finish(&check);
	aif_buf_finish(&listed);
	return e;
}

void aif_runbook_own_remove_empty(const char *dir)
{
	struct dirent **list;
	int n = scandir(dir, &list, NULL, NULL);
	bool is_empty = n >= 0;

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;

		is_empty &= !strcmp(name, ".") || !strcmp(name, "..") ||
			    !strcmp(name, AIF_RUNBOOK_MARK);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	if (is_empty && aif_runbook_dir_drop(dir, AIF_RUNBOOK_MARK, NULL) == 0)
		rmdir(dir);
}
