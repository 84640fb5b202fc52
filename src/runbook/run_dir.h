/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "names/profile_names.h"
#include "runbook/judge.h"

#include <sched.h>

/* Reads what the rules look at. `expect`: classes that the time should be in, with commas between. What is not there is
 * NAN. 0; -ENOENT with *err: there is no profile_summary.json or perf_stat_summary.json; another -errno: it is damaged. */
int aif_runbook_dir_values(const char *dir, const char *expect, struct aif_runbook_values *ret,
			   struct aif_err *err);

/* Takes the directory for this process alone until *ret_fd is closed. 0, *ret_fd being -1 where its file system has no locks or
 * it is not there; -EWOULDBLOCK with *err: another process has it. */
int aif_runbook_dir_lock(const char *dir, int *ret_fd, struct aif_err *err);

/* Writes a file of the directory whole or not at all, and the same to .ck_build where the directory has one. */
int aif_runbook_dir_put(const char *dir, const char *name, const struct aif_buf *text,
			struct aif_err *err);
/* Removes a file here and in .ck_build, where it is. 0 or -errno with *err. */
int aif_runbook_dir_drop(const char *dir, const char *name, struct aif_err *err);
/* Writes run_index.json: which of the known files are there. */
int aif_runbook_dir_put_index(const char *dir, struct aif_err *err);
/* Reads a file of at most `max` bytes, which is no link. 0, or -errno with *err. */
int aif_runbook_dir_read(const char *dir, const char *name, size_t max, struct aif_buf *ret,
			 struct aif_err *err);

/* Reads the folded stacks of the directory's first mode. False: there are none. */
bool aif_runbook_dir_folded(const char *dir, struct aif_buf *ret);

/* Writes the page of a profile, as `aiflame view` does. 0 or -errno with *err. */
typedef int aif_runbook_page(const char *profile, const char *page, struct aif_err *err);
/* Writes NAME.html beside each NAME.data. 0 or -errno with *err. hub.c */
int aif_runbook_pages(const char *dir, aif_runbook_page *write, struct aif_err *err);
/* Appends the directory's page, with its files inside and links to those of its recordings. hub.c */
void aif_runbook_hub(const char *dir, const struct aif_runbook_values *v,
		     const struct aif_runbook_check checks[AIF_RUNBOOK_BUDGETS],
		     const struct aif_runbook_signal *signals, size_t signals_len,
		     struct aif_buf *out);

/* Options of aif_runbook_run(). */
struct aif_runbook_run_opts {
	const char *dir;          /* made where it is not there */
	const char *const *modes; /* at least one, at most AIF_RUNBOOK_MODES */
	size_t modes_len;
	const char *rate;              /* CPU samples a second */
	const char *cpu_clock;         /* what starts them: --cpu-clock of record */
	uint32_t runs, threads;        /* threads 0: not pinned */
	uint32_t warmup;               /* runs before, which nobody counts */
	char *const *env;              /* NAME=VALUE of the command, NULL-terminated; NULL: none */
	const cpu_set_t *cpus;         /* NULL: not pinned */
	bool with_vtune, with_advisor; /* these analyse it, too */
	bool is_deep;                  /* VTune's longer analyses, and the machine's roofs */
	bool with_roofline;       /* the same, and what is below them, counted under callgrind */
	char **argv;              /* what is run */
	char **words;             /* the same, as it was given: {} stands for the directory */
	aif_profile_opener *open; /* of recordings */
	aif_say *say;
};
#define AIF_RUNBOOK_MODES 16

/* Counts and records the command and writes the directory's files. 0 or -errno with *err. run.c */
int aif_runbook_run(const struct aif_runbook_run_opts *o, struct aif_err *err);

struct aif_runbook_judged {
	struct aif_runbook_values values; /* .outside is finished by the caller */
	struct aif_runbook_check checks[AIF_RUNBOOK_BUDGETS];
	double budgets[AIF_RUNBOOK_BUDGETS];
	enum aif_runbook_verdict verdict;
	const char *family;
	struct aif_runbook_signal signals[AIF_RUNBOOK_SIGNALS_MAX];
	size_t signals_len;
};

/* Reads a directory and judges it. family NULL: by the directory's name. 0 or -errno with *err. */
int aif_runbook_dir_judge(const char *dir, const char *family, const char *expect,
			  struct aif_runbook_judged *ret, struct aif_err *err);
