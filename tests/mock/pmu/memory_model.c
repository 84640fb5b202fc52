/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of a CPU that counts what a program really does. The program is compiled with -fsanitize=thread and
 * -fsanitize-coverage=trace-pc, for which the compiler calls the functions below at each load, store and basic block, and
 * linked with this file in place of the sanitizer. So loads, stores and blocks are the program's own; what they cost is the
 * model's: a first TLB of 64 pages and a second of 2,048, caches of 1 and 32 MiB, sets of 8 and 16 lines, the oldest one
 * replaced. A line that follows the one before was fetched ahead and is not waited for. At its end the program writes the counts into the files of the directory SIMULATED_PMU, which fakepmu gave
 * to who counts. They are simulated: no value is of any hardware.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OF_BLOCK = 6, WIDTH = 6, WAYS_MAX = 16 };
enum { CYCLES_L3 = 40, CYCLES_MEMORY = 250, CYCLES_STLB = 7, CYCLES_WALK = 30 };

struct level {
	unsigned ways;
	size_t sets;
	uint64_t *tags; /* newest first in each set */
};
static uint64_t l1_pages[64], l2_pages[2048], l2_lines[(1 << 20) / 64], l3_lines[(32 << 20) / 64];
static struct level tlb = {4, 16, l1_pages}, stlb = {8, 256, l2_pages}, l2 = {16, 1024, l2_lines},
		    l3 = {16, 32768, l3_lines};

static uint64_t instructions, stalled, loads, stores, load_misses, store_misses, stlb_hits,
	references, misses, last;

/* True if the number was there; it is the newest of its set now. */
static bool find(struct level *l, uint64_t number)
{
	uint64_t *set = l->tags + (number % l->sets) * l->ways, tag = number + 1, other = tag;

	for (unsigned i = 0; i < l->ways; i++) {
		uint64_t was = set[i];

		set[i] = other;
		if (was == tag)
			return true;
		other = was;
	}
	return false;
}

static void touch(const void *at, bool is_store)
{
	uint64_t line = (uintptr_t)at / 64;
	bool is_ahead = line == last + 1;

	instructions++;
	*(is_store ? &stores : &loads) += 1;
	if (line == last)
		return;
	last = line;
	if (!find(&tlb, line / 64)) {
		if (find(&stlb, line / 64)) {
			stlb_hits++;
			stalled += CYCLES_STLB;
		} else {
			*(is_store ? &store_misses : &load_misses) += 1;
			stalled += CYCLES_WALK;
		}
	}
	if (find(&l2, line))
		return;
	references++;
	if (find(&l3, line)) {
		stalled += is_ahead ? 0 : CYCLES_L3;
	} else {
		misses++;
		stalled += is_ahead ? 0 : CYCLES_MEMORY;
	}
}

static void put(const char *event, uint64_t value)
{
	const char *dir = getenv("SIMULATED_PMU");
	uint64_t got[3] = {value, 1000000000, 1000000000};
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : ".", event);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, got, sizeof(got)) != sizeof(got))
		perror(path);
	if (fd >= 0)
		close(fd);
}

__attribute__((destructor)) static void put_all(void)
{
	uint64_t cycles = instructions / 4 + stalled, slots = cycles * WIDTH;

	put("cycles", cycles);
	put("instructions", instructions);
	put("cache-references", references);
	put("cache-misses", misses);
	put("dTLB-loads", loads);
	put("dTLB-load-misses", load_misses);
	put("dTLB-stores", stores);
	put("dTLB-store-misses", store_misses);
	put("dtlb_load_misses.walk_completed", load_misses);
	put("dtlb_store_misses.walk_completed", store_misses);
	put("itlb_misses.walk_completed", 0);
	put("dtlb_load_misses.stlb_hit", stlb_hits);
	put("itlb_misses.stlb_hit", 0);
	put("slots", slots);
	put("topdown-retiring", instructions);
	put("topdown-bad-spec", 0);
	put("topdown-fe-bound", 0);
	put("topdown-be-bound", slots - instructions);
	put("topdown-mem-bound", stalled * WIDTH);
}

/* ---- what the compiler calls -------------------------------------------------------------------- */

#define ACCESS(n)                             \
	void __tsan_read##n(const void *at);  \
	void __tsan_read##n(const void *at)   \
	{                                     \
		touch(at, false);             \
	}                                     \
	void __tsan_write##n(const void *at); \
	void __tsan_write##n(const void *at)  \
	{                                     \
		touch(at, true);              \
	}
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
ACCESS(_range)
#define UNALIGNED(n)                                    \
	void __tsan_unaligned_read##n(const void *at);  \
	void __tsan_unaligned_read##n(const void *at)   \
	{                                               \
		touch(at, false);                       \
	}                                               \
	void __tsan_unaligned_write##n(const void *at); \
	void __tsan_unaligned_write##n(const void *at)  \
	{                                               \
		touch(at, true);                        \
	}
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)
#define VOLATILE(n)                                    \
	void __tsan_volatile_read##n(const void *at);  \
	void __tsan_volatile_read##n(const void *at)   \
	{                                              \
		touch(at, false);                      \
	}                                              \
	void __tsan_volatile_write##n(const void *at); \
	void __tsan_volatile_write##n(const void *at)  \
	{                                              \
		touch(at, true);                       \
	}
VOLATILE(4)
VOLATILE(8)
void __tsan_init(void);
void __tsan_init(void)
{
}
void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
	(void)pc;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	instructions += OF_BLOCK;
}
