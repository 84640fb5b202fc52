/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "isa/insn_kind.h"
#include "names/profile_names.h"
#include "runbook/roofline.h"
#include "stat/roofs.h"

/*
 * A run directory: what a run of a command was measured to be, as files with the names and fields of C-Kernel-Engine's v7
 * runbook (docs/runbook.md). This folder makes the contents of files from a profile, and judges those that lie there;
 * run.c runs commands and writes files. A value that is not known is absent or null, never 0.
 */

/* One row of profile_summary.json: time of a function or device kernel in one turn of a mode. */
struct aif_runbook_entry {
	uint32_t kernel; /* index in .names */
	int64_t token;   /* ordinal of the mode's range, from 0; -1: the program marks none */
	int64_t layer;   /* -1: the program marks none */
	double us;
};
/* Time of a function or kernel in all turns of a mode, on paths whose frames have these classes. */
struct aif_runbook_path {
	uint32_t kernel; /* index in .names */
	unsigned within; /* 1 << enum aif_runbook_class; without glue and none */
	double us;
};
struct aif_runbook_entries {
	const char *mode; /* the caller's */
	struct aif_strset names;
	struct aif_runbook_entry *at;
	size_t len, cap;
	struct aif_runbook_path *paths;
	size_t paths_len, paths_cap;
	/* ranges; 0: the program marks none, and the run is one turn that is not counted */
	size_t tokens;
	int64_t from_ns, to_ns; /* from the first range's begin to the last one's end */
	int64_t ranges_ns;      /* the ranges' sum */
	bool is_device;         /* time is that of a device's kernels, not of CPU samples */
};

/*
 * Finds the entries of a mode. Each range that is called as the mode is one turn, a token of decode. A turn's wall time is
 * shared: by the device time of kernels and copies that began in it, the rest being "(no kernel)"; or, where no device worked, in
 * proportion to the CPU samples of its functions. *ret is finished by the caller, also after a failure. 0 or -errno
 * with *err.
 */
int aif_runbook_entries_find(const struct aif_names *names, const char *mode,
			     struct aif_runbook_entries *ret, struct aif_err *err);
void aif_runbook_entries_finish(struct aif_runbook_entries *e);
const char *aif_runbook_kernel(const struct aif_runbook_entries *e, uint32_t kernel, size_t *len);

/* Append profile_summary.json and profile_decode.csv of several modes. */
void aif_runbook_profile_summary(const struct aif_runbook_entries *modes, size_t len,
				 struct aif_buf *out);
void aif_runbook_profile_csv(const struct aif_runbook_entries *modes, size_t len,
			     struct aif_buf *out);
void aif_runbook_profile_json(const struct aif_runbook_entries *modes, size_t len,
			      struct aif_buf *out);

/* Appends what devices did, as an object: the busy part of the time from their first to their last work, classes of stalls
 * where samples have reasons, energy where it was read. Nothing where no device worked. 0 or -errno with *err. */
int aif_runbook_device(const struct aif_names *names, const struct aif_runbook_entries *modes,
		       size_t len, struct aif_buf *out, struct aif_err *err);

/* A function with its own time. */
struct aif_runbook_hotspot {
	char *symbol;
	double seconds, total_seconds; /* self time; time including callees */
	uint64_t samples;
	/* samples at floating-point instructions; at those on several elements */
	uint64_t fp_samples, packed_samples;
};
struct aif_runbook_hotspots {
	struct aif_runbook_hotspot *at; /* most time first */
	size_t len;
	double seconds; /* seconds of the whole run */
	double sampled; /* seconds of functions, without time that no sample stands for */
	uint64_t samples;
	uint64_t threads;
	uint64_t known; /* samples whose instruction is known */
	uint64_t of_kind[AIF_INSN_KINDS];
};
#define AIF_RUNBOOK_HOTSPOTS 25

/* Finds the functions of what `sel` (NULL: all) chooses. *ret is finished by the caller in any case. 0 or -errno with *err. */
int aif_runbook_hotspots_find(const struct aif_names *names, const struct aif_selection *sel,
			      struct aif_runbook_hotspots *ret, struct aif_err *err);
void aif_runbook_hotspots_finish(struct aif_runbook_hotspots *h);

/* A mode of a manifest of flame graphs; svg, folded and data are paths. */
struct aif_runbook_flame {
	const char *mode, *svg, *folded, *data;
	bool is_device; /* the graphs are of device time; hotspots are of CPU time in any case */
	const struct aif_runbook_hotspots *hotspots;
};
/* Appends flamegraph_manifest.json, decode at its top level where there is one. */
void aif_runbook_manifest(const struct aif_runbook_flame *modes, size_t len, struct aif_buf *out);

struct aif_runbook_metric {
	const char *name;
	double value;
};
/* An analysis of vtune_summary.json. */
struct aif_runbook_analysis {
	const char *name;                  /* hotspots, uarch-exploration, memory-access */
	const char *result, *report, *csv; /* paths; NULL: there is none */
	const struct aif_runbook_hotspots *hotspots; /* NULL: it has none */
	/* text of the tool's report; NULL: a table of the hotspots */
	const struct aif_buf *raw;
	const struct aif_runbook_metric *metrics; /* percent, and GB/s */
	size_t metrics_len;
};
#define AIF_RUNBOOK_RAW_MAX 120000 /* bytes of a report that are kept, as v7 keeps them */
struct aif_runbook_vtune {
	const struct aif_runbook_flame *mode;        /* our own recording */
	const struct aif_runbook_analysis *analyses; /* hotspots first */
	size_t len;
	const char *tool; /* tool whose analyses they are */
	/* reason for which VTune, which was asked for, has none; NULL: has one, or was not asked for */
	const char *skipped;
};
void aif_runbook_vtune(const struct aif_runbook_vtune *v, struct aif_buf *out);

struct aif_runbook_advisor {
	const struct aif_runbook_flame *mode; /* our own recording */
	double elapsed_s;
	const struct aif_roofs *roofs; /* measured peaks of the machine; NULL: not measured */
	const struct aif_runbook_roofline *roofline; /* points below .roofs; NULL: not counted */
	const char *not_counted;                     /* reason; NULL: not asked for, or counted */
	/* Advisor's own; NULL: it has not run. rows: the first of its CSV as a JSON array. */
	const char *project, *report, *csv;
	const struct aif_buf *raw, *rows;
	const char *skipped; /* same as of VTune */
};
void aif_runbook_advisor(const struct aif_runbook_advisor *v, struct aif_buf *out);

/* Append members that several files have: a text, or null; "generated_at"; raw_text of a report, cut; hotspots as a table. */
void aif_runbook_put_text(const char *key, const char *value, struct aif_buf *out);
void aif_runbook_put_time(struct aif_buf *out);
void aif_runbook_put_raw(const struct aif_runbook_hotspots *h, const struct aif_buf *raw,
			 struct aif_buf *out);
/* Appends "artifacts" of a recording and of what another tool left; len: of `others`, pairs of label and path. */
void aif_runbook_put_artifacts(const struct aif_runbook_flame *m, const char *const (*others)[2],
			       size_t len, struct aif_buf *out);
