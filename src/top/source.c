/* SPDX-License-Identifier: Apache-2.0 */
#include "top/source.h"

#include "base/clock.h"
#include "record/attach/recordings.h"
#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MS 10000
/* A command has so long to end after SIGTERM before it is left running; a recorder without one needs less. */
#define COMMAND_NS (5 * AIF_NS_PER_S)
#define FINISH_NS  (AIF_NS_PER_S / 2)
#define SAY_MS     2000
#define GIVE_UP_NS (5 * AIF_NS_PER_S)

/* ---- the recorder's process ------------------------------------------------------------------ */

static void set_stream(int fd, int to)
{
	if (fd >= 0)
		dup2(fd, to);
}

static void record(const struct aif_record_opts *opts, int watcher, int end, int output)
{
	struct aif_record_opts o = *opts;
	struct aif_record_result result;
	struct aif_top_end e = {0};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	ssize_t n;

	set_stream(null, STDIN_FILENO);
	if (output >= 0)
		set_stream(output, STDERR_FILENO);
	/* Standard output is for the window. */
	set_stream(STDERR_FILENO, STDOUT_FILENO);
	o.output = NULL;
	o.watcher = watcher;
	aif_record_run(&o, NULL, &result, &e.err);
	e.exit_code = result.exit_code;
	e.goes_on = result.goes_on != 0;
	n = write(end, &e, sizeof(e));
	_exit(n == (ssize_t)sizeof(e) ? 0 : 1);
}

static void close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int aif_top_source_start(struct aif_top_source *s, const struct aif_record_opts *opts,
			 bool take_output, struct aif_err *err)
{
	/* stream, end, output: ours and the recorder's */
	int fds[6] = {-1, -1, -1, -1, -1, -1};
	pid_t us = getpid(), pid = -1;

	*s = (struct aif_top_source){.stream = -1, .end = -1, .output = -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0 &&
	    pipe2(fds + 2, O_CLOEXEC) == 0 && (!take_output || pipe2(fds + 4, O_CLOEXEC) == 0))
		pid = fork();
	if (pid < 0) {
		int e = errno;

		close_all(fds, AIF_ARRAY_LEN(fds));
		return aif_err_set(err, -e, "top: cannot start the recorder: %s", strerror(e));
	}
	if (!pid) {
		/* The recorder ends with us, and its command with it. */
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		/* A group of its own, so that what a script has started is ended with it. */
		setpgid(0, 0);
		if (getppid() != us)
			_exit(1);
		close(fds[0]);
		close(fds[2]);
		if (take_output)
			close(fds[4]);
		record(opts, fds[1], fds[3], fds[5]);
	}
	setpgid(pid, pid);
	close(fds[1]);
	close(fds[3]);
	if (take_output)
		close(fds[5]);
	s->stream = fds[0];
	s->end = fds[2];
	s->output = fds[4];
	s->pid = pid;
	return 0;
}

bool aif_top_source_said(struct aif_top_source *s)
{
	struct pollfd fd = {.fd = s->end, .events = POLLIN};
	struct aif_top_end e;

	if (s->has_said || s->end < 0 || poll(&fd, 1, SAY_MS) <= 0)
		return s->has_said;
	/* Without a word it was killed. */
	if (read(s->end, &e, sizeof(e)) == (ssize_t)sizeof(e))
		s->said = e;
	s->has_said = true;
	return true;
}

/* Waits for the recorder's end until `until`; what comes meanwhile is dropped. True: it has ended. */
static bool read_end(struct aif_top_source *s, uint64_t until)
{
	char drop[65536];

	for (;;) {
		struct pollfd fds[] = {{.fd = s->end, .events = POLLIN},
				       {.fd = s->stream, .events = POLLIN},
				       {.fd = s->output, .events = POLLIN}};
		uint64_t now = aif_now_ns();

		if (now >= until)
			return false;
		if (poll(fds, 3, (int)((until - now) / 1000000) + 1) < 0 && errno != EINTR)
			return false;
		for (unsigned i = 1; i < 3; i++)
			if (fds[i].revents && read(fds[i].fd, drop, sizeof(drop)) <= 0) {
				int *fd = i == 1 ? &s->stream : &s->output;

				close(*fd);
				*fd = -1;
			}
		if (fds[0].revents)
			return aif_top_source_said(s);
	}
}

void aif_top_source_end(struct aif_top_source *s, bool has_command, struct aif_top_end *ret_end)
{
	uint64_t now = aif_now_ns(), first = has_command ? COMMAND_NS : FINISH_NS;
	bool has_ended = false;

	*ret_end = (struct aif_top_end){0};
	if (s->pid) {
		/* The recorder may have ended by itself: it closes the stream before it says why. */
		has_ended = s->has_said || read_end(s, now + (s->stream_ended ? first : 1));
		for (unsigned i = 0; i < 2 && !has_ended; i++) {
			kill(s->pid, SIGTERM);
			now = aif_now_ns();
			has_ended = read_end(s, now + (i ? GIVE_UP_NS : first));
		}
		if (!has_ended)
			kill(s->pid, SIGKILL);
		*ret_end = s->said;
		if (has_ended && has_command && !ret_end->goes_on)
			kill(-s->pid, SIGTERM);
		waitpid(s->pid, NULL, 0);
	}
	close_all((int[]){s->stream, s->end, s->output}, 3);
	*s = (struct aif_top_source){.stream = -1, .end = -1, .output = -1};
}

/* ---- another's recorder ---------------------------------------------------------------------- */

static int ask(struct aif_top_source *s, const char *path, const struct aif_recording_search *found,
	       struct aif_err *err)
{
	const struct aif_standby_recording *about = &found->at.about;
	struct aif_hello hello = {.magic = AIF_WIRE_MAGIC,
				  .version = AIF_WIRE_VERSION,
				  .kind = AIF_HELLO_CONTROL,
				  .control = AIF_CONTROL_WATCH};
	char socket[256];
	int r;

	memcpy(hello.token, about->call.token, sizeof(hello.token));
	snprintf(socket, sizeof(socket), "%s/%s", path, about->call.socket);
	r = aif_hello_send(socket, &hello, ANSWER_MS, &s->stream);
	if (r == -EPROTO)
		return aif_err_set(
			err, r,
			"top: %s (process %u) is recorded by another version of aiflame, "
			"which cannot be watched; use the same one",
			about->call.name, about->pid);
	if (r == -EACCES)
		return aif_err_set(
			err, r,
			"top: %s (process %u) is another user's recording; watch it as that "
			"user or root",
			about->call.name, about->pid);
	if (r == -EUSERS)
		return aif_err_set(err, r, "top: %s (process %u) is watched by too many already",
				   about->call.name, about->pid);
	if (r < 0)
		return aif_err_set(err, r, "top: %s (process %u) does not answer: %s",
				   about->call.name, about->pid, strerror(-r));
	snprintf(s->name, sizeof(s->name), "%.63s", about->call.name);
	return 0;
}

int aif_top_source_watch(struct aif_top_source *s, const char *name, uint32_t pid,
			 struct aif_err *err)
{
	struct aif_recording_search found = {.name = name, .pid = pid};
	char path[AIF_STANDBY_DIR_MAX], number[16];
	int r;

	snprintf(number, sizeof(number), "%u", pid);
	if (pid)
		found.name = number;
	*s = (struct aif_top_source){.stream = -1, .end = -1, .output = -1};
	aif_standby_default(path);
	found.dir = aif_standby_open(path, geteuid(), false);
	if (found.dir < 0)
		return aif_err_set(err, found.dir, "top: no recording is running");
	r = aif_recording_find(&found, "top", err);
	if (!r)
		r = ask(s, path, &found, err);
	close(found.dir);
	return r;
}
