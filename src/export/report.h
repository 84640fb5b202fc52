/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/names.h"
#include "export/process_names.h"
#include "export/table.h"
#include "profile/attribution.h"

enum aif_report_kind {
	AIF_REPORT_KERNELS,
	AIF_REPORT_STACKS,
	AIF_REPORT_COPIES,
	AIF_REPORT_LAUNCHES,
	AIF_REPORT_STALLS, /* plain and in its own order it is no table, but kernel by kernel */

	/* From times alone, without an attribution: timed_report.h. */
	AIF_REPORT_OPS,
	AIF_REPORT_RANGES,
	AIF_REPORT_STEPS,
	AIF_REPORT_BREAKDOWN,
	AIF_REPORT_COMM,
	AIF_REPORT_IDLE,
	AIF_REPORT_STREAMS,
	AIF_REPORT_COUNTERS,
	AIF_REPORT_COUNT
};
enum aif_report_by { AIF_REPORT_BY_NAME, AIF_REPORT_BY_SHAPE, AIF_REPORT_BY_STACK };
struct aif_report_opts {
	enum aif_report_kind kind;
	enum aif_table_format format;
	enum aif_name_detail detail; /* of stacks, and of kernels' names in plain tables */
	const char *sort;            /* a column's name; NULL: the table's own order */
	enum aif_report_by by;       /* operators: rows of one name are told apart by this, too */
	uint32_t limit;              /* rows, of stalls in their own order kernels; 0 = all */
	uint32_t columns;            /* of the terminal, for plain tables; 0 = no end */
	const char *kernel;          /* expression: only these; NULL: all */
	const struct aif_attribution_opts
		*which; /* what the attribution is of, for launches; NULL: all */
};

/* Of texts in front of other columns in plain tables, also where no terminal limits them; --detail full has them whole. */
#define AIF_REPORT_TEXT_COLUMNS 64

/* Appends the table. Plain ones have a column `process` if more than one has device work, the other
 * formats always. A table without rows is one, in any format: plain it says so. 0; -EINVAL with *err for an unknown
 * column or a wrong expression; -ENODATA with it where it is not known what there is: without stall reasons, or where
 * launches were left out; -ENOMEM. */
int aif_report_write(const struct aif_profile *p, const struct aif_attribution *a,
		     const struct aif_report_opts *opts, struct aif_buf *out, struct aif_err *err);

/* By opts->sort, if set. 0; -EINVAL with *err for an unknown column, -ENOMEM. */
int aif_report_sort(struct aif_table *t, const struct aif_report_opts *opts, struct aif_err *err);

/* Is it of a part of the recording? */
bool aif_report_is_part(const struct aif_attribution_opts *which);
#define AIF_REPORT_CHOOSES "--time, --process, --tid and --device"

/* What `kernel` of `kind` is called: the kernel's name, or "[read]". */
const char *aif_report_kernel(const struct aif_profile *p, uint32_t kind, uint32_t kernel,
			      char space[64]);
/* The same in short, if aif_kernel_names_make was called. */
const char *aif_report_kernel_short(const struct aif_profile *p, uint32_t kind, uint32_t kernel,
				    char space[64]);

/* Processes with device work, and what each had of it, widest first: "4711 60.0 %, 4712 40.0 %". Nothing is
 * appended for less than two. */
void aif_report_processes(const struct aif_profile *p, const struct aif_attribution *a,
			  const struct aif_process_names *names, struct aif_buf *out);

/* "of what was captured, 7.22 % of the launches" */
void aif_report_say_part(uint64_t captured, uint64_t left_out, struct aif_buf *out);

/* -ENODATA with *err, if there is nothing because the overhead budget left it out; else 0. `what` begins it. */
int aif_report_left_out(uint64_t left_out, const char *what, struct aif_err *err);
