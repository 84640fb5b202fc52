/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples the address at which a thread runs, so many times a second of its CPU time, in any code: also in aiflame's
 * own, which aiflame's CPU samples leave out. ips THREAD SECONDS HZ FILE: pairs of CLOCK_MONOTONIC ns and address, 8
 * bytes each. Needs root, or kernel.perf_event_paranoid of 1.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING (256 * 4096ul)

static void copy(void *to, const char *ring, uint64_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = ring[(at + i) % RING];
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME,
				       .use_clockid = 1,
				       .clockid = CLOCK_MONOTONIC};
	struct perf_event_mmap_page *page;
	unsigned long samples = 0, lost = 0;
	char *ring;
	time_t end;
	FILE *out;
	int fd;

	if (argc != 5 || !(out = fopen(argv[4], "w")))
		return 2;
	attr.sample_period = 1000000000ull / strtoull(argv[3], NULL, 10);
	fd = (int)syscall(SYS_perf_event_open, &attr, atoi(argv[1]), -1, -1, 0);
	page = fd < 0 ? MAP_FAILED
		      : mmap(NULL, 4096 + RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		perror("ips: perf_event_open");
		return 1;
	}
	ring = (char *)page + 4096;
	end = time(NULL) + atoi(argv[2]);
	while (time(NULL) < end) {
		uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE),
			 at = page->data_tail;

		while (at < head) {
			struct perf_event_header h;
			uint64_t words[2]; /* address, time */

			copy(&h, ring, at, sizeof(h));
			if (h.type == PERF_RECORD_SAMPLE) {
				copy(words, ring, at + sizeof(h), sizeof(words));
				fwrite(&words[1], 8, 1, out);
				fwrite(&words[0], 8, 1, out);
				samples++;
			} else if (h.type == PERF_RECORD_LOST) {
				lost++;
			}
			at += h.size;
		}
		__atomic_store_n(&page->data_tail, at, __ATOMIC_RELEASE);
		usleep(20000);
	}
	if (lost)
		fprintf(stderr, "ips: %lu times samples were lost\n", lost);
	return fclose(out) || !samples;
}
