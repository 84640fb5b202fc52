/* SPDX-License-Identifier: Apache-2.0 */
#include "base/signals.h"

#include <signal.h>
#include <string.h>

static const struct {
	int number;
	bool is_crash;
	const char *name;
} signals[] = {
	{SIGSEGV, true, "SIGSEGV"},  {SIGABRT, true, "SIGABRT"},  {SIGBUS, true, "SIGBUS"},
	{SIGILL, true, "SIGILL"},    {SIGFPE, true, "SIGFPE"},    {SIGTRAP, true, "SIGTRAP"},
	{SIGSYS, true, "SIGSYS"},    {SIGINT, false, "SIGINT"},   {SIGTERM, false, "SIGTERM"},
	{SIGKILL, false, "SIGKILL"}, {SIGHUP, false, "SIGHUP"},   {SIGQUIT, false, "SIGQUIT"},
	{SIGPIPE, false, "SIGPIPE"}, {SIGALRM, false, "SIGALRM"}, {SIGUSR1, false, "SIGUSR1"},
	{SIGUSR2, false, "SIGUSR2"}, {SIGXCPU, false, "SIGXCPU"}, {SIGXFSZ, false, "SIGXFSZ"},
};

const char *aif_signal_name(int number)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(signals); i++)
		if (signals[i].number == number)
			return signals[i].name;
	return NULL;
}

int aif_signal_number(const char *name)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(signals); i++)
		if (!strcmp(signals[i].name, name))
			return signals[i].number;
	return 0;
}

bool aif_signal_is_crash(int number)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(signals); i++)
		if (signals[i].number == number)
			return signals[i].is_crash;
	return false;
}
