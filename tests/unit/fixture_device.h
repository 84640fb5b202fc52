/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/demangle.h"
#include "report/annotate.h"
#include "symbolize/cubin_lines.h"

#include <setjmp.h>
#include <stdarg.h>
/* after those */
#include <cmocka.h>

#include "fixture_cubin.h"
#include "fixture_profile.h"

/*
 * The inside of NVIDIA's kernels in pictures, tables and listings: a profile as a recorder makes it from counts of
 * pc samples, of the code and the line table in tests/golden/cubin/kernels_sm90a.cubin.
 */

#define SHARED "_Z10shared_sumPfPKf"
#define CALLS  "_Z5callsPfPKfi"

struct world {
	struct aif_profile p;
	struct aif_attribution a;
	size_t rows_cap;
	struct aif_buf bytes;
	struct aif_cubin cubin;
	struct aif_cubin_lines *lines;
	uint32_t stack, shared, calls, shared_module, calls_module;
};

static inline uint32_t str(struct world *w, const char *s)
{
	return aif_strset_puts(&w->p.strings, s);
}

static inline uint32_t plain_name(struct world *w, const char *mangled)
{
	struct aif_buf b = {0};
	uint32_t id;

	aif_demangle(mangled, &b);
	id = str(w, b.len ? aif_buf_str(&b) : mangled);
	aif_buf_finish(&b);
	return id;
}

static inline uint32_t kernel(struct world *w, const char *mangled, uint32_t *ret_module)
{
	const struct aif_device_function *f = aif_device_elf_by_name(&w->cubin.elf, mangled);
	uint32_t id = (uint32_t)w->p.kernels_len;
	const uint8_t *code;
	uint8_t *copy;
	size_t n;

	assert_non_null(f);
	code = aif_device_elf_code(&w->cubin.elf, f, &n);
	copy = malloc(n);
	assert_non_null(copy);
	memcpy(copy, code, n);
	FIXTURE_ADD(&w->p, kernels, .name = plain_name(w, mangled), .short_name = AIF_NONE,
		    .program = AIF_NONE);
	*ret_module = (uint32_t)w->p.modules_len;
	FIXTURE_ADD(&w->p, modules, .kind = AIF_MODULE_DEVICE,
		    .path = str(w, "cubin 0011223344556677"), .build_id = AIF_NONE, .kernel = id,
		    .program = AIF_NONE);
	FIXTURE_ADD(&w->p, codes, .module = *ret_module, .name = plain_name(w, mangled),
		    .arch = str(w, "sm_90"), .address = 0, .size = n, .bytes = copy);
	return id;
}

/* An instruction of a kernel, named as the recorder does. */
static inline uint32_t frame(struct world *w, uint32_t module, const char *mangled, uint64_t pc)
{
	const struct aif_device_function *f = aif_device_elf_by_name(&w->cubin.elf, mangled);
	struct aif_device_level levels[AIF_DEVICE_MAX_LEVELS];
	uint32_t id = (uint32_t)w->p.frames_len;
	int n = aif_cubin_lines_resolve(w->lines, f->symbol, pc, levels, AIF_DEVICE_MAX_LEVELS);

	assert_true(n >= 0);
	FIXTURE_ADD(&w->p, frames, .kind = AIF_FRAME_DEVICE, .module = module, .address = pc);
	for (int i = 0; i < n; i++)
		FIXTURE_ADD(&w->p, frame_names, .frame = id, .inline_depth = (uint32_t)i,
			    .name = levels[i].name ? plain_name(w, levels[i].name) : AIF_NONE,
			    .file = levels[i].file ? str(w, levels[i].file) : AIF_NONE,
			    .line = levels[i].line);
	return id;
}

static inline void row(struct world *w, uint32_t k, uint32_t f, const char *reason,
		       uint64_t samples)
{
	assert_int_equal(aif_grow(&w->a.rows, &w->rows_cap, w->a.rows_len + 1, sizeof(*w->a.rows)),
			 0);
	w->a.rows[w->a.rows_len++] =
		(struct aif_attribution_row){.kernel = k,
					     .stack = w->stack,
					     .frame = f,
					     .reason = reason ? str(w, reason) : AIF_NONE,
					     .wall_ns = samples * 1000,
					     .time_ns = samples * 1000,
					     .samples = samples};
	w->a.conservation.busy_ns += samples * 1000;
}

static inline void world_init(struct world *w)
{
	*w = (struct world){0};
	golden_cubin("kernels_sm90a", &w->bytes);
	assert_int_equal(aif_cubin_init(&w->cubin, w->bytes.data, w->bytes.len), 0);
	assert_int_equal(aif_cubin_lines_new(&w->cubin, &w->lines), 0);
	w->p.end_ns = 1000000;
	FIXTURE_ADD(&w->p, modules, .kind = AIF_MODULE_ELF, .path = str(w, "/bin/app"),
		    .build_id = AIF_NONE, .kernel = AIF_NONE, .program = AIF_NONE);
	FIXTURE_ADD(&w->p, frames, .kind = AIF_FRAME_NATIVE, .module = 0, .address = 1);
	FIXTURE_ADD(&w->p, frame_names, .frame = 0, .name = str(w, "main"), .file = AIF_NONE);
	FIXTURE_ADD(&w->p, stacks, .parent = AIF_NONE, .frame = 0, .depth = 1);
	w->shared = kernel(w, SHARED, &w->shared_module);
	w->calls = kernel(w, CALLS, &w->calls_module);
}

/* The FMULs of shared_sum wait for loads, its barrier for other warps; calls is mostly in apart(). */
static inline void samples(struct world *w)
{
	uint32_t at;

	at = frame(w, w->shared_module, SHARED, 0x140);
	row(w, w->shared, at, "long_scoreboard_not_issued", 300);
	row(w, w->shared, at, "long_scoreboard", 100);
	row(w, w->shared, at, "selected", 20);
	at = frame(w, w->shared_module, SHARED, 0xf0);
	row(w, w->shared, at, "barrier_not_issued", 200);
	at = frame(w, w->shared_module, SHARED, 0x160);
	row(w, w->shared, at, "short_scoreboard", 80);
	row(w, w->shared, at, "wait", 20);
	row(w, w->shared, frame(w, w->shared_module, SHARED, 0x10), "selected", 1);
	w->a.rows[0].launches = 7;
}

static inline void world_finish(struct world *w)
{
	aif_cubin_lines_free(w->lines);
	aif_cubin_finish(&w->cubin);
	aif_buf_finish(&w->bytes);
	free(w->a.rows);
	aif_profile_finish(&w->p);
}

static inline char *annotate(const struct world *w, struct aif_annotate_opts o)
{
	struct aif_buf out = {0};
	struct aif_err err = {0};
	char *text;

	if (!o.kernel)
		o.kernel = ".";
	assert_ok(aif_annotate_write(AIF_NAMES_OF(&w->p), &w->a, &o, &out, &err), &err);
	text = strdup(aif_buf_str(&out));
	aif_buf_finish(&out);
	return text;
}
