/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/perf_source.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/open_regular.h"
#include "record/sources/perf_pace.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Unprivileged users have 516 KiB of rings for each CPU: 32 KiB hold 100 ms of one thread at 10 kHz
 * (32 bytes a sample), and let 16 threads a CPU be sampled. */
#define RING_PAGES  8
#define MAX_THREADS 1024
/* Threads whose switches are counted at a time: 5 us each. */
#define LOOK_THREADS 32

struct perf_thread {
	uint32_t tid;
	int fd;
	struct perf_event_mmap_page *ring;
	bool is_kernel_thread, seen;
	uint64_t looked_ns, switches; /* when they were counted last, and how many there were */
	double rate;                  /* switches a second */
};

struct aif_perf {
	uint32_t rate;
	size_t page;
	struct perf_thread *threads;
	size_t threads_len, threads_cap;
	size_t next_look;
	struct aif_perf_pace pace;
	bool is_on;
	uint64_t share_since, share_on_ns; /* of aif_perf_share */
};

static int event_open(uint32_t tid, uint32_t rate, bool is_on)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(a),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = AIF_NS_PER_S / rate,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.disabled = !is_on,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1, /* code came: what an address means may have changed */
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	long fd = syscall(SYS_perf_event_open, &a, (pid_t)tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return aif_open_spare(fd < 0 ? -errno : (int)fd);
}

int aif_perf_probe(void)
{
	int fd = event_open((uint32_t)getpid(), 99, true);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int thread_open(struct aif_perf *p, uint32_t tid)
{
	struct perf_thread th = {.tid = tid, .seen = true};

	th.fd = event_open(tid, p->rate, p->is_on);
	if (th.fd < 0)
		return th.fd;
	th.ring = mmap(NULL, (1 + RING_PAGES) * p->page, PROT_READ | PROT_WRITE, MAP_SHARED, th.fd,
		       0);
	if (th.ring == MAP_FAILED) {
		int r = -errno;

		close(th.fd);
		return r;
	}
	if (aif_grow(&p->threads, &p->threads_cap, p->threads_len + 1, sizeof(th)) < 0) {
		munmap(th.ring, (1 + RING_PAGES) * p->page);
		close(th.fd);
		return -ENOMEM;
	}
	p->threads[p->threads_len++] = th;
	return 0;
}

static void thread_close(struct aif_perf *p, struct perf_thread *th)
{
	munmap(th->ring, (1 + RING_PAGES) * p->page);
	close(th->fd);
}

static struct perf_thread *thread_find(struct aif_perf *p, uint32_t tid)
{
	for (size_t i = 0; i < p->threads_len; i++)
		if (p->threads[i].tid == tid)
			return &p->threads[i];
	return NULL;
}

/* Returns how often the thread was given a CPU; 0 where the kernel does not count that. */
static uint64_t switches_of(int pid, uint32_t tid)
{
	unsigned long long on_cpu, waited, times = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%u/schedstat", pid, tid);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%llu %llu %llu", &on_cpu, &waited, &times) != 3)
			times = 0;
		fclose(f);
	}
	return times;
}

static void count_switches(struct aif_perf *p, int pid)
{
	double busiest = 0;

	for (size_t i = 0; i < AIF_MIN(p->threads_len, (size_t)LOOK_THREADS); i++) {
		struct perf_thread *th = &p->threads[p->next_look++ % p->threads_len];
		uint64_t now = aif_now_ns(), times = switches_of(pid, th->tid);

		if (th->looked_ns && now > th->looked_ns && times >= th->switches)
			th->rate = (double)(times - th->switches) * AIF_NS_PER_S /
				   (double)(now - th->looked_ns);
		th->looked_ns = now;
		th->switches = times;
	}
	for (size_t i = 0; i < p->threads_len; i++)
		busiest = AIF_MAX(busiest, p->threads[i].rate);
	aif_perf_pace_rate(&p->pace, busiest);
}

int aif_perf_threads(struct aif_perf *p, int pid)
{
	char path[64];
	struct dirent *e;
	int r = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (!aif_open_lacks_descriptors(r) && (e = readdir(dir)) != NULL) {
		uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);

		if (tid && p->threads_len < MAX_THREADS && !thread_find(p, tid))
			r = thread_open(p, tid);
	}
	closedir(dir);
	/* An event of a thread that has ended is in error state; its last samples were drained. */
	for (size_t i = 0; i < p->threads_len;) {
		struct pollfd pfd = {.fd = p->threads[i].fd};

		if (poll(&pfd, 1, 0) == 1 && (pfd.revents & POLLHUP)) {
			if (!p->threads[i].seen) {
				thread_close(p, &p->threads[i]);
				p->threads[i] = p->threads[--p->threads_len];
				continue;
			}
			p->threads[i].seen = false; /* one more drain, then closed */
		}
		i++;
	}
	if (p->pace.allowed_ppm && p->threads_len)
		count_switches(p, pid);
	return aif_open_lacks_descriptors(r) ? r : 0;
}

int aif_perf_new(int pid, uint32_t rate, uint32_t allowed_ppm, struct aif_perf **ret)
{
	uint64_t now = aif_now_ns();
	struct aif_perf *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->rate = rate;
	p->is_on = true;
	p->share_since = now;
	aif_perf_pace_init(&p->pace, allowed_ppm, now, now);
	p->page = (size_t)sysconf(_SC_PAGESIZE);
	r = thread_open(p, (uint32_t)pid);
	/* The main thread may have ended before the others. */
	if (!r || r == -ESRCH)
		aif_perf_threads(p, pid);
	if (!p->threads_len) {
		free(p);
		return r;
	}
	*ret = p;
	return 0;
}

void aif_perf_free(struct aif_perf *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->threads_len; i++)
		thread_close(p, &p->threads[i]);
	free(p->threads);
	free(p);
}

/* Copies n bytes at ring position `at`, which may wrap. */
static void ring_copy(const struct aif_perf *p, const struct perf_thread *th, uint64_t at, void *to,
		      size_t n)
{
	size_t size = RING_PAGES * p->page, begin = at & (size - 1),
	       first = AIF_MIN(n, size - begin);
	const char *data = (const char *)th->ring + p->page;

	memcpy(to, data + begin, first);
	memcpy((char *)to + first, data, n - first);
}

struct perf_sample {
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
};

static void thread_drain(const struct aif_perf *p, struct perf_thread *th,
			 const struct aif_perf_reader *reader)
{
	uint64_t head = __atomic_load_n(&th->ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = th->ring->data_tail;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;
		struct perf_sample sample;
		uint64_t lost[2];

		ring_copy(p, th, tail, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail)
			break;
		if (h.type == PERF_RECORD_SAMPLE && h.size >= sizeof(h) + sizeof(sample)) {
			ring_copy(p, th, tail + sizeof(h), &sample, sizeof(sample));
			reader->sample(reader->arg, sample.tid, sample.time, sample.ip,
				       &th->is_kernel_thread);
		} else if (h.type == PERF_RECORD_LOST && h.size >= sizeof(h) + sizeof(lost)) {
			ring_copy(p, th, tail + sizeof(h), lost, sizeof(lost));
			reader->lost(reader->arg, lost[1]);
		} else if (h.type == PERF_RECORD_MMAP) {
			reader->mapped(reader->arg);
		}
		tail += h.size;
	}
	__atomic_store_n(&th->ring->data_tail, head, __ATOMIC_RELEASE);
}

void aif_perf_drain(struct aif_perf *p, const struct aif_perf_reader *reader)
{
	for (size_t i = 0; i < p->threads_len; i++)
		thread_drain(p, &p->threads[i], reader);
}

void aif_perf_turn(struct aif_perf *p, bool wanted, const struct aif_perf_reader *reader)
{
	uint64_t now = aif_now_ns();
	bool on = false;

	if (wanted)
		on = aif_perf_pace_turn(&p->pace, now);
	else
		p->pace.since = now;
	if (on == p->is_on)
		return;
	for (size_t i = 0; i < p->threads_len; i++)
		ioctl(p->threads[i].fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
	p->is_on = on;
	/* Code that came meanwhile was not reported. */
	if (on)
		reader->mapped(reader->arg);
}

uint32_t aif_perf_share(struct aif_perf *p)
{
	uint64_t now = p->pace.since, on = p->pace.on_ns - p->share_on_ns,
		 all = now > p->share_since ? now - p->share_since : 0;

	p->share_on_ns = p->pace.on_ns;
	p->share_since = now;
	return all ? (uint32_t)((double)on / (double)all * 1e6) : 0;
}

uint64_t aif_perf_cost_ns(const struct aif_perf *p)
{
	return p->pace.cost_ns;
}
