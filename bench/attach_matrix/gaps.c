/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 *     gaps PID MS
 *
 * Prints two controls for what an injector's stop lasts, in ms: the longest time that a thread of the process was ready to run and
 * off its processor in the next MS milliseconds, as the kernel's context switches tell; and how late at most a thread of this
 * program, which sleeps for a millisecond at a time, went on after its sleep. Threads that begin meanwhile are not seen. Ends
 * with 1 where perf_event says nothing.
 */

#define THREADS 128
#define PAGES   16

struct thread {
	struct perf_event_mmap_page *ring;
	uint64_t out_ns; /* when it lost its processor; 0: it did not */
};

static double longest_ms, latest_ms;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* One record of PERF_RECORD_SWITCH, with its time behind it. */
struct record {
	struct perf_event_header header;
	uint64_t time;
};

static void drain(struct thread *t)
{
	const uint64_t size = PAGES * 4096;
	const char *data = (const char *)t->ring + 4096;
	uint64_t head = __atomic_load_n(&t->ring->data_head, __ATOMIC_ACQUIRE),
		 at = t->ring->data_tail;

	while (at < head) {
		struct record r;

		for (size_t i = 0; i < sizeof(r); i++)
			((char *)&r)[i] = data[(at + i) % size];
		if (r.header.type == PERF_RECORD_SWITCH &&
		    r.header.misc & PERF_RECORD_MISC_SWITCH_OUT) {
			t->out_ns =
				r.header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? r.time : 0;
		} else if (r.header.type == PERF_RECORD_SWITCH) {
			double ms = t->out_ns ? (double)(r.time - t->out_ns) / 1e6 : 0;

			longest_ms = ms > longest_ms ? ms : longest_ms;
			t->out_ns = 0;
		}
		at += r.header.size;
	}
	__atomic_store_n(&t->ring->data_tail, head, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_DUMMY,
				       .sample_type = PERF_SAMPLE_TIME,
				       .sample_id_all = 1,
				       .context_switch = 1,
				       .exclude_kernel = 1};
	static struct thread threads[THREADS];
	unsigned n = 0;
	char path[64];
	struct dirent *e;
	DIR *dir;

	if (argc < 3)
		return 2;
	snprintf(path, sizeof(path), "/proc/%s/task", argv[1]);
	dir = opendir(path);
	while (dir && n < THREADS && (e = readdir(dir)) != NULL) {
		int fd = atoi(e->d_name) <= 0 ? -1
					      : (int)syscall(SYS_perf_event_open, &attr,
							     atoi(e->d_name), -1, -1, 0);
		void *ring = fd < 0 ? MAP_FAILED
				    : mmap(NULL, (PAGES + 1) * 4096, PROT_READ | PROT_WRITE,
					   MAP_SHARED, fd, 0);

		if (ring != MAP_FAILED)
			threads[n++].ring = ring;
	}
	if (!n)
		return 1;
	/* In a group of its own for the scheduler, as the program is. */
	setsid();
	for (double end = now_ms() + atoi(argv[2]), slept; (slept = now_ms()) < end;) {
		double late;

		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		late = now_ms() - slept - 1;
		latest_ms = late > latest_ms ? late : latest_ms;
		for (unsigned i = 0; i < n; i++)
			drain(&threads[i]);
	}
	printf("%.1f %.1f\n", longest_ms, latest_ms);
	return 0;
}
