/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/run.h"

#include "base/clock.h"
#include "base/command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child: waits until its counters are there, then becomes the command. */
static void become(const struct aif_stat_opts *o, const sigset_t *mask, int go, int report)
{
	static const char *const names[] = {"CK_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"};
	char text[16], byte;
	int e = 0, null;

	prctl(PR_SET_PDEATHSIG, SIGTERM);

	snprintf(text, sizeof(text), "%" PRIu32, o->threads);
	for (size_t i = 0; o->threads && i < AIF_ARRAY_LEN(names); i++)
		if (setenv(names[i], text, 1) < 0)
			e = errno;
	if (o->cpus && sched_setaffinity(0, sizeof(*o->cpus), o->cpus) < 0)
		e = errno;
	if (o->is_quiet && (null = open("/dev/null", O_WRONLY | O_CLOEXEC)) >= 0)
		dup2(null, STDOUT_FILENO);
	while (read(go, &byte, 1) < 0 && errno == EINTR)
		;
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (!e) {
		e = -aif_command_exec(o->argv);
	}
	if (write(report, &e, sizeof(e)) < 0)
		_exit(125);
	_exit(127);
}

static double seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec * 1e-6;
}

/* Reads what a process that has ended, and was not waited for yet, had of storage. */
static void read_io(pid_t pid, double *usage)
{
	char path[64], line[128];
	uint64_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "read_bytes: %" SCNu64, &n) == 1)
			usage[AIF_STAT_READ] = (double)n;
		else if (sscanf(line, "write_bytes: %" SCNu64, &n) == 1)
			usage[AIF_STAT_WRITTEN] = (double)n;
	}
	if (f)
		fclose(f);
}

static void use(struct aif_stat_run *r, const struct aif_stat_opts *o, enum aif_stat_event e,
		double value)
{
	if (r->values[e].is_known || !(o->events >> e & 1))
		return;
	r->values[e] = (struct aif_stat_value){.is_known = true, .value = value};
}

/* Takes from rusage what perf did not give. */
static void take_usage(const struct aif_stat_opts *o, const struct rusage *u,
		       struct aif_stat_run *r)
{
	r->usage[AIF_STAT_USER] = seconds(u->ru_utime);
	r->usage[AIF_STAT_SYS] = seconds(u->ru_stime);
	r->usage[AIF_STAT_MAX_RSS] = (double)u->ru_maxrss * 1024;
	r->usage[AIF_STAT_VOLUNTARY] = (double)u->ru_nvcsw;
	r->usage[AIF_STAT_INVOLUNTARY] = (double)u->ru_nivcsw;
	use(r, o, AIF_STAT_TASK_CLOCK, 1e9 * (r->usage[AIF_STAT_USER] + r->usage[AIF_STAT_SYS]));
	use(r, o, AIF_STAT_CONTEXT_SWITCHES, (double)(u->ru_nvcsw + u->ru_nivcsw));
	use(r, o, AIF_STAT_PAGE_FAULTS, (double)(u->ru_minflt + u->ru_majflt));
	use(r, o, AIF_STAT_MINOR_FAULTS, (double)u->ru_minflt);
	use(r, o, AIF_STAT_MAJOR_FAULTS, (double)u->ru_majflt);
}

static void close_pair(int fd[2])
{
	close(fd[0]);
	close(fd[1]);
}

/* Waits for the command, which runs now. */
static void finish(const struct aif_stat_opts *o, pid_t pid, uint64_t from,
		   struct aif_stat_counters *c, struct aif_stat_run *ret)
{
	struct rusage usage = {0};
	siginfo_t info;
	int status = 0;

	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	ret->usage[AIF_STAT_ELAPSED] = (double)(aif_clock_ns(CLOCK_MONOTONIC) - from) / 1e9;
	read_io(pid, ret->usage);
	while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	aif_stat_counters_read(c, ret->values);
	take_usage(o, &usage, ret);
	ret->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int aif_stat_run_once(const struct aif_stat_opts *o, struct aif_stat_run *ret, struct aif_err *err)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old_int;
	struct aif_stat_counters counters;
	int go[2], report[2], e = 0;
	sigset_t mask;
	uint64_t from;
	pid_t pid;

	*ret = (struct aif_stat_run){.status = 126};
	for (unsigned i = 0; i < AIF_STAT_USAGES; i++)
		ret->usage[i] = NAN;
	if (pipe2(go, O_CLOEXEC) < 0)
		return aif_err_set(err, -errno, "stat: cannot start the command: %s",
				   strerror(errno));
	if (pipe2(report, O_CLOEXEC) < 0) {
		e = errno;
		close_pair(go);
		return aif_err_set(err, -e, "stat: cannot start the command: %s", strerror(e));
	}
	sigprocmask(SIG_SETMASK, NULL, &mask);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(report[0]);
		become(o, &mask, go[0], report[1]);
	}
	close(go[0]);
	close(report[1]);
	if (pid < 0) {
		e = errno;
		close(go[1]);
		close(report[0]);
		return aif_err_set(err, -e, "stat: cannot start the command: %s", strerror(e));
	}
	sigaction(SIGINT, &ignore, &old_int);
	aif_stat_counters_open(&counters, o->events, pid);
	from = aif_clock_ns(CLOCK_MONOTONIC);
	close(go[1]);
	/* The pipe closes by itself when exec succeeds. */
	while (read(report[0], &e, sizeof(e)) < 0 && errno == EINTR)
		;
	close(report[0]);
	finish(o, pid, from, &counters, ret);
	sigaction(SIGINT, &old_int, NULL);
	if (!e)
		return 0;
	ret->status = e == ENOENT ? 127 : 126;
	return aif_err_set(err, -e, "stat: cannot start %s: %s", o->argv[0], strerror(e));
}
