/* SPDX-License-Identifier: Apache-2.0 */
/* Tests processes that are about to become another program: they are let alone for a moment, and told from what they become. */
#include "base/program_held.h"
#include "inject/refusal.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* A fork is young for a second, and a busy machine may not come to look at it in that time. */
#define FORKS 100

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Starts a child, which becomes `sleep` when a byte comes to *ret_to. */
static pid_t start(int *ret_to)
{
	int ends[2];
	pid_t child;
	char c;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		close(ends[1]);
		if (read(ends[0], &c, 1) == 1)
			execlp("sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	close(ends[0]);
	*ret_to = ends[1];
	return child;
}

static void end(pid_t child, int to)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(to);
}

static bool is_said_to_have_been_forked(void)
{
	struct aif_err err = {0};
	int to, program, r;
	pid_t child = start(&to);

	r = aif_inject_refusal(child, &program, &err);
	assert_true(r == 0 || program == -1);
	if (program >= 0)
		close(program);
	end(child, to);
	return r == -EINPROGRESS && strstr(err.text, "has just been forked");
}

static void a_process_that_has_just_been_forked_is_let_alone(void **state)
{
	bool is_said = false;

	(void)state;
	for (unsigned i = 0; i < FORKS && !is_said; i++)
		is_said = is_said_to_have_been_forked();
	assert_true(is_said);
}

static void a_fork_that_stays_what_it_is_is_not_let_alone_for_ever(void **state)
{
	struct aif_err err = {0};
	int to, program, r;
	pid_t child = start(&to);

	(void)state;
	while ((r = aif_inject_refusal(child, &program, &err)) == -EINPROGRESS)
		pause_ms(20);
	if (r < 0)
		fail_msg("%s", err.text);
	assert_true(program >= 0 && aif_program_is_held(program));
	close(program);
	end(child, to);
}

static void a_program_is_told_from_the_one_that_follows(void **state)
{
	int to, program, next;
	pid_t child = start(&to);

	(void)state;
	program = aif_program_hold_in_time(child);
	assert_true(program >= 0 && aif_program_is_held(program));
	assert_int_equal(write(to, "1", 1), 1);
	while (aif_program_is_held(program))
		pause_ms(2);
	next = aif_program_hold(child);
	assert_true(next >= 0 && aif_program_is_held(next));
	end(child, to);
	assert_false(aif_program_is_held(next));
	close(program);
	close(next);
}

static void what_cannot_be_told_is_taken_for_the_same_program(void **state)
{
	(void)state;
	assert_true(aif_program_is_held(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_has_just_been_forked_is_let_alone),
		cmocka_unit_test(a_fork_that_stays_what_it_is_is_not_let_alone_for_ever),
		cmocka_unit_test(a_program_is_told_from_the_one_that_follows),
		cmocka_unit_test(what_cannot_be_told_is_taken_for_the_same_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
