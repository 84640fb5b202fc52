/* SPDX-License-Identifier: Apache-2.0 */
#include "record/outside/rings.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/open_regular.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Bytes of stack in a sample, and of a ring, which is read a hundred times a second: ten samples at 999 Hz. Without rights there are
 * 516 KiB of rings for each CPU. */
static const struct {
	uint32_t stack;
	size_t ring;
} sizes[] = {{16384, 1u << 20}, {8192, 256u << 10}, {8192, 128u << 10}, {4096, 64u << 10}};

/* The period is another one after so many samples, and so many parts of a second (record/sources/cpu.c says why). */
#define SAMPLES_A_PERIOD 16
#define CHANGES_A_SECOND 20

/* Registers that unwinding needs, in the order of the kernel's bits (asm/perf_regs.h). */
#if defined(__x86_64__)
enum { BX = 1, BP = 6, SP = 7, IP = 8, R10 = 18, R11 = 19, R13 = 21 };
#define REGS_MASK (1u << BX | 1u << BP | 1u << SP | 1u << IP | 1u << R10 | 1u << R11 | 1u << R13)
#define REGS      7
static void take_regs(const uint64_t *r, struct aif_remote_regs *ret)
{
	ret->regs = (struct aif_regs){.pc = r[3], .sp = r[2], .bp = r[1]};
	ret->more = (struct aif_regs_more){.r10 = r[4], .r11 = r[5], .r13 = r[6], .rbx = r[0]};
}
#else
#define REGS_MASK (UINT64_C(15) << 29)
#define REGS      4
static void take_regs(const uint64_t *r, struct aif_remote_regs *ret)
{
	ret->regs = (struct aif_regs){.pc = r[3], .sp = r[2], .bp = r[0]};
	ret->more = (struct aif_regs_more){.lr = r[1]};
}
#endif

static bool take(const uint8_t **p, size_t *n, void *to, size_t len)
{
	if (*n < len)
		return false;
	memcpy(to, *p, len);
	*p += len;
	*n -= len;
	return true;
}

bool aif_outside_sample_parse(const uint8_t *record, size_t n, uint16_t misc,
			      struct aif_outside_sample *ret)
{
	struct aif_outside_sample s = {0};
	uint64_t abi, regs[REGS], size, used = 0;

	if (!take(&record, &n, &s.ip, 8) || !take(&record, &n, &s.pid, 4) ||
	    !take(&record, &n, &s.tid, 4) || !take(&record, &n, &s.time, 8) ||
	    !take(&record, &n, &s.period, 8) || !take(&record, &n, &s.cpu_ns, 8) ||
	    !take(&record, &n, &abi, 8))
		return false;
	if (abi != PERF_SAMPLE_REGS_ABI_NONE && !take(&record, &n, regs, sizeof(regs)))
		return false;
	if (!take(&record, &n, &size, 8) || size > n)
		return false;
	if (size) {
		s.stack.bytes = record;
		record += size;
		n -= size;
		if (!take(&record, &n, &used, 8))
			return false;
	}
	s.in_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	s.has_user = abi == PERF_SAMPLE_REGS_ABI_64;
	if (s.has_user) {
		take_regs(regs, &s.regs);
		s.regs.knows_more = true;
		s.stack.at = s.regs.regs.sp;
		s.stack.len = AIF_MIN(used, size);
	}
	*ret = s;
	return true;
}

static int event_open(uint32_t tid, uint32_t rate, uint32_t stack, bool sees_kernel)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(a),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = AIF_NS_PER_S / rate,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = REGS_MASK,
		.sample_stack_user = stack,
		.exclude_kernel = !sees_kernel,
		.exclude_hv = 1,
		.mmap = 1, /* code came: what an address means may have changed */
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	long fd = syscall(SYS_perf_event_open, &a, (pid_t)tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return aif_open_spare(fd < 0 ? -errno : (int)fd);
}

int aif_outside_ring_open(struct aif_outside_ring *r, uint32_t tid, uint32_t rate)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int error = -EPERM;

	for (size_t i = 0; i < AIF_ARRAY_LEN(sizes); i++) {
		struct aif_outside_ring one = {.bytes = sizes[i].ring, .sees_kernel = true};

		one.fd = event_open(tid, rate, sizes[i].stack, true);
		if (one.fd == -EACCES || one.fd == -EPERM) {
			one.sees_kernel = false;
			one.fd = event_open(tid, rate, sizes[i].stack, false);
		}
		if (one.fd < 0)
			return one.fd;
		one.pages =
			mmap(NULL, page + one.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, one.fd, 0);
		if (one.pages != MAP_FAILED) {
			*r = one;
			return 0;
		}
		error = -errno;
		close(one.fd);
	}
	return error;
}

void aif_outside_ring_close(struct aif_outside_ring *r)
{
	munmap(r->pages, (size_t)sysconf(_SC_PAGESIZE) + r->bytes);
	close(r->fd);
}

/* Copies n bytes at ring position `at`, which may wrap. */
static void copy(const struct aif_outside_ring *r, uint64_t at, void *to, size_t n)
{
	const char *data = (const char *)r->pages + sysconf(_SC_PAGESIZE);
	size_t begin = at & (r->bytes - 1), first = AIF_MIN(n, r->bytes - begin);

	memcpy(to, data + begin, first);
	memcpy((char *)to + first, data, n - first);
}

/* Makes a sample stand for the CPU time since the one before. A thread that leaves its CPU often has fewer samples than one a period
 * of it: the kernel restarts its timer at each switch, which of threads that run for 50 us at a time left out a fifth. Without time
 * in the kernel, and after lost samples, it stands for a period: what passed meanwhile is not its own. */
static void weigh(struct aif_outside_ring *r, struct aif_outside_sample *s)
{
	if (r->sees_kernel && !r->has_lost && s->cpu_ns > r->cpu_ns)
		s->period = s->cpu_ns - r->cpu_ns;
	r->has_lost = false;
	r->cpu_ns = s->cpu_ns;
}

void aif_outside_ring_read(struct aif_outside_ring *r, const struct aif_outside_reader *reader)
{
	struct perf_event_mmap_page *page = r->pages;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;
		struct aif_outside_sample s;
		uint64_t lost[2];
		size_t n;

		copy(r, tail, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail)
			break;
		n = h.size - sizeof(h);
		if (h.type == PERF_RECORD_SAMPLE) {
			copy(r, tail + sizeof(h), reader->scratch, n);
			r->samples++;
			if (aif_outside_sample_parse(reader->scratch, n, h.misc, &s)) {
				weigh(r, &s);
				reader->sample(reader->arg, &s);
			}
		} else if (h.type == PERF_RECORD_LOST && n >= sizeof(lost)) {
			copy(r, tail + sizeof(h), lost, sizeof(lost));
			r->has_lost = true;
			reader->lost(reader->arg, lost[1]);
		} else if (h.type == PERF_RECORD_MMAP) {
			reader->mapped(reader->arg);
		}
		tail += h.size;
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

void aif_outside_ring_vary(struct aif_outside_ring *r, uint32_t rate, uint64_t *random)
{
	uint64_t period = AIF_NS_PER_S / rate;

	if (r->samples < AIF_MAX(SAMPLES_A_PERIOD, rate / CHANGES_A_SECOND))
		return;
	r->samples = 0;
	*random = aif_mix64(*random + 1);
	period = period * 3 / 4 + *random % (period / 2 + 1);
	ioctl(r->fd, PERF_EVENT_IOC_PERIOD, &period);
}
