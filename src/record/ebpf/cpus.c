/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ebpf/cpus.h"

#include "base/buf.h"
#include "base/process_read.h"
#include "record/ebpf/sideband.h"

#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Records of mappings are 100 to 200 bytes: 128 KiB hold what 100 new processes map, in 20 ms on
 * one CPU. */
#define RING_PAGES 32

/* Without .build_id, which would name files better than their inodes do: Linux 6.18 then marks
 * the records that go to other people's events as if these had asked for it, too, and a perf
 * record that runs meanwhile writes a file that perf cannot read. */
static int event_open(int cpu, uint64_t period_ns)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(a),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.disabled = 1,
	};
	long fd = syscall(SYS_perf_event_open, &a, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int cpu_open(struct aif_ebpf_cpus *c, int cpu, uint64_t period_ns,
		    struct bpf_program *program)
{
	struct aif_ebpf_cpu at = {.fd = event_open(cpu, period_ns)};

	if (at.fd < 0)
		return at.fd;
	if (aif_grow(&c->at, &c->cap, c->len + 1, sizeof(at)) < 0) {
		close(at.fd);
		return -ENOMEM;
	}
	at.ring = mmap(NULL, (1 + RING_PAGES) * c->page, PROT_READ | PROT_WRITE, MAP_SHARED, at.fd,
		       0);
	if (at.ring == MAP_FAILED) {
		int r = -errno;

		close(at.fd);
		return r;
	}
	if (program) {
		at.link = bpf_program__attach_perf_event(program, at.fd);
		if (!at.link) {
			int r = -errno;

			munmap(at.ring, (1 + RING_PAGES) * c->page);
			close(at.fd);
			return r;
		}
	}
	ioctl(at.fd, PERF_EVENT_IOC_ENABLE, 0);
	c->at[c->len++] = at;
	return 0;
}

int aif_ebpf_cpus_open(struct aif_ebpf_cpus *c, uint64_t period_ns, struct bpf_program *program)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	c->page = (size_t)sysconf(_SC_PAGESIZE);
	c->record = malloc(AIF_SIDEBAND_RECORD_MAX);
	if (!c->record)
		return -ENOMEM;
	for (int cpu = 0; cpu < cpus; cpu++) {
		int r = cpu_open(c, cpu, period_ns, program);

		if (r < 0 && r != -ENODEV) /* that one is offline */
			return r;
	}
	return c->len ? 0 : -ENODEV;
}

void aif_ebpf_cpus_stop(struct aif_ebpf_cpus *c)
{
	for (size_t i = 0; i < c->len; i++)
		ioctl(c->at[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void aif_ebpf_cpus_close(struct aif_ebpf_cpus *c)
{
	for (size_t i = 0; i < c->len; i++) {
		/* The link has taken the descriptor. */
		munmap(c->at[i].ring, (1 + RING_PAGES) * c->page);
		if (c->at[i].link)
			bpf_link__destroy(c->at[i].link);
		else
			close(c->at[i].fd);
	}
	free(c->at);
	free(c->record);
	*c = (struct aif_ebpf_cpus){0};
}

static void copy_out(const struct aif_ebpf_cpus *c, const struct aif_ebpf_cpu *cpu, uint64_t at,
		     void *to, size_t n)
{
	size_t size = RING_PAGES * c->page, begin = at & (size - 1),
	       first = AIF_MIN(n, size - begin);
	const char *data = (const char *)cpu->ring + c->page;

	memcpy(to, data + begin, first);
	memcpy((char *)to + first, data, n - first);
}

void aif_ebpf_cpus_read(struct aif_ebpf_cpus *c,
			void (*found)(void *arg, const void *record, size_t len), void *arg)
{
	for (size_t i = 0; i < c->len; i++) {
		struct aif_ebpf_cpu *cpu = &c->at[i];
		uint64_t head = __atomic_load_n(&cpu->ring->data_head, __ATOMIC_ACQUIRE),
			 tail = cpu->ring->data_tail;

		while (head - tail >= sizeof(struct perf_event_header)) {
			struct perf_event_header h;

			copy_out(c, cpu, tail, &h, sizeof(h));
			if (h.size < sizeof(h) || h.size > head - tail)
				break;
			if (h.size <= AIF_SIDEBAND_RECORD_MAX) {
				copy_out(c, cpu, tail, c->record, h.size);
				found(arg, c->record, h.size);
			}
			tail += h.size;
		}
		__atomic_store_n(&cpu->ring->data_tail, head, __ATOMIC_RELEASE);
	}
}

/* ---- what is mapped now
 * -------------------------------------------------------------------------- */

int aif_ebpf_maps_open(struct aif_ebpf_maps *m)
{
	*m = (struct aif_ebpf_maps){.proc = opendir("/proc")};
	return m->proc ? 0 : -errno;
}

static bool next_process(struct aif_ebpf_maps *m)
{
	struct dirent *e;

	while ((e = readdir(m->proc)) != NULL) {
		m->pid = (uint32_t)strtoul(e->d_name, NULL, 10);
		if (!m->pid)
			continue;
		aif_buf_clear(&m->text);
		(void)aif_process_text((int)m->pid, "maps", AIF_PROCESS_MAPS_MAX, &m->text);
		aif_buf_putc(&m->text, '\0');
		if (aif_buf_failed(&m->text))
			return false;
		m->rest = (char *)m->text.data;
		return true;
	}
	return false;
}

bool aif_ebpf_maps_next(struct aif_ebpf_maps *m)
{
	char *line, perms[8];

	for (;;) {
		if (!m->rest && !next_process(m))
			return false;
		while ((line = strsep(&m->rest, "\n")) != NULL) {
			const char *path = strchr(line, '/');

			if (!path || sscanf(line, "%*s %7s", perms) != 1 || perms[2] != 'x')
				continue;
			snprintf(m->path, sizeof(m->path), "%s", path);
			return true;
		}
	}
}

void aif_ebpf_maps_close(struct aif_ebpf_maps *m)
{
	aif_buf_finish(&m->text);
	closedir(m->proc);
}
