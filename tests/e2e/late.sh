#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs do not notice when the agent's thread begins, which on a busy machine may be late.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/late_app
unseen="others 0 arenas 0"
of() { "$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'; }

for options in "--cpu" "--cpu --cpu-clock tick" "--cpu --wall"; do
	check "a program sees no descriptor of an agent's thread that begins a second late ($options)" \
		says "$unseen" env LATE=start "$aiflame" record -q $options -F 999 -o start.data "$app"
	check "an agent's thread that begins a second late takes samples ($options)" \
		test "$(of start.data 'SELECT count(*) > 0 FROM cpu_samples')" = 1
	check "a program that goes on once its session has begun has no memory reserved for another thread's malloc() ($options)" \
		says "$unseen" env LATE=maker "$aiflame" record -q $options -F 999 -o maker.data "$app"
done
check "a program sees no descriptor of an agent's thread that begins when nobody waits for it any more" \
	says "$unseen" env LATE=missed "$aiflame" record -q --cpu -F 999 -o missed.data "$app"
check "an agent's thread that nobody waits for any more takes samples" \
	test "$(of missed.data 'SELECT count(*) > 0 FROM cpu_samples')" = 1
done_testing
