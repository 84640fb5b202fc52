/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "export/exporter.h"
#include "profile/file.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Each format of a profile of 3 million events: 1.5 million launches of 8 threads, 2 devices with 4 streams each, 200
 * kernels, 2,000 stacks of 40 frames that launch 5 of them each, 20,000 CPU samples. Each in a process of its own, to a file in the directory
 * that is given or /dev/shm; beside it the time that reading the rows alone takes.
 *    bench_export [DIR [LAUNCHES]]
 */
enum {
	KERNELS = 200,
	STACKS = 2000,
	DEPTH = 40,
	THREADS = 8,
	DEVICES = 2,
	STREAMS = 8,
	PART = 50000
};

#define ADD(p, table, ...)                                                               \
	do {                                                                             \
		if (aif_grow(&(p)->table, &(p)->table##_cap, (p)->table##_len + 1,       \
			     sizeof(*(p)->table)) < 0)                                   \
			abort();                                                         \
		(p)->table[(p)->table##_len++] = (__typeof__(*(p)->table)){__VA_ARGS__}; \
	} while (0)

static uint32_t str(struct aif_profile *p, const char *format, unsigned i)
{
	char text[200];

	snprintf(text, sizeof(text), format, i);
	return aif_strset_puts(&p->strings, text);
}

static void tables(struct aif_profile *p)
{
	ADD(p, processes, .pid = 1000, .exe = str(p, "/usr/bin/python3", 0),
	    .cmdline = str(p, "python3 train.py", 0), .host = str(p, "host", 0),
	    .start_ns = p->start_ns, .flags = AIF_PROCESS_AGENT | AIF_PROCESS_RUNTIME,
	    .exit_status = -1);
	for (unsigned i = 0; i < THREADS; i++)
		ADD(p, threads, .process = 0, .tid = 1000 + i, .name = str(p, "worker %u", i));
	for (unsigned i = 0; i < DEVICES; i++)
		ADD(p, devices, .name = str(p, "Accelerator %u", i), .vendor = AIF_NONE,
		    .driver = AIF_NONE, .runtime = str(p, "cuda", 0), .kind = AIF_DEVICE_GPU,
		    .units = 132, .clock = AIF_CLOCK_MONOTONIC);
	for (unsigned i = 0; i < STREAMS; i++)
		ADD(p, streams, .process = 0, .device = i % DEVICES, .ordinal = 7 + i / DEVICES);
	ADD(p, modules, .kind = AIF_MODULE_ELF, .path = str(p, "/opt/lib/libtorch_cpu.so", 0),
	    .build_id = str(p, "0123456789abcdef", 0), .kernel = AIF_NONE, .program = AIF_NONE);
	for (unsigned i = 0; i < KERNELS; i++)
		ADD(p, kernels,
		    .name = str(p,
				"void at::native::vectorized_elementwise_kernel<4, "
				"at::native::CUDAFunctor_add<float>, std::array<char*, %uul>>(int, "
				"at::native::CUDAFunctor_add<float>)",
				i),
		    .short_name = AIF_NONE, .program = AIF_NONE);
	for (unsigned s = 0; s < STACKS; s++)
		for (unsigned d = 0; d < DEPTH; d++) {
			/* The outer half is shared. */
			unsigned f = d < DEPTH / 2 ? d : d * 37 + s * 11;
			uint32_t caller;

			ADD(p, frames, .kind = AIF_FRAME_NATIVE, .module = 0,
			    .address = 0x1000 + 16 * f);
			ADD(p, frame_names, .frame = (uint32_t)p->frames_len - 1,
			    .name = str(p, "at::_ops::function_%u::call(at::Tensor const&)", f),
			    .file = str(p, "/src/aten/Operators_%u.cpp", f % 50), .line = f % 999);
			caller = (uint32_t)p->stacks_len - 1;
			ADD(p, stacks, .parent = d ? caller : AIF_NONE,
			    .frame = (uint32_t)p->frames_len - 1, .depth = d + 1);
		}
	ADD(p, shapes, .grid = {4096, 16, 1}, .block = {256, 1, 1});
	ADD(p, meta, str(p, "command", 0), str(p, "python3 train.py", 0));
	ADD(p, meta, str(p, "cpu_rate", 0), str(p, "99", 0));
}

static void must(int r, const struct aif_err *err)
{
	if (r < 0) {
		fprintf(stderr, "bench_export: %s\n", err->text);
		exit(1);
	}
}

static void rows(struct aif_writer *w, uint64_t start, uint64_t n, struct aif_err *err)
{
	struct aif_launch_row *l = calloc(PART, sizeof(*l));
	struct aif_exec_row *x = calloc(PART, sizeof(*x));
	struct aif_cpu_row *c = calloc(PART, sizeof(*c));

	if (!l || !x || !c)
		abort();
	for (uint64_t done = 0; done < n; done += PART) {
		size_t part = AIF_MIN(n - done, (uint64_t)PART), cpus = part / 75;

		for (size_t i = 0; i < part; i++) {
			uint64_t k = done + i, salt = aif_mix64(k);
			unsigned stream = k % STREAMS, place = (unsigned)((salt >> 20) % STACKS);

			l[i] = (struct aif_launch_row){
				.launch = k + 1,
				.time = start + k * 10000,
				.thread = (uint32_t)(k % THREADS),
				.kernel = (uint32_t)((place * 7 + salt % 5) % KERNELS),
				.device = stream % DEVICES,
				.stream = stream,
				.stack = place * DEPTH + DEPTH - 1};
			x[i] = (struct aif_exec_row){.launch = k + 1,
						     .start = l[i].time + 5000 + salt % 3000,
						     .end = l[i].time + 20000 +
							    (salt >> 32) % 60000,
						     .kernel = l[i].kernel,
						     .device = l[i].device,
						     .stream = stream,
						     .registers = 64};
		}
		for (size_t i = 0; i < cpus; i++)
			c[i] = (struct aif_cpu_row){.time = start + (done + i * 75) * 10000,
						    .weight = 10101010,
						    .thread = (uint32_t)(i % THREADS),
						    .stack = l[i].stack};
		must(aif_writer_launches(w, l, part, err), err);
		must(aif_writer_execs(w, x, part, err), err);
		must(aif_writer_cpu(w, c, cpus, err), err);
		must(aif_writer_commit(w, err), err);
	}
	free(l);
	free(x);
	free(c);
}

static void profile_make(const char *path, uint64_t n)
{
	struct aif_profile p = {.start_ns = UINT64_C(5000000000)};
	struct aif_writer *w;
	struct aif_err err = {0};

	tables(&p);
	unlink(path);
	must(aif_writer_new(path, p.start_ns, &w, &err), &err);
	must(aif_writer_tables(w, &p, &err), &err);
	rows(w, p.start_ns, n, &err);
	must(aif_writer_finish(w, p.start_ns + n * 10000 + 1000000, &err), &err);
	aif_profile_finish(&p);
}

static int count_launches(void *arg, const struct aif_launch_row *r, size_t n)
{
	(void)r;
	*(uint64_t *)arg += n;
	return 0;
}
static int count_execs(void *arg, const struct aif_exec_row *r, size_t n)
{
	(void)r;
	*(uint64_t *)arg += n;
	return 0;
}

static uint64_t bytes_at(const char *path)
{
	uint64_t sum = 0;
	struct stat st;
	DIR *d = opendir(path);

	for (struct dirent *e; d && (e = readdir(d));) {
		char inner[1000];

		snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
		if (*e->d_name != '.') {
			sum += bytes_at(inner);
			remove(inner);
		}
	}
	if (d)
		closedir(d);
	else if (stat(path, &st) == 0)
		sum = (uint64_t)st.st_size;
	remove(path);
	return sum;
}

/* In a child: what it takes is its own. */
static void format(const struct aif_exporter *e, const char *profile, const char *to)
{
	struct rusage before, after;
	uint64_t begin;
	double seconds, cpu;
	int status;
	pid_t pid;

	getrusage(RUSAGE_CHILDREN, &before);
	fflush(stdout);
	begin = aif_now_ns();
	pid = fork();
	if (!pid) {
		struct aif_profile p;
		struct aif_err err = {0};
		struct aif_names names;
		struct aif_export x = {.profile = &p, .names = &names, .detail = AIF_NAME_NORMAL};
		uint64_t n = 0;

		must(aif_profile_open(profile, &p, &err), &err);
		must(aif_names_make(&names, &p), &err);
		if (e) {
			must(aif_export_write(e, &x, to, &err), &err);
		} else {
			must(aif_profile_launches(&p, count_launches, &n, NULL), &err);
			must(aif_profile_execs(&p, count_execs, &n, NULL), &err);
		}
		_exit(0);
	}
	waitpid(pid, &status, 0);
	seconds = (double)(aif_now_ns() - begin) / 1e9;
	getrusage(RUSAGE_CHILDREN, &after);
	cpu = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
	      (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) / 1e6 +
	      (double)(after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
	      (double)(after.ru_stime.tv_usec - before.ru_stime.tv_usec) / 1e6;
	if (status) {
		printf("%-12s FAILED\n", e ? e->name : "reading");
		return;
	}
	begin = e ? bytes_at(to) : 0;
	printf("%-12s %6.2f s  %6.2f s of CPU  %8.1f MB  %7.1f MB/s\n", e ? e->name : "reading",
	       seconds, cpu, (double)begin / 1e6, (double)begin / 1e6 / seconds);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : "/dev/shm";
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 1500000;
	char profile[1000], to[1000];

	snprintf(profile, sizeof(profile), "%s/bench_export.data", dir);
	snprintf(to, sizeof(to), "%s/bench_export.out", dir);
	profile_make(profile, n);
	printf("%" PRIu64 " launches and as many executions; bar: 5 s of CPU a format\n", n);
	format(NULL, profile, to);
	for (size_t i = 0; aif_exporters[i]; i++)
		format(aif_exporters[i], profile, to);
	remove(profile);
	return 0;
}
