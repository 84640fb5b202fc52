/* SPDX-License-Identifier: Apache-2.0 */
/* Begins a range while another thread, the agent's, waits for the recorder's answer: the recorder, its parent, is stopped meanwhile. */
#include <aiflame.h>

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void *continue_soon(void *arg)
{
	sleep_ms(300);
	kill(*(pid_t *)arg, SIGCONT);
	return NULL;
}

int main(void)
{
	pid_t recorder = getppid();
	pthread_t thread;

	kill(recorder, SIGSTOP);
	if (pthread_create(&thread, NULL, continue_soon, &recorder)) {
		kill(recorder, SIGCONT);
		return 1;
	}
	sleep_ms(100);
	aiflame_range_begin("first");
	aiflame_range_end();
	pthread_join(thread, NULL);
	aiflame_range_begin("second");
	aiflame_range_end();
	sleep_ms(50);
	return 0;
}
