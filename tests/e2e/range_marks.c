/* SPDX-License-Identifier: Apache-2.0 */
/* Library to preload: a thread marks ranges while the program runs, 40 ms each. Four called load follow one another, then four of
 * prefill and decode take turns. */
#include <aiflame.h>

#include <pthread.h>
#include <time.h>

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void *mark(void *arg)
{
	static const char *const names[] = {"load",    "load",   "load",    "load",
					    "prefill", "decode", "prefill", "decode"};

	(void)arg;
	sleep_ms(600);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		aiflame_range_begin(names[i]);
		sleep_ms(40);
		aiflame_range_end();
	}
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;

	(void)pthread_create(&thread, NULL, mark, NULL);
}
