/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/stop.h"

#include <stddef.h>

static const int numbers[] = {SIGINT, SIGTERM};
static struct sigaction before[sizeof(numbers) / sizeof(*numbers)];
static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	stopped = number;
}

const volatile sig_atomic_t *aif_stop_begin(void)
{
	const struct sigaction stop = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};

	stopped = 0;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		sigaction(numbers[i], &stop, &before[i]);
		if (before[i].sa_handler == SIG_IGN)
			sigaction(numbers[i], &before[i], NULL);
	}
	return &stopped;
}

int aif_stop_end(void)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sigaction(numbers[i], &before[i], NULL);
	return stopped;
}
