/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <signal.h>

atomic_bool over;

void fail(const char *what)
{
	printf("wrong: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(99);
}

void in_threads(void *(*run)(void *))
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, run, (void *)i))
			fail("pthread_create");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void *await_end(void *arg)
{
	char c;

	(void)arg;
	while (read(0, &c, 1) > 0)
		;
	over = true;
	return NULL;
}

int main(int argc, char **argv)
{
	const struct mode *all[] = {memory_modes, control_modes, system_modes};
	sigset_t every, before;
	pthread_t t;

	for (unsigned k = 0; argc > 1 && k < 3; k++)
		for (const struct mode *m = all[k]; m->name; m++)
			if (!strcmp(m->name, argv[1])) {
				/* No signal of the program may end the read. */
				sigfillset(&every);
				pthread_sigmask(SIG_SETMASK, &every, &before);
				pthread_create(&t, NULL, await_end, NULL);
				pthread_sigmask(SIG_SETMASK, &before, NULL);
				m->run();
				printf("%s: all is right\n", m->name);
				return 10 + (int)(m - all[k]);
			}
	return 2;
}
