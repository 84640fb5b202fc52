#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Alternate stacks that the signal of CPU samples does not fit onto end samples; ones that the kernel refuses do not.
. "$(dirname "$0")/tap.sh"

cc --version >/dev/null 2>&1 || { echo "1..0 # SKIP no C compiler here"; exit 0; }
cat >sets.c <<'END'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

static char memory[65536];
static int refused;

static void set(size_t size, int flags)
{
	stack_t s = {.ss_sp = memory, .ss_size = size, .ss_flags = flags};

	refused = sigaltstack(&s, NULL);
}

static void on_stack(int sig)
{
	(void)sig;
	set(2048, 0);
}

/* Works for `ms` of CPU time. */
static void work(long ms)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

int main(int argc, char **argv)
{
	struct sigaction a = {.sa_handler = on_stack, .sa_flags = SA_ONSTACK};
	const char how = argc > 1 ? *argv[1] : 0;

	work(200);
	if (how == 's')
		set(100, 0);
	if (how == 'f')
		set(2048, 64);
	if (how == 't')
		set(2048, 0);
	if (how == 'h') {
		set(sizeof(memory), 0);
		sigaction(SIGUSR1, &a, NULL);
		raise(SIGUSR1);
	}
	work(600);
	printf("%d %d\n", refused, getauxval(51) > 2048 + 8192 * (getauxval(51) > 8192));
	return 0;
}
END
cc -w -O1 -o sets sets.c || exit 1
keeps() { # HOW: the kernel refuses the stack, and samples go on
	"$aiflame" record -q --cpu -o a.data ./sets "$1" >out && grep -q "^-1 " out || return
	! "$aiflame" info a.data | grep 1352
}
check "samples go on after an alternate stack that is too small for the kernel" keeps small
check "samples go on after an alternate stack with flags that the kernel does not know" keeps flags
check "samples go on after an alternate stack that is set on the alternate stack" keeps handler
ends() {
	"$aiflame" record -q --cpu -o a.data ./sets tiny >out && says "1352 CPU_SIGNAL_TAKEN" "$aiflame" info a.data
}
./sets >out
if grep -q " 1$" out; then
	check "samples that end for an alternate stack that is set are said to" ends
else
	skip "samples that end for an alternate stack that is set are said to" "a signal fits onto 2048 bytes here"
fi
done_testing
