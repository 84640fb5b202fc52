/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "wire/ring.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

/* Records a second through one ring, producer and consumer on two threads, beside the floor: memcpy
 * of the same bytes. Interleaved rounds, medians. */
#define ROUNDS  9
#define RECORDS 8000000

static struct aif_shm *shm;
static struct aif_ring ring;

static void *produce(void *arg)
{
	uint64_t *full = arg;

	for (uint64_t n = 0; n < RECORDS;) {
		struct aif_wire_launch *l = aif_ring_reserve(&ring, AIF_WIRE_LAUNCH, sizeof(*l));

		if (!l) {
			(*full)++;
			sched_yield();
			continue;
		}
		l->time = n;
		l->launch = n;
		l->stack = l->stream = l->kernel = l->shape = 1;
		aif_ring_commit(&ring);
		n++;
	}
	return NULL;
}

static void sum(void *arg, const void *record)
{
	*(uint64_t *)arg += ((const struct aif_wire_launch *)record)->time;
}

static double ring_round(uint64_t *full)
{
	static uint64_t scratch[65536 / 8];
	static struct aif_drain d;
	uint64_t begin = d.consumed, total = 0, t0 = aif_now_ns();
	pthread_t producer;

	pthread_create(&producer, NULL, produce, full);
	while (d.consumed - begin < RECORDS)
		if (!aif_ring_drain(&d, aif_shm_slot(shm, 0), ring.body, ring.size, scratch,
				    sizeof(scratch), sum, &total))
			sched_yield();
	pthread_join(producer, NULL);
	if (total != (uint64_t)RECORDS * (RECORDS - 1) / 2)
		fprintf(stderr, "bench_ring: records were lost\n");
	return (double)RECORDS / ((double)(aif_now_ns() - t0) / 1e9);
}

static double copy_round(void)
{
	static uint8_t from[65536], to[65536];
	uint64_t t0 = aif_now_ns();

	for (uint64_t n = 0; n < RECORDS; n += sizeof(from) / sizeof(struct aif_wire_launch)) {
		memcpy(to, from, sizeof(from));
		__asm__ volatile("" ::"r"(to) : "memory");
	}
	return (double)RECORDS / ((double)(aif_now_ns() - t0) / 1e9);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(void)
{
	double rate[ROUNDS], copy[ROUNDS];
	uint64_t full = 0;
	int fd;

	if (aif_shm_create(1, AIF_SHM_RING_SIZE, &shm, &fd) < 0)
		return 1;
	aif_ring_init(&ring, aif_shm_slot(shm, 0), aif_shm_ring(shm, 1, AIF_SHM_RING_SIZE, 0),
		      AIF_SHM_RING_SIZE);
	for (int i = 0; i < ROUNDS; i++) {
		rate[i] = ring_round(&full);
		copy[i] = copy_round();
	}
	qsort(rate, ROUNDS, sizeof(*rate), by_value);
	qsort(copy, ROUNDS, sizeof(*copy), by_value);
	printf("ring: %.1f M records/s of 40 bytes (median of %d, %.1f to %.1f); bar 20\n",
	       rate[ROUNDS / 2] / 1e6, ROUNDS, rate[0] / 1e6, rate[ROUNDS - 1] / 1e6);
	printf("ring: memcpy of the same bytes alone %.1f M records/s: the ring costs %.1f times that\n",
	       copy[ROUNDS / 2] / 1e6, copy[ROUNDS / 2] / rate[ROUNDS / 2]);
	return 0;
}
