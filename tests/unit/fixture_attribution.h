/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "fixture_recording.h"

/*
 * Hand-made recordings, written and read through the real file. One process, one CPU device, two
 * queues, two kernels `f` and `g`, each in a module of its own; frames: 0 main, 1 site A, 2 site B, 3 in
 * f's code, 4 another there, 5 in g's, 6 in libm. Stacks: 1 main;A, 2 main;B. Time begins at 1000.
 */
#define T0 1000

static inline void begin(struct recording *w, uint32_t clock)
{
	recording_begin(w, T0);
	recording_device(w, AIF_DEVICE_CPU, clock);
	FIXTURE_ADD(&w->p, kernels, .name = str(w, "f"), .short_name = AIF_NONE,
		    .program = AIF_NONE);
	FIXTURE_ADD(&w->p, kernels, .name = str(w, "g"), .short_name = AIF_NONE,
		    .program = AIF_NONE);
	for (uint32_t m = 0; m < 4; m++) {
		static const char *const paths[] = {"/app", "/f.so", "/g.so", "/libm.so"};

		FIXTURE_ADD(&w->p, modules, .kind = AIF_MODULE_ELF, .path = str(w, paths[m]),
			    .build_id = AIF_NONE,
			    .kernel = m == 1   ? 0
				      : m == 2 ? 1
					       : AIF_NONE,
			    .program = AIF_NONE);
	}
	for (uint32_t f = 0; f < 7; f++) {
		static const uint32_t modules[] = {0, 0, 0, 1, 1, 2, 3};

		FIXTURE_ADD(&w->p, frames,
			    .kind = f == 3 || f == 4 || f == 5 ? AIF_FRAME_DEVICE
							       : AIF_FRAME_NATIVE,
			    .module = modules[f], .address = 16 * f);
	}
	FIXTURE_ADD(&w->p, stacks, .parent = AIF_NONE, .frame = 0, .depth = 1);
	FIXTURE_ADD(&w->p, stacks, .parent = 0, .frame = 1, .depth = 2);
	FIXTURE_ADD(&w->p, stacks, .parent = 0, .frame = 2, .depth = 2);
}

static inline uint32_t device_of(const struct recording *w, uint32_t stream)
{
	return stream < w->p.streams_len ? w->p.streams[stream].device : 0;
}

/* A launch at `at` and, unless end is 0, its execution; times are ns since the start. */
static inline void launch(struct recording *w, uint64_t id, uint64_t at, uint32_t stack,
			  uint32_t kernel, uint32_t stream, uint64_t start, uint64_t end)
{
	struct aif_launch_row l = {.launch = id,
				   .time = T0 + at,
				   .thread = 0,
				   .kind = AIF_LAUNCH_KERNEL,
				   .kernel = kernel,
				   .device = device_of(w, stream),
				   .stream = stream,
				   .stack = stack,
				   .shape = AIF_NONE};
	struct aif_exec_row e = {.launch = id,
				 .start = T0 + start,
				 .end = T0 + end,
				 .clock = w->p.devices[0].clock,
				 .process = 0,
				 .kind = AIF_LAUNCH_KERNEL,
				 .kernel = kernel,
				 .device = device_of(w, stream),
				 .stream = stream};

	assert_int_equal(aif_writer_launches(w->writer, &l, 1, NULL), 0);
	if (end)
		assert_int_equal(aif_writer_execs(w->writer, &e, 1, NULL), 0);
}

static inline void sample(struct recording *w, uint64_t at, uint32_t frame)
{
	struct aif_sample_row s = {.time = T0 + at,
				   .count = 1,
				   .thread = 0,
				   .process = 0,
				   .device = 0,
				   .frame = frame,
				   .reason = AIF_NONE,
				   .window = 0};

	assert_int_equal(aif_writer_samples(w->writer, &s, 1, NULL), 0);
}

static inline void end(struct recording *w, uint64_t length, const struct aif_selection *opts)
{
	recording_open(w, T0 + length);
	recording_attribute(w, opts);
}

static inline void over(struct recording *w)
{
	recording_adds_up(w);
	recording_finish(w);
}

/* The row of a stack, kernel and frame; NULL if none. */
static inline const struct aif_attribution_row *row(const struct recording *w, uint32_t stack,
						    uint32_t kernel, uint32_t frame)
{
	for (size_t i = 0; i < w->a.rows_len; i++)
		if (w->a.rows[i].stack == stack && w->a.rows[i].kernel == kernel &&
		    w->a.rows[i].frame == frame)
			return &w->a.rows[i];
	return NULL;
}
