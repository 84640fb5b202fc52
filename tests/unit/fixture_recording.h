/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A recording that a test makes by hand, and reads through the real file. */

#include "fixture_profile.h"
#include "analysis/attribution.h"
#include "temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

struct recording {
	struct aif_profile p, read; /* as it is made; as the file has it */
	struct aif_writer *writer;
	struct aif_attribution a;
	char path[64];
};

static inline uint32_t str(struct recording *r, const char *s)
{
	return aif_strset_puts(&r->p.strings, s);
}

static inline void recording_begin(struct recording *r, uint64_t start_ns)
{
	memset(r, 0, sizeof(*r));
	r->p.start_ns = start_ns;
	snprintf(r->path, sizeof(r->path), "%s/aiflame-recording-%d", temp_dir(), (int)getpid());
	assert_int_equal(aif_writer_new(r->path, start_ns, &r->writer, NULL), 0);
}

/* A process with a thread, a device, and two queues. */
static inline void recording_device(struct recording *r, enum aif_device_kind kind, uint32_t clock)
{
	FIXTURE_ADD(&r->p, processes, .pid = 1, .exe = str(r, "x"), .cmdline = str(r, "x"),
		    .host = str(r, "h"));
	FIXTURE_ADD(&r->p, threads, .process = 0, .tid = 10, .name = str(r, "t"));
	FIXTURE_ADD(&r->p, devices, .name = str(r, "d"), .vendor = str(r, "v"),
		    .driver = str(r, ""), .runtime = str(r, "fake"), .kind = kind, .clock = clock);
	FIXTURE_ADD(&r->p, streams, .process = 0, .device = 0);
	FIXTURE_ADD(&r->p, streams, .process = 0, .device = 0, .ordinal = 1);
}

static inline void recording_open(struct recording *r, uint64_t end_ns)
{
	struct aif_err err = {0};

	assert_ok(aif_writer_tables(r->writer, &r->p, &err), &err);
	assert_ok(aif_writer_finish(r->writer, end_ns, &err), &err);
	assert_ok(aif_profile_open(r->path, &r->read, &err), &err);
}

static inline void recording_attribute(struct recording *r, const struct aif_selection *opts)
{
	struct aif_err err = {0};

	assert_ok(aif_attribution_compute(&r->read, opts, &r->a, &err), &err);
}

/* The equalities hold, whatever a test looks for. */
static inline void recording_adds_up(const struct recording *r)
{
	struct aif_buf text = {0};

	if (!aif_conservation_check(&r->a.conservation, &text))
		fail_msg("%s", aif_buf_str(&text));
	aif_buf_finish(&text);
}

static inline void recording_finish(struct recording *r)
{
	aif_attribution_finish(&r->a);
	aif_profile_finish(&r->read);
	aif_profile_finish(&r->p);
	unlink(r->path);
}
