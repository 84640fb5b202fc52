/* SPDX-License-Identifier: Apache-2.0 */
#include "record/job_control.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A job is continued in one go, in which the recorder may look before the command goes on. */
#define SETTLE_NS UINT64_C(50000000)

/* Leaves the state for waitpid(). */
static bool is_stopped(pid_t command)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)command, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == command && info.si_code == CLD_STOPPED;
}

static bool has_terminal(pid_t group)
{
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
	bool has = fd >= 0 && tcgetpgrp(fd) == group;

	if (fd >= 0)
		close(fd);
	return has;
}

/* True if the parent is a shell that waits for the recorder to stop: in a script nobody would continue it. */
static bool is_job_with(pid_t command)
{
	pid_t self = getpid(), parent = getppid();

	return getpgrp() == self && getpgid(command) == self && parent > 0 &&
	       getpgid(parent) != self && getsid(parent) == getsid(0) && has_terminal(self);
}

void aif_job_look(struct aif_job *j, pid_t command, uint64_t now)
{
	if (!is_stopped(command)) {
		j->stopped_ns = 0;
		return;
	}
	if (!j->stopped_ns)
		j->stopped_ns = now;
	if (now - j->stopped_ns < SETTLE_NS || !is_job_with(command))
		return;
	raise(SIGSTOP);
	/* Continued by its number, not with the job. */
	if (is_stopped(command))
		kill(command, SIGCONT);
	j->stopped_ns = 0;
}
