/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <aiflame.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

/*
 * A program that tells where it is.  program_app WHAT
 *   ranges        two threads, ranges in ranges; ends within one; prints what the calls return
 *   steps N MS    N steps, each launches once for every step so far (step i: i + 1) and takes MS ms
 *   slow N I      launches once; N steps of a range "decode" and a launch each; step I takes three times as long as the longest before
 *                 it and 0.2 s more; prints the launches, and ends with its standard input
 *   window        pauses, launches 5, starts, launches 3, pauses, launches 7
 *   cost          prints what a range costs, ns
 */

static struct target t;
static cl_kernel add_one;

static void launch(int n)
{
	while (n--)
		target_launch(t.queue, add_one, 64);
	CHECK(clFinish(t.queue) == CL_SUCCESS);
}

static void *other(void *arg)
{
	(void)arg;
	aiflame_range_end(); /* of nothing */
	aiflame_range_begin("other thread");
	launch(2);
	aiflame_range_end();
	return NULL;
}

static void ranges(void)
{
	pthread_t thread;

	launch(1);
	aiflame_range_begin("outer \xc3\xa4");
	aiflame_range_begin("inner");
	launch(3);
	aiflame_range_end();
	CHECK(!pthread_create(&thread, NULL, other, NULL));
	CHECK(!pthread_join(thread, NULL));
	aiflame_range_begin("inner");
	launch(4);
	aiflame_range_end();
	aiflame_range_end();
	for (int i = 0; i < 70; i++)
		aiflame_range_begin("deep");
	for (int i = 0; i < 70; i++)
		aiflame_range_end();
	aiflame_range_begin("open");
	printf("recording %d, unknown %d\n", aiflame_recording(), aiflame_tell(4711, NULL));
}

static void steps(int n, int ms)
{
	for (int i = 0; i < n; i++) {
		aiflame_step();
		usleep((useconds_t)ms * 500);
		launch(i + 1);
		usleep((useconds_t)ms * 500);
	}
	aiflame_steps_end();
	launch(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void slow(int n, int which)
{
	uint64_t longest = 0;

	launch(1); /* PoCL compiles the kernel then: no step is slow for that */
	for (int i = 0; i < n; i++) {
		uint64_t began = now_ns(), end = began + 1000000;

		aiflame_step();
		aiflame_range_begin("decode");
		launch(1);
		if (i == which)
			end = began + 3 * longest + 200000000;
		while (now_ns() < end)
			usleep(200);
		aiflame_range_end();
		longest = now_ns() - began > longest ? now_ns() - began : longest;
	}
	aiflame_steps_end();
	printf("launched %d\n", n + 1);
	fflush(stdout);
	while (getchar() != EOF)
		continue;
}

/* Waits until the process is recorded or not, as was asked for; `answer` is what the question returned. */
static void wait_for(int answer, int recording)
{
	for (int i = 0; !answer && i < 60000 && aiflame_recording() != recording; i++)
		usleep(1000);
}

/* Asks again where the recorder had no CPU to answer within a second. */
static int until_answered(int (*ask)(void))
{
	int r;

	do
		r = ask();
	while (r == -EAGAIN);
	return r;
}

static void window(void)
{
	int paused, started;

	launch(1);
	paused = until_answered(aiflame_pause);
	wait_for(paused, 0);
	launch(5);
	started = until_answered(aiflame_start);
	wait_for(started, 1);
	launch(3);
	printf("pause %d start %d pause %d\n", paused, started, until_answered(aiflame_pause));
	wait_for(paused, 0);
	launch(7);
}

static void cost(void)
{
	struct timespec a, b;

	launch(1);
	for (int i = 0; i < 3; i++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int k = 0; k < 20000; k++) {
			aiflame_range_begin("range");
			aiflame_range_end();
		}
		clock_gettime(CLOCK_MONOTONIC, &b);
		printf("%.0f\n",
		       ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) /
			       20000);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	target_open(&t);
	add_one = target_kernel(&t, "add_one", target_buffer(&t, 64), 1);
	if (!strcmp(what, "ranges"))
		ranges();
	else if (!strcmp(what, "steps") && argc == 4)
		steps(atoi(argv[2]), atoi(argv[3]));
	else if (!strcmp(what, "slow") && argc == 4)
		slow(atoi(argv[2]), atoi(argv[3]));
	else if (!strcmp(what, "window"))
		window();
	else if (!strcmp(what, "cost"))
		cost();
	else
		return 2;
	return 0;
}
