/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "export/names.h"
#include "export/out.h"
#include "profile/attribution.h"

#include <signal.h>

/*
 * Profiles in the formats of other viewers: the fourth seam. An exporter is one file and one function from a const
 * profile to bytes, without state between calls. To add one: write `src/export/export_NAME.c` with a
 * `const struct aif_exporter aif_exporter_NAME`, add its line to exporters.def; `aiflame export` and
 * tests/e2e/export.sh find it there. docs/viewers.md says which viewer opens what.
 */

/* What is exported. */
struct aif_export {
	const struct aif_profile *profile; /* with short names for its kernels */
	struct aif_attribution_opts which; /* zeroes: all of it */
	const char *kernel; /* only kernels that match, a POSIX extended expression, or NULL */
	enum aif_name_detail detail;
	uint64_t max_bytes; /* of each file before it is compressed, 0: no end; -EFBIG beyond */
	const volatile sig_atomic_t
		*stopped;            /* nonzero: stop, and leave nothing behind; NULL: never */
	struct aif_scratch *scratch; /* for what is not whole yet; NULL: none */
	uint64_t *
		ret_damaged; /* parts of the file that could not be read are added; NULL: nobody asks */
	uint64_t *
		ret_left_out; /* launches that the overhead budget left out and the export does not stand for are added */
};

static inline void aif_export_damaged(const struct aif_export *x, uint64_t parts)
{
	if (x->ret_damaged)
		*x->ret_damaged += parts;
}

/* Of an attribution's rows each stands for what was left out beside it; where there is none, nothing does. */
static inline void aif_export_rows(const struct aif_export *x, const struct aif_attribution *a)
{
	if (x->ret_left_out && !a->rows_len)
		*x->ret_left_out += a->conservation.left_out;
}

struct aif_exporter {
	const char *name;   /* of --format */
	const char *output; /* what is written if no name is given */
	const char *
		suffixes; /* blanks between: names with one of these mean this format, with .gz behind it, too */
	bool is_gzip;   /* always compressed, whatever the name; others only as NAME.gz */
	bool is_text;   /* may be shown on a terminal */
	bool takes_all; /* always all of the profile: a part of it cannot be asked for */
	/* Either writes to `out`, whose error is sticky and told by who commits it; 0 or -errno with *err, -EINTR when it was
	 * stopped. */
	int (*write)(const struct aif_export *x, struct aif_out *out, struct aif_err *err);
	/* Or, several files or a file that a library writes, makes `path` itself. */
	int (*write_path)(const struct aif_export *x, const char *path, struct aif_err *err);
};

/* Ends with NULL, in the order of exporters.def. */
extern const struct aif_exporter *const aif_exporters[];

/* The one whose suffix the path has, the longest that fits; NULL: none. */
const struct aif_exporter *aif_exporter_of(const char *path);

/* Writes `path` ("-": standard output), whole or not at all. 0 or -errno with *err. */
int aif_export_write(const struct aif_exporter *e, const struct aif_export *x, const char *path,
		     struct aif_err *err);

/* aif_profile_cpu(), whose damage is told to who asked for the export. */
int aif_export_cpu(const struct aif_export *x,
		   int (*fn)(void *arg, const struct aif_cpu_row *rows, size_t n), void *arg);
/* Tells who asked for the export that it has only what was captured. 0 or -ENOMEM. */
int aif_export_is_captured_only(const struct aif_export *x);
/* Where there is no event or sample to write: a file without any would be taken for a profile. -ENODATA with *err. */
int aif_export_nothing(struct aif_err *err);

/* "Device 0", "python3 train.py (1234)": what tracks and threads are called in all formats. */
void aif_export_device_name(const struct aif_profile *p, uint32_t device, struct aif_buf *out);
void aif_export_process_name(const struct aif_profile *p, uint32_t process, struct aif_buf *out);
/* Without its number: its command line, or what it ran; "": not known. */
const char *aif_export_process_own(const struct aif_profile *p, uint32_t process);
void aif_export_thread_name(const struct aif_profile *p, uint32_t thread, struct aif_buf *out);
/* Unix time of the recording's start, ns; 0: not known. */
uint64_t aif_export_unix_start(const struct aif_profile *p);
