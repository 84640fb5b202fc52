/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "profile/file.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Writes the profiles of a job's ranks, one each, for bench/ranks.py: data parallel training of a step in each two seconds, eight
 * ranks a host, hosts on one clock. A rank's step is KERNELS kernels of 20 names from 40 places, then BUCKETS all-reduces, which
 * end on all ranks 5 ms after the last rank has begun them. Rank 5 takes LATE_NS longer in one kernel of each step from step 10 on.
 *    rank_profiles DIRECTORY RANKS STEPS KERNELS [RANK FROM TO]
 * With RANK it is that rank, in steps FROM up to TO, from 0, alone.
 * Prints what the other ranks wait in the first all-reduces, together, and all executions.
 */
enum { NAMES = 20, PLACES = 40, DEPTH = 24, BUCKETS = 4, LATE = 5, LATE_FROM = 10, HOST_RANKS = 8 };
#define STEP_NS     UINT64_C(2000000000)
#define LATE_NS     UINT64_C(60000000)
#define TRANSFER_NS UINT64_C(5000000)
#define START_NS    UINT64_C(5000000000)

struct job {
	unsigned ranks, steps, kernels;
	unsigned late, from, to; /* the rank that is late, and in which steps */
	uint64_t *last;          /* by step: when its last rank begins its first all-reduce */
};

#define ADD(p, table, ...)                                                               \
	do {                                                                             \
		if (aif_grow(&(p)->table, &(p)->table##_cap, (p)->table##_len + 1,       \
			     sizeof(*(p)->table)) < 0)                                   \
			abort();                                                         \
		(p)->table[(p)->table##_len++] = (__typeof__(*(p)->table)){__VA_ARGS__}; \
	} while (0)

static uint32_t str(struct aif_profile *p, const char *format, unsigned i)
{
	char text[200];

	snprintf(text, sizeof(text), format, i);
	return aif_strset_puts(&p->strings, text);
}

/* Returns how long a kernel of a step takes: all together most of the step. */
static uint64_t kernel_ns(const struct job *j, unsigned rank, unsigned step, unsigned k)
{
	uint64_t usual = STEP_NS * 9 / 10 / j->kernels,
		 salt = aif_mix64((uint64_t)rank << 40 | (uint64_t)step << 16 | k);

	return usual * (950 + salt % 50) / 1000 +
	       (rank == j->late && step >= j->from && step < j->to && k == j->kernels / 2 ? LATE_NS
											  : 0);
}

static uint64_t step_at(unsigned step)
{
	return START_NS + 1000000 + step * STEP_NS;
}

/* Returns when a rank begins its first all-reduce. */
static uint64_t ready_at(const struct job *j, unsigned rank, unsigned step)
{
	uint64_t at = step_at(step) + 10000;

	for (unsigned k = 0; k < j->kernels; k++)
		at += kernel_ns(j, rank, step, k) + 1000;
	return at;
}

static void add_tables(const struct job *j, struct aif_profile *p, unsigned rank)
{
	uint32_t host = str(p, "host%u", rank / HOST_RANKS);
	char text[32];

	ADD(p, processes, .pid = 1000 + rank, .exe = str(p, "/usr/bin/python3", 0),
	    .cmdline = str(p, "python3 train.py", 0), .host = host, .start_ns = p->start_ns,
	    .flags = AIF_PROCESS_AGENT | AIF_PROCESS_RUNTIME, .exit_status = -1, .rank = rank + 1,
	    .local_rank = rank % HOST_RANKS + 1, .world = j->ranks);
	ADD(p, threads, .process = 0, .tid = 1000 + rank, .name = str(p, "python3", 0));
	ADD(p, devices, .name = str(p, "Accelerator", 0), .vendor = str(p, "NVIDIA", 0),
	    .driver = AIF_NONE, .runtime = str(p, "cuda", 0), .kind = AIF_DEVICE_GPU, .units = 132,
	    .clock = AIF_CLOCK_MONOTONIC, .pci = (rank % HOST_RANKS + 1) << 8);
	ADD(p, streams, .process = 0, .device = 0, .ordinal = 7);
	ADD(p, modules, .kind = AIF_MODULE_ELF, .path = str(p, "/opt/lib/libtorch_cpu.so", 0),
	    .build_id = AIF_NONE, .kernel = AIF_NONE, .program = AIF_NONE);
	for (unsigned i = 0; i < NAMES; i++)
		ADD(p, kernels, .name = str(p, "void elementwise_kernel<functor_%u>(int)", i),
		    .short_name = AIF_NONE, .program = AIF_NONE);
	ADD(p, kernels, .name = str(p, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0),
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
	ADD(p, collectives, .communicator = str(p, "default_pg", 0),
	    .operation = str(p, "allreduce", 0), .ranks = j->ranks, .bytes = 25 << 20);
	ADD(p, meta, str(p, "command", 0), str(p, "python3 train.py", 0));
	ADD(p, meta, str(p, "host", 0), host);
	snprintf(text, sizeof(text), "%" PRIu64, START_NS + UINT64_C(1700000000000000000));
	ADD(p, meta, str(p, "start_realtime_ns", 0), aif_strset_puts(&p->strings, text));
}

struct rows {
	struct aif_launch_row *l;
	struct aif_exec_row *x;
	size_t len;
	uint64_t launch;
};

static void add_row(struct rows *r, uint64_t called, uint64_t start, uint64_t end, uint32_t kernel,
		    unsigned place, uint32_t sequence)
{
	r->l[r->len] = (struct aif_launch_row){.launch = ++r->launch,
					       .time = called,
					       .kernel = kernel,
					       .stack = place * DEPTH + DEPTH - 1,
					       .shape = AIF_NONE};
	r->x[r->len++] = (struct aif_exec_row){.launch = r->launch,
					       .start = start,
					       .end = end,
					       .kernel = kernel,
					       .registers = 64,
					       .collective = sequence != 0,
					       .sequence = sequence};
}

/* Adds a step's rows; returns its end. */
static uint64_t add_step(const struct job *j, struct rows *r, unsigned rank, unsigned step,
			 uint64_t *waited)
{
	uint64_t at = step_at(step) + 10000, called = step_at(step), end = 0;

	r->len = 0;
	for (unsigned k = 0; k < j->kernels; k++, called += 8000) {
		unsigned place = k % PLACES;

		end = at + kernel_ns(j, rank, step, k);
		add_row(r, called, at, end, place % NAMES, place, 0);
		at = end + 1000;
	}
	for (unsigned b = 0; b < BUCKETS; b++, called += 8000) {
		end = j->last[step] + (b + 1) * (TRANSFER_NS + 4000);
		add_row(r, called, at, end, NAMES, PLACES - 1, step * BUCKETS + b + 1);
		*waited += b ? 0 : j->last[step] - at;
		at = end + 4000;
	}
	return end + 10000;
}

static void must(int e, const struct aif_err *err)
{
	if (e < 0) {
		fprintf(stderr, "rank_profiles: %s\n", err->text);
		exit(1);
	}
}

static void write_rank(const struct job *j, const char *directory, unsigned rank, struct rows *r,
		       uint64_t *waited, uint64_t *executions)
{
	struct aif_profile p = {.start_ns = START_NS};
	struct aif_err err = {0};
	struct aif_writer *w;
	char path[4096];
	uint64_t end = START_NS;

	snprintf(path, sizeof(path), "%s/r%04u.data", directory, rank);
	remove(path);
	add_tables(j, &p, rank);
	for (unsigned s = 0; s < j->steps; s++)
		str(&p, "step#%u", s);
	must(aif_writer_new(path, START_NS, &w, &err), &err);
	must(aif_writer_tables(w, &p, &err), &err);
	r->launch = 0;
	for (unsigned s = 0; s < j->steps; s++) {
		struct aif_op_row step = {.start = step_at(s),
					  .kind = AIF_OP_STEP,
					  .name = str(&p, "step#%u", s),
					  .shapes = AIF_NONE,
					  .types = AIF_NONE,
					  .stack = AIF_NONE,
					  .sequence = -1};

		step.end = end = add_step(j, r, rank, s, waited);
		must(aif_writer_launches(w, r->l, r->len, &err), &err);
		must(aif_writer_execs(w, r->x, r->len, &err), &err);
		must(aif_writer_ops(w, &step, 1, &err), &err);
		*executions += r->len;
	}
	must(aif_writer_finish(w, end + 1000000, &err), &err);
	aif_profile_finish(&p);
}

int main(int argc, char **argv)
{
	struct job j = {.late = LATE, .from = LATE_FROM, .to = UINT_MAX};
	uint64_t waited = 0, executions = 0;
	struct rows r = {0};

	if (argc == 8) {
		j.late = (unsigned)strtoul(argv[5], NULL, 10);
		j.from = (unsigned)strtoul(argv[6], NULL, 10);
		j.to = (unsigned)strtoul(argv[7], NULL, 10);
	}
	if (argc == 5 || argc == 8) {
		j.ranks = (unsigned)strtoul(argv[2], NULL, 10);
		j.steps = (unsigned)strtoul(argv[3], NULL, 10);
		j.kernels = (unsigned)strtoul(argv[4], NULL, 10);
	}
	if (!j.ranks || !j.steps || !j.kernels) {
		fprintf(stderr,
			"usage: rank_profiles DIRECTORY RANKS STEPS KERNELS [RANK FROM TO]\n");
		return 2;
	}
	j.last = calloc(j.steps, sizeof(*j.last));
	r.l = calloc(j.kernels + BUCKETS, sizeof(*r.l));
	r.x = calloc(j.kernels + BUCKETS, sizeof(*r.x));
	if (!j.last || !r.l || !r.x)
		return 1;
	for (unsigned s = 0; s < j.steps; s++)
		for (unsigned i = 0; i < j.ranks; i++)
			j.last[s] = AIF_MAX(j.last[s], ready_at(&j, i, s));
	for (unsigned i = 0; i < j.ranks; i++)
		write_rank(&j, argv[1], i, &r, &waited, &executions);
	printf("%" PRIu64 " %" PRIu64 "\n", waited, executions);
	free(j.last);
	free(r.l);
	free(r.x);
	return 0;
}
