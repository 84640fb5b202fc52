/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ebpf/ebpf.h"

#include "base/open_regular.h"
#include "base/process_open.h"
#include "record/sources/cpu.h"
#include "record/ebpf/cpus.h"
#include "record/ebpf/event_read.h"
#include "record/ebpf/launch_probes.h"
#include "record/ebpf/off_cpu.h"
#include "record/ebpf/processes.h"
#include "record/ebpf/rows.h"
#include "record/sources/sources.h"

#include "programs.skel.inc"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of one look: more waits for the next. A record of the ring has at most 2 KiB. */
#define LOOK_BYTES (8u << 20)
/* Links of uprobes: a machine with 20 containers has 20 copies of a library. */
#define MAX_LINKS 512
/* The machine's own namespace of process numbers: a fixed inode in all kernels (PROC_PID_INIT_INO). */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu
/* Processes that have ended are remembered so long, for records that come late from other CPUs'
 * rings. */
#define TIDY_NS (5 * AIF_NS_PER_S)

/* Something that is to be looked at in the order of time. */
struct item {
	uint64_t time;
	size_t at, len; /* in `bytes` */
	enum item_kind { ITEM_SIDEBAND, ITEM_EVENT, ITEM_WAIT } kind;
};

struct aif_ebpf {
	const struct aif_record_opts *opts;
	struct aif_programs *programs;
	struct ring_buffer *ring;
	struct aif_ebpf_cpus cpus;
	struct aif_ebpf_processes processes;
	struct aif_buf bytes;
	struct item *items;
	size_t items_len, items_cap;
	struct aif_map unwanted; /* process -> flags that the programs know */
	struct aif_map probed;   /* inode and device of a library -> 1 */
	struct bpf_link *links[MAX_LINKS];
	unsigned links_len;
	uint64_t lost[AIF_EBPF_LOSSES]; /* already counted */
	uint64_t number, off_since;
	uint64_t waits; /* since .off_since */
	struct aif_driver_calls driver_calls;
	struct aif_ebpf_syscalls syscalls;
	struct aif_map launching_at; /* process -> what the programs know of it */
	bool has_driver_calls, collects;
	struct aif_off_stack *known;
	char host[256];
};

/* ---- starting
 * ------------------------------------------------------------------------------------ */

static int refused(int r, const char *what, struct aif_err *err)
{
	if (r == -EPERM || r == -EACCES)
		return aif_err_set(err, r,
				   "--ebpf: %s: %s; run as root, or with CAP_BPF and CAP_PERFMON",
				   what, strerror(-r));
	return aif_err_set(err, r, "--ebpf: %s: %s; see aiflame doctor", what, strerror(-r));
}

static int no_print(enum libbpf_print_level level, const char *text, va_list args)
{
	(void)level, (void)text, (void)args;
	return 0;
}

/* Ways to see that drivers are entered, from none to the best. */
enum driver_probes { DRIVER_NONE, DRIVER_SYSCALL, DRIVER_IOCTL, DRIVER_DRM };

/* False: the kernel has no such function, or no types of it. */
static bool find_function(struct bpf_program *program, const char *name, bool wanted)
{
	bool found = wanted && bpf_program__set_attach_target(program, 0, name) == 0;

	bpf_program__set_autoload(program, found);
	return found;
}

static int programs_try(struct aif_ebpf *e, enum driver_probes probes)
{
	struct aif_programs *p;
	struct stat ns;
	int r;

	p = aif_programs__open();
	if (!p)
		return -errno;
	p->rodata->aif_own_pid = (uint32_t)getpid();
	if (stat("/proc/self/ns/pid", &ns) == 0 && ns.st_ino != INITIAL_PID_NAMESPACE) {
		p->rodata->aif_pid_dev = ns.st_dev;
		p->rodata->aif_pid_ino = ns.st_ino;
	}
	p->rodata->aif_some_wanted = !e->processes.all && !p->rodata->aif_pid_ino;
	bpf_program__set_autoload(p->progs.aif_switch, e->opts->off_cpu);
	bpf_program__set_autoload(p->progs.aif_fork, e->opts->off_cpu);
	bpf_program__set_autoload(p->progs.aif_waking, e->opts->off_cpu);
	bpf_program__set_autoload(p->progs.aif_sys_enter, probes == DRIVER_SYSCALL);
	e->has_driver_calls =
		find_function(p->progs.aif_ioctl, "security_file_ioctl", probes >= DRIVER_IOCTL);
	find_function(p->progs.aif_drm_ioctl, "drm_ioctl_kernel",
		      e->has_driver_calls && probes == DRIVER_DRM);
	e->has_driver_calls |= probes == DRIVER_SYSCALL;
	if (probes > DRIVER_SYSCALL && !e->has_driver_calls) {
		aif_programs__destroy(p);
		return -ENOENT;
	}
	if (!e->opts->off_cpu) {
		/* 20 MB that nobody would use. */
		bpf_map__set_max_entries(p->maps.aif_off_stacks, 1);
		bpf_map__set_max_entries(p->maps.aif_off_stacks_2, 1);
		bpf_map__set_max_entries(p->maps.aif_off_stacks_3, 1);
		bpf_map__set_max_entries(p->maps.aif_off_stacks_4, 1);
		bpf_map__set_max_entries(p->maps.aif_left, 1);
		bpf_map__set_max_entries(p->maps.aif_off, 1);
		bpf_map__set_max_entries(p->maps.aif_wanted, 1);
		bpf_map__set_max_entries(p->maps.aif_waits, (uint32_t)sysconf(_SC_PAGESIZE));
	}
	r = aif_programs__load(p);
	if (r < 0) {
		aif_programs__destroy(p);
		return r;
	}
	e->programs = p;
	return 0;
}

static struct bpf_link *driver_attach_one(struct bpf_program *program)
{
	return bpf_program__autoload(program) ? bpf_program__attach(program) : NULL;
}

/* False: the kernel has the functions, and does not let them be probed. */
static bool driver_attach(struct aif_programs *p)
{
	p->links.aif_ioctl = driver_attach_one(p->progs.aif_ioctl);
	p->links.aif_drm_ioctl = driver_attach_one(p->progs.aif_drm_ioctl);
	return p->links.aif_ioctl || bpf_program__autoload(p->progs.aif_sys_enter);
}

/* Attaches what every system call of the machine pays for, once there is a process to watch. */
static void driver_attach_late(struct aif_ebpf *e)
{
	struct aif_programs *p = e->programs;

	if (p->links.aif_ioctl || p->links.aif_sys_enter)
		return;
	p->links.aif_sys_enter = driver_attach_one(p->progs.aif_sys_enter);
	e->has_driver_calls = p->links.aif_sys_enter != NULL;
}

/* An older kernel refuses what it does not know, others by their configuration; the rest is there all the same. */
static int programs_load(struct aif_ebpf *e)
{
	int r = -ENOENT;

	for (int probes = DRIVER_DRM; probes >= DRIVER_NONE; probes--) {
		if (probes == DRIVER_SYSCALL && !aif_ebpf_syscalls_read(&e->syscalls))
			continue;
		r = programs_try(e, (enum driver_probes)probes);
		if (r < 0)
			continue;
		if (probes == DRIVER_NONE || driver_attach(e->programs))
			break;
		aif_programs__destroy(e->programs);
		e->programs = NULL;
	}
	return r;
}

static int item_add(struct aif_ebpf *e, enum item_kind kind, uint64_t time, const void *data,
		    size_t len)
{
	if (aif_grow(&e->items, &e->items_cap, e->items_len + 1, sizeof(*e->items)) < 0)
		return -ENOMEM;
	e->items[e->items_len++] =
		(struct item){.time = time, .at = e->bytes.len, .len = len, .kind = kind};
	aif_buf_append(&e->bytes, data, len);
	while (e->bytes.len % 8)
		aif_buf_putc(&e->bytes, 0);
	return e->bytes.len < LOOK_BYTES ? 0 : -E2BIG;
}

static int on_event(void *arg, void *data, size_t len)
{
	uint64_t time;

	if (len < sizeof(struct aif_ebpf_event) || len > AIF_EBPF_EVENT_MAX)
		return 0;
	memcpy(&time, data, sizeof(time));
	return item_add(arg, ITEM_EVENT, time, data, len);
}

static int on_wait(void *arg, void *data, size_t len)
{
	struct aif_ebpf *e = arg;
	struct aif_ebpf_wait w;

	if (len < sizeof(w))
		return 0;
	memcpy(&w, data, sizeof(w));
	e->waits++;
	return item_add(e, ITEM_WAIT, w.since + w.ns, data, len);
}

static void want(struct aif_ebpf *e, uint32_t pid, uint32_t how)
{
	bpf_map_update_elem(bpf_map__fd(e->programs->maps.aif_wanted), &pid, &how, BPF_ANY);
}

static int start(struct aif_ebpf *e, struct aif_err *err)
{
	int r;

	libbpf_set_print(no_print);
	r = programs_load(e);
	if (r < 0)
		return refused(r, "loading the BPF programs", err);
	e->ring = ring_buffer__new(bpf_map__fd(e->programs->maps.aif_ring), on_event, e, NULL);
	if (!e->ring)
		return refused(-errno, "mapping their ring", err);
	r = aif_ebpf_cpus_open(&e->cpus, AIF_NS_PER_S / AIF_MAX(e->opts->cpu_rate, 1u),
			       e->opts->cpu_rate ? e->programs->progs.aif_cpu_tick : NULL);
	if (r < 0)
		return refused(r, "sampling all CPUs (perf_event_open)", err);
	if (e->opts->off_cpu) {
		struct aif_programs *p = e->programs;

		e->known = calloc(AIF_OFF_STACKS, sizeof(*e->known));
		if (!e->known ||
		    ring_buffer__add(e->ring, bpf_map__fd(p->maps.aif_waits), on_wait, e) < 0)
			return refused(-ENOMEM, "mapping the ring of waits", err);
		want(e, e->processes.own_pid, AIF_EBPF_CHILDREN);
		p->links.aif_fork = bpf_program__attach(p->progs.aif_fork);
		if (p->links.aif_fork)
			p->links.aif_waking = bpf_program__attach(p->progs.aif_waking);
		if (p->links.aif_waking)
			p->links.aif_switch = bpf_program__attach(p->progs.aif_switch);
		if (!p->links.aif_switch)
			return refused(-errno,
				       "following the scheduler (sched_waking, sched_switch)", err);
	}
	return 0;
}

/* ---- launches of processes that have no agent
 * ---------------------------------------------------- */

static void probe_file(struct aif_ebpf *e, int fd, const char *path)
{
	struct bpf_program *program = e->programs->progs.aif_launch;
	char name[32];
	struct stat st;

	if (fstat(fd, &st) < 0 ||
	    aif_map_get(&e->probed, (uint64_t)st.st_ino ^ (uint64_t)st.st_dev << 40, NULL))
		return;
	aif_map_put(&e->probed, (uint64_t)st.st_ino ^ (uint64_t)st.st_dev << 40, 1);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < aif_launch_probes_len && e->links_len < MAX_LINKS; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = aif_launch_probes[i].function);
		struct bpf_link *link;

		if (!aif_launch_probes_has(path, i))
			continue;
		/* Not all versions have all of them. */
		link = bpf_program__attach_uprobe_opts(program, -1, name, 0, &opts);
		if (link)
			e->links[e->links_len++] = link;
	}
}

static void probe_library(struct aif_ebpf *e, uint32_t pid, const char *path)
{
	struct aif_process_files files;
	int fd;

	if (!aif_launch_probes_path(path))
		return;
	aif_process_files_init(&files, (int)pid);
	fd = aif_open_spare(aif_process_open(&files, path, 0));
	if (fd < 0)
		return;
	probe_file(e, fd, path);
	close(fd);
}

/* Probes the libraries of processes that run already. */
static void probe_everybody(struct aif_ebpf *e)
{
	struct aif_ebpf_maps maps;

	if (aif_ebpf_maps_open(&maps) < 0)
		return;
	while (aif_ebpf_maps_next(&maps)) {
		const struct aif_ebpf_process *p = aif_ebpf_process(&e->processes, maps.pid, false);

		if (e->processes.all || (p && p->wanted))
			probe_library(e, maps.pid, maps.path);
	}
	aif_ebpf_maps_close(&maps);
}

static void ebpf_free(struct aif_drainer *d, struct aif_ebpf *e)
{
	if (!e)
		return;
	for (unsigned i = 0; i < e->links_len; i++)
		bpf_link__destroy(e->links[i]);
	aif_ebpf_cpus_close(&e->cpus);
	ring_buffer__free(e->ring);
	aif_programs__destroy(e->programs);
	aif_ebpf_processes_finish(d, &e->processes);
	aif_map_finish(&e->unwanted);
	aif_map_finish(&e->probed);
	aif_map_finish(&e->launching_at);
	aif_driver_calls_finish(&e->driver_calls);
	aif_buf_finish(&e->bytes);
	free(e->items);
	free(e->known);
	free(e);
}

/* Loads and attaches the programs; sampling begins. 0 or -errno with *err. */
static int ebpf_new(const struct aif_record_opts *opts, struct aif_ebpf **ret, struct aif_err *err)
{
	struct aif_ebpf *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return aif_err_set(err, -ENOMEM, "out of memory");
	e->opts = opts;
	e->off_since = aif_now_ns();
	gethostname(e->host, sizeof(e->host) - 1);
	e->processes.host = e->host;
	e->processes.all = opts->all_processes;
	e->processes.own_pid = (uint32_t)getpid();
	r = start(e, err);
	if (r < 0) {
		ebpf_free(NULL, e);
		return r;
	}
	for (const char *const *p = opts->pids; *p; p++)
		aif_ebpf_processes_want(&e->processes, (uint32_t)strtoul(*p, NULL, 10));
	for (size_t i = 0; i < e->processes.len; i++)
		if (e->processes.at[i]->wanted)
			want(e, e->processes.at[i]->pid, AIF_EBPF_WANTED);
	if (opts->all_processes || opts->pids[0])
		probe_everybody(e);
	*ret = e;
	return 0;
}

int aif_ebpf_probe(struct aif_err *err)
{
	struct aif_record_opts opts = {.cpu_rate = 1, .off_cpu = true};
	struct aif_ebpf *e;
	int r = ebpf_new(&opts, &e, err);

	if (r == 0)
		ebpf_free(NULL, e);
	return r;
}

/* ---- draining
 * ------------------------------------------------------------------------------------ */

static void on_record(void *arg, const void *record, size_t len)
{
	struct aif_sideband s;
	struct aif_ebpf *e = arg;

	aif_sideband_read(record, len, &s);
	if (s.kind != AIF_SIDEBAND_NONE)
		item_add(e, ITEM_SIDEBAND, s.time, record, len);
}

/* Orders items by time; events of the side-band come before a sample of the same moment. */
static int by_time(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static void tell_sideband(struct aif_drainer *d, struct aif_ebpf *e, const struct item *i)
{
	struct aif_sideband s;

	aif_sideband_read(e->bytes.data + i->at, i->len, &s);
	aif_ebpf_processes_report(d, &e->processes, &s);
	if (s.kind == AIF_SIDEBAND_EXIT)
		bpf_map_delete_elem(bpf_map__fd(e->programs->maps.aif_wanted), &s.pid);
	if (s.kind == AIF_SIDEBAND_LOST)
		aif_store_loss(d->store, AIF_REASON_EBPF_SIDEBAND, AIF_NONE, AIF_NONE, s.count);
	if (s.kind == AIF_SIDEBAND_MAP && aif_ebpf_process(&e->processes, s.pid, false))
		probe_library(e, s.pid, s.path);
}

static void tell_event(struct aif_drainer *d, struct aif_ebpf *e, const struct item *i)
{
	uint64_t weight = AIF_NS_PER_S / AIF_MAX(e->opts->cpu_rate, 1u);
	struct aif_ebpf_read r;

	if (!aif_ebpf_event_read(e->bytes.data + i->at, i->len, &r))
		return;
	if (r.e.kind == AIF_EBPF_SAMPLE)
		d->samples += aif_ebpf_row_sample(d, &e->processes, &r, weight);
	else if (r.e.kind >= AIF_EBPF_DRIVER_INSTEAD)
		aif_ebpf_row_driver(d, &e->driver_calls, &e->syscalls, &r);
	else
		d->agentless_launches += aif_ebpf_row_launch(d, &e->processes, &r, &e->number);
}

/* Tells the BPF programs which processes have the agent, which reports their launches and, once it
 * samples, their samples. */
static void tell_unwanted(struct aif_drainer *d, struct aif_ebpf *e)
{
	int fd = bpf_map__fd(e->programs->maps.aif_unwanted);

	for (const struct aif_target *t = d->targets; t; t = t->next) {
		uint32_t pid = (uint32_t)t->pid,
			 flags = AIF_EBPF_NO_LAUNCHES |
				 (aif_cpu_is_sampled(t) ? AIF_EBPF_NO_SAMPLES : 0);
		uint64_t known = 0;

		if (t->pid <= 0 || t->ended ||
		    (aif_map_get(&e->unwanted, pid, &known) && known == flags))
			continue;
		if (bpf_map_update_elem(fd, &pid, &flags, BPF_ANY) == 0)
			aif_map_put(&e->unwanted, pid, flags);
	}
}

/* Tells the BPF programs where threads of a process with the agent note the launch that they are in. */
static void tell_launching(struct aif_drainer *d, struct aif_ebpf *e)
{
	int fd = bpf_map__fd(e->programs->maps.aif_launching_at);

	for (const struct aif_target *t = d->targets; t; t = t->next) {
		uint32_t pid = (uint32_t)t->pid;
		int64_t at = atomic_load_explicit(&t->shm->launching_at, memory_order_relaxed);
		uint64_t known = 0;

		if (t->pid <= 0 || t->ended || !at ||
		    (aif_map_get(&e->launching_at, pid, &known) && known == (uint64_t)at))
			continue;
		driver_attach_late(e);
		if (bpf_map_update_elem(fd, &pid, &at, BPF_ANY) == 0)
			aif_map_put(&e->launching_at, pid, (uint64_t)at);
	}
}

/* Forgets processes without a target: their number may be another's soon. */
static void forget_unwanted(struct aif_drainer *d, struct aif_ebpf *e)
{
	int fd = bpf_map__fd(e->programs->maps.aif_unwanted);

	for (size_t i = 0; i < e->processes.len; i++) {
		const struct aif_ebpf_process *p = e->processes.at[i];
		const struct aif_target *t = d->targets;
		uint64_t known;

		if (!p || !aif_map_get(&e->unwanted, p->pid, &known) || !known)
			continue;
		while (t && (t->pid != (int)p->pid || t->ended))
			t = t->next;
		if (t)
			continue;
		bpf_map_delete_elem(fd, &p->pid);
		aif_map_put(&e->unwanted, p->pid, 0);
	}
}

static void count_losses(struct aif_drainer *d, struct aif_ebpf *e)
{
	static const enum aif_reason reasons[AIF_EBPF_LOSSES] = {
		[AIF_EBPF_LOST_SAMPLES] = AIF_REASON_EBPF_SAMPLES,
		[AIF_EBPF_LOST_LAUNCHES] = AIF_REASON_EBPF_LAUNCHES,
		[AIF_EBPF_LOST_OFF] = AIF_REASON_EBPF_OFF_CPU,
		[AIF_EBPF_LOST_OFF_STACKS] = AIF_REASON_EBPF_OFF_STACKS,
		[AIF_EBPF_LOST_WAITS] = AIF_REASON_EBPF_WAITS,
		[AIF_EBPF_LOST_DRIVERS] = AIF_REASON_EBPF_DRIVERS,
	};
	int cpus = libbpf_num_possible_cpus(), fd = bpf_map__fd(e->programs->maps.aif_lost);
	uint64_t *counts = cpus > 0 ? calloc((size_t)cpus, sizeof(*counts)) : NULL;

	for (uint32_t i = 0; counts && i < AIF_EBPF_LOSSES; i++) {
		uint64_t sum = 0;

		if (bpf_map_lookup_elem(fd, &i, counts) < 0)
			continue;
		for (int cpu = 0; cpu < cpus; cpu++)
			sum += counts[cpu];
		if (sum > e->lost[i])
			aif_store_loss(d->store, reasons[i], AIF_NONE, AIF_NONE, sum - e->lost[i]);
		e->lost[i] = sum;
	}
	free(counts);
}

static struct aif_off_cpu off_cpu_of(struct aif_ebpf *e, uint64_t now, bool collect)
{
	return (struct aif_off_cpu){
		.sums = bpf_map__fd(e->programs->maps.aif_off),
		.stacks = {bpf_map__fd(e->programs->maps.aif_off_stacks),
			   bpf_map__fd(e->programs->maps.aif_off_stacks_2),
			   bpf_map__fd(e->programs->maps.aif_off_stacks_3),
			   bpf_map__fd(e->programs->maps.aif_off_stacks_4)},
		.left = bpf_map__fd(e->programs->maps.aif_left),
		.processes = &e->processes,
		.known = e->known,
		.since = e->off_since,
		.now = now,
		.collect = collect,
	};
}

static void fetch_off_cpu(struct aif_drainer *d, struct aif_ebpf *e, uint64_t now, bool collect,
			  bool is_last)
{
	struct aif_off_cpu o = off_cpu_of(e, now, collect);

	if (!e->opts->off_cpu)
		return;
	aif_off_cpu_fetch(d, &o);
	if (is_last)
		aif_off_cpu_last(d, &o);
	e->programs->data->aif_least_wait = aif_ebpf_least_wait(e->programs->data->aif_least_wait,
								e->waits, now - e->off_since);
	e->waits = 0;
	e->off_since = now;
}

/* Takes what has come since; collects: false while nothing is to be kept. */
static void read_rings(struct aif_drainer *d, struct aif_ebpf *e, bool collects)
{
	struct aif_off_cpu off = off_cpu_of(e, 0, collects);

	aif_buf_clear(&e->bytes);
	e->items_len = 0;
	ring_buffer__consume(e->ring);
	/* After the samples: whatever had happened before them is there now. */
	aif_ebpf_cpus_read(&e->cpus, on_record, e);
	if (e->items_len)
		qsort(e->items, e->items_len, sizeof(*e->items), by_time);
	for (size_t i = 0; i < e->items_len && !aif_buf_failed(&e->bytes); i++) {
		const struct item *item = &e->items[i];

		if (item->kind == ITEM_SIDEBAND)
			tell_sideband(d, e, item);
		else if (item->kind == ITEM_WAIT)
			aif_off_cpu_wait(d, &off, e->bytes.data + item->at, item->len);
		else if (collects)
			tell_event(d, e, item);
	}
}

/* ---- the source
 * ---------------------------------------------------------------------------------- */

static struct aif_ebpf **ebpf_of(const struct aif_drainer *d)
{
	return d->source_state[AIF_SOURCE_EBPF];
}

static int init(struct aif_drainer *d, struct aif_err *err)
{
	int r = d->opts->ebpf ? ebpf_new(d->opts, ebpf_of(d), err) : 0;

	d->has_kernel_rings |= *ebpf_of(d) != NULL;
	return r;
}

static void step(struct aif_drainer *d, const struct aif_turn *turn)
{
	struct aif_ebpf *e = *ebpf_of(d);
	uint64_t now = turn->now;

	if (!e)
		return;
	e->collects = turn->collects;
	tell_unwanted(d, e);
	if (e->has_driver_calls)
		tell_launching(d, e);
	/* While the writer is behind what is in the rings waits there. */
	if (!aif_batches_room(&d->store->batches))
		return;
	read_rings(d, e, turn->collects);
	aif_driver_calls_release(&e->driver_calls, d->store, now);
	if (!turn->each_second)
		return;
	forget_unwanted(d, e);
	fetch_off_cpu(d, e, now, turn->collects, false);
	count_losses(d, e);
	aif_ebpf_processes_tidy(d, &e->processes, now > TIDY_NS ? now - TIDY_NS : 0);
}

/* Reads what a process did last before it is forgotten. */
static void target_drain(struct aif_drainer *d, struct aif_target *t)
{
	struct aif_ebpf *e = *ebpf_of(d);

	if (e && e->has_driver_calls && t->ended && aif_batches_room(&d->store->batches))
		read_rings(d, e, e->collects);
}

static void target_end(struct aif_drainer *d, struct aif_target *t, uint64_t now)
{
	struct aif_ebpf *e = *ebpf_of(d);
	uint32_t pid = (uint32_t)t->pid;
	uint64_t known;

	(void)now;
	if (!e || !aif_map_get(&e->launching_at, pid, &known) || !known)
		return;
	bpf_map_delete_elem(bpf_map__fd(e->programs->maps.aif_launching_at), &pid);
	aif_map_put(&e->launching_at, pid, 0);
}

static bool take_launch(struct aif_drainer *d, const struct aif_launch_row *row)
{
	struct aif_ebpf *e = *ebpf_of(d);

	return e && e->has_driver_calls &&
	       aif_driver_calls_hold(&e->driver_calls, row, aif_now_ns());
}

static void last(struct aif_drainer *d)
{
	struct aif_ebpf *e = *ebpf_of(d);

	if (e)
		aif_driver_calls_release(&e->driver_calls, d->store, UINT64_MAX);
}

static uint64_t stop(struct aif_drainer *d, bool collects)
{
	const struct aif_turn turn = {.now = aif_now_ns(), .collects = collects};
	struct aif_ebpf *e = *ebpf_of(d);

	if (!e)
		return turn.now;
	aif_ebpf_cpus_stop(&e->cpus);
	step(d, &turn);
	/* Also of threads that have not come back. */
	fetch_off_cpu(d, e, turn.now, collects, true);
	count_losses(d, e);
	return turn.now;
}

static void finish(struct aif_drainer *d)
{
	ebpf_free(d, *ebpf_of(d));
}

const struct aif_source aif_source_ebpf = {
	.name = "ebpf",
	.state_size = sizeof(struct aif_ebpf *),
	.init = init,
	.take_launch = take_launch,
	.target_drain = target_drain,
	.target_end = target_end,
	.step = step,
	.stop = stop,
	.last = last,
	.finish = finish,
};
