/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "runbook/runbook.h"

/*
 * VTune and Advisor, where somebody wants them and they are installed: they run the command once more for each analysis.
 * Where one cannot run, the reason is kept, and our own analysis takes its place.
 */
enum { AIF_RUNBOOK_ANALYSES = 3, AIF_RUNBOOK_METRICS = 16 };

struct aif_runbook_vtune_run {
	struct aif_runbook_vtune_analysis {
		const char *name;
		struct aif_buf result, report, csv; /* paths */
		struct aif_buf raw;                 /* the report */
		struct aif_runbook_metric metrics[AIF_RUNBOOK_METRICS];
		size_t metrics_len;
	} analyses[AIF_RUNBOOK_ANALYSES]; /* hotspots first */
	size_t len;                       /* 0: it did not run */
	struct aif_buf data;              /* a profile of its hotspots */
	struct aif_buf why;               /* why it did not run */
};
struct aif_runbook_advisor_run {
	bool has_run;
	struct aif_buf project, report, csv; /* paths */
	struct aif_buf raw, rows;            /* the report; rows of the table as JSON */
	struct aif_buf why;
};

/* Returns the name of a VTune analysis: "hotspots" is 0. */
const char *aif_runbook_analysis_name(size_t i);

/* Has VTune analyse the command: hotspots, and if is_deep what became of the CPU's slots and memory. Results are in `dir`. *ret is
 * finished by the caller in any case. */
void aif_runbook_vtune_run(const char *dir, char *const *argv, bool is_deep,
			   struct aif_runbook_vtune_run *ret);
void aif_runbook_vtune_run_finish(struct aif_runbook_vtune_run *r);
/* Has Advisor analyse it: roofline. */
void aif_runbook_advisor_run(const char *dir, char *const *argv,
			     struct aif_runbook_advisor_run *ret);
void aif_runbook_advisor_run_finish(struct aif_runbook_advisor_run *r);

/* Finds the metrics that VTune's summary has of an analysis: percents, and GB/s. Returns how many. */
size_t aif_runbook_vtune_metrics(const char *text,
				 struct aif_runbook_metric ret[AIF_RUNBOOK_METRICS]);
/* Appends the first rows of a table with columns between , ; or tabs as a JSON array of objects. */
void aif_runbook_table_rows(const char *text, struct aif_buf *out);
