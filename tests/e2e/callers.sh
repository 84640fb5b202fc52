#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program whose malloc() has one caller in each process has one under the recorder, too.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/caller_app
of() { "$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'; }
sampled="SELECT count(DISTINCT process) FROM cpu_samples WHERE process IS NOT NULL"
# another WAY OPTIONS...: the program makes another process in this way, under these options of record, one by one
another() {
	way=$1
	shift
	check "a program with an allocator for one thread, and another process by $way" says "$way: 7" "$app" "$way"
	for options; do
		check "a malloc() for one thread sees no other one under record $options (another process by $way)" \
			says "$way: 7" "$aiflame" record -q $options -F 999 -o "$way.data" "$app" "$way"
	done
}

another fork "" --children --cpu "--cpu --cpu-clock tick"
another forks "--cpu --wall" --cpu
another daemon --cpu
for way in vfork spawn clone clone_memory; do
	another $way --cpu
done
another fork_held --cpu
check "a forked child with a malloc() for one thread is sampled, and what that forks" test "$(of forks.data "$sampled")" = 3
check "a child that is forked while another thread has the loader's lock is sampled" test "$(of fork_held.data "$sampled")" = 2
done_testing
