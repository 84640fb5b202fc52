/* SPDX-License-Identifier: Apache-2.0 */
/* Says whether the agent's thread, which begins late or runs before it is expected, can be seen: late.sh. */
#include "late_thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define OPENS 40000
/* Limits the wait for a thread that neither ends nor opens anything, and for a session. */
#define OPENS_MAX 5000000
#define LOOK_EACH 1000

static volatile double x = 1;

/* Returns whether one of the next few descriptors has another number than the first ones had: there is another one. */
static bool sees_another(int next)
{
	bool sees = false;
	int fd[4];

	for (int i = 0; i < 4; i++) {
		fd[i] = open("/dev/null", O_RDONLY);
		sees |= fd[i] != next + i;
	}
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	return sees;
}

/* Counts address space that malloc() has reserved for other threads, 64 MiB each. */
static int arenas(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long lo, hi;
	char line[512];
	int n = 0, at;

	while (maps && fgets(line, sizeof(line), maps))
		n += sscanf(line, "%lx-%lx ---p 00000000 00:00 %n", &lo, &hi, &at) == 2 &&
		     hi % (64ul << 20) == 0 && hi - lo > 32ul << 20;
	if (maps)
		fclose(maps);
	return n;
}

/* Looks while a session begins and for a while after. */
int main(void)
{
	int others = 0, next = open("/dev/null", O_RDONLY);

	close(next);
	atomic_store(&late_may_begin, true);
	for (int i = 0; i < OPENS_MAX && !others; i++) {
		others += sees_another(next);
		if (i % LOOK_EACH == 0 && late_has_session())
			break;
	}
	for (int i = 0; i < OPENS; i++)
		others += sees_another(next);
	for (int i = 0; i < 30000000; i++)
		x = x * 1.0001 + .5;
	printf("others %d arenas %d\n", others, arenas());
	return 0;
}
