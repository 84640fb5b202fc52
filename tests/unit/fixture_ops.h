/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A profile of operators, launches and executions with times that a test names: ns since the recording's start. */

#include "report/report.h"
#include "fixture_profile.h"
#include "profile/file.h"
#include "temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#define OPS_START UINT64_C(7000000000)

struct ops_fixture {
	struct aif_profile made, p; /* p: read back */
	struct aif_writer *w;
	uint64_t launches;
	uint32_t stack; /* of the next launches */
	char path[64];
};

static inline uint32_t ops_string(struct ops_fixture *f, const char *text)
{
	return aif_strset_puts(&f->made.strings, text);
}

/* Two processes, the first with two threads; a device with a stream in the first process and one in the second. */
static inline void ops_begin(struct ops_fixture *f, const char *vendor, const char *runtime)
{
	struct aif_err err = {0};
	struct aif_profile *p = &f->made;

	*f = (struct ops_fixture){.stack = AIF_NONE};
	snprintf(f->path, sizeof(f->path), "%s/aiflame-ops-%d", temp_dir(), (int)getpid());
	*p = (struct aif_profile){.start_ns = OPS_START, .end_ns = OPS_START + 1000000000};
	for (uint32_t i = 0; i < 3; i++) {
		if (i < 2)
			FIXTURE_ADD(p, processes, .pid = 100 + i, .exe = AIF_NONE,
				    .cmdline = AIF_NONE, .host = AIF_NONE, .start_ns = OPS_START);
		FIXTURE_ADD(p, threads, .process = i / 2, .tid = 100 + i, .name = AIF_NONE);
	}
	FIXTURE_ADD(p, devices, .name = ops_string(f, "device"),
		    .vendor = vendor ? ops_string(f, vendor) : AIF_NONE, .driver = AIF_NONE,
		    .runtime = ops_string(f, runtime), .kind = AIF_DEVICE_GPU,
		    .clock = AIF_CLOCK_MONOTONIC);
	FIXTURE_ADD(p, streams, .process = 0, .device = 0, .ordinal = 7);
	FIXTURE_ADD(p, streams, .process = 0, .device = 0, .ordinal = 20);
	FIXTURE_ADD(p, streams, .process = 1, .device = 0, .ordinal = 7);
	assert_ok(aif_writer_new(f->path, OPS_START, &f->w, &err), &err);
}

static inline void ops_add_row(struct ops_fixture *f, struct aif_op_row row)
{
	struct aif_err err = {0};

	row.start += OPS_START;
	row.end += OPS_START;
	assert_ok(aif_writer_ops(f->w, &row, 1, &err), &err);
}

static inline void ops_add(struct ops_fixture *f, uint32_t thread, uint64_t start, uint64_t end,
			   uint32_t kind, const char *name)
{
	ops_add_row(f, (struct aif_op_row){.start = start,
					   .end = end,
					   .thread = thread,
					   .name = ops_string(f, name),
					   .kind = kind,
					   .shapes = AIF_NONE,
					   .stack = AIF_NONE,
					   .sequence = -1});
}

static inline uint32_t ops_kernel(struct ops_fixture *f, const char *name)
{
	uint32_t id = ops_string(f, name);

	for (uint32_t i = 0; i < f->made.kernels_len; i++)
		if (f->made.kernels[i].name == id)
			return i;
	FIXTURE_ADD(&f->made, kernels, .name = id, .short_name = AIF_NONE, .program = AIF_NONE);
	return (uint32_t)f->made.kernels_len - 1;
}

/* A kernel, or without a name a copy; thread AIF_NONE: its launch was lost. */
static inline void ops_exec(struct ops_fixture *f, uint32_t thread, uint64_t at, uint32_t stream,
			    uint64_t start, uint64_t end, const char *name)
{
	struct aif_err err = {0};
	struct aif_exec_row x = {.launch = ++f->launches,
				 .start = OPS_START + start,
				 .end = OPS_START + end,
				 .clock = AIF_CLOCK_MONOTONIC,
				 .process = f->made.streams[stream].process,
				 .kind = name ? AIF_LAUNCH_KERNEL : AIF_LAUNCH_WRITE,
				 .kernel = name ? ops_kernel(f, name) : AIF_NONE,
				 .device = 0,
				 .stream = stream,
				 .bytes = name ? 0 : 4096};
	struct aif_launch_row l = {.launch = x.launch,
				   .time = OPS_START + at,
				   .thread = thread,
				   .kind = x.kind,
				   .kernel = x.kernel,
				   .device = 0,
				   .stream = stream,
				   .stack = f->stack,
				   .shape = AIF_NONE};

	if (thread != AIF_NONE)
		assert_ok(aif_writer_launches(f->w, &l, 1, &err), &err);
	assert_ok(aif_writer_execs(f->w, &x, 1, &err), &err);
}

static inline void ops_read(struct ops_fixture *f)
{
	struct aif_err err = {0};

	assert_ok(aif_writer_tables(f->w, &f->made, &err), &err);
	assert_ok(aif_writer_finish(f->w, f->made.end_ns, &err), &err);
	aif_profile_finish(&f->made);
	assert_ok(aif_profile_open(f->path, &f->p, &err), &err);
}

static inline void ops_end(struct ops_fixture *f)
{
	aif_profile_finish(&f->p);
	unlink(f->path);
}

/* For free(). */
static inline char *ops_report(struct ops_fixture *f, struct aif_report_opts o)
{
	struct aif_buf out = {0};
	struct aif_err err = {0};
	char *text;

	assert_ok(aif_report_write(AIF_NAMES_OF(&f->p), NULL, &o, &out, &err), &err);
	text = strdup(aif_buf_str(&out));
	aif_buf_finish(&out);
	return text;
}

static inline void assert_report(struct ops_fixture *f, struct aif_report_opts o, const char *want)
{
	char *text = ops_report(f, o);

	assert_string_equal(text, want);
	free(text);
}
