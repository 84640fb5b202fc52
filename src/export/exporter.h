/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "names/host_stacks.h"
#include "names/names.h"
#include "names/profile_names.h"
#include "text/out.h"
#include "analysis/attribution.h"

#include <signal.h>

/*
 * Exports profiles in the formats of other viewers: the fourth seam. An exporter is one file and one function from a const
 * profile to bytes, without state between calls. To add one: write `src/export/NAME.c` with a
 * `const struct aif_exporter aif_exporter_NAME`, add its line to exporters.def; `aiflame export` and
 * tests/e2e/export.sh find it there. Formats with stacks and values start from weighted.h, those with a time line from
 * timeline.h. docs/viewers.md says which viewer opens what.
 */

/* Arguments of an export: the part of the profile, detail and limits. */
struct aif_export {
	const struct aif_profile *profile;
	const struct aif_names *names; /* of that profile */
	struct aif_selection sel;      /* zeroes: all of it */
	const char *kernel; /* only kernels that match, a POSIX extended expression, or NULL */
	enum aif_name_detail detail;
	uint64_t max_bytes; /* of each file before it is compressed, 0: no end; -EFBIG beyond */
	/* Nonzero: stop, and leave nothing behind. NULL: never. */
	const volatile sig_atomic_t *stopped;
	struct aif_scratch *scratch; /* for what is not whole yet; NULL: none */
	/* Parts of the file that could not be read are added. NULL: not asked for. */
	uint64_t *ret_damaged;
	/* Launches that the overhead budget left out and the export does not stand for are added. NULL: not asked for. */
	uint64_t *ret_left_out;
};

/* Adds parts of the file that could not be read. */
static inline void aif_export_damaged(const struct aif_export *x, uint64_t parts)
{
	if (x->ret_damaged)
		*x->ret_damaged += parts;
}

/* The node of a device graph under `node`, and of the stack `capture` (AIF_NONE: not known) that made the graph's node, as
 * the picture places them; `replay` is the stack that replayed it. 0: memory ran out, or `node` is 0. */
uint32_t aif_export_graph_node(struct aif_host_stacks *h, const struct aif_profile *p,
			       uint32_t node, uint32_t device, uint32_t graph, uint32_t replay,
			       uint32_t capture);

/* Adds the launches that were left out, unless rows of the attribution stand for them. */
static inline void aif_export_rows(const struct aif_export *x, const struct aif_attribution *a)
{
	if (x->ret_left_out && !a->rows_len)
		*x->ret_left_out += a->conservation.left_out;
}

struct aif_exporter {
	const char *name;   /* of --format */
	const char *output; /* what is written if no name is given */
	/* Blanks between: names with one of these mean this format, with .gz behind it, too. */
	const char *suffixes;
	bool is_gzip;      /* always compressed, whatever the name; others only as NAME.gz */
	bool is_text;      /* may be shown on a terminal */
	bool by_range;     /* stacks carry the ranges of their launches, which .sel tells apart */
	bool takes_all;    /* always all of the profile: a part of it cannot be asked for */
	bool takes_kernel; /* with takes_all: but by --kernel */
	/* Writes to `out`, whose error is sticky and reported by its commit. 0 or -errno with *err, -EINTR when it was
	 * stopped. */
	int (*write)(const struct aif_export *x, struct aif_out *out, struct aif_err *err);
	/* Instead of .write: makes `path` itself, as several files or by a library. */
	int (*write_path)(const struct aif_export *x, const char *path, struct aif_err *err);
};

/* Ends with NULL, in the order of exporters.def. */
extern const struct aif_exporter *const aif_exporters[];

/* The exporter whose suffix the path has, the longest that fits; NULL: none. */
const struct aif_exporter *aif_exporter_of(const char *path);

/* Writes `path` ("-": standard output), whole or not at all. 0 or -errno with *err. */
int aif_export_write(const struct aif_exporter *e, const struct aif_export *x, const char *path,
		     struct aif_err *err);

/* Writes the file `path`, whole or not at all, by an exporter's .write. 0 or -errno with *err. */
int aif_export_file(const struct aif_export *x, const char *path, bool is_gzip,
		    int (*write)(const struct aif_export *, struct aif_out *, struct aif_err *),
		    struct aif_err *err);
/* Reads CPU samples by aif_profile_cpu(), and adds up its damage. */
int aif_export_cpu(const struct aif_export *x,
		   int (*fn)(void *arg, const struct aif_cpu_row *rows, size_t n), void *arg);
/* Adds the launches that were left out to *x->ret_left_out: the export has only captured ones. 0 or -ENOMEM. */
int aif_export_is_captured_only(const struct aif_export *x);
/* Fails with -ENODATA and *err: there is no event or sample, and a file without any would be taken for a profile. */
int aif_export_nothing(struct aif_err *err);

/* Append what tracks and threads are called in all formats: "Device 0", "python3 train.py (1234)". */
void aif_export_device_name(const struct aif_profile *p, uint32_t device, struct aif_buf *out);
void aif_export_process_name(const struct aif_profile *p, uint32_t process, struct aif_buf *out);
/* Returns a process's name without its number: its command line, or what it ran; "": not known. */
const char *aif_export_process_own(const struct aif_profile *p, uint32_t process);
void aif_export_thread_name(const struct aif_profile *p, uint32_t thread, struct aif_buf *out);
/* Returns the Unix time of the recording's start, ns; 0: not known. */
uint64_t aif_export_unix_start(const struct aif_profile *p);
