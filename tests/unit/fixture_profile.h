/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A small profile with a row in each table, for tests of the file and of what reads it. Two processes
 * with a queue each on one device; time starts at FIXTURE_START. Kernel `k` runs under stack `k + 1`. */

#include "profile/file.h"

#include <stdio.h>
#include <string.h>

#define FIXTURE_START UINT64_C(5000000000)
enum { FIXTURE_KERNELS = 3, FIXTURE_BAD_STRING_LEN = 7 };
static const char fixture_bad_string[FIXTURE_BAD_STRING_LEN] = {'a', 0,    '\xff', ';',
								'"', '\n', 'z'};

#define FIXTURE_ADD(p, table, ...)                                                       \
	do {                                                                             \
		if (aif_grow(&(p)->table, &(p)->table##_cap, (p)->table##_len + 1,       \
			     sizeof(*(p)->table)) < 0)                                   \
			abort();                                                         \
		memset(&(p)->table[(p)->table##_len], 0, sizeof(*(p)->table));           \
		(p)->table[(p)->table##_len++] = (__typeof__(*(p)->table)){__VA_ARGS__}; \
	} while (0)

#define assert_ok(call, err)                                 \
	do {                                                 \
		int r_ = (call);                             \
		if (r_ != 0)                                 \
			fail_msg("%d: %s", r_, (err)->text); \
	} while (0)

static inline void fixture_profile(struct aif_profile *p)
{
	static const uint8_t nops[4] = {0x90, 0x90, 0x90, 0xc3};
	struct aif_strset *s = &p->strings;
	uint32_t bad;
	uint8_t *code = malloc(sizeof(nops));

	if (!code)
		abort();
	memcpy(code, nops, sizeof(nops));
	*p = (struct aif_profile){.start_ns = FIXTURE_START, .end_ns = FIXTURE_START + 4000000000};
	bad = aif_strset_put(s, fixture_bad_string, FIXTURE_BAD_STRING_LEN);
	FIXTURE_ADD(p, meta, aif_strset_puts(s, "host"), aif_strset_puts(s, "h\xc3\xa4l"));
	FIXTURE_ADD(p, meta, aif_strset_puts(s, "odd"), bad);
	for (uint32_t i = 0; i < 2; i++) {
		FIXTURE_ADD(p, processes, .pid = 100 + i, .ppid = 1,
			    .exe = aif_strset_puts(s, "/usr/bin/python3"), .cmdline = bad,
			    .host = AIF_NONE, .start_ns = FIXTURE_START + i,
			    .end_ns = i ? UINT64_MAX : 0, .flags = AIF_PROCESS_AGENT,
			    .exit_status = i ? -1 : 9);
		FIXTURE_ADD(p, threads, .process = i, .tid = 100 + i, .name = AIF_NONE);
		FIXTURE_ADD(p, streams, .process = i, .device = 0, .ordinal = i, .out_of_order = i);
	}
	FIXTURE_ADD(p, devices, .name = aif_strset_puts(s, "pocl \"cpu\""), .vendor = AIF_NONE,
		    .driver = aif_strset_puts(s, "3.1"), .runtime = aif_strset_puts(s, "opencl"),
		    .kind = AIF_DEVICE_CPU, .units = 2, .clock = AIF_CLOCK_MONOTONIC);
	FIXTURE_ADD(p, programs, .process = 0, .source = aif_strset_puts(s, "__kernel void k(){}"),
		    .options = aif_strset_puts(s, ""), .source_name = AIF_NONE);
	FIXTURE_ADD(p, modules, .kind = AIF_MODULE_ELF, .path = aif_strset_puts(s, "/bin/app"),
		    .build_id = aif_strset_puts(s, "00ff"), .kernel = AIF_NONE,
		    .program = AIF_NONE);
	FIXTURE_ADD(p, frames, .kind = AIF_FRAME_NATIVE, .module = 0, .address = 0x1000);
	FIXTURE_ADD(p, stacks, .parent = AIF_NONE, .frame = 0, .depth = 1, .flags = 0);
	for (uint32_t k = 0; k < FIXTURE_KERNELS; k++) {
		char name[32];

		snprintf(name, sizeof(name), "kernel_%u", k);
		FIXTURE_ADD(p, kernels, .name = aif_strset_puts(s, name),
			    .short_name = aif_strset_puts(s, name + 7), .program = 0);
		FIXTURE_ADD(p, modules, .kind = AIF_MODULE_DEVICE_ELF,
			    .path = aif_strset_puts(s, name), .build_id = AIF_NONE, .kernel = k,
			    .program = 0);
		FIXTURE_ADD(p, frames, .kind = AIF_FRAME_NATIVE, .module = 0,
			    .address = UINT64_C(0xffffffff81000000) + k);
		FIXTURE_ADD(p, frames, .kind = AIF_FRAME_DEVICE, .module = k + 1,
			    .address = 16 * k);
		FIXTURE_ADD(p, stacks, .parent = 0, .frame = 1 + 2 * k, .depth = 2,
			    .flags = AIF_STACK_TRUNCATED);
	}
	FIXTURE_ADD(p, frames, .kind = AIF_FRAME_MARK, .module = AIF_NONE, .address = bad);
	FIXTURE_ADD(p, frame_names, .frame = 0, .inline_depth = 0,
		    .name = aif_strset_puts(s, "main"), .file = aif_strset_puts(s, "app.c"),
		    .line = 12);
	FIXTURE_ADD(p, frame_names, .frame = 1, .inline_depth = 0,
		    .name = aif_strset_puts(s, "outer"), .file = AIF_NONE, .line = 0);
	FIXTURE_ADD(p, frame_names, .frame = 1, .inline_depth = 1,
		    .name = aif_strset_puts(s, "inner"), .file = aif_strset_puts(s, "app.h"),
		    .line = 3);
	FIXTURE_ADD(p, shapes, .grid = {1024, 512, 0}, .block = {16, 16, 1});
	FIXTURE_ADD(p, codes, .module = 1, .name = aif_strset_puts(s, "kernel_0"),
		    .arch = aif_strset_puts(s, "x86_64"), .address = 0, .size = sizeof(nops),
		    .bytes = code);
	FIXTURE_ADD(p, codes, .module = 2, .name = AIF_NONE, .arch = AIF_NONE, .address = 1,
		    .size = 99, .bytes = NULL);
	FIXTURE_ADD(p, clock_pairs, .clock = AIF_CLOCK_REALTIME, .process = AIF_NONE,
		    .before = FIXTURE_START, .after = FIXTURE_START + 10,
		    .value = UINT64_C(1700000000000000000));
	FIXTURE_ADD(p, graph_nodes, .process = 0, .graph = 7, .node = 3, .thread = 0, .stack = 0,
		    .since = FIXTURE_START + 20, .made = FIXTURE_START + 5);
	FIXTURE_ADD(p, collectives, .communicator = aif_strset_puts(s, "0 [0, 1]"),
		    .operation = aif_strset_puts(s, "allreduce"), .ranks = 2, .bytes = 4096);
	FIXTURE_ADD(p, durations, .process = 0, .device = 0, .kind = AIF_LAUNCH_KERNEL, .kernel = 0,
		    .bucket = 300, .count = 3, .ns = 4000);
	FIXTURE_ADD(p, losses, .reason = AIF_REASON_RING_FULL, .process = 1, .thread = AIF_NONE,
		    .detail = bad, .count = 17);
}

/* Launch i of n: one each 100 us, kernels in turn; runs 10 us later for 50, 60 or 70 us. */
static inline struct aif_launch_row fixture_launch(uint64_t i)
{
	uint32_t k = (uint32_t)(i % FIXTURE_KERNELS);
	bool copy = i % 10 == 9;

	return (struct aif_launch_row){.launch = UINT64_C(1) << 40 | i,
				       .time = FIXTURE_START + 1000000 + i * 100000,
				       .thread = 0,
				       .kind = copy ? AIF_LAUNCH_WRITE : AIF_LAUNCH_KERNEL,
				       .kernel = copy ? AIF_NONE : k,
				       .device = 0,
				       .stream = 0,
				       .stack = k + 1,
				       .shape = copy ? AIF_NONE : 0,
				       .bytes = copy ? 4096 : 0};
}

static inline struct aif_exec_row fixture_exec(uint64_t i)
{
	struct aif_launch_row l = fixture_launch(i);

	return (struct aif_exec_row){.launch = l.launch,
				     .start = l.time + 10000,
				     .end = l.time + 60000 + 10000 * (i % FIXTURE_KERNELS),
				     .clock = AIF_CLOCK_MONOTONIC,
				     .process = 0,
				     .kind = l.kind,
				     .kernel = l.kernel,
				     .device = 0,
				     .stream = 0,
				     .bytes = l.bytes};
}

/* Sample i: in the middle of execution i. */
static inline struct aif_sample_row fixture_sample(uint64_t i)
{
	struct aif_exec_row x = fixture_exec(i);

	return (struct aif_sample_row){.time = x.start + 25000,
				       .count = 1,
				       .thread = 0,
				       .process = 0,
				       .device = 0,
				       .frame = 2 + 2 * (uint32_t)(i % FIXTURE_KERNELS),
				       .reason = AIF_NONE,
				       .window = (uint32_t)(i / 10000)};
}

/* Op i: around launch i / 2 on thread 0, the outer one first, which begins at the same time as the inner one. The
 * later half has the other clock that the profile knows. */
static inline struct aif_op_row fixture_op(uint64_t i, uint64_t n)
{
	uint64_t start = fixture_launch(i / 2).time - 3000;
	bool other_clock = i >= n / 2;
	/* The middle of the pair's bracket. */
	uint64_t by = other_clock ? UINT64_C(1700000000000000000) - (FIXTURE_START + 5) : 0;

	return (struct aif_op_row){.start = start + by,
				   .end = start + by + (i % 2 ? 4000 : 9000),
				   .clock = other_clock ? AIF_CLOCK_REALTIME : AIF_CLOCK_MONOTONIC,
				   .thread = 0,
				   .name = (uint32_t)(i % 3),
				   .kind = 1 + (uint32_t)(i % 5),
				   .shapes = i % 4 ? AIF_NONE : 1,
				   .types = i % 5 ? AIF_NONE : 2,
				   .stack = i % 7 ? AIF_NONE : 1,
				   .id = i % 2 ? 0 : i + 1,
				   .sequence = (int64_t)i % 5 - 1};
}

/* Value i: of two counters, read together. */
static inline struct aif_counter_row fixture_counter(uint64_t i)
{
	return (struct aif_counter_row){.time = FIXTURE_START + i / 2 * 10000000,
					.value = i % 2 ? 1550 + (double)(i % 7) * 50
						       : (double)(i % 101) / 4,
					.device = 0,
					.name = (uint32_t)(i % 2),
					.unit = i % 2 ? 2 : AIF_NONE,
					.process = i % 5 ? AIF_NONE : 0};
}

static inline struct aif_window_row fixture_window(uint64_t i)
{
	return (struct aif_window_row){.start = FIXTURE_START + i * 1000000000,
				       .end = FIXTURE_START + (i + 1) * 1000000000,
				       .window = (uint32_t)i,
				       .device = 0,
				       .process = 0,
				       .held = 1,
				       .period_ns = 1001001,
				       .lost = i,
				       .thread = AIF_NONE,
				       .p_ppm = 1000000};
}
