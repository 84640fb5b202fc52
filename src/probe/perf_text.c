/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/perf_text.h"

#include "probe/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* CPU time that perf may use. It prints some MiB of a file in a second, and names of the kernel's and of large libraries take
 * seconds; of a damaged file it may try to read one place for ever. */
#define CPU_S     30
#define CPU_S_MIB 4

static void limit_cpu(pid_t pid, const char *path)
{
	struct stat st;
	struct rlimit l;
	rlim_t s = CPU_S;

	if (stat(path, &st) == 0)
		s += (rlim_t)(st.st_size >> 20) * CPU_S_MIB;
	if (prlimit(pid, RLIMIT_CPU, NULL, &l) < 0 || l.rlim_cur <= s)
		return;
	l.rlim_cur = s;
	prlimit(pid, RLIMIT_CPU, &l, NULL);
}

int aif_perf_text_start(struct aif_perf_text_child *c, const char *path, struct aif_err *err)
{
	/* For inlined functions perf asks addr2line at each address, which takes minutes. */
	const char *argv[] = {"perf", "script", "--no-inline", "-i", path, NULL};
	posix_spawn_file_actions_t files;
	int ends[2], e;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return aif_err_set(err, -errno, "%s: %s", path, strerror(errno));
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	e = posix_spawnp(&c->pid, argv[0], &files, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	close(ends[1]);
	if (!e) {
		limit_cpu(c->pid, path);
		return ends[0];
	}
	close(ends[0]);
	c->pid = 0;
	return aif_err_set(
		err, -e,
		"%s: is perf's own file, and perf, which reads it, cannot be started: %s; "
		"install it (linux-perf, linux-tools), or where it was recorded: perf "
		"script | aiflame import - -o FILE",
		path, strerror(e));
}

int aif_perf_text_end(struct aif_perf_text_child *c, const char *path, bool is_whole,
		      struct aif_err *err)
{
	int status;

	if (c->pid <= 0)
		return 0;
	if (!is_whole)
		kill(c->pid, SIGTERM);
	status = aif_tool_wait(c->pid);
	c->pid = 0;
	if (!status || !is_whole)
		return 0;
	if (status == 128 + SIGXCPU)
		return aif_err_set(
			err, -EBADMSG,
			"%s: perf script was ended, as it used more CPU time than a file of its "
			"size takes: it is damaged; record it anew",
			path);
	return aif_err_set(err, -EBADMSG, "%s: perf script ended with status %d", path, status);
}
