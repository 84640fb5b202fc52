/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codec and the file on a synthetic training step at 50,000 launches a second: 40 call sites in
 * sequence, 3 streams, first in first out in each, call times and durations with noise down to the
 * nanosecond. Two regimes: the device has a queue (starts follow ends), or waits for the host (starts
 * follow calls). Beside each: what zstd -1 makes of the same row structs, and how fast it gives them
 * back. Prints medians and spread over interleaved rounds.
 */
#include "base/clock.h"
#include "profile/chunk.h"
#include "profile/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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
	double busy; /* mean duration, in mean launch intervals of its stream */
	double interval[SITES], duration[SITES];
	uint32_t stream[SITES];
	uint64_t now, launch, free_at[STREAMS];
};

static void load_init(struct load *w, double busy, uint64_t start)
{
	double intervals = 0, durations[STREAMS] = {0};

	*w = (struct load){.rng = {42}, .busy = busy, .now = start, .launch = UINT64_C(3) << 40};
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
				   .stream = stream};
	x->start = AIF_MAX(w->now + (uint64_t)latency, w->free_at[stream] + (uint64_t)gap);
	x->end = x->start + (uint64_t)AIF_MAX(duration, 700.0);
	w->free_at[stream] = x->end;
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

static void bench_codec(const char *name, double busy)
{
	struct aif_launch_row *l = calloc(RATE, sizeof(*l));
	struct aif_exec_row *x = calloc(RATE, sizeof(*x));
	struct load w;
	double bytes;

	if (!l || !x)
		die("no memory");
	load_init(&w, busy, UINT64_C(86400000000000));
	for (int i = 0; i < RATE; i++)
		load_next(&w, &l[i], &x[i]);
	printf("\n== %s\n", name);
	bytes = bench_kind("launches", AIF_CHUNK_LAUNCHES, l, RATE);
	bytes += bench_kind("executions", AIF_CHUNK_EXECS, x, RATE);
	printf("launch + execution: %.2f bytes (bar: 5)\n", bytes);
	free(l);
	free(x);
}

int main(void)
{
	bench_codec("the device has a queue", 0.93);
	bench_codec("the device waits for the host", 0.35);
	return 0;
}
