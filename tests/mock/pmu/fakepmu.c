/* SPDX-License-Identifier: Apache-2.0 */
#include "../supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Hardware counters that are not there, below a program that knows nothing of it:
 *
 *     fakepmu SCRIPT COMMAND...
 *
 * COMMAND, and what it starts, runs under a seccomp filter that hands perf_event_open and openat to this process.
 * Software events, and all files but those of the PMU's topdown events and /proc/cpuinfo, are the kernel's own. A hardware event that
 * counts becomes a file that reads as the script says; one that samples becomes an event on the thread's task clock,
 * which overflows at the pace of the script. No value of it is of any hardware.
 *
 * A line of the script is an event by perf's name, with any of
 *
 *     value=N[,N...]   counts of its first, second, ... opening; the last one stays
 *     running=PERCENT  for that much of the time it was counted
 *     every=NS         as a sampling event it overflows each NS of CPU time
 *     errno=N          opening it fails so
 *     model=FILE       the count is what the program writes into FILE: its value, time enabled, time running (uint64_t
 *                      each; tests/mock/pmu/memory_model.c)
 *
 * An event without a line fails with ENOENT. "topdown" alone in a line: sysfs names the topdown events; "model NUMBER":
 * /proc/cpuinfo is that of an Intel CPU of family 6 with this number.
 */
#define VALUES     8
#define ENABLED_NS UINT64_C(1000000000)
#define DIRECTORY  "/sys/bus/event_source/devices/cpu/events/"

#define AIF_STAT_EVENT(id, name_, set, type_, config_, group) \
	{.name = name_, .type = PERF_TYPE_##type_, .config = config_},
struct event {
	const char *name;
	uint32_t type;
	uint64_t config;
	/* The script's. */
	bool is_there;
	int error;
	double running;
	uint64_t every, values[VALUES];
	char *model;
	unsigned values_len, opened;
};
static struct event events[] = {
#include "stat/events.def"
};
#define EVENTS (sizeof(events) / sizeof(events[0]))

static const struct {
	const char *name, *text;
} files[] = {
	{"slots", "event=0x00,umask=0x4\n"},
	{"topdown-retiring", "event=0x00,umask=0x80\n"},
	{"topdown-bad-spec", "event=0x00,umask=0x81\n"},
	{"topdown-fe-bound", "event=0x00,umask=0x82\n"},
	{"topdown-be-bound", "event=0x00,umask=0x83\n"},
	{"topdown-heavy-ops", "event=0x00,umask=0x84\n"},
	{"topdown-br-mispredict", "event=0x00,umask=0x85\n"},
	{"topdown-fetch-lat", "event=0x00,umask=0x86\n"},
	{"topdown-mem-bound", "event=0x00,umask=0x87\n"},
};

static bool has_topdown;
static char cpuinfo[256];
static unsigned counted, sampled, refused;

/* ---- the script ---------------------------------------------------------------------------------- */

static void read_word(struct event *e, const char *word)
{
	char *at;

	if (!strncmp(word, "value=", 6)) {
		at = (char *)word + 5;
		while ((*at == '=' || *at == ',') && e->values_len < VALUES)
			e->values[e->values_len++] = strtoull(at + 1, &at, 0);
	} else if (!strncmp(word, "running=", 8)) {
		e->running = strtod(word + 8, NULL) / 100;
	} else if (!strncmp(word, "every=", 6)) {
		e->every = strtoull(word + 6, NULL, 0);
	} else if (!strncmp(word, "errno=", 6)) {
		e->error = atoi(word + 6);
	} else if (!strncmp(word, "model=", 6)) {
		e->model = strdup(word + 6);
	} else {
		fprintf(stderr, "fakepmu: %s: '%s' is not known\n", e->name, word);
		exit(2);
	}
}

static void read_script(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[512];

	if (!f)
		die(path);
	while (fgets(line, sizeof(line), f)) {
		char *rest = line, *word = strsep(&rest, " \n");
		struct event *e = NULL;

		if (!*word || *word == '#')
			continue;
		if (!strcmp(word, "topdown")) {
			has_topdown = true;
			continue;
		}
		if (!strcmp(word, "model")) {
			snprintf(cpuinfo, sizeof(cpuinfo),
				 "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
				 "model\t\t: %d\nmodel name\t: simulated\n\n",
				 rest ? atoi(rest) : 0);
			continue;
		}
		for (size_t i = 0; i < EVENTS; i++)
			if (!strcmp(events[i].name, word))
				e = &events[i];
		if (!e) {
			fprintf(stderr, "fakepmu: '%s' is no event\n", word);
			exit(2);
		}
		e->is_there = true;
		e->running = 1;
		while ((word = strsep(&rest, " \n")) != NULL)
			if (*word)
				read_word(e, word);
	}
	fclose(f);
}

const char supervisor_name[] = "fakepmu";

/* ---- the filter ---------------------------------------------------------------------------------- */

static struct sock_filter code[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 1, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
static const struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

/* ---- the answers --------------------------------------------------------------------------------- */

/* Reads the caller's memory: n bytes, or as many as there are. */
static ssize_t get(uint32_t pid, uint64_t at, void *to, size_t n)
{
	char path[64];
	ssize_t r;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	r = pread(fd, to, n, (off_t)at);
	close(fd);
	return r;
}

/* Gives the caller a copy of a descriptor. Returns its number there or -errno. */
static int64_t give(int listener, uint64_t id, int fd)
{
	struct seccomp_notif_addfd a = {.id = id, .srcfd = (uint32_t)fd, .newfd_flags = O_CLOEXEC};
	int64_t r = fd < 0 ? -errno : ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &a);

	if (r < 0 && fd >= 0)
		r = -errno;
	if (fd >= 0)
		close(fd);
	return r;
}

static int file_of(const void *bytes, size_t n)
{
	int fd = memfd_create("fakepmu", MFD_CLOEXEC);

	if (fd >= 0 && pwrite(fd, bytes, n, 0) != (ssize_t)n) {
		close(fd);
		return -1;
	}
	return fd;
}

static int open_counter(struct event *e)
{
	unsigned at = e->opened++;
	int fd;
	uint64_t got[3] = {0, ENABLED_NS, (uint64_t)(e->running * (double)ENABLED_NS)};

	if (e->values_len)
		got[0] = e->values[at < e->values_len ? at : e->values_len - 1];
	counted++;
	if (e->model) {
		fd = open(e->model, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (fd >= 0 && pwrite(fd, got, sizeof(got), 0) == sizeof(got))
			return fd;
		die(e->model);
	}
	return file_of(got, sizeof(got));
}

/* Opens the software event that stands for a sampling one: `pid` as the caller gave it. */
static int open_sampler(const struct event *e, struct perf_event_attr a, pid_t pid, uint32_t caller)
{
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_TASK_CLOCK;
	a.sample_period = e->every;
	sampled++;
	return (int)syscall(SYS_perf_event_open, &a, pid ? pid : (pid_t)caller, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

static int64_t on_event(int listener, const struct seccomp_notif *q, bool *not_ours)
{
	struct perf_event_attr a = {0};
	struct event *e = NULL;

	if (get(q->pid, q->data.args[0], &a, sizeof(a)) < PERF_ATTR_SIZE_VER0)
		return -EFAULT;
	if (a.type == PERF_TYPE_SOFTWARE) {
		*not_ours = true;
		return 0;
	}
	for (size_t i = 0; i < EVENTS; i++)
		if (events[i].is_there && events[i].type == a.type && events[i].config == a.config)
			e = &events[i];
	if (!e || e->error || (a.sample_period && !e->every)) {
		refused++;
		return -(e && e->error ? e->error : ENOENT);
	}
	return give(listener, q->id,
		    a.sample_period ? open_sampler(e, a, (pid_t)q->data.args[1], q->pid)
				    : open_counter(e));
}

static int64_t on_open(int listener, const struct seccomp_notif *q, bool *not_ours)
{
	char path[256] = "";

	if (!has_topdown && !*cpuinfo)
		goto not_ours;
	if (get(q->pid, q->data.args[1], path, sizeof(path) - 1) <= 0)
		goto not_ours;
	if (*cpuinfo && !strcmp(path, "/proc/cpuinfo"))
		return give(listener, q->id, file_of(cpuinfo, strlen(cpuinfo)));
	if (has_topdown && !strncmp(path, DIRECTORY, strlen(DIRECTORY)))
		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
			if (!strcmp(path + strlen(DIRECTORY), files[i].name))
				return give(listener, q->id,
					    file_of(files[i].text, strlen(files[i].text)));
not_ours:
	*not_ours = true;
	return 0;
}

static void answer(int listener, const struct seccomp_notif *q, struct seccomp_notif_resp *r)
{
	bool not_ours = false;
	int64_t result = q->data.nr == SYS_openat ? on_open(listener, q, &not_ours)
						  : on_event(listener, q, &not_ours);

	*r = (struct seccomp_notif_resp){.id = q->id};
	if (not_ours)
		r->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (result < 0)
		r->error = (int32_t)result;
	else
		r->val = result;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, r);
}

int main(int argc, char **argv)
{
	struct seccomp_notif_sizes sizes;
	struct seccomp_notif *q;
	struct seccomp_notif_resp *r;
	int status = 0, listener;
	pid_t pid;

	if (argc < 3) {
		fputs("usage: fakepmu SCRIPT COMMAND...\n", stderr);
		return 2;
	}
	read_script(argv[1]);
	pid = supervisor_start(&filter, argv + 2, &listener);
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		die("seccomp");
	q = calloc(1, sizes.seccomp_notif + sizeof(*q));
	r = calloc(1, sizes.seccomp_notif_resp + sizeof(*r));
	if (!q || !r)
		die("memory");
	while (waitpid(pid, &status, WNOHANG) != pid) {
		struct pollfd p = {.fd = listener, .events = POLLIN};

		if (poll(&p, 1, 20) <= 0 || !(p.revents & POLLIN))
			continue;
		memset(q, 0, sizes.seccomp_notif);
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, q) == 0)
			answer(listener, q, r);
	}
	fprintf(stderr, "fakepmu: simulated: %u counters, %u sampling events; %u refused\n",
		counted, sampled, refused);
	free(q);
	free(r);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
