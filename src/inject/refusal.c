/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/refusal.h"

#include "base/bounded.h"
#include "base/clock.h"
#include "base/mounts.h"
#include "base/proc.h"
#include "base/process.h"
#include "base/program_held.h"
#include "inject/executable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAP_LOOKS 3
/* Libraries on slow file systems come within seconds, as a rule. */
#define LOADED_AGE_NS (10 * AIF_NS_PER_S)
/* A shell's child becomes its program within milliseconds, unless the machine is very busy. */
#define FORKED_AGE_NS AIF_NS_PER_S

struct status {
	int tracer;
	unsigned long uid[4], gid[4];
	struct aif_proc_filters filters;
	char state;
	bool has_shadow_stack;
};

static bool read_status(pid_t pid, struct status *s)
{
	char path[64], text[4096];
	const char *line;

	*s = (struct status){.tracer = 0};
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (aif_proc_read(path, text, sizeof(text)) <= 0)
		return false;
	if ((line = strstr(text, "\nState:")) != NULL)
		sscanf(line + 7, " %c", &s->state);
	if ((line = strstr(text, "\nTracerPid:")) != NULL)
		sscanf(line + 11, "%d", &s->tracer);
	if ((line = strstr(text, "\nUid:")) != NULL)
		sscanf(line + 5, "%lu %lu %lu %lu", &s->uid[0], &s->uid[1], &s->uid[2], &s->uid[3]);
	if ((line = strstr(text, "\nGid:")) != NULL)
		sscanf(line + 5, "%lu %lu %lu %lu", &s->gid[0], &s->gid[1], &s->gid[2], &s->gid[3]);
	s->filters = aif_proc_filters(text);
	line = strstr(text, "\nx86_Thread_features:");
	s->has_shadow_stack =
		line && strstr(line, "shstk") &&
		(!strchr(line + 1, '\n') || strstr(line, "shstk") < strchr(line + 1, '\n'));
	return true;
}

/* The value of an entry of the auxiliary vector that the process was started with. */
static bool read_auxv(pid_t pid, unsigned long type, unsigned long *ret)
{
	unsigned long pair[2];
	char path[64];
	bool found = false;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && !found && read(fd, pair, sizeof(pair)) == (ssize_t)sizeof(pair) &&
	       pair[0])
		if (pair[0] == type) {
			*ret = pair[1];
			found = true;
		}
	if (fd >= 0)
		close(fd);
	return found;
}

/* A child between vfork() and exec() lives in its parent's memory. */
static bool shares_memory(pid_t pid)
{
	uint64_t start;
	int parent;

	return aif_proc_stat(pid, &parent, &start) && parent > 1 &&
	       syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0) == 0;
}

/* True of a line of its map that has code, or memory to write, on a file system that a user serves: calls from outside need
 * these. */
static bool is_served(pid_t pid, const char *line)
{
	unsigned long lo, hi;
	char rights[5];

	return sscanf(line, "%lx-%lx %4s", &lo, &hi, rights) == 3 &&
	       (strchr(rights, 'w') || strchr(rights, 'x')) &&
	       aif_mounts_readable((int)pid, lo, hi - lo) < hi - lo;
}

/* Reads where the main thread waits in user space; false of one that runs, or may not be looked at. */
static bool read_place(pid_t pid, unsigned long *ret_pc)
{
	char path[64], text[256];
	const char *last;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	if (aif_proc_read(path, text, sizeof(text)) <= 0 || strstr(text, " 0x") == NULL)
		return false;
	last = strrchr(text, ' ');
	return sscanf(last, " %lx", ret_pc) == 1;
}

/* Returns an address on the stack that the program began on, where the kernel says it; else 0. */
static unsigned long read_first_stack(pid_t pid)
{
	enum { START_STACK = 28 };
	char path[64], text[1024];
	const char *at = NULL;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (aif_proc_read(path, text, sizeof(text)) > 0)
		at = aif_proc_stat_field(text, START_STACK);
	return at ? strtoul(at, NULL, 10) : 0;
}

static bool is_older(pid_t pid, uint64_t ns)
{
	const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec now;
	uint64_t start;
	int parent;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return aif_proc_stat(pid, &parent, &start) &&
	       (uint64_t)now.tv_sec * AIF_NS_PER_S + (uint64_t)now.tv_nsec >
		       start * (AIF_NS_PER_S / hz) + ns;
}

/* Returns true of a process that has just been forked and still is the program that forked it, as the child of a shell that is about to
 * start a program: what is put into that is gone with it. */
static bool may_become_another(pid_t pid)
{
	enum { FLAGS = 9, FORKED_NO_EXEC = 0x40 }; /* the kernel's PF_FORKNOEXEC */
	char path[64], text[1024];
	const char *at = NULL;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (aif_proc_read(path, text, sizeof(text)) > 0)
		at = aif_proc_stat_field(text, FLAGS);
	return at && strtoul(at, NULL, 10) & FORKED_NO_EXEC && !is_older(pid, FORKED_AGE_NS);
}

static int look_at_libraries(pid_t pid, const struct aif_executable *x, struct aif_err *err)
{
	bool has_libc = false, has_loader = false, has_musl = false, has_any = false,
	     has_plain_libc = false, is_on_fuse = false, has_other = false, is_in_loader = false,
	     has_stack = false;
	const unsigned long stack = read_first_stack(pid);
	/* Read before the map: a thread that has left the loader by then has all libraries in it. */
	unsigned long pc = 0, lo, hi;
	const bool waits = read_place(pid, &pc);
	char path[64], first[PATH_MAX] = "", *line = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return aif_inject_why_not_traced(pid, errno, err);
	while (getline(&line, &size, f) > 0) {
		const char *file = strrchr(line, '/');

		has_any = true;
		has_stack |= sscanf(line, "%lx-%lx", &lo, &hi) == 2 && stack >= lo && stack < hi;
		if (!file)
			continue;
		if (!*first)
			snprintf(first, sizeof(first), "%s", file);
		has_other |= strcmp(first, file) != 0;
		is_on_fuse |= is_served(pid, line);
		has_libc |= !strncmp(file, "/libc.so.6", 10) || !strncmp(file, "/libc-2.", 8);
		has_loader |= !strncmp(file, "/ld-linux", 9) || !strncmp(file, "/ld-2.", 6);
		is_in_loader |= (!strncmp(file, "/ld-linux", 9) || !strncmp(file, "/ld-2.", 6)) &&
				sscanf(line, "%lx-%lx", &lo, &hi) == 2 && pc >= lo && pc < hi;
		has_musl |= !strncmp(file, "/ld-musl", 8);
		/* Debian's loader of musl is a link to this file; glibc's file of that name is a script. */
		has_plain_libc |= !strcmp(file, "/libc.so\n");
	}
	free(line);
	fclose(f);
	if (!has_any)
		return aif_err_set(err, -ESRCH,
				   "process %d: is exiting, or is the kernel's; see ps -e",
				   (int)pid);
	if (is_on_fuse)
		return aif_err_set(
			err, -ENOTSUP,
			"process %d: has code or data on a file system that a user serves (FUSE), who "
			"could keep root waiting for ever; record it as that user",
			(int)pid);
	if (has_musl || (has_plain_libc && !has_libc))
		return aif_err_set(
			err, -ENOTSUP,
			"process %d: its C library is musl, and the agent needs glibc; use "
			"an image with glibc, or add --ebpf",
			(int)pid);
	if ((x->has_loader && !has_other) ||
	    (x->needs_libraries && has_loader && !has_libc &&
	     (waits ? is_in_loader : !is_older(pid, LOADED_AGE_NS))))
		return aif_err_set(
			err, -EINPROGRESS,
			"process %d: is still being loaded: its C library is not in it yet; try "
			"again",
			(int)pid);
	if (has_loader && !has_libc)
		return aif_err_set(
			err, -ENOTSUP,
			"process %d: has no C library, as Go programs that are built without cgo, and "
			"nothing in it can load the agent; build it with CGO_ENABLED=1, or add "
			"--ebpf",
			(int)pid);
	if (!has_libc || !has_loader)
		return aif_err_set(
			err, -ENOTSUP,
			"process %d: is statically linked, and nothing in it can load the "
			"agent; link it dynamically, or add --ebpf",
			(int)pid);
	/* The C library finds the environment and the auxiliary vector there, which constructors of libraries read. */
	if (stack && !has_stack)
		return aif_err_set(
			err, -ENOTSUP,
			"process %d: has unmapped the stack that it began on, where libraries that "
			"are loaded look for its environment; start it with the variables that "
			"`aiflame env` prints",
			(int)pid);
	return 0;
}

/* Lines of a map that changes while it is read, as that of a program whose threads come and go, can be missed: what is missing is
 * looked for again. */
static int refuse_libraries(pid_t pid, const struct aif_executable *x, struct aif_err *err)
{
	int r = look_at_libraries(pid, x, err);

	for (unsigned i = 0; r == -ENOTSUP && i < MAP_LOOKS; i++)
		r = look_at_libraries(pid, x, err);
	return r;
}

static int refusal(pid_t pid, struct aif_err *err)
{
	unsigned long secure = 0;
	struct aif_executable x;
	struct status s;
	const int n = (int)pid;

	if (!read_status(pid, &s))
		return aif_err_set(err, -ESRCH, "process %d: does not exist; see ps -e", n);
	/* A defect of ours must not end the machine, or the container. */
	if (pid == 1)
		return aif_err_set(
			err, -EPERM,
			"process 1: is the first process, with which all others would end; start "
			"it with the variables that `aiflame env` prints, or record it from "
			"outside of its container");
	if (s.state == 'Z' || s.state == 'X')
		return aif_err_set(err, -ESRCH, "process %d: has ended; see ps -e", n);
	if (s.tracer)
		return aif_err_set(
			err, -EBUSY,
			"process %d: is traced by process %d, a debugger or strace; end that "
			"first",
			n, s.tracer);
	if (s.state == 'T' || s.state == 't')
		return aif_err_set(err, -EBUSY,
				   "process %d: is stopped; continue it with kill -CONT %d", n, n);
	if (geteuid() && s.uid[0] != geteuid())
		return aif_err_set(
			err, -EPERM,
			"process %d: belongs to user %lu; record as that user or as root", n,
			s.uid[0]);
	/* A 32-bit program has an auxiliary vector of 32-bit words. */
	aif_executable_look(pid, &x);
	if (s.uid[0] != s.uid[1] || s.uid[1] != s.uid[2] || s.gid[0] != s.gid[1] ||
	    s.gid[1] != s.gid[2] || (!x.is_narrow && read_auxv(pid, AT_SECURE, &secure) && secure))
		return aif_err_set(
			err, -EPERM,
			"process %d: is a set-user-id program or has another's rights, and the "
			"agent stays out of these; start it without",
			n);
	if (s.filters.mode || s.filters.len)
		return aif_err_set(
			err, -ENOTSUP,
			"process %d: has a seccomp filter, which may end it for the agent's "
			"system calls; start it with the variables that `aiflame env` prints",
			n);
	if (x.is_narrow)
		return aif_err_set(
			err, -ENOTSUP,
			"process %d: is a 32-bit program, and the agent is 64-bit; add --ebpf", n);
	if (s.has_shadow_stack)
		return aif_err_set(
			err, -ENOTSUP,
			"process %d: has a shadow stack, which refuses calls from outside; "
			"start it with the variables that `aiflame env` prints",
			n);
	if (shares_memory(pid))
		return aif_err_set(
			err, -EBUSY,
			"process %d: shares its memory with its parent, between vfork() and "
			"exec(); try again, or record the parent",
			n);
	if (may_become_another(pid))
		return aif_err_set(
			err, -EINPROGRESS,
			"process %d: has just been forked, and may be about to start a program; try "
			"again",
			n);
	return refuse_libraries(pid, &x, err);
}

struct check {
	pid_t pid;
	struct aif_err err;
	int result, program;
};

static void check_run(void *arg, const atomic_bool *is_abandoned)
{
	struct check *c = arg;

	(void)is_abandoned;
	c->program = aif_program_hold((int)c->pid);
	c->result = refusal(c->pid, &c->err);
}

static void check_release(void *arg)
{
	struct check *c = arg;

	if (c->program >= 0)
		close(c->program);
	free(c);
}

int aif_inject_refusal(pid_t pid, int *ret_program, struct aif_err *err)
{
	static const struct aif_bounded call = {check_run, check_release};
	struct check *c = calloc(1, sizeof(*c));
	int r;

	*ret_program = -1;
	if (!c)
		return aif_err_set(err, -ENOMEM, "out of memory");
	c->pid = pid;
	c->program = -1;
	r = aif_bounded_call(&call, c, (int)pid, true);
	if (r == -ESRCH)
		return aif_err_set(err, r, "process %d: does not exist; see ps -e", (int)pid);
	if (r < 0)
		return aif_err_set(
			err, r,
			"process %d: its memory map cannot be read: it, or another process of its "
			"user's, keeps readers waiting; see which processes ps -e stops at",
			(int)pid);
	r = c->result;
	if (r < 0) {
		*err = c->err;
	} else {
		*ret_program = c->program;
		c->program = -1;
	}
	check_release(c);
	return r;
}

int aif_inject_why_not_traced(pid_t pid, int error, struct aif_err *err)
{
	char text[16] = "";
	const int n = (int)pid;
	struct status s;
	int scope;

	if (aif_proc_has_ended(n))
		return aif_err_set(err, -ESRCH, "process %d: has ended; see ps -e", n);
	if (read_status(pid, &s) && s.tracer)
		return aif_err_set(
			err, -EBUSY,
			"process %d: is traced by process %d, a debugger or strace; end that "
			"first",
			n, s.tracer);
	aif_proc_read("/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text));
	scope = atoi(text);
	if (scope >= 3)
		return aif_err_set(
			err, -EPERM,
			"process %d: kernel.yama.ptrace_scope=3 forbids ptrace until the next "
			"boot; start it with the variables that `aiflame env` prints",
			n);
	if (scope && geteuid())
		return aif_err_set(
			err, -EPERM,
			"process %d: kernel.yama.ptrace_scope=%d forbids it to ordinary users; set it to 0 "
			"(sysctl), record as root or with CAP_SYS_PTRACE, or start the process with the "
			"variables that `aiflame env` prints",
			n, scope);
	if (geteuid())
		return aif_err_set(
			err, -EPERM,
			"process %d: is protected from its user (%s); record as root, with "
			"CAP_SYS_PTRACE",
			n, strerror(error));
	return aif_err_set(
		err, -EPERM,
		"process %d: ptrace is forbidden here (%s); CAP_SYS_PTRACE is missing, or a "
		"container's filter forbids it",
		n, strerror(error));
}
