/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/tool.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_MS 10000

/* Until the end, the time or the size is reached; true at the end. */
static bool read_all(int fd, size_t max, struct aif_buf *ret)
{
	uint64_t until = aif_now_ns() + TIMEOUT_MS * UINT64_C(1000000);

	while (ret->len <= max) {
		uint64_t now = aif_now_ns();
		struct pollfd p = {.fd = fd, .events = POLLIN};
		uint8_t *to = aif_buf_reserve(ret, 65536);
		ssize_t n;

		if (!to || now >= until)
			return false;
		if (poll(&p, 1, (int)((until - now) / 1000000) + 1) <= 0)
			continue;
		n = read(fd, to, 65536);
		if (n == 0)
			return true;
		if (n > 0)
			ret->len += (size_t)n;
		else if (errno != EINTR)
			return false;
	}
	return false;
}

int aif_tool_output(pid_t pid, int fd, size_t max, struct aif_buf *ret)
{
	bool is_whole = false;
	int status = -1;

	if (pid > 0) {
		is_whole = read_all(fd, max, ret);
		if (!is_whole)
			kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
	}
	close(fd);
	if (is_whole && WIFEXITED(status) && WEXITSTATUS(status) == 0 && ret->len)
		return 0;
	aif_buf_clear(ret);
	return is_whole ? -EINVAL : -ETIMEDOUT;
}

int aif_tool_run(char *const *argv, bool is_self)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old_int, old_quit;
	pid_t parent = getpid(), pid;
	int status;

	sigaction(SIGINT, &ignore, &old_int);
	sigaction(SIGQUIT, &ignore, &old_quit);
	pid = fork();
	if (pid == 0) {
		sigaction(SIGINT, &old_int, NULL);
		sigaction(SIGQUIT, &old_quit, NULL);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() == parent && is_self)
			execv("/proc/self/exe", argv);
		else if (getppid() == parent)
			execvp(argv[0], argv);
		_exit(127);
	}
	status = pid < 0 ? -errno : aif_tool_wait(pid);
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGQUIT, &old_quit, NULL);
	return status;
}

int aif_tool_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
