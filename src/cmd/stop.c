/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/stop.h"

#include <stdbool.h>
#include <stddef.h>

static const int numbers[] = {SIGINT, SIGTERM};
static struct sigaction before[sizeof(numbers) / sizeof(*numbers)];
static volatile sig_atomic_t stopped;
static struct aif_scratch scratch;
static bool at_once;

static void on_signal(int number)
{
	if (!stopped && !at_once) {
		stopped = number;
		return;
	}
	aif_scratch_remove(&scratch);
	signal(number, SIG_DFL);
	raise(number); /* which comes when this returns */
}

void aif_stop_begin_at_once(void)
{
	at_once = true;
	aif_stop_begin();
}

const volatile sig_atomic_t *aif_stop_begin(void)
{
	struct sigaction stop = {.sa_handler = on_signal};

	/* One at a time: of two that come at once the second is a second one. */
	sigemptyset(&stop.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sigaddset(&stop.sa_mask, numbers[i]);
	stopped = 0;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		sigaction(numbers[i], &stop, &before[i]);
		if (before[i].sa_handler == SIG_IGN)
			sigaction(numbers[i], &before[i], NULL);
	}
	return &stopped;
}

struct aif_scratch *aif_stop_scratch(void)
{
	return &scratch;
}

int aif_stop_end(void)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sigaction(numbers[i], &before[i], NULL);
	at_once = false;
	return stopped;
}
