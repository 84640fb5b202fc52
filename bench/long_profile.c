/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "profile/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Writes the profile of a long training run, for bench/long.py: a loop of steps with 100 launches each, 20 us apart, of 20
 * kernels from 40 places, on one stream of one device; a wait for the device ends each step, as a row of ops. CPU samples at
 * 99 Hz. With `ops` each launch is in an operator, and these in ranges of four, as eager PyTorch reports them.
 *    long_profile FILE LAUNCHES [ops]
 */
enum {
	KERNELS = 20,
	PLACES = 40,
	DEPTH = 24,
	STEP = 100,
	PART = 50000,
	LAUNCH_NS = 20000,
	WAIT_NS = 300000,
};

struct run {
	struct aif_profile p;
	struct aif_writer *w;
	struct aif_err err;
	bool with_ops;
	uint32_t wait, operators[KERNELS], range;
	struct aif_launch_row *l;
	struct aif_exec_row *x;
	struct aif_op_row *o;
	struct aif_cpu_row *c;
};

#define ADD(p, table, ...)                                                               \
	do {                                                                             \
		if (aif_grow(&(p)->table, &(p)->table##_cap, (p)->table##_len + 1,       \
			     sizeof(*(p)->table)) < 0)                                   \
			abort();                                                         \
		(p)->table[(p)->table##_len++] = (__typeof__(*(p)->table)){__VA_ARGS__}; \
	} while (0)

static void must(const struct run *r, int e)
{
	if (e < 0) {
		fprintf(stderr, "long_profile: %s\n", r->err.text);
		exit(1);
	}
}

static uint32_t str(struct aif_profile *p, const char *format, unsigned i)
{
	char text[200];

	snprintf(text, sizeof(text), format, i);
	return aif_strset_puts(&p->strings, text);
}

static void add_tables(struct run *r)
{
	struct aif_profile *p = &r->p;

	ADD(p, processes, .pid = 1000, .exe = str(p, "/usr/bin/python3", 0),
	    .cmdline = str(p, "python3 train.py", 0), .host = str(p, "host", 0),
	    .start_ns = p->start_ns, .flags = AIF_PROCESS_AGENT | AIF_PROCESS_RUNTIME,
	    .exit_status = -1);
	ADD(p, threads, .process = 0, .tid = 1000, .name = str(p, "python3", 0));
	ADD(p, devices, .name = str(p, "Accelerator", 0), .vendor = str(p, "NVIDIA", 0),
	    .driver = AIF_NONE, .runtime = str(p, "cuda", 0), .kind = AIF_DEVICE_GPU, .units = 132,
	    .clock = AIF_CLOCK_MONOTONIC);
	ADD(p, streams, .process = 0, .device = 0, .ordinal = 7);
	ADD(p, modules, .kind = AIF_MODULE_ELF, .path = str(p, "/opt/lib/libtorch_cpu.so", 0),
	    .build_id = AIF_NONE, .kernel = AIF_NONE, .program = AIF_NONE);
	for (unsigned i = 0; i < KERNELS; i++)
		ADD(p, kernels, .name = str(p, "void elementwise_kernel<functor_%u>(int)", i),
		    .short_name = AIF_NONE, .program = AIF_NONE);
	for (unsigned s = 0; s < PLACES; s++)
		for (unsigned d = 0; d < DEPTH; d++) {
			uint32_t caller = (uint32_t)p->stacks_len - 1;

			ADD(p, frames, .kind = AIF_FRAME_NATIVE, .module = 0,
			    .address = 0x1000 + 16 * (d < DEPTH / 2 ? d : d * 37 + s * 11));
			ADD(p, frame_names, .frame = (uint32_t)p->frames_len - 1,
			    .name = str(p, "function_%u", d < DEPTH / 2 ? d : d * 37 + s * 11),
			    .file = str(p, "/src/part_%u.cpp", d), .line = s + 1);
			ADD(p, stacks, .parent = d ? caller : AIF_NONE,
			    .frame = (uint32_t)p->frames_len - 1, .depth = d + 1);
		}
	for (unsigned i = 0; i < KERNELS; i++)
		r->operators[i] = str(p, "aten::operator_%u", i);
	r->range = str(p, "layer", 0);
	r->wait = str(p, "cudaDeviceSynchronize", 0);
	ADD(p, meta, str(p, "command", 0), str(p, "python3 train.py", 0));
	ADD(p, meta, str(p, "cpu_rate", 0), str(p, "99", 0));
}

static struct aif_op_row op(uint64_t start, uint64_t ns, uint32_t kind, uint32_t name)
{
	return (struct aif_op_row){.start = start,
				   .end = start + ns,
				   .kind = kind,
				   .name = name,
				   .shapes = AIF_NONE,
				   .types = AIF_NONE,
				   .stack = AIF_NONE,
				   .sequence = -1};
}

/* Writes launches first to first + n and what belongs to them; *at is the time of the first, and then of the next. */
static void add_rows(struct run *r, uint64_t first, size_t n, uint64_t *at, uint64_t *next_sample)
{
	size_t ops = 0, samples = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t k = first + i, in_step = k % STEP, salt = aif_mix64(k);
		uint32_t place = (uint32_t)(in_step % PLACES), kernel = place % KERNELS;

		r->l[i] = (struct aif_launch_row){.launch = k + 1,
						  .time = *at + 4000 + salt % 2000,
						  .kernel = kernel,
						  .stack = place * DEPTH + DEPTH - 1,
						  .shape = AIF_NONE};
		r->x[i] = (struct aif_exec_row){.launch = k + 1,
						.start = *at + 10000,
						.end = *at + 20000 + (salt >> 32) % 9000,
						.kernel = kernel,
						.registers = 64};
		if (r->with_ops && in_step % 4 == 0)
			r->o[ops++] = op(*at, 4 * LAUNCH_NS, AIF_OP_RANGE, r->range);
		if (r->with_ops)
			r->o[ops++] = op(*at + 1000, LAUNCH_NS - 2000, AIF_OP_OPERATOR,
					 r->operators[kernel]);
		for (; *next_sample <= *at; *next_sample += 10101010)
			r->c[samples++] = (struct aif_cpu_row){
				.time = *next_sample, .weight = 10101010, .stack = r->l[i].stack};
		*at += LAUNCH_NS;
		if (in_step != STEP - 1)
			continue;
		r->o[ops++] = op(*at, WAIT_NS, AIF_OP_RUNTIME, r->wait);
		*at += WAIT_NS + salt % 50000;
	}
	must(r, aif_writer_launches(r->w, r->l, n, &r->err));
	must(r, aif_writer_execs(r->w, r->x, n, &r->err));
	must(r, aif_writer_ops(r->w, r->o, ops, &r->err));
	must(r, aif_writer_cpu(r->w, r->c, samples, &r->err));
	must(r, aif_writer_commit(r->w, &r->err));
}

int main(int argc, char **argv)
{
	struct run r = {.p.start_ns = UINT64_C(5000000000),
			.with_ops = argc > 3 && !strcmp(argv[3], "ops"),
			.l = calloc(PART, sizeof(*r.l)),
			.x = calloc(PART, sizeof(*r.x)),
			.o = calloc((size_t)2 * PART, sizeof(*r.o)),
			.c = calloc(PART, sizeof(*r.c))};
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t at = r.p.start_ns + 1000000, next_sample = at;

	if (!n || !r.l || !r.x || !r.o || !r.c) {
		fprintf(stderr, "usage: long_profile FILE LAUNCHES [ops]\n");
		return 2;
	}
	add_tables(&r);
	remove(argv[1]);
	must(&r, aif_writer_new(argv[1], r.p.start_ns, &r.w, &r.err));
	must(&r, aif_writer_tables(r.w, &r.p, &r.err));
	for (uint64_t done = 0; done < n; done += PART)
		add_rows(&r, done, (size_t)AIF_MIN(n - done, (uint64_t)PART), &at, &next_sample);
	must(&r, aif_writer_finish(r.w, at + 1000000, &r.err));
	aif_profile_finish(&r.p);
	free(r.l);
	free(r.x);
	free(r.o);
	free(r.c);
	return 0;
}
