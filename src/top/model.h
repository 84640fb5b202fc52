/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "names/stack_names.h"

/*
 * The model of `aiflame top`: a window, the last seconds of a recording that goes on: devices, how far the numbers can be
 * trusted, and one or all of the tables below. Shares are of the device time of the window (AIF_TOP_IDLE: of its idle time,
 * AIF_TOP_STALL: of the samples with a reason).
 */
enum aif_top_view {
	AIF_TOP_KERNEL,
	AIF_TOP_STACK,
	AIF_TOP_PROCESS,
	AIF_TOP_STALL,
	AIF_TOP_IDLE,
	AIF_TOP_VIEWS
};
/* "kernel", "stack", ... */
const char *aif_top_view_name(enum aif_top_view v);
/* The plural of that, for a table's head and JSON: "kernels". */
const char *aif_top_view_rows(enum aif_top_view v);

enum aif_top_sort {
	AIF_TOP_BY_TIME,
	AIF_TOP_BY_LAUNCHES,
	AIF_TOP_BY_AVERAGE,
	AIF_TOP_BY_NAME,
	AIF_TOP_SORTS
};
const char *aif_top_sort_name(enum aif_top_sort s);

struct aif_top_row {
	uint32_t name;   /* string of .strings: kernel, stack, process, reason, cause */
	uint32_t detail; /* who launched most of it; of a stack the kernel; AIF_STR_NONE */
	uint32_t stack;  /* that stands for it: most of its time; AIF_NONE */
	uint32_t kind, kernel, process;
	uint64_t ns, share_ppm, launches, samples;
};

struct aif_top_device {
	uint32_t device;
	uint64_t busy_ppm; /* of the time in which it was collected */
	uint64_t busy_ns, kernel_ns, copy_ns, idle_ns, uncollected_ns;
	/* The last values of counters; below 0: not known. */
	double clock_mhz, power_w, temperature_c, memory_mib;
};

struct aif_top_model {
	uint64_t from_ns, to_ns; /* the window, since the recording's start */
	struct aif_top_device *devices;
	size_t devices_len, devices_cap;
	struct aif_top_rows {
		struct aif_top_row *at; /* most time first */
		size_t len, cap;
		bool is_made;
	} rows[AIF_TOP_VIEWS];
	struct aif_strset strings;
	struct aif_conservation conservation; /* of the window */
	/* Launches of the window: captured, and left out to keep to the overhead. */
	uint64_t captured, left_out;
	uint64_t lost; /* losses of the whole recording that cost rows */
};

/* Analyses windows of one recording; names are kept from window to window. */
struct aif_top;

/* 0 or -ENOMEM. */
int aif_top_new(struct aif_top **ret);
void aif_top_free(struct aif_top *t);

/* Makes the model of [to - window, to) of a profile, with the table `view`, or AIF_TOP_VIEWS: all. pids: only these
 * processes, NULL or a 0 at the beginning: all. The model is valid until the next call. 0 or -errno with *err. */
int aif_top_analyse(struct aif_top *t, const struct aif_profile *p, uint64_t window_ns,
		    enum aif_top_view view, const uint32_t *pids, const struct aif_top_model **ret,
		    struct aif_err *err);

/* Orders rows; those of equal rank keep the order by time. */
void aif_top_sort(const struct aif_top_model *m, struct aif_top_rows *rows, enum aif_top_sort by);

/* Returns a string of the model; "" for AIF_STR_NONE. */
static inline const char *aif_top_str(const struct aif_top_model *m, uint32_t id)
{
	return id == AIF_STR_NONE ? "" : aif_strset_get(&m->strings, id, NULL);
}

/* Appends the stacks that launched what a row of `view` counts, most time first, a frame on each line, and their shares. Of
 * the model that was made last. 0 or -errno with *err. */
int aif_top_callers(struct aif_top *t, enum aif_top_view view, const struct aif_top_row *row,
		    struct aif_buf *out, struct aif_err *err);
/* Appends the listing of a row's kernel: aiflame annotate. The same. */
int aif_top_annotate(struct aif_top *t, const struct aif_top_row *row, uint32_t columns,
		     struct aif_buf *out, struct aif_err *err);
