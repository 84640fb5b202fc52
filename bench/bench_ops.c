/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `report --ops` on a profile of 3 million events: a training loop of 4 threads, operators five deep, each innermost
 * one with a call of the runtime and a kernel. Beside it the floor: the same file opened and its rows decoded, and
 * nothing made of them. Prints medians over interleaved rounds. A file named on the command line is kept for
 * the other tables.
 */
#include "base/clock.h"
#include "report/report.h"
#include "profile/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, LAUNCHES = 430000, PER_LAUNCH = 5, NAMES = 200, KERNELS = 60, ROUNDS = 9 };
#define SECOND 50000 /* launches in a second of all threads */

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench_ops: %s\n", what);
	exit(1);
}

static void *rows_new(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		die("no memory");
	return p;
}

static void add_tables(struct aif_profile *p)
{
	char name[64];

	p->processes = rows_new(1, sizeof(*p->processes));
	p->processes_len = 1;
	p->processes[0] = (struct aif_process){
		.pid = 1, .exe = AIF_NONE, .cmdline = AIF_NONE, .host = AIF_NONE};
	p->threads = rows_new(THREADS, sizeof(*p->threads));
	p->threads_len = THREADS;
	p->streams = rows_new(THREADS, sizeof(*p->streams));
	p->streams_len = THREADS;
	for (uint32_t i = 0; i < THREADS; i++) {
		p->threads[i] = (struct aif_thread){.process = 0, .tid = i, .name = AIF_NONE};
		p->streams[i] = (struct aif_stream){.process = 0, .device = 0, .ordinal = i};
	}
	p->devices = rows_new(1, sizeof(*p->devices));
	p->devices_len = 1;
	p->devices[0] = (struct aif_device){.name = AIF_NONE,
					    .vendor = AIF_NONE,
					    .driver = AIF_NONE,
					    .runtime = aif_strset_puts(&p->strings, "cuda")};
	p->kernels = rows_new(KERNELS, sizeof(*p->kernels));
	p->kernels_len = KERNELS;
	for (uint32_t i = 0; i < KERNELS; i++) {
		snprintf(name, sizeof(name), i % 10 ? "gemm_%u" : "ncclDevKernel_%u", i);
		p->kernels[i] =
			(struct aif_kernel){aif_strset_puts(&p->strings, name), AIF_NONE, AIF_NONE};
	}
	for (uint32_t i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "aten::operator_%u", i);
		aif_strset_puts(&p->strings, name);
	}
}

/* Makes launch i and the nested operators around it, 2 us for each level. */
static void add_launch(uint64_t i, uint32_t first_name, struct aif_op_row *ops,
		       struct aif_launch_row *l, struct aif_exec_row *x)
{
	uint32_t thread = (uint32_t)(i % THREADS), site = (uint32_t)(i / THREADS % 1000);
	uint64_t at = 1000000 + i / THREADS * 80000 + aif_mix64(i) % 5000;

	for (uint32_t d = 0; d < PER_LAUNCH; d++)
		ops[d] = (struct aif_op_row){
			.start = at + d * 2000,
			.end = at + 60000 - d * 3000 + aif_mix64(i * 8 + d) % 1000,
			.thread = thread,
			.name = first_name + (site * 7 + d * 31) % NAMES,
			.kind = d == PER_LAUNCH - 1 ? AIF_OP_RUNTIME : AIF_OP_OPERATOR,
			.shapes = AIF_NONE,
			.stack = AIF_NONE,
			.id = i * PER_LAUNCH + d,
			.sequence = -1};
	*l = (struct aif_launch_row){.launch = (uint64_t)thread << 40 | i,
				     .time = ops[PER_LAUNCH - 1].start,
				     .thread = thread,
				     .kernel = site % KERNELS,
				     .device = 0,
				     .stream = thread,
				     .stack = AIF_NONE,
				     .shape = AIF_NONE};
	*x = (struct aif_exec_row){.launch = l->launch,
				   .start = l->time + 10000,
				   .end = l->time + 30000 + aif_mix64(i) % 20000,
				   .process = 0,
				   .kernel = l->kernel,
				   .device = 0,
				   .stream = thread};
}

static void make_file(const char *path)
{
	struct aif_op_row *ops = rows_new((size_t)SECOND * PER_LAUNCH, sizeof(*ops));
	struct aif_launch_row *l = rows_new(SECOND, sizeof(*l));
	struct aif_exec_row *x = rows_new(SECOND, sizeof(*x));
	struct aif_profile p = {0};
	struct aif_err err = {0};
	struct aif_writer *w;
	uint64_t done = 0;

	add_tables(&p);
	if (aif_writer_new(path, 0, &w, &err) < 0 || aif_writer_tables(w, &p, &err) < 0)
		die(err.text);
	while (done < LAUNCHES) {
		size_t n = AIF_MIN(LAUNCHES - done, SECOND);

		for (size_t i = 0; i < n; i++)
			add_launch(done + i, (uint32_t)p.strings.len - NAMES, ops + i * PER_LAUNCH,
				   &l[i], &x[i]);
		if (aif_writer_ops(w, ops, n * PER_LAUNCH, &err) < 0 ||
		    aif_writer_launches(w, l, n, &err) < 0 || aif_writer_execs(w, x, n, &err) < 0 ||
		    aif_writer_commit(w, &err) < 0)
			die(err.text);
		done += n;
	}
	if (aif_writer_finish(w, LAUNCHES / THREADS * UINT64_C(80000) + 2000000, &err) < 0)
		die(err.text);
	aif_profile_finish(&p);
	free(ops);
	free(l);
	free(x);
}

static int count_ops(void *arg, const struct aif_op_row *rows, size_t n)
{
	(void)rows;
	*(uint64_t *)arg += n;
	return 0;
}
static int count_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	(void)rows;
	*(uint64_t *)arg += n;
	return 0;
}
static int count_execs(void *arg, const struct aif_exec_row *rows, size_t n)
{
	(void)rows;
	*(uint64_t *)arg += n;
	return 0;
}

static double floor_ms(const char *path, uint64_t *ret_events)
{
	uint64_t begun = aif_clock_ns(AIF_CLOCK_MONOTONIC);
	struct aif_profile p;
	struct aif_err err = {0};

	*ret_events = 0;
	if (aif_profile_open(path, &p, &err) < 0)
		die(err.text);
	if (aif_profile_ops(&p, count_ops, ret_events, NULL) ||
	    aif_profile_launches(&p, count_launches, ret_events, NULL) ||
	    aif_profile_execs(&p, count_execs, ret_events, NULL))
		die("cannot read");
	aif_profile_finish(&p);
	return (double)(aif_clock_ns(AIF_CLOCK_MONOTONIC) - begun) / 1e6;
}

static double report_ms(const char *path, const struct aif_report_table *table)
{
	uint64_t begun = aif_clock_ns(AIF_CLOCK_MONOTONIC);
	struct aif_report_opts o = {.table = table, .limit = 40};
	struct aif_buf out = {0};
	struct aif_profile p;
	struct aif_err err = {0};

	if (aif_profile_open(path, &p, &err) < 0)
		die(err.text);
	if (aif_report_write(AIF_NAMES_OF(&p), NULL, &o, &out, &err) < 0)
		die(err.text);
	aif_profile_finish(&p);
	aif_buf_finish(&out);
	return (double)(aif_clock_ns(AIF_CLOCK_MONOTONIC) - begun) / 1e6;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double median(double *v)
{
	qsort(v, ROUNDS, sizeof(*v), by_value);
	return v[ROUNDS / 2];
}

int main(int argc, char **argv)
{
	static const struct {
		const struct aif_report_table *table;
		const char *name;
	} tables[] = {{&aif_report_table_ops, "ops"},
		      {&aif_report_table_breakdown, "breakdown"},
		      {&aif_report_table_comm, "comm"},
		      {&aif_report_table_idle, "idle"},
		      {&aif_report_table_streams, "streams"}};
	const char *path = argc > 1 ? argv[1] : "/tmp/aiflame-bench-ops";
	double bare[ROUNDS], took[AIF_ARRAY_LEN(tables)][ROUNDS], least;
	uint64_t events = 0;

	make_file(path);
	for (int i = 0; i < ROUNDS; i++) {
		bare[i] = floor_ms(path, &events);
		for (size_t k = 0; k < AIF_ARRAY_LEN(tables); k++)
			took[k][i] = report_ms(path, tables[k].table);
	}
	least = median(bare);
	printf("%llu events; opened and decoded: %.0f ms\n", (unsigned long long)events, least);
	for (size_t k = 0; k < AIF_ARRAY_LEN(tables); k++) {
		double ms = median(took[k]);

		printf("report --%-10s %.0f ms (%.0f to %.0f), %.2f times that%s\n", tables[k].name,
		       ms, took[k][0], took[k][ROUNDS - 1], ms / least,
		       k ? "" : " (bar: 1,000 ms)");
	}
	if (argc < 2)
		unlink(path);
	return 0;
}
