/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "flame/flame.h"
#include "flame/folded.h"
#include "flame/build.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- a profile that lives in memory -------------------------------------------------------------- */

#define ADD(p, table, ...)                                                                      \
	({                                                                                      \
		assert_int_equal(aif_grow(&(p)->table, &(p)->table##_cap, (p)->table##_len + 1, \
					  sizeof(*(p)->table)),                                 \
				 0);                                                            \
		(p)->table[(p)->table##_len] = (__typeof__(*(p)->table)){__VA_ARGS__};          \
		(uint32_t)(p)->table##_len++;                                                   \
	})

struct world {
	struct aif_profile p;
	struct aif_attribution a;
	size_t rows_cap;
	uint32_t app, libc, runtime, driver, torch, script, device;
};

static inline uint32_t str(struct world *w, const char *s)
{
	return aif_strset_puts(&w->p.strings, s);
}

static inline uint32_t module(struct world *w, unsigned kind, const char *path)
{
	return ADD(&w->p, modules, .kind = kind, .path = str(w, path), .build_id = AIF_NONE,
		   .kernel = AIF_NONE, .program = AIF_NONE);
}

static inline uint32_t frame(struct world *w, unsigned kind, uint32_t in, const char *name,
			     const char *file, uint32_t line)
{
	uint32_t f = ADD(&w->p, frames, .kind = kind, .module = in,
			 .address = 0x1000 + w->p.frames_len * 16);

	if (name)
		ADD(&w->p, frame_names, .frame = f, .name = str(w, name),
		    .file = file ? str(w, file) : AIF_NONE, .line = line);
	return f;
}

static inline void inlined(struct world *w, uint32_t f, uint32_t depth, const char *name)
{
	ADD(&w->p, frame_names, .frame = f, .inline_depth = depth, .name = str(w, name),
	    .file = AIF_NONE);
}

static inline uint32_t push(struct world *w, uint32_t caller, uint32_t f)
{
	return ADD(&w->p, stacks, .parent = caller, .frame = f, .depth = 1);
}

static inline uint32_t kernel(struct world *w, const char *name)
{
	return ADD(&w->p, kernels, .name = str(w, name), .short_name = AIF_NONE,
		   .program = AIF_NONE);
}

static inline struct aif_attribution_row *row(struct world *w, uint32_t stack, uint32_t k,
					      uint64_t ns)
{
	struct aif_attribution_row *r;

	assert_int_equal(aif_grow(&w->a.rows, &w->rows_cap, w->a.rows_len + 1, sizeof(*r)), 0);
	r = &w->a.rows[w->a.rows_len++];
	*r = (struct aif_attribution_row){.kernel = k,
					  .stack = stack,
					  .capture = AIF_NONE,
					  .frame = AIF_NONE,
					  .reason = AIF_NONE,
					  .wall_ns = ns,
					  .time_ns = ns * 2,
					  .launches = 1};
	return r;
}

static inline void world_init(struct world *w)
{
	*w = (struct world){0};
	w->app = module(w, AIF_MODULE_ELF, "/opt/app/bin/app");
	w->libc = module(w, AIF_MODULE_ELF, "/lib/x86_64-linux-gnu/libc.so.6");
	w->runtime = module(w, AIF_MODULE_ELF, "/usr/lib/libOpenCL.so.1.0.0");
	w->driver = module(w, AIF_MODULE_ELF, "/usr/lib/libpocl.so.2.10.0");
	w->torch = module(w, AIF_MODULE_ELF, "/venv/torch/lib/libtorch_cpu.so");
	w->script = module(w, AIF_MODULE_SOURCE, "/home/u/train.py");
	w->device = module(w, AIF_MODULE_DEVICE_ELF, "/cache/gemm.so");
}

static inline void world_finish(struct world *w)
{
	free(w->a.rows);
	aif_profile_finish(&w->p);
}

/* _start -> [libc] -> __libc_start_main -> main -> run(int) [step() inlined] -> clEnqueue... -> pocl */
static inline uint32_t host_stack(struct world *w)
{
	uint32_t s = AIF_NONE, f;

	s = push(w, s, frame(w, AIF_FRAME_NATIVE, w->app, "_start", NULL, 0));
	s = push(w, s, frame(w, AIF_FRAME_NATIVE, w->libc, "__libc_start_main_impl", NULL, 0));
	s = push(w, s, frame(w, AIF_FRAME_NATIVE, w->libc, NULL, NULL, 0));
	s = push(w, s, frame(w, AIF_FRAME_NATIVE, w->app, "main", "/src/app/main.c", 12));
	f = frame(w, AIF_FRAME_NATIVE, w->app, "app::run(std::vector<int> const&)",
		  "/src/app/run.cc", 40);
	inlined(w, f, 1, "step(int)");
	s = push(w, s, f);
	s = push(w, s, frame(w, AIF_FRAME_NATIVE, w->runtime, "clEnqueueNDRangeKernel", NULL, 0));
	return push(w, s,
		    frame(w, AIF_FRAME_NATIVE, w->driver, "POclEnqueueNDRangeKernel", NULL, 0));
}

/* ---- what is drawn, as folded text --------------------------------------------------------------- */

static inline char *folded(const struct aif_tree *t)
{
	char name[] = "/tmp/test_flame_build.XXXXXX", *text = calloc(1, 10000);
	int fd = mkstemp(name);
	struct aif_err err;

	assert_true(fd >= 0);
	assert_int_equal(aif_flame_write(t, AIF_FLAME_FOLDED, NULL, name, &err), 0);
	close(fd);
	fd = open(name, O_RDONLY);
	assert_true(read(fd, text, 9999) >= 0);
	close(fd);
	unlink(name);
	return text;
}

static inline void check(const struct world *w, const struct aif_flame_opts *o,
			 const char *expected)
{
	struct aif_tree t;
	struct aif_err err = {0};
	char *text;

	if (aif_flame_build(AIF_NAMES_OF(&w->p), &w->a, o, &t, &err) < 0)
		fail_msg("%s", err.text);
	text = folded(&t);
	assert_string_equal(text, expected);
	free(text);
	aif_tree_finish(&t);
}

static const struct aif_flame_opts normal = {.leaf = AIF_LEAF_INSTRUCTION,
					     .detail = AIF_NAME_NORMAL};
