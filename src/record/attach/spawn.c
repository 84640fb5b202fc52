/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach/spawn.h"

#include "base/command.h"
#include "base/proc.h"
#include "wire/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* NAME=ours or NAME=ours:theirs. */
static int chain(const char *name, const char *ours)
{
	const char *theirs = getenv(name);
	char *value;
	int r;

	if (!theirs || !*theirs)
		return setenv(name, ours, 1) < 0 ? -errno : 0;
	if (asprintf(&value, "%s:%s", ours, theirs) < 0)
		return -ENOMEM;
	r = setenv(name, value, 1) < 0 ? -errno : 0;
	free(value);
	return r;
}

static int listen_to_cuda(const char *agent)
{
	const char *theirs = getenv(AIF_ENV_CUDA);

	if (theirs && *theirs && strcmp(theirs, agent) &&
	    setenv(AIF_ENV_CUDA_BEFORE, theirs, 1) < 0)
		return -errno;
	return setenv(AIF_ENV_CUDA, agent, 1) < 0 ? -errno : 0;
}

static int set_filters(void)
{
	char status[4096], text[16];

	aif_proc_read("/proc/self/status", status, sizeof(status));
	snprintf(text, sizeof(text), "%u", aif_proc_filters(status).len);
	return setenv(AIF_ENV_FILTERS, text, 1) < 0 ? -errno : 0;
}

static int set_environment(const struct aif_spawn_env *env)
{
	int r = chain("LD_PRELOAD", env->agent);

	if (!r)
		r = chain("OPENCL_LAYERS", env->agent);
	if (!r)
		r = listen_to_cuda(env->agent);
	if (!r && setenv("ZE_ENABLE_TRACING_LAYER", "1", 1) < 0)
		r = -errno;
	if (!r && env->metrics && setenv("ZET_ENABLE_METRICS", "1", 0) < 0)
		r = -errno;
	if (!r && (env->runtime ? setenv(AIF_ENV_RUNTIME, env->runtime, 1)
				: unsetenv(AIF_ENV_RUNTIME)) < 0)
		r = -errno;
	if (!r &&
	    (env->children ? setenv(AIF_ENV_CHILDREN, "1", 1) : unsetenv(AIF_ENV_CHILDREN)) < 0)
		r = -errno;
	if (!r && (env->cpu ? setenv(AIF_ENV_CPU, "1", 1) : unsetenv(AIF_ENV_CPU)) < 0)
		r = -errno;
	if (!r && (env->nvtx ? setenv(AIF_ENV_NVTX, "1", 1) : unsetenv(AIF_ENV_NVTX)) < 0)
		r = -errno;
	if (!r)
		r = set_filters();
	if (!r && (setenv(AIF_ENV_SOCKET, env->socket, 1) < 0 ||
		   setenv(AIF_ENV_TOKEN, env->token, 1) < 0))
		r = -errno;
	return r;
}

static void child(char *const argv[], const struct aif_spawn_env *env, const sigset_t *mask,
		  unsigned long nofile, int report)
{
	struct rlimit lim;
	int e;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = nofile;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
	e = -set_environment(env);
	if (!e) {
		if (env->ignore_sigchld)
			signal(SIGCHLD, SIG_IGN);
		sigprocmask(SIG_SETMASK, mask, NULL);
		e = -aif_command_exec(argv);
	}
	if (write(report, &e, sizeof(e)) < 0)
		_exit(125);
	_exit(127);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return strchr(path, '/') && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int aif_spawn(char *const argv[], const struct aif_spawn_env *env, const void *mask,
	      unsigned long nofile, pid_t *ret_pid, int *ret_exit_code, struct aif_err *err)
{
	int report[2], e = 0;
	ssize_t n;
	pid_t pid;

	*ret_exit_code = 125;
	if (pipe2(report, O_CLOEXEC) < 0)
		return aif_err_set(err, -errno, "cannot start the command: %s", strerror(errno));
	pid = fork();
	if (pid == 0)
		child(argv, env, mask, nofile, report[1]);
	close(report[1]);
	if (pid < 0) {
		e = errno;
		close(report[0]);
		return aif_err_set(err, -e, "cannot start the command: %s", strerror(e));
	}
	/* The pipe closes by itself when exec succeeds. */
	do
		n = read(report[0], &e, sizeof(e));
	while (n < 0 && errno == EINTR);
	close(report[0]);
	if (n != (ssize_t)sizeof(e)) {
		*ret_exit_code = 0;
		*ret_pid = pid;
		return 0;
	}
	*ret_exit_code = e == ENOENT ? 127 : 126;
	return aif_err_set(err, -e, "%s: %s%s", argv[0],
			   e == ENOENT ? "command not found" : strerror(e),
			   e == ENOENT             ? "; check the name and PATH"
			   : e != EACCES           ? ""
			   : is_directory(argv[0]) ? "; it is a directory: name a program in it"
						   : "; make it executable (chmod +x)");
}
