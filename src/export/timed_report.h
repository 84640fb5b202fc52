/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/filter.h"
#include "export/process_names.h"
#include "export/report.h"
#include "profile/op_tree.h"

/*
 * The tables that need no attribution but times, made from what is read here once: operators (ops.c), ranges,
 * and what analyses of traces tell of steps, devices, streams and communication (work.h has the definitions).
 */

/* Of operators' and kernels' names in plain tables; as wide as torch's. */
#define AIF_OPS_NAME_COLUMNS 55

#define AIF_TITLES_MAX 16
#define AIF_TITLE_MAX  32

struct aif_timed_report {
	const struct aif_profile *p;
	const struct aif_report_opts *o;
	const struct aif_timed *timed;
	struct aif_op_tree *ops;
	const struct aif_regex *kernel;
	const struct aif_process_names *processes;
	struct aif_table *t;
	struct aif_buf *before, *after; /* lines above and below a plain table */
	const char *titles[AIF_TITLES_MAX];
	char title_space[4][AIF_TITLE_MAX];
};

static inline bool aif_timed_report_is(const struct aif_report_opts *o)
{
	return o->kind >= AIF_REPORT_OPS;
}

/* Appends the table; one without rows says so if it is plain. 0; -EINVAL with *err for an unknown column or a wrong
 * expression, -ENODATA with it where it cannot be known what there is, -ENOMEM. */
int aif_timed_report_write(const struct aif_profile *p, const struct aif_report_opts *opts,
			   struct aif_buf *out, struct aif_err *err);

/* Each fills r->t. 0 or -errno with *err. */
int aif_ops_table(struct aif_timed_report *r, struct aif_err *err);
int aif_ops_of_stacks_table(struct aif_timed_report *r, struct aif_err *err);
int aif_ranges_table(struct aif_timed_report *r, struct aif_err *err);
int aif_steps_table(struct aif_timed_report *r, struct aif_err *err);
int aif_breakdown_table(struct aif_timed_report *r, struct aif_err *err);
int aif_comm_table(struct aif_timed_report *r, struct aif_err *err);
int aif_idle_table(struct aif_timed_report *r, struct aif_err *err);
int aif_streams_table(struct aif_timed_report *r, struct aif_err *err);
int aif_counters_table(struct aif_timed_report *r, struct aif_err *err);

/* Standard errors of what rows have of the device's time: by operator the row that has its time and its children's (AIF_NONE:
 * none), and by execution, NULL or the row that has its own. 0 or -ENOMEM. */
int aif_op_errors(const struct aif_timed_report *r, const uint32_t *row_of_op,
		  const uint32_t *row_of_exec, size_t rows, uint64_t *ret);

/* Says below the table what its column other_threads has, if it has anything. what: "step", "range". */
void aif_timed_report_say_others(struct aif_timed_report *r, const char *what, uint64_t ns);

/* Says above the table that it is "of what was captured, 7.2 % of the launches", where some were left out; `rest` goes on. */
void aif_timed_report_say_part(struct aif_timed_report *r, const char *rest);

/* Is the execution one of what --kernel asks for? */
bool aif_timed_report_keeps(const struct aif_timed_report *r, const struct aif_timed_exec *x);
/* The same, for aif_op_tree_add_device. */
bool aif_timed_report_keep(const void *r, const struct aif_timed_exec *x);

/* Appends a process's number or name (process_names.h). */
void aif_timed_report_put_process(const struct aif_timed_report *r, uint32_t process,
				  struct aif_buf *out);

/* Cells with the same, with a device's name, and with what an execution ran: in full for programs, which may look for it in other
 * tables. */
void aif_timed_report_process_cell(struct aif_timed_report *r, uint32_t process);
void aif_timed_report_device_cell(struct aif_timed_report *r, uint32_t device);
void aif_timed_report_kernel_cell(struct aif_timed_report *r, uint32_t kind, uint32_t kernel);

/* The plain table leaves the column out. */
void aif_timed_report_hide(struct aif_timed_report *r, const char *column);

/* The plain table leaves out columns of amounts in which all is 0, and processes where there is one. Tables with a
 * column of processes. */
void aif_timed_report_hide_empty(struct aif_timed_report *r);

/* What people call the device: "CUDA", "XPU", "AIU"; "DEVICE" where there are several kinds. */
void aif_device_word(const struct aif_profile *p, char ret[16]);
