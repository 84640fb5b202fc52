/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/inject.h"

#include "base/clock.h"
#include "inject/refusal.h"
#include "inject/work.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the injector, which the terminal's signals do not reach: a thread that is borrowed must be given back. */
static void inject(const struct aif_injection *in, int agent, const struct aif_injected *about,
		   const struct aif_inject_left *left, int to)
{
	struct aif_inject_result r = {.left = *left};
	struct aif_err err = {0};
	uint64_t began = aif_now_ns();
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	/* Works for root only. */
	setpriority(PRIO_PROCESS, 0, -20);
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	r.error = aif_inject_work(in->pid, in->program, agent, about, &r, &err);
	r.took_ns = aif_now_ns() - began;
	if (r.error)
		memcpy(r.text, err.text, strnlen(err.text, sizeof(r.text) - 1));
	_exit(write(to, &r, sizeof(r)) == (ssize_t)sizeof(r) ? 0 : 1);
}

static struct aif_injection none_of(pid_t pid)
{
	return (struct aif_injection){.pid = pid, .fd = -1, .program = -1};
}

static void end(struct aif_injection *in)
{
	if (in->fd >= 0)
		close(in->fd);
	if (in->program >= 0)
		close(in->program);
	*in = none_of(in->pid);
}

int aif_inject_start(struct aif_injection *in, pid_t pid, const char *agent,
		     const struct aif_injected *about, const struct aif_inject_left *left,
		     struct aif_err *err)
{
	int ends[2], fd, r;

	*in = none_of(pid);
	if (!aif_inject_is_possible(err))
		return -ENOTSUP;
	r = aif_inject_refusal(pid, &in->program, err);
	if (r < 0)
		return r;
	fd = open(agent, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pipe2(ends, O_CLOEXEC) < 0) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		end(in);
		return aif_err_set(err, r, "%s: %s; install aiflame again", agent, strerror(-r));
	}
	in->injector = fork();
	if (in->injector == 0) {
		close(ends[0]);
		inject(in, fd, about, left, ends[1]);
	}
	r = in->injector < 0 ? -errno : 0;
	close(fd);
	close(ends[1]);
	if (r < 0) {
		close(ends[0]);
		end(in);
		return aif_err_set(err, r, "cannot start an injector: %s", strerror(-r));
	}
	in->fd = ends[0];
	return 0;
}

bool aif_inject_poll(struct aif_injection *in, int timeout_ms, struct aif_inject_result *ret)
{
	struct pollfd fd = {.fd = in->fd, .events = POLLIN};

	if (!in->injector || poll(&fd, 1, timeout_ms) != 1)
		return false;
	*ret = (struct aif_inject_result){0};
	if (read(in->fd, ret, sizeof(*ret)) != (ssize_t)sizeof(*ret))
		*ret = (struct aif_inject_result){.error = -EIO,
						  .text = "the injector was killed; try again"};
	ret->text[sizeof(ret->text) - 1] = '\0';
	/* The caller may have waited for it already, among its other children. */
	waitpid(in->injector, NULL, 0);
	ret->program = -1;
	if (!ret->error) {
		ret->program = in->program;
		in->program = -1;
	}
	end(in);
	return true;
}

void aif_inject_cancel(struct aif_injection *in)
{
	/* Leaves the injector alive: it may have a thread, which only it can give back as it was. It ends by itself. */
	if (in->injector)
		end(in);
}
