/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "agent/loader.h"

#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int look_inside(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct aif_loader *l = arg;

	(void)info, (void)size;
	return 1 + (!aif_loader_list_is_free(l) && aif_loader_is_busy(l));
}

static void list_is_found(void **state)
{
	struct aif_loader l = {0};

	(void)state;
	aif_loader_find(&l);
	assert_non_null(l.list);
	assert_non_null(l.open);
	assert_true(aif_loader_list_is_free(&l));
	assert_false(aif_loader_is_busy(&l));
	assert_int_equal(dl_iterate_phdr(look_inside, &l), 2);
	assert_true(aif_loader_list_is_free(&l));
	assert_true(aif_loader_await_list(&l));
}

static int find_inside(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size;
	aif_loader_find(arg);
	return 1;
}

/* Finds it as where a program opens the agent's library in a callback. */
static void list_is_found_while_it_is_held(void **state)
{
	struct aif_loader l = {0}, other = {0};

	(void)state;
	aif_loader_find(&l);
	dl_iterate_phdr(find_inside, &other);
	assert_ptr_equal(other.list, l.list);
	assert_ptr_equal(other.open, l.open);
}

static void lists_that_are_not_known(void **state)
{
	const struct aif_loader none = {0};

	(void)state;
	assert_false(aif_loader_list_is_free(&none));
	assert_false(aif_loader_is_busy(&none));
	assert_true(aif_loader_await_list(&none));
}

struct holder {
	int held[2], let_go[2];
};

static int hold(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct holder *h = arg;
	char c;

	(void)info, (void)size;
	return write(h->held[1], "", 1) == 1 && read(h->let_go[0], &c, 1) == 1;
}

static void *hold_the_list(void *arg)
{
	dl_iterate_phdr(hold, arg);
	return NULL;
}

static int child_finds_it_free(const struct aif_loader *l)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(aif_loader_list_is_free(l) && aif_loader_await_list(l));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status >> 8;
}

static void a_child_knows_whether_the_list_was_held_at_the_fork(void **state)
{
	struct aif_loader l = {0};
	struct holder h;
	pthread_t thread;
	char c;

	(void)state;
	aif_loader_find(&l);
	assert_int_equal(child_finds_it_free(&l), 1);
	assert_int_equal(pipe(h.held), 0);
	assert_int_equal(pipe(h.let_go), 0);
	assert_int_equal(pthread_create(&thread, NULL, hold_the_list, &h), 0);
	assert_int_equal(read(h.held[0], &c, 1), 1);
	assert_int_equal(child_finds_it_free(&l), 0);
	assert_false(aif_loader_await_list(&l));
	assert_int_equal(write(h.let_go[1], "", 1), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(child_finds_it_free(&l), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_is_found),
		cmocka_unit_test(list_is_found_while_it_is_held),
		cmocka_unit_test(lists_that_are_not_known),
		cmocka_unit_test(a_child_knows_whether_the_list_was_held_at_the_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
