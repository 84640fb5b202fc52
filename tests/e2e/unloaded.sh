#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A library is unloaded, and another one has its addresses: a frame has the name that was there when it was seen.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/unloaded_app

# fresh: the libraries are there as they were built
fresh() { cp "$build/tests/e2e/libfirst_work.so" "$build/tests/e2e/libsecond_work.so" .; }
# by_name FILE: both libraries have about a half of the CPU time, under the names of their own functions, whose callers are
# their own, too
by_name() {
	"$aiflame" flame --of cpu -o f.folded "$1"
	cat f.folded
	awk '/_burns / { all += $NF }
		/^main;works;work;first_burns / { first += $NF }
		/^main;works;work;second_calls;second_burns / { second += $NF }
		END { exit !(first > 0.4 * all && second > 0.4 * all && first + second == all) }' f.folded
}
fresh
"$app" ./libfirst_work.so ./libsecond_work.so
if [ $? -eq 3 ]; then
	echo "1..0 # SKIP a library that is loaded gets other addresses here"
	exit 0
fi

for clock in perf tick; do
	fresh
	check "--cpu-clock $clock: two libraries at one address" "$aiflame" record -q --cpu --cpu-clock $clock -o f.data "$app" ./libfirst_work.so ./libsecond_work.so
	check "--cpu-clock $clock: each has its own names" by_name f.data
	check "--cpu-clock $clock: a library is replaced by another one of its name" "$aiflame" record -q --cpu --cpu-clock $clock -o f.data "$app" ./libfirst_work.so ./libsecond_work.so x
	check "--cpu-clock $clock: each has the names of its own file" by_name f.data
done
done_testing
