/* SPDX-License-Identifier: Apache-2.0 */
/* locked_app KIB [BURNS]: how much a program can still map that locks its memory and may lock so many KiB: locked.sh. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PIECE   65536
#define THREADS 4

static volatile double x = 1;

static void *burn(void *arg)
{
	for (int i = 0; i < 60000000; i++)
		x = x * 1.0001 + .5;
	return arg;
}

int main(int argc, char **argv)
{
	long bytes = argc > 1 ? atol(argv[1]) * 1024 : 0;
	struct rlimit limit = {.rlim_cur = (rlim_t)bytes, .rlim_max = (rlim_t)bytes};
	pthread_t thread[THREADS];
	int threads = 0, pieces = 0;
	pthread_attr_t attr;

	for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--)
		burn(NULL);
	if (setrlimit(RLIMIT_MEMLOCK, &limit) < 0 || mlockall(MCL_FUTURE) < 0)
		return 77;
	burn(NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PIECE);
	while (threads < THREADS && !pthread_create(&thread[threads], &attr, burn, NULL))
		threads++;
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	/* More than the limit allows are those of a user who may lock everything. */
	while (pieces <= bytes / PIECE && mmap(NULL, PIECE, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		pieces++;
	printf("%d %d\n", threads, pieces);
	return 0;
}
