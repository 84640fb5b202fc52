#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that would notice another one inside: what they say and how they end is as without, credentials of all their
# threads included. HOW="cpu tick children" ROUNDS=20: in each of these ways so often (tests/long).
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/guest_app
rounds=${ROUNDS:-1}

mkdir bare && cd bare && "$app" each 4
cd ..
# like_bare DIR OPTION...: the cases recorded, in a directory of their own
like_bare() {
	dir=$1
	shift
	mkdir -p "$dir"
	(cd "$dir" && "$aiflame" record -q "$@" -o r.data "$app" each 4)
}
same() { diff "bare/$2.said" "$1/$2.said"; }
of() { "$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'; }
# A program that became another user's has the agent's name in its environment: the loader must be able to open it.
closed=
setpriv --reuid=1001 --regid=1001 --clear-groups test -r "$build/src/agent/libaiflame-agent.so" 2>/dev/null ||
	[ "$(id -u)" -ne 0 ] || closed=yes
for round in $(seq "$rounds"); do
	for how in ${HOW:-cpu children}; do
		case $how in cpu) options="--cpu -F 999" ;; tick) options="--cpu --cpu-clock tick -F 999" ;; children) options=--children ;; esac
		check "$how: the cases are recorded" like_bare $how-$round $options
		for said in bare/*.said; do
			case=${said##*/}
			case=${case%.said}
			case $closed$case in
			yesset_priv | yesset_priv_caps)
				skip "$how: $case is as it is without" "other users cannot read $build"
				continue
				;;
			esac
			check "$how: $case is as it is without" same $how-$round $case
		done
	done
done
check "a filter that forbids what the agent calls is said" sh -c "
	[ '$(of cpu-1/r.data "SELECT count(*) >= 15 FROM losses WHERE name = 'SECCOMP'")' = 1 ]"
check "a filter of what the agent never calls" "$aiflame" record -q --cpu -F 999 -o harmless.data "$app" filter_harmless
check "a filter of what the agent never calls: the program is sampled" test "$(of harmless.data 'SELECT count(*) >= 5 FROM cpu_samples')" = 1
check "a filter of what the agent never calls is no loss" test "$(of harmless.data "SELECT count(*) FROM losses WHERE name = 'SECCOMP'")" = 0
for clock in auto tick; do
	for space in little_space some_space; do
		check "$clock: a program that has too little address space left for the agent is recorded without samples ($space)" \
			"$aiflame" record -q --cpu --cpu-clock $clock -o $space.data "$app" $space
	done
	# Where the kernel puts the first mappings decides whether the agent begins.
	check "$clock: a profile says that the agent got no memory, to begin with or for samples" \
		sh -c "'$aiflame' info little_space.data | grep -E 'Cannot allocate memory|too little memory'"
	check "$clock: a profile says that samples got no memory" says "too little memory" "$aiflame" info some_space.data
done
gone="SELECT count(*) FROM losses WHERE name = 'HELPER_GONE'"
check "a program that gives up what it may do while the agent's thread is held up" "$aiflame" record -q --cpu -F 999 -o held.data "$app" held_up
check "a thread of the agent's that was held up then ends for good, and the profile says so" test "$(of held.data "$gone")" = 1
check "a program that counts its threads and ends soon" "$aiflame" record -q --cpu -o counts.data "$app" count_threads
check "a program that counts its threads and ends soon: the profile says that its samples ended" test "$(of counts.data "$gone")" = 1
if [ "$(id -u)" -eq 0 ]; then
	mkdir -m 700 closed && mkdir closed/agent
	cp "$aiflame" closed/ && cp "$build/src/agent/libaiflame-agent.so" closed/agent/
	check "an agent that other users cannot read is said at the start" says "since $work/closed is closed to them" \
		closed/aiflame record -o closed.data true
	chmod 755 closed
	# The directory of the test is the user's alone, too.
	chmod 711 "$work"
	check "an agent that others can read is not" sh -c "closed/aiflame record -o open.data true 2>&1 | grep -c 'cannot read the agent' | grep -x 0"
else
	skip "an agent that other users cannot read is said at the start" "needs root"
fi
for order in "\$LD_PRELOAD:$build/tests/e2e/libother_clock.so" "$build/tests/e2e/libother_clock.so:\$LD_PRELOAD"; do
	check "a program whose clocks a library replaces (LD_PRELOAD=$order)" "$aiflame" record -q --cpu -F 999 -o clock.data \
		sh -c "LD_PRELOAD=$order exec '$app' keepcaps"
	check "a program whose clocks a library replaces is sampled (LD_PRELOAD=$order)" test "$(of clock.data 'SELECT count(*) >= 5 FROM cpu_samples')" = 1
done
check "a program that changes its user" "$aiflame" record -q --cpu -F 999 -o user.data "$app" keepcaps
check "a program that changed its user is sampled before and after" test "$(of user.data 'SELECT count(*) >= 5 FROM cpu_samples')" = 1
# The recorder's events go on while it is stopped, and it answers nobody.
for options in "" "--cpu-clock perf" "--cpu-clock tick" --wall; do
	check "a handler that a program sets while its recorder is stopped sees no signal of the agent's (--cpu $options)" \
		"$aiflame" record -q --cpu $options -F 999 -o stopped.data "$app" recorder_stopped
done
for options in "" "--cpu-clock perf" "--cpu-clock tick"; do
	check "a handler sees no signal of the agent's that waited since before the recorder closed its events (--cpu $options)" \
		"$aiflame" record -q --cpu $options -F 999 -o stopped.data "$app" recorder_stopped_blocked
done
# A race detector knows one thread of a child that a program with threads forks, and ends a child with another one.
cat >races.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile double x = 1;
static void *compute(void *arg)
{
	double y = x;
	for (int i = 0; i < 20000000; i++)
		y = y * 1.0001 + .5;
	for (int i = 0; i < 1000; i++)
		free(malloc(100));
	return y < 0 ? arg : 0;
}
int main(void)
{
	pthread_t thread;
	int status;
	pthread_create(&thread, 0, compute, 0);
	pthread_join(thread, 0);
	for (int i = 0; i < 5; i++) {
		pid_t child = fork();
		if (!child) {
			compute(0);
			_exit(4);
		}
		waitpid(child, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 4)
			return 1;
	}
	return 9;
}
END
for way in "gcc" "gcc -static-libtsan" "clang"; do
	$way -O1 -g -pthread -fsanitize=thread -o races races.c 2>/dev/null && ./races 2>/dev/null
	if [ $? = 9 ]; then
		for options in --cpu --children; do
			check "a program with $way's race detector forks under $options" status_is 9 env TSAN_OPTIONS=report_bugs=0 "$aiflame" record -q $options -o races.data ./races
		done
	else
		skip "a program with $way's race detector forks" "no such compiler"
	fi
done
done_testing
