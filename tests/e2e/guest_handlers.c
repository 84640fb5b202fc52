/* SPDX-License-Identifier: Apache-2.0 */
#include "guest_app.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Programs that set handlers for SIGURG, of all kinds, once they are sampled. */

#define ROUNDS 12

static void burn_long(void)
{
	for (int i = 0; i < ROUNDS; i++)
		guest_burn();
}

/* ---- kinds of handlers --------------------------------------------------------------------------- */

static volatile sig_atomic_t came, without_info, on_alternate, blocked, usr1_blocked;
static unsigned char alternate[65536];

static void look(void)
{
	unsigned char here;
	sigset_t set;

	came++;
	on_alternate += &here >= alternate && &here < alternate + sizeof(alternate);
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	blocked += sigismember(&set, SIGURG);
	usr1_blocked += sigismember(&set, SIGUSR1);
}

static void on_plain(int signal)
{
	look();
	without_info += signal == SIGURG;
}

static void on_info(int signal, siginfo_t *info, void *context)
{
	look();
	if (info->si_signo != signal || info->si_code != SI_TKILL || info->si_pid != getpid() ||
	    !context)
		without_info++;
}

static void say_kind(int flags)
{
	struct sigaction sa = {.sa_flags = flags}, old;

	came = without_info = on_alternate = blocked = usr1_blocked = 0;
	if (flags & SA_SIGINFO)
		sa.sa_sigaction = on_info;
	else
		sa.sa_handler = on_plain;
	sigaddset(&sa.sa_mask, SIGUSR1);
	guest_say("flags", flags);
	guest_say("set", sigaction(SIGURG, &sa, &old));
	guest_say("old is default", old.sa_handler == SIG_DFL);
	sigaction(SIGURG, NULL, &old);
	guest_say("shown flags", old.sa_flags);
	guest_say("shown mask", sigismember(&old.sa_mask, SIGUSR1));
	guest_say("shown handler",
		  flags & SA_SIGINFO ? old.sa_sigaction == on_info : old.sa_handler == on_plain);
	for (int i = 0; i < 4; i++)
		guest_burn();
	raise(SIGURG);
	sigaction(SIGURG, NULL, &old);
	guest_say("default after one", old.sa_handler == SIG_DFL);
	raise(SIGURG);
	sigaction(SIGURG, &sa, NULL);
	raise(SIGURG);
	guest_say("came", came);
	guest_say("without information", without_info);
	guest_say("on the alternate stack", on_alternate);
	guest_say("blocked", blocked);
	guest_say("other blocked", usr1_blocked);
	guest_say("default again", signal(SIGURG, SIG_DFL) == SIG_ERR);
}

static void *say_kind_later(void *arg)
{
	burn_long();
	say_kind(SA_SIGINFO);
	return arg;
}

void guest_handler_kinds(void)
{
	static const int kinds[] = {0, SA_RESETHAND, SA_NODEFER, SA_RESTART, SA_ONSTACK};
	stack_t s = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
	pthread_t thread;

	sigaltstack(&s, NULL);
	burn_long();
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		say_kind(kinds[i]);
		say_kind((int)(kinds[i] | SA_SIGINFO));
	}
	pthread_create(&thread, NULL, say_kind_later, NULL);
	pthread_join(thread, NULL);
}

/* Nine handlers, each of four kinds: more than the agent has entries for. */
#define DEFINE(n)                                        \
	static void on_##n(int s, siginfo_t *i, void *c) \
	{                                                \
		(void)i;                                 \
		(void)c;                                 \
		came += s == SIGURG;                     \
	}
DEFINE(1)
DEFINE(2)
DEFINE(3)
DEFINE(4)
DEFINE(5)
DEFINE(6)
DEFINE(7)
DEFINE(8)
DEFINE(9)

void guest_handler_many(void)
{
	static void (*const many[])(int, siginfo_t *, void *) = {on_1, on_2, on_3, on_4, on_5,
								 on_6, on_7, on_8, on_9};
	static const int kinds[] = {(int)SA_RESETHAND, (int)(SA_RESETHAND | SA_SIGINFO), SA_SIGINFO,
				    0};
	void (*before)(int, siginfo_t *, void *) = NULL;
	long other = 0, old_is_other = 0;

	burn_long();
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < sizeof(many) / sizeof(*many); k++) {
			struct sigaction sa = {.sa_sigaction = many[k], .sa_flags = kinds[i]}, old;

			sigaction(SIGURG, &sa, &old);
			old_is_other += old.sa_sigaction != before;
			sigaction(SIGURG, NULL, &old);
			other += old.sa_sigaction != many[k];
			raise(SIGURG);
			before = kinds[i] & (int)SA_RESETHAND ? NULL : many[k];
		}
	guest_say("another handler", other);
	guest_say("another was before", old_is_other);
	burn_long();
	guest_say("came", came);
}

/* ---- a recorder that is late --------------------------------------------------------------------- */

static void count(int signal)
{
	(void)signal;
	came++;
}

/* Started by a recorder, which it stops. Ends with 0 if a handler that it sets then sees no signal but its own. */
void guest_recorder_stopped(void)
{
	pid_t recorder = getppid();
	long before;

	burn_long();
	kill(recorder, SIGSTOP);
	signal(SIGURG, count);
	burn_long();
	before = came;
	raise(SIGURG);
	kill(recorder, SIGCONT);
	burn_long();
	guest_say("signals that nobody sent", before);
	exit(before || came != 1);
}

/* The same in a thread that blocks the signal while the recorder closes its events: one may wait there until it does not. */
void guest_recorder_stopped_blocked(void)
{
	pid_t recorder = getppid();
	sigset_t urg;

	sigemptyset(&urg);
	sigaddset(&urg, SIGURG);
	burn_long();
	kill(recorder, SIGSTOP);
	signal(SIGURG, count);
	sigprocmask(SIG_BLOCK, &urg, NULL);
	guest_burn();
	kill(recorder, SIGCONT);
	burn_long();
	sigprocmask(SIG_UNBLOCK, &urg, NULL);
	guest_burn();
	guest_say("signals that nobody sent", came);
	exit(came != 0);
}

/* ---- handlers that are reset ----------------------------------------------------------------------- */

static void other(int signal)
{
	(void)signal;
}

static pthread_barrier_t all_blocked;

/* Has a signal of its own waiting while another thread's handler is reset. */
static void *wait_blocked(void *arg)
{
	const struct timespec now = {0};
	siginfo_t info;
	sigset_t urg;

	(void)arg;
	sigemptyset(&urg);
	sigaddset(&urg, SIGURG);
	pthread_sigmask(SIG_BLOCK, &urg, NULL);
	pthread_kill(pthread_self(), SIGURG);
	pthread_barrier_wait(&all_blocked);
	pthread_barrier_wait(&all_blocked);
	guest_say("a signal that waited in another thread", sigtimedwait(&urg, &info, &now));
	return NULL;
}

static atomic_bool is_over;

static void *take_signals(void *arg)
{
	(void)arg;
	while (!atomic_load(&is_over))
		guest_burn();
	return NULL;
}

void guest_handler_reset(void)
{
	struct sigaction once = {.sa_handler = count, .sa_flags = (int)SA_RESETHAND},
			 second = {.sa_handler = other}, now;
	unsigned lost = 0;
	pthread_t t;

	burn_long();
	pthread_barrier_init(&all_blocked, NULL, 2);
	sigaction(SIGURG, &once, NULL);
	pthread_create(&t, NULL, wait_blocked, NULL);
	pthread_barrier_wait(&all_blocked);
	came = 0;
	raise(SIGURG);
	raise(SIGURG); /* ignored */
	pthread_barrier_wait(&all_blocked);
	pthread_join(t, NULL);
	guest_say("handler that is reset, called", came);
	sigaction(SIGURG, NULL, &now);
	guest_say("is the default then", now.sa_handler == SIG_DFL);
	/* Another handler that is set while a thread is in the one that is reset stays. */
	pthread_create(&t, NULL, take_signals, NULL);
	for (unsigned i = 0; i < 3000; i++) {
		sigaction(SIGURG, &once, NULL);
		pthread_kill(t, SIGURG);
		for (volatile unsigned spin = i % 64 * 16; spin; spin--)
			;
		sigaction(SIGURG, &second, NULL);
		/* The agent in the other thread may have put the first one back for a moment. */
		for (unsigned k = 0; k < 1000; k++) {
			sigaction(SIGURG, NULL, &now);
			if (now.sa_handler == other)
				break;
			sched_yield();
		}
		lost += now.sa_handler != other;
	}
	atomic_store(&is_over, true);
	pthread_join(t, NULL);
	guest_say("handlers lost", lost);
}
