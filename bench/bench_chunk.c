/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codec and the file on a synthetic training step at 50,000 launches a second: 40 call sites in
 * sequence, 3 streams, first in first out in each, call times and durations with noise down to the
 * nanosecond. Two regimes: the device has a queue (starts follow ends), or waits for the host (starts
 * follow calls); and the first of them by a clock that ticks in grains of 32 ns, give or take 1, as
 * NVIDIA's do. Kernels are shared by call sites with other durations (other shapes), which a kernel's
 * name alone does not tell. The same as replays of graphs, one launch for 40 executions. Then samples, windows, CPU samples. Beside each: what zstd -1 makes of the
 * same row structs, and how fast it gives them back. Last a file of 20 s of it all. Prints medians and
 * spread over interleaved rounds.
 */
#include "base/clock.h"
#include "profile/chunk.h"
#include "profile/file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

enum { SITES = 40, STREAMS = 3, RATE = 50000, ROUNDS = 15, SECONDS = 20, SAMPLE_RATE = 16000 };

struct rng {
	uint64_t s;
};

static uint64_t next(struct rng *r)
{
	r->s += UINT64_C(0x9e3779b97f4a7c15);
	return aif_mix64(r->s);
}

static double uniform(struct rng *r)
{
	return (double)(next(r) >> 11) / (double)(UINT64_C(1) << 53);
}

/* About normal: the sum of 12 uniforms. */
static double normal(struct rng *r)
{
	double x = -6;

	for (int i = 0; i < 12; i++)
		x += uniform(r);
	return x;
}

struct load {
	struct rng rng;
	uint64_t grain;
	double busy; /* mean duration, in mean launch intervals of its stream */
	double interval[SITES], duration[SITES];
	uint32_t stream[SITES];
	uint64_t now, launch, free_at[STREAMS];
};

static void load_init(struct load *w, double busy, uint64_t grain, uint64_t start)
{
	double intervals = 0, durations[STREAMS] = {0};

	*w = (struct load){.rng = {42},
			   .grain = grain,
			   .busy = busy,
			   .now = start,
			   .launch = UINT64_C(3) << 40};
	for (int i = 0; i < SITES; i++) {
		w->stream[i] = i % 13 == 5 ? 2 : i % 5 == 3 ? 1 : 0;
		w->interval[i] = 0.4 + 1.2 * uniform(&w->rng);
		w->duration[i] = 0.2 + 3 * uniform(&w->rng) * uniform(&w->rng);
		intervals += w->interval[i];
		durations[w->stream[i]] += w->duration[i];
	}
	for (int i = 0; i < SITES; i++) {
		w->interval[i] *= SITES * 1e9 / RATE / intervals;
		w->duration[i] *= busy * SITES * 1e9 / RATE / durations[w->stream[i]];
	}
}

/* Returns time t as the device's clock shows it: at its grain, with jitter. */
static uint64_t stamp(struct load *w, uint64_t t)
{
	return w->grain == 1 ? t : t / w->grain * w->grain - 1 + next(&w->rng) % 3;
}

static void load_next(struct load *w, struct aif_launch_row *l, struct aif_exec_row *x)
{
	unsigned site = (unsigned)(w->launch % SITES);
	uint32_t stream = w->stream[site];
	double interval = w->interval[site] * (1 + 0.12 * normal(&w->rng));
	double duration = w->duration[site] * (1 + 0.02 * normal(&w->rng)) + 20 * normal(&w->rng);
	double latency = 6000 + 400 * normal(&w->rng), gap = 1100 + 120 * normal(&w->rng);

	if (uniform(&w->rng) < 0.003)
		interval += 150e3 * uniform(&w->rng); /* the host was elsewhere */
	if (uniform(&w->rng) < 0.01)
		duration *= 1 + uniform(&w->rng);
	w->now += (uint64_t)AIF_MAX(interval, 900.0);
	*l = (struct aif_launch_row){.launch = w->launch,
				     .time = w->now,
				     .thread = 1,
				     .kernel = site % 23,
				     .device = 0,
				     .stream = stream,
				     .stack = 700 + site * 3,
				     .shape = site % 11};
	*x = (struct aif_exec_row){.launch = w->launch,
				   .clock = AIF_CLOCK_DEVICE,
				   .process = 0,
				   .kernel = site % 23,
				   .device = 0,
				   .stream = stream,
				   .registers = 16 + site % 23 * 8,
				   .shared_bytes = site % 3 ? 0 : 1024 * (site % 11)};
	x->start = AIF_MAX(w->now + (uint64_t)latency, w->free_at[stream] + (uint64_t)gap);
	x->end = x->start + (uint64_t)AIF_MAX(duration, 700.0);
	w->free_at[stream] = x->end;
	x->start = stamp(w, x->start);
	x->end = stamp(w, x->end);
	w->launch++;
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_spread(const char *what, double *v, int n, const char *unit)
{
	qsort(v, (size_t)n, sizeof(*v), by_double);
	printf("  %-44s %8.2f %s  [%.2f .. %.2f]\n", what, v[n / 2], unit, v[n / 10],
	       v[n - 1 - n / 10]);
}

static void die(const char *what)
{
	fprintf(stderr, "bench_chunk: %s\n", what);
	exit(1);
}

/* Returns bytes a row. */
static double bench_kind(const char *name, enum aif_chunk_kind kind, const void *rows, size_t n)
{
	struct aif_chunk_encoder *e = aif_chunk_encoder_new();
	struct aif_chunk_decoder *d = aif_chunk_decoder_new();
	size_t bytes = n * aif_chunk_row_size(kind), packed, got;
	double enc[ROUNDS], dec[ROUNDS], peer[ROUNDS], ratio[ROUNDS];
	struct aif_buf chunk = {0};
	uint8_t *z = malloc(ZSTD_compressBound(bytes)), *back = malloc(bytes);
	const void *out;

	if (!e || !d || !z || !back)
		die("no memory");
	packed = ZSTD_compress(z, ZSTD_compressBound(bytes), rows, bytes, 1);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t t0, t1, t2, t3;

		aif_buf_clear(&chunk);
		t0 = aif_now_ns();
		if (aif_chunk_encode(e, kind, rows, NULL, n, &chunk) < 0)
			die("encode");
		t1 = aif_now_ns();
		if (aif_chunk_decode(d, kind, chunk.data, chunk.len, &out, &got) < 0 || got != n)
			die("decode");
		t2 = aif_now_ns();
		if (ZSTD_decompress(back, bytes, z, packed) != bytes)
			die("zstd");
		t3 = aif_now_ns();
		if (memcmp(out, rows, bytes) != 0)
			die("rows came back different");
		enc[i] = (double)n * 1e3 / (double)(t1 - t0);
		dec[i] = (double)n * 1e3 / (double)(t2 - t1);
		peer[i] = (double)n * 1e3 / (double)(t3 - t2);
		ratio[i] = dec[i] / peer[i];
	}
	printf("%s, %zu rows: %.2f bytes a row (zstd -1 of the structs: %.2f)\n", name, n,
	       (double)chunk.len / (double)n, (double)packed / (double)n);
	print_spread("encode", enc, ROUNDS, "M rows/s");
	print_spread("decode (bar: 30)", dec, ROUNDS, "M rows/s");
	print_spread("zstd -d of the structs", peer, ROUNDS, "M rows/s");
	print_spread("decode / zstd -d", ratio, ROUNDS, "x       ");
	free(z);
	free(back);
	aif_chunk_encoder_free(e);
	aif_chunk_decoder_free(d);
	packed = chunk.len;
	aif_buf_finish(&chunk);
	return (double)packed / (double)n;
}

static void bench_codec(const char *name, double busy, uint64_t grain)
{
	struct aif_launch_row *l = calloc(RATE, sizeof(*l));
	struct aif_exec_row *x = calloc(RATE, sizeof(*x));
	struct load w;
	double bytes;

	if (!l || !x)
		die("no memory");
	load_init(&w, busy, grain, UINT64_C(86400000000000));
	for (int i = 0; i < RATE; i++)
		load_next(&w, &l[i], &x[i]);
	printf("\n== %s\n", name);
	bytes = bench_kind("launches", AIF_CHUNK_LAUNCHES, l, RATE);
	bytes += bench_kind("executions", AIF_CHUNK_EXECS, x, RATE);
	printf("launch + execution: %.2f bytes (bar: 5)\n", bytes);
	free(l);
	free(x);
}

/* Four graphs of a kernel for each call site, in turns. */
static void bench_graphs(void)
{
	struct aif_launch_row l;
	struct aif_exec_row *x = calloc(RATE, sizeof(*x));
	struct load w;

	if (!x)
		die("no memory");
	load_init(&w, 0.93, 32, UINT64_C(86400000000000));
	for (int i = 0; i < RATE; i++) {
		load_next(&w, &l, &x[i]);
		x[i].launch = l.launch / SITES;
		x[i].graph = 1 + (uint32_t)(l.launch / SITES % 4);
		x[i].node = (uint32_t)(l.launch % SITES);
	}
	printf("\n== replays of graphs\n");
	bench_kind("executions", AIF_CHUNK_EXECS, x, RATE);
	free(x);
}

/* A few frames have most of the samples. */
static struct aif_sample_row sample(struct rng *r, uint64_t now)
{
	double at = uniform(r);

	return (struct aif_sample_row){.time = now + next(r) % 20000,
				       .count = 1,
				       .thread = (uint32_t)(next(r) % 2),
				       .process = 0,
				       .device = 0,
				       .frame = (uint32_t)(4000 * at * at * at),
				       .reason = (uint32_t)(12 * uniform(r) * at),
				       .window = (uint32_t)(now / AIF_NS_PER_S)};
}

static struct aif_window_row window(struct rng *r, uint64_t i)
{
	uint64_t start = i * 50000000 + next(r) % 10000000;

	return (struct aif_window_row){.start = start,
				       .end = start + 20000000 + next(r) % 20000000,
				       .window = (uint32_t)i,
				       .device = AIF_NONE,
				       .process = 0,
				       .held = (uint32_t)i & 1,
				       .launches = next(r) % 1000,
				       .thread = (uint32_t)(i % 8),
				       .p_ppm = 200000};
}

static void bench_others(void)
{
	struct aif_sample_row *s = calloc(RATE, sizeof(*s));
	struct aif_window_row *n = calloc(RATE, sizeof(*n));
	struct aif_cpu_row *c = calloc(RATE, sizeof(*c));
	struct aif_op_row *o = calloc(RATE, sizeof(*o));
	struct rng r = {7};

	if (!s || !n || !c || !o)
		die("no memory");
	for (uint64_t i = 0; i < RATE; i++) {
		s[i] = sample(&r, i * AIF_NS_PER_S / SAMPLE_RATE);
		n[i] = window(&r, i);
		c[i] = (struct aif_cpu_row){.time = i * 1263000 + next(&r) % 60000,
					    .weight = 10101010,
					    .thread = (uint32_t)(i % 8),
					    .stack = (uint32_t)(next(&r) % 300)};
		o[i] = (struct aif_op_row){.start = i * 20000 + next(&r) % 300,
					   .thread = 0,
					   .name = (uint32_t)(i % 200),
					   .kind = AIF_OP_OPERATOR,
					   .shapes = (uint32_t)(i % 40),
					   .stack = AIF_NONE,
					   .id = i,
					   .sequence = i % 3 ? -1 : (int64_t)i / 3};
		o[i].end = o[i].start + 5000 + next(&r) % 1024;
	}
	printf("\n== the other rows\n");
	bench_kind("samples", AIF_CHUNK_SAMPLES, s, RATE);
	bench_kind("windows", AIF_CHUNK_WINDOWS, n, RATE);
	bench_kind("CPU samples", AIF_CHUNK_CPU, c, RATE);
	bench_kind("operators", AIF_CHUNK_OPS, o, RATE);
	free(s);
	free(n);
	free(c);
	free(o);
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The writer thread's work: sorting, compressing, SQLite. */
static void bench_file(double busy, uint64_t grain)
{
	static const char path[] = "bench_chunk.data";
	struct aif_launch_row *l = calloc(RATE, sizeof(*l));
	struct aif_exec_row *x = calloc(RATE, sizeof(*x));
	struct aif_sample_row *s = calloc(SAMPLE_RATE, sizeof(*s));
	struct aif_writer *file;
	struct aif_err err;
	struct stat st;
	struct load w;
	struct rng r = {9};
	double spent = 0;

	if (!l || !x || !s)
		die("no memory");
	load_init(&w, busy, grain, AIF_NS_PER_S);
	if (aif_writer_new(path, AIF_NS_PER_S, &file, &err) < 0)
		die(err.text);
	for (int second = 0; second < SECONDS; second++) {
		double began;

		for (int i = 0; i < RATE; i++)
			load_next(&w, &l[i], &x[i]);
		for (uint64_t i = 0; i < SAMPLE_RATE; i++)
			s[i] = sample(&r, (uint64_t)second * AIF_NS_PER_S +
						  i * AIF_NS_PER_S / SAMPLE_RATE);
		began = cpu_seconds();
		if (aif_writer_launches(file, l, RATE, &err) < 0 ||
		    aif_writer_execs(file, x, RATE, &err) < 0 ||
		    aif_writer_samples(file, s, SAMPLE_RATE, &err) < 0 ||
		    aif_writer_commit(file, &err) < 0)
			die(err.text);
		spent += cpu_seconds() - began;
	}
	if (aif_writer_finish(file, w.now, &err) < 0 || stat(path, &st) < 0)
		die("cannot finish the file");
	printf("  %d launches, %d samples a second: %.1f MB a minute (bar: 20), %.2f %% of a core\n",
	       RATE, SAMPLE_RATE, (double)st.st_size * 60 / SECONDS / 1e6, 100 * spent / SECONDS);
	unlink(path);
	free(l);
	free(x);
	free(s);
}

int main(void)
{
	bench_codec("the device has a queue", 0.93, 1);
	bench_codec("the device waits for the host", 0.35, 1);
	bench_codec("the device has a queue, and a clock of 32 ns", 0.93, 32);
	bench_graphs();
	bench_others();
	printf("\n== a file: a queue, waiting, 32 ns\n");
	bench_file(0.93, 1);
	bench_file(0.35, 1);
	bench_file(0.93, 32);
	return 0;
}
