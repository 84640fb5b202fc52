#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program that locks what it maps (mlockall(MCL_FUTURE)), and may lock few MiB, can map as much as without being recorded.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/locked_app
# as_user COMMAND...: without the right to lock more than the limit allows
as_user() {
	if [ "$(id -u)" = 0 ]; then setpriv --bounding-set=-ipc_lock "$@"; else "$@"; fi
}
# is_as_bare BARE RECORDED: the same threads, and no fewer pieces
is_as_bare() {
	echo "threads and pieces: $1 without, $2 recorded"
	[ "${1%% *}" = "${2%% *}" ] && [ "${2##* }" -ge "${1##* }" ]
}
for kib in 1024 8192; do
	for burns in 0 2; do
		when="as it starts"
		[ $burns = 0 ] || when="while it is sampled"
		bare=$(as_user "$app" $kib $burns) && [ "${bare##* }" -lt $((kib / 64)) ] || {
			skip "a program that locks its memory, of $kib KiB, $when" "the limit does not hold"
			continue
		}
		for options in "--cpu" "--cpu --cpu-clock tick"; do
			recorded=$(as_user "$aiflame" record -q $options -F 999 -o r.data "$app" $kib $burns)
			check "a program that locks its memory, of $kib KiB, $when, maps as much as without ($options)" \
				is_as_bare "$bare" "$recorded"
			check "a program that locks its memory, of $kib KiB, $when, is sampled ($options)" test "$("$aiflame" query --format csv r.data \
				'SELECT count(*) > 0 FROM cpu_samples' | tail -1 | tr -d '"\r')" = 1
		done
	done
done
done_testing
