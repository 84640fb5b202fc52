/* SPDX-License-Identifier: Apache-2.0 */
#include "record/finish_signals.h"

#include "record/attach/attach_dir.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Time to wait for names if two signals came before the end began: most are found in a second. */
#define NAMES_MS 10000

static bool asks_for_the_end(int sig)
{
	return sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;
}

static void end_at_once(const struct aif_finish_signals *f, int sig)
{
	sigset_t set;

	if (f->dir && *f->dir)
		aif_standby_remove(AT_FDCWD, f->dir);
	sigemptyset(&set);
	sigaddset(&set, sig);
	signal(sig, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), sig);
}

static void on_signal(struct aif_finish_signals *f, int sig)
{
	if (!asks_for_the_end(sig))
		return;
	if (atomic_load(&f->is_impatient))
		end_at_once(f, sig);
	if (++f->interrupts >= 2)
		atomic_store(&f->is_impatient, true);
}

static void *listen_main(void *arg)
{
	struct aif_finish_signals *f = arg;
	int timeout = f->interrupts >= 2 ? NAMES_MS : -1;

	for (;;) {
		struct pollfd fds[] = {{.fd = f->signals, .events = POLLIN},
				       {.fd = f->over, .events = POLLIN}};
		struct signalfd_siginfo si;
		int n = poll(fds, AIF_ARRAY_LEN(fds), timeout);

		if (fds[1].revents)
			return NULL;
		if (n == 0) {
			atomic_store(&f->is_impatient, true);
			timeout = -1;
		}
		while (read(f->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
			on_signal(f, (int)si.ssi_signo);
	}
}

void aif_finish_signals_begin(struct aif_finish_signals *f, int signals, unsigned interrupts,
			      const char *dir)
{
	*f = (struct aif_finish_signals){
		.signals = signals, .over = -1, .dir = dir, .interrupts = interrupts};
	if (signals < 0)
		return;
	f->over = eventfd(0, EFD_CLOEXEC);
	f->is_listening = f->over >= 0 && !pthread_create(&f->thread, NULL, listen_main, f);
}

void aif_finish_signals_end(struct aif_finish_signals *f)
{
	if (f->is_listening && eventfd_write(f->over, 1) == 0)
		pthread_join(f->thread, NULL);
	f->is_listening = false;
	if (f->over >= 0)
		close(f->over);
	f->over = -1;
}
