/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/roofs.h"

#include "base/clock.h"
#include "stat/roof_kernels.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A round that nothing disturbs is enough: short ones, and several. */
#define ROUNDS   7
#define ROUND_NS (12 * UINT64_C(1000000))
/* Buffers of all threads together: four times the last caches that they reach, as STREAM asks for, within these. Where the
 * most is less than twice these caches, memory has no roof: it would be the caches'. */
#define LEAST_BYTES \
	((size_t)256 << 20) /* caches of a host are often hidden from its virtual machines */
#define MOST_BYTES  ((size_t)4 << 30)
#define PIECE_BYTES ((size_t)1 << 20) /* between two looks at the clock */
#define STEP_BYTES  ((size_t)1 << 10) /* kernels' lengths are multiples */

struct machine {
	const struct aif_roof_kernels *kernels;
	size_t cache[3], most; /* bytes; 0: there is none */
	cpu_set_t cpus;
	uint32_t cpus_len;
};

/* All threads begin a round together. A barrier of pthread's would wait for those that could not be made. */
struct meeting {
	uint32_t threads;
	atomic_uint arrived; /* in all rounds */
	atomic_bool is_over;
};

struct worker {
	pthread_t thread;
	const struct machine *m;
	enum aif_roof roof;
	int cpu;
	size_t bytes; /* of its buffer */
	struct meeting *meeting;
	double rate[ROUNDS];
	int error;
	volatile double sink;
};

static const struct {
	const char *key, *text;
} roofs[] = {
	[AIF_ROOF_FMA_SP] = {"fma_sp", "multiply-add, 32 bits"},
	[AIF_ROOF_FMA_DP] = {"fma_dp", "multiply-add, 64 bits"},
	[AIF_ROOF_L1] = {"l1_read", "read from L1"},
	[AIF_ROOF_L2] = {"l2_read", "read from L2"},
	[AIF_ROOF_L3] = {"l3_read", "read from L3"},
	[AIF_ROOF_DRAM] = {"dram_read", "read from memory"},
	[AIF_ROOF_TRIAD] = {"dram_triad", "triad in memory"},
};

/* Does one piece of work, of at most about 1 ms; returns how much it was. */
static double work(struct worker *w, char *buf, size_t *at)
{
	const struct aif_roof_kernels *k = w->m->kernels;
	const uint64_t turns = 20000;
	size_t n = AIF_MIN(w->bytes, PIECE_BYTES), third = w->bytes / 3 / STEP_BYTES * STEP_BYTES;

	switch (w->roof) {
	case AIF_ROOF_FMA_SP:
		w->sink += (double)k->fma_sp(turns);
		return k->flops * (double)turns;
	case AIF_ROOF_FMA_DP:
		w->sink += k->fma_dp(turns);
		return k->flops / 2 * (double)turns;
	case AIF_ROOF_TRIAD:
		n = AIF_MIN(n, third);
		if (*at + n > third)
			*at = 0;
		k->triad((double *)(void *)(buf + *at), (double *)(void *)(buf + third + *at),
			 (double *)(void *)(buf + 2 * third + *at), n);
		*at += n;
		return 3 * (double)n;
	default:
		if (*at + n > w->bytes)
			*at = 0;
		/* Small buffers several times: the clock is read in between. */
		for (size_t i = 0; i < PIECE_BYTES / n; i++)
			w->sink += (double)k->read((const float *)(const void *)(buf + *at), n);
		*at += n;
		return (double)(PIECE_BYTES / n * n);
	}
}

/* Waits until all threads are in that round. False: they will not be. */
static bool meet(struct meeting *m, uint32_t round)
{
	atomic_fetch_add(&m->arrived, 1);
	while (atomic_load(&m->arrived) < m->threads * (round + 1)) {
		if (atomic_load(&m->is_over))
			return false;
		sched_yield();
	}
	return true;
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;
	char *buf =
		mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t at = 0;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(w->cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		w->error = errno;
	if (buf == MAP_FAILED) {
		w->error = ENOMEM;
	} else {
		/* Large pages, where there are any: caches and memory are measured, not the TLB. */
		(void)madvise(buf, w->bytes, MADV_HUGEPAGE);
		memset(buf, 0, w->bytes);
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t from, now;
		double done = 0;

		if (!meet(w->meeting, i))
			break;
		if (w->error)
			continue;
		from = aif_clock_ns(CLOCK_MONOTONIC);
		do {
			done += work(w, buf, &at);
			now = aif_clock_ns(CLOCK_MONOTONIC);
		} while (now - from < ROUND_NS);
		w->rate[i] = done / ((double)(now - from) / 1e9);
	}
	if (buf != MAP_FAILED)
		munmap(buf, w->bytes);
	return NULL;
}

/* Returns how many last caches the first n of the CPUs have: several where not all CPUs share one. */
static size_t last_caches(const struct machine *m, uint32_t n)
{
	size_t caches = 0;
	int cpu = -1;

	for (uint32_t i = 0; i < n; i++) {
		char path[96];
		unsigned first = 0;
		FILE *f;

		do
			cpu++;
		while (!CPU_ISSET(cpu, &m->cpus));
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%d/cache/index3/shared_cpu_list", cpu);
		f = fopen(path, "re");
		/* Counts a cache at the first CPU of its list; one whose first CPU may not be used is counted at each other. */
		if (f && fscanf(f, "%u", &first) == 1)
			caches += (int)first == cpu || first >= CPU_SETSIZE ||
				  !CPU_ISSET(first, &m->cpus);
		if (f)
			fclose(f);
	}
	return AIF_MAX(caches, (size_t)1);
}

/* Returns the bytes of the buffers of n threads together that are memory and no cache; 0: it would be too much. */
static size_t memory_bytes(const struct machine *m, uint32_t n)
{
	size_t cache = m->cache[2] * last_caches(m, n);
	size_t bytes = AIF_MIN(AIF_MAX(4 * cache, LEAST_BYTES), m->most);

	return bytes >= 2 * cache ? bytes : 0;
}

/* Returns what each of `n` threads works on; 0: the machine has no such cache. */
static size_t bytes_of(const struct machine *m, enum aif_roof roof, uint32_t n)
{
	size_t bytes = 0;

	switch (roof) {
	case AIF_ROOF_L1:
	case AIF_ROOF_L2:
		bytes = m->cache[roof - AIF_ROOF_L1] / 2;
		break;
	case AIF_ROOF_L3: /* all have a part of it: beyond their own */
		bytes = AIF_MAX(m->cache[2] / 2 / n, m->cache[2] ? 2 * m->cache[1] : 0);
		break;
	case AIF_ROOF_DRAM:
	case AIF_ROOF_TRIAD:
		bytes = memory_bytes(m, n) / n;
		break;
	default:
		bytes = STEP_BYTES;
	}
	return bytes / STEP_BYTES * STEP_BYTES;
}

/* Measures one roof with the first n of the CPUs. 0 or -errno. */
static int measure(const struct machine *m, enum aif_roof roof, uint32_t n, struct aif_spread *ret)
{
	struct worker *w = calloc(n, sizeof(*w));
	double rates[ROUNDS] = {0};
	struct meeting meeting = {.threads = n};
	uint32_t made = 0;
	size_t bytes = bytes_of(m, roof, n);
	int r = w ? 0 : -ENOMEM, cpu = -1;

	*ret = (struct aif_spread){0};
	if (r || !bytes) {
		free(w);
		return r;
	}
	for (; made < n && !r; made++) {
		do
			cpu++;
		while (!CPU_ISSET(cpu, &m->cpus));
		w[made] = (struct worker){
			.m = m, .roof = roof, .cpu = cpu, .bytes = bytes, .meeting = &meeting};
		r = -pthread_create(&w[made].thread, NULL, worker_run, &w[made]);
		made -= r != 0;
	}
	atomic_store(&meeting.is_over, r != 0);
	for (uint32_t i = 0; i < made; i++) {
		pthread_join(w[i].thread, NULL);
		r = r ? r : -w[i].error;
		for (unsigned k = 0; k < ROUNDS; k++)
			rates[k] += w[i].rate[k];
	}
	if (!r)
		aif_spread_measure(rates, ROUNDS, ret);
	free(w);
	return r;
}

/* Reads how large the caches of a level are, of one core. */
static size_t cache_bytes(int name)
{
	long n = sysconf(name);

	return n > 0 ? (size_t)n : 0;
}

int aif_roofs_measure(struct aif_roofs *ret, struct aif_err *err)
{
	struct machine m = {
		.kernels = aif_roof_kernels(),
		.cache = {cache_bytes(_SC_LEVEL1_DCACHE_SIZE), cache_bytes(_SC_LEVEL2_CACHE_SIZE),
			  cache_bytes(_SC_LEVEL3_CACHE_SIZE)},
	};
	int r = 0;

	m.most = AIF_MIN((size_t)sysconf(_SC_PHYS_PAGES) / 4 * (size_t)sysconf(_SC_PAGESIZE),
			 MOST_BYTES);
	if (sched_getaffinity(0, sizeof(m.cpus), &m.cpus) < 0)
		return aif_err_set(err, -errno,
				   "stat: --roofs: cannot tell which CPUs may be used: %s",
				   strerror(errno));
	m.cpus_len = (uint32_t)CPU_COUNT(&m.cpus);
	*ret = (struct aif_roofs){.isa = m.kernels->isa, .threads = m.cpus_len};
	for (unsigned i = 0; i < AIF_ROOFS && !r; i++) {
		r = measure(&m, (enum aif_roof)i, 1, &ret->one[i]);
		if (!r)
			r = measure(&m, (enum aif_roof)i, m.cpus_len, &ret->all[i]);
	}
	return r ? aif_err_set(err, r, "stat: --roofs: cannot measure: %s", strerror(-r)) : 0;
}

static void put_rate(const struct aif_spread *s, struct aif_buf *out)
{
	if (s->n)
		aif_buf_printf(out, "  %9.2f (median %9.2f)", s->max / 1e9, s->median / 1e9);
	else
		aif_buf_printf(out, "  %9s %19s", "-", "");
}

void aif_roofs_text(const struct aif_roofs *r, struct aif_buf *out)
{
	aif_buf_printf(
		out,
		"\n Roofs of this machine, %s; best of %d rounds, behind it their median:\n\n"
		"%24s  %29s   %20s %u\n",
		r->isa, ROUNDS, "", "one CPU", "all CPUs:", r->threads);
	for (unsigned i = 0; i < AIF_ROOFS; i++) {
		aif_buf_printf(out, "  %-22s", roofs[i].text);
		put_rate(&r->one[i], out);
		put_rate(&r->all[i], out);
		aif_buf_puts(out, i <= AIF_ROOF_FMA_DP ? " GFLOP/s\n" : " GB/s\n");
	}
}

static void put_json(const char *key, const struct aif_spread *s, struct aif_buf *out)
{
	const char *before = "";

	aif_buf_printf(out, ", \"%s\": {", key);
	for (unsigned i = 0; i < AIF_ROOFS; i++) {
		if (!s[i].n)
			continue;
		aif_buf_printf(
			out,
			"%s\"%s\": {\"best\": %.0f, \"median\": %.0f, \"min\": %.0f, \"n\": %zu}",
			before, roofs[i].key, s[i].max, s[i].median, s[i].min, s[i].n);
		before = ", ";
	}
	aif_buf_putc(out, '}');
}

void aif_roofs_json(const struct aif_roofs *r, struct aif_buf *out)
{
	aif_buf_printf(out, "{\"isa\": \"%s\", \"threads\": %u", r->isa, r->threads);
	put_json("one", r->one, out);
	put_json("all", r->all, out);
	aif_buf_putc(out, '}');
}
