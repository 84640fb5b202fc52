/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "record/sources/device_code.h"
#include "record/sources/sources.h"
#include "record/sources/xe_join.h"

#include <stdio.h>
#include <string.h>

/*
 * Measures how fast EU-stall records become rows: decoding, beside a loop that only touches each record (the floor:
 * memory); summing up; and the whole way of 10 million records over 10,000 kernels, in windows as the thread makes
 * them. Buffers are as large as one read. Prints medians of 9 rounds, both loops in turn.
 */
#define BUFFER  (2u << 20)
#define RECORDS (BUFFER / AIF_XE_RECORD)
#define ROUNDS  9
#define KERNELS 10000
#define SIZE    4096 /* bytes of a kernel */

static uint8_t bytes[BUFFER];
static struct aif_xe_record records[1024];

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v)
{
	qsort(v, ROUNDS, sizeof(*v), compare);
	return v[ROUNDS / 2];
}

static double decode(enum aif_xe_layout layout)
{
	uint64_t begin = aif_now_ns();

	for (unsigned k = 0; k < 64; k++)
		for (size_t i = 0; i < RECORDS; i += 1024) {
			aif_xe_decode(layout, bytes + i * AIF_XE_RECORD, 1024, records);
			__asm__ volatile("" : : "r"(records) : "memory");
		}
	return 64.0 * RECORDS * 1e3 / (double)(aif_now_ns() - begin);
}

static double touch(void)
{
	uint64_t begin = aif_now_ns(), sum = 0, word;

	for (unsigned k = 0; k < 64; k++)
		for (size_t i = 0; i < RECORDS; i++) {
			memcpy(&word, bytes + i * AIF_XE_RECORD, 8);
			sum += word;
			__asm__ volatile("" : "+r"(sum));
		}
	return 64.0 * RECORDS * 1e3 / (double)(aif_now_ns() - begin);
}

/* Records of `ips` instructions of each kernel, the first ones more often, as loops are. */
static void fill(struct aif_xe_record *r, size_t n, unsigned ips, uint64_t *random)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t x = *random = aif_mix64(*random + 1), kernel = (x >> 32) % KERNELS,
			 at = AIF_MIN(x % ips, (x >> 16) % ips);

		r[i] = (struct aif_xe_record){.ip = (kernel * SIZE + 8 * at) >> 3,
					      .low = UINT64_C(1) << 8 * (x >> 60) % 56};
	}
}

struct world {
	struct aif_store store;
	struct aif_record_opts opts;
	struct aif_drainer d;
	uint64_t rows, spent; /* ns of CPU time in all but making records */
};

static uint64_t cpu_ns(void)
{
	return aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void join_batch(struct world *w, struct aif_xe_batch *b)
{
	uint64_t begin = cpu_ns();
	struct aif_xe_counts next = {0};
	struct aif_batch *done;

	aif_xe_join(&w->d, b);
	aif_xe_counts_reserve(&next, &b->windows[0].counts);
	w->spent += cpu_ns() - begin;
	aif_xe_counts_finish(&b->windows[0].counts);
	b->windows[0].counts = next;
	aif_batches_flush(&w->store.batches);
	while ((done = aif_batches_take(&w->store.batches)) != NULL) {
		w->rows += done->kind == AIF_BATCH_SAMPLE ? done->len : 0;
		aif_batches_give(&w->store.batches, done);
	}
}

static void join(unsigned ips, uint64_t n)
{
	struct world w = {0};
	struct aif_xe_batch *b = calloc(1, sizeof(*b) + sizeof(b->windows[0]));
	uint64_t random = 7, given = n, batches = 1;
	char name[32];

	aif_store_init(&w.store, 0);
	w.d = (struct aif_drainer){.store = &w.store, .opts = &w.opts};
	aif_sources_init(&w.d, aif_sources, AIF_SOURCE_COUNT, NULL);
	*b = (struct aif_xe_batch){.start = 1, .end = 2, .windows_len = 1};
	for (uint32_t i = 0; i < KERNELS; i++) {
		struct aif_code_range p = {.address = (uint64_t)i * SIZE, .size = SIZE, .code = i};
		int len = snprintf(name, sizeof(name), "kernel_%u", i);

		p.module = aif_store_module(&w.store, AIF_MODULE_DEVICE, name, (size_t)len, name,
					    (size_t)len);
		aif_code_map_put(aif_device_code_map(&w.d), &w.store, &p);
	}
	while (n) {
		size_t some = AIF_MIN(n, AIF_ARRAY_LEN(records)), at = 0;
		uint64_t begin;

		fill(records, some, ips, &random);
		while (at < some) {
			begin = cpu_ns();
			at += aif_xe_counts_add(&b->windows[0].counts, records + at, some - at);
			w.spent += cpu_ns() - begin;
			if (at == some)
				continue;
			batches++;
			join_batch(&w, b);
		}
		n -= some;
	}
	join_batch(&w, b);
	printf("%lu samples, %u kernels, %u instructions each: %.3f s, %lu windows, %lu rows\n",
	       (unsigned long)given, KERNELS, ips, (double)w.spent / 1e9, (unsigned long)batches,
	       (unsigned long)w.rows);
	aif_xe_counts_finish(&b->windows[0].counts);
	free(b);
	aif_sources_finish(&w.d);
	aif_store_finish(&w.store);
}

int main(void)
{
	static const struct {
		const char *name;
		enum aif_xe_layout layout;
	} layouts[] = {{"PVC", AIF_XE_LAYOUT_PVC},
		       {"Xe2, Xe3", AIF_XE_LAYOUT_XE2},
		       {"Xe3p", AIF_XE_LAYOUT_XE3P}};
	uint64_t random = 1;

	for (size_t i = 0; i < BUFFER; i++)
		bytes[i] = (uint8_t)(random = aif_mix64(random));
	for (size_t k = 0; k < AIF_ARRAY_LEN(layouts); k++) {
		double ours[ROUNDS], floor[ROUNDS];

		for (unsigned i = 0; i < ROUNDS; i++) {
			ours[i] = decode(layouts[k].layout);
			floor[i] = touch();
		}
		printf("decode %s: %.0f million records a second; touching them only: %.0f\n",
		       layouts[k].name, median(ours), median(floor));
	}
	join(1, 10000000);
	join(6, 10000000);
	join(64, 10000000);
	return 0;
}
