/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU's sampling unit has one process, and is free again whatever that process dies of. */
#include "agent/cuda/cuda.h"

#include "agent/cuda/claim.h"
#include "agent/cuda/names.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static uint32_t pci = 0x1000;

uint32_t aif_cuda_bus_address(struct aif_cuda *cuda, uint32_t ordinal)
{
	(void)cuda;
	return pci + (ordinal << 8);
}

static struct aif_cuda cuda;

static bool claims(struct aif_cuda_sampled *c)
{
	return aif_cuda_claim(&cuda, c);
}

/* A child that claims device 0, says whether it could, and stays until it is killed. */
static pid_t child(bool *ret_has)
{
	struct aif_cuda_sampled c = {0};
	int fds[2];
	char has = 0;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* also after a failed assertion */
		has = claims(&c) ? 1 : 0;
		(void)!write(fds[1], &has, 1);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	assert_int_equal(read(fds[0], &has, 1), 1);
	close(fds[0]);
	close(fds[1]);
	*ret_has = has;
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void one_process_has_it(void **state)
{
	struct aif_cuda_sampled c = {0}, other = {.device = 1};
	bool has;
	pid_t pid;

	(void)state;
	assert_true(claims(&c));
	assert_true(claims(&c)); /* it has it already */
	pid = child(&has);
	assert_false(has);
	end(pid);
	assert_true(claims(&other)); /* another GPU */
	aif_cuda_unclaim(&c);
	aif_cuda_unclaim(&c);
	aif_cuda_unclaim(&other);
	assert_int_equal(c.claim, 0);
}

static void a_dead_process_has_it_no_more(void **state)
{
	struct aif_cuda_sampled c = {0};
	bool has;
	pid_t pid;

	(void)state;
	pid = child(&has);
	assert_true(has);
	assert_false(claims(&c));
	end(pid);
	assert_true(claims(&c));
	aif_cuda_unclaim(&c);
}

/* A semaphore of this test's own GPUs. */
static int setup(void **state)
{
	char key[16];

	(void)state;
	snprintf(key, sizeof(key), "%d", (int)getpid());
	if (setenv("AIFLAME_SAMPLING_KEY", key, 1) < 0)
		return -1;
	aif_cuda_claim_init(&cuda);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_process_has_it),
		cmocka_unit_test(a_dead_process_has_it_no_more),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
