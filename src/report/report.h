/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/names.h"
#include "names/process_names.h"
#include "names/profile_names.h"
#include "text/table.h"
#include "analysis/attribution.h"

/*
 * The tables of `aiflame report`. A table is one file, which has a `const struct aif_report_table
 * aif_report_table_NAME`, and one line in reports.def; report_table.h says what it consists of.
 */
struct aif_report_table;

enum aif_report_by {
	AIF_REPORT_BY_NAME,
	AIF_REPORT_BY_SHAPE,
	AIF_REPORT_BY_STACK,
	AIF_REPORT_BY_CALLER,
	AIF_REPORT_BY_ROLE,
};
/* Forms of the operators' table for people: aiflame's own, torch's, that of IBM's AIU guide. */
enum aif_report_style { AIF_REPORT_STYLE_AIFLAME, AIF_REPORT_STYLE_TORCH, AIF_REPORT_STYLE_AIU };
struct aif_report_opts {
	const struct aif_report_table *table;
	enum aif_table_format format;
	enum aif_name_detail detail; /* of stacks, and of kernels' names in plain tables */
	const char *sort;            /* a column's name; NULL: the table's own order */
	enum aif_report_style style; /* of operators, in plain tables */
	enum aif_report_by by;       /* operators: rows of one name are told apart by this, too */
	uint32_t limit;              /* rows, of stalls in their own order kernels; 0 = all */
	uint32_t columns;            /* of the terminal, for plain tables; 0 = no end */
	const char *kernel;          /* expression: only these; NULL: all */
	const struct aif_selection *sel; /* what the attribution is of, for launches; NULL: all */
	struct aif_buf *types;           /* JSON texts: gets {column: type}; NULL: nobody asks */
};

#define AIF_REPORT(name, help) extern const struct aif_report_table aif_report_table_##name;
#include "report/reports.def"
#undef AIF_REPORT

/* The tables in the order of reports.def; the last entry is NULL. */
extern const struct aif_report_table *const aif_report_tables[];

/* True if the table is made from an attribution. */
bool aif_report_needs_attribution(const struct aif_report_table *t);
/* True if --by may group its rows that way; if --style chooses how they are printed. */
bool aif_report_has_by(const struct aif_report_table *t, enum aif_report_by by);
bool aif_report_has_style(const struct aif_report_table *t);

/* Appends the table; `a` is NULL for tables that need no attribution. Plain tables of device work
 * have a column `process` if more than one process has some, the other formats always. A table
 * without rows is one, in any format: a plain one says so. 0; -EINVAL with *err for an unknown
 * column, a wrong expression or a table without --kernel; -ENODATA with it where the profile cannot
 * tell what there is: without stall reasons, or where launches were left out; -ENOMEM. */
int aif_report_write(const struct aif_names *names, const struct aif_attribution *a,
		     const struct aif_report_opts *opts, struct aif_buf *out, struct aif_err *err);

#define AIF_REPORT_CHOOSES "--time, --range, --process, --tid and --device"

/* Appends the processes with device work and each one's share of it, widest first: "4711 60.0 %,
 * 4712 40.0 %". Appends nothing for less than two. */
void aif_report_processes(const struct aif_profile *p, const struct aif_attribution *a,
			  const struct aif_process_names *names, struct aif_buf *out);
