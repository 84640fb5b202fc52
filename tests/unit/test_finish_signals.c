/* SPDX-License-Identifier: Apache-2.0 */
#include "record/finish_signals.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A process that finishes a recording, and never ends by itself. */
struct finisher {
	pid_t pid;
	int said; /* 'b': it listens; 'i': it has lost its patience */
	char dir[64];
};

static void finish(const struct finisher *f, int said, unsigned interrupts)
{
	struct aif_finish_signals listener;
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	aif_finish_signals_begin(&listener, signalfd(-1, &set, SFD_NONBLOCK), interrupts, f->dir);
	if (write(said, "b", 1) != 1)
		_exit(1);
	while (!listener.is_impatient)
		usleep(1000);
	if (write(said, "i", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void start(struct finisher *f, unsigned interrupts)
{
	int said[2];

	snprintf(f->dir, sizeof(f->dir), "/tmp/aif-test-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	assert_int_equal(pipe(said), 0);
	f->pid = fork();
	if (f->pid == 0)
		finish(f, said[1], interrupts);
	assert_true(f->pid > 1);
	close(said[1]);
	f->said = said[0];
}

static void says(const struct finisher *f, char what)
{
	char said = 0;

	assert_int_equal(read(f->said, &said, 1), 1);
	assert_int_equal(said, what);
}

static void dies(struct finisher *f)
{
	struct stat st;
	int status;

	assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGINT);
	assert_true(stat(f->dir, &st) < 0 && errno == ENOENT);
	close(f->said);
}

static void the_second_signal_gives_up_names_and_the_third_everything(void **state)
{
	struct finisher f;

	(void)state;
	start(&f, 1);
	says(&f, 'b');
	kill(f.pid, SIGUSR1); /* asks for nothing */
	kill(f.pid, SIGINT);
	says(&f, 'i');
	kill(f.pid, SIGINT);
	dies(&f);
}

/* The first one may have come while the program ran, or later. */
static void the_first_signal_changes_nothing(void **state)
{
	struct pollfd said;
	struct finisher f;

	(void)state;
	start(&f, 0);
	says(&f, 'b');
	kill(f.pid, SIGINT);
	said = (struct pollfd){.fd = f.said, .events = POLLIN};
	assert_int_equal(poll(&said, 1, 100), 0);
	kill(f.pid, SIGINT);
	says(&f, 'i');
	kill(f.pid, SIGINT);
	dies(&f);
}

static void who_is_done_stops_to_listen(void **state)
{
	struct aif_finish_signals listener;
	sigset_t set;
	int fd;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	aif_finish_signals_begin(&listener, fd, 0, "");
	assert_true(listener.is_listening);
	aif_finish_signals_end(&listener);
	assert_false(listener.is_listening);
	close(fd);
	aif_finish_signals_begin(&listener, -1, 0, ""); /* nothing to listen to */
	aif_finish_signals_end(&listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_signal_gives_up_names_and_the_third_everything),
		cmocka_unit_test(the_first_signal_changes_nothing),
		cmocka_unit_test(who_is_done_stops_to_listen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
