/* SPDX-License-Identifier: Apache-2.0 */
/* A pthread_create() behind the agent's, by which the agent's threads begin late, or those who make them go on late. */
#include "late_thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LONG_NS 1000000000
#define LOOK_NS 1000000
/* Looks for the recorder's memory: ten seconds. */
#define LOOKS 10000

atomic_bool late_may_begin;

struct late {
	void *(*start)(void *);
	void *arg;
};

void late_sleep(long ns)
{
	struct timespec time = {.tv_sec = ns / LONG_NS, .tv_nsec = ns % LONG_NS};

	nanosleep(&time, NULL);
}

static bool is_mode(const char *mode)
{
	const char *is = getenv("LATE");

	return is && !strcmp(is, mode);
}

static void *begin(void *arg)
{
	struct late late = *(struct late *)arg;

	if (is_mode("start"))
		late_sleep(LONG_NS);
	while (is_mode("missed") && !atomic_load(&late_may_begin))
		late_sleep(LOOK_NS);
	return late.start(late.arg);
}

bool late_has_session(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	bool has = false;

	while (maps && !has && fgets(line, sizeof(line), maps))
		has = strstr(line, "memfd:aiflame");
	if (maps)
		fclose(maps);
	return has;
}

__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	__typeof__(pthread_create) *real =
		(__typeof__(pthread_create) *)dlsym(RTLD_NEXT, "pthread_create");
	struct late *late = malloc(sizeof(*late)); /* of a few threads: never freed */
	int r;

	*late = (struct late){.start = start, .arg = arg};
	r = real(thread, attr, begin, late);
	if (is_mode("maker")) {
		for (int i = 0; i < LOOKS && !late_has_session(); i++)
			late_sleep(LOOK_NS);
		late_sleep(LONG_NS / 10);
	}
	return r;
}
