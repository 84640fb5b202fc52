/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/filter.h"
#include "names/stack_names.h"
#include "report/report.h"
#include "analysis/op_tree.h"
#include "analysis/utilization.h"

/*
 * Definition of a table of reports.def, and the data that its fill function is given. report.c does the rest: reads what
 * the table needs, sorts, prints, and says why a table has no rows.
 */

struct aif_report;

enum aif_report_needs {
	AIF_REPORT_NEEDS_ATTRIBUTION = 1, /* r->a */
	AIF_REPORT_NEEDS_TIMELINE = 2,    /* r->timeline */
	AIF_REPORT_NEEDS_OPS = 4, /* r->ops: launches belong to operators, ranges and steps */
	AIF_REPORT_NEEDS_OPERATORS =
		8, /* r->ops: launches belong to operators, where there are any */
};

struct aif_report_table {
	unsigned needs; /* enum aif_report_needs */
	unsigned lacks; /* enum aif_lack: what makes rows or numbers of it incomplete */
	unsigned
		by; /* 1 << enum aif_report_by of what --by may group its rows by; 0: --by is not for it */
	bool hides_zeros; /* plain: columns of amounts that are 0 in all rows, and `process` for one process; names those of which
			   * none is known */
	bool wants_times; /* an empty table refers to `launches` where launches have no times */
	bool wants_cpu;   /* an empty table says why there are no CPU samples */
	const char *rows; /* the noun of "no ROWS": "copies" */
	const char *hint; /* an empty table's advice on how to get rows; NULL: see aiflame info */
	const char *no_kernel; /* the reason to refuse --kernel; NULL: accepted */
	/* The number of launches that were left out and of which an empty table may be missing
	 * rows; NULL: 0. */
	uint64_t (*left_out)(const struct aif_report *r);
	/* NULL: fill calls aif_table_init itself, or writes to r->out and makes no table. */
	const struct aif_table_column *columns;
	size_t columns_len;
	/* Returns the column that another program's word for --sort means, or the word; NULL: there are no such words. */
	const char *(*sort_column)(const struct aif_table *t, const char *word);
	/* Prints the plain table in place of aif_table_print where .style of the options asks for it. */
	void (*print_style)(struct aif_report *r);
	/* Fills r->t, in its own order. 0 or -errno, with *err but for -ENOMEM. */
	int (*fill)(struct aif_report *r, struct aif_err *err);
};
#define AIF_REPORT_COLUMNS(array) .columns = (array), .columns_len = AIF_ARRAY_LEN(array)

#define AIF_TITLES_MAX 32
#define AIF_TITLE_MAX  32

/* A table in the making. */
struct aif_report {
	const struct aif_profile *p;
	const struct aif_names *names;
	const struct aif_report_opts *o;
	const struct aif_report_table *table;
	const struct aif_attribution *a;
	const struct aif_exec_timeline *timeline; /* empty where the table does not need it */
	struct aif_op_tree ops;
	uint64_t damaged; /* chunks that the fill function could not read */
	struct aif_regex kernel;
	struct aif_process_names processes;
	struct aif_stack_names *stacks; /* NULL until aif_report_name_stacks */
	struct aif_table t;
	uint64_t cpu_ns, device_ns;   /* totals that shares of --ops are of */
	struct aif_buf before, after; /* lines above and below a plain table that has rows */
	struct aif_buf *out;
	uint32_t limit; /* rows to print; 0 = all */
	const char *titles[AIF_TITLES_MAX];
	char title_space[AIF_TITLES_MAX][AIF_TITLE_MAX];
	struct aif_table_column made[AIF_TITLES_MAX]; /* columns that depend on the profile */
};

/* ---- what is shown --------------------------------------------------------------------------- */

/* True for work that --kernel asks for. */
bool aif_report_has_kernel(const struct aif_report *r, uint32_t kind, uint32_t kernel);
/* The same of an execution; `r` is a struct aif_report (aif_op_tree_add_device). */
bool aif_report_has_exec(const void *r, const struct aif_timeline_exec *x);

/* Makes r->stacks: names of launch stacks in that detail, backwards joined. 0 or -errno with
 * *err. */
int aif_report_name_stacks(struct aif_report *r, enum aif_name_detail detail, struct aif_err *err);

/* Implement .left_out: all launches left out if the attribution has no row, or if no device has an
 * execution. */
uint64_t aif_report_left_out_rows(const struct aif_report *r);
uint64_t aif_report_left_out_execs(const struct aif_report *r);

/* Sets *ret to what is chosen, but of all times, and reads r->timeline anew for that if times are chosen: loops and queues are
 * those of the whole run. 0 or -errno. */
int aif_report_read_whole(struct aif_report *r, struct aif_selection *ret);

/* ---- cells ----------------------------------------------------------------------------------- */

/* Appends a process's number or name (process_names.h). */
void aif_report_put_process(const struct aif_report *r, uint32_t process, struct aif_buf *out);

/* Adds a cell with a process's number or name, or a device's name. */
void aif_report_process_cell(struct aif_report *r, uint32_t process);
void aif_report_device_cell(struct aif_report *r, uint32_t device);
/* Adds a cell with the name of a kernel or transfer: in full for programs, which may look for it in
 * other tables. */
void aif_report_kernel_cell(struct aif_report *r, uint32_t kind, uint32_t kernel);

/* Leaves out the middle of a long stack's line: what launched stays, and the program's outermost function. */
void aif_report_elide_stack(struct aif_buf *line);

/* ---- columns and notes ----------------------------------------------------------------------- */

/* Leaves the column out of the plain table; aif_report_hide_known: if the table has it. */
void aif_report_hide(struct aif_report *r, const char *column);
void aif_report_hide_known(struct aif_report *r, const char *column);

/* Returns whether a column is empty: of amounts, 0 or not known in all rows; of processes, the same in all. *ret_known: rows that
 * have a value, where it is. */
bool aif_report_is_empty(const struct aif_report *r, size_t column, size_t *ret_known);

/* Appends "of what was captured, 7.22 % of the launches". */
void aif_report_describe_captured(uint64_t captured, uint64_t left_out, struct aif_buf *out);
/* Notes that above the table, with `rest` behind it, where launches were left out. */
void aif_report_note_captured(struct aif_report *r, const char *rest);

/* Notes below the table what its column other_threads counts, if that is anything. what: "step",
 * "range". */
void aif_report_note_others(struct aif_report *r, const char *what, uint64_t ns);

/* Columns of the tables that take a device's time apart (analysis/utilization.h has the definitions). */

#define AIF_UTILIZATION_PARTS                                             \
	{"compute", AIF_TABLE_NS}, {"communication_alone", AIF_TABLE_NS}, \
		{"memory_alone", AIF_TABLE_NS}, {"idle", AIF_TABLE_NS},   \
	{                                                                 \
		"not_collected", AIF_TABLE_NS                             \
	}

/* Adds the cells of AIF_UTILIZATION_PARTS. */
void aif_utilization_parts_cells(struct aif_report *r, const struct aif_utilization_parts *x);

/* The time of communication beside which something computes, ns. */
uint64_t aif_utilization_hidden_communication(const struct aif_device_utilization *d);
