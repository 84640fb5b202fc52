#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that would notice another one inside: what they say and how they end is as without, credentials of all their
# threads included. ROUNDS=20: each so often (tests/long).
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
for round in $(seq "$rounds"); do
	for how in cpu tick children; do
		case $how in cpu) options="--cpu -F 999" ;; tick) options="--cpu --cpu-clock tick -F 999" ;; children) options=--children ;; esac
		check "$how: the cases are recorded" like_bare $how-$round $options
		for said in bare/*.said; do
			case=${said##*/}
			case=${case%.said}
			# There is no function for the agent to stand in front of: tried, and not judged.
			[ "$case" != filter_instruction ] || continue
			check "$how: $case is as it is without" same $how-$round $case
		done
	done
	[ "$rounds" -gt 1 ] && diff bare/filter_instruction.said cpu-$round/filter_instruction.said
done
check "a filter that forbids what the agent calls is said" sh -c "
	[ '$(of cpu-1/r.data "SELECT count(*) >= 15 FROM losses WHERE name = 'SECCOMP'")' = 1 ]"
check "a filter of what the agent never calls" "$aiflame" record -q --cpu -F 999 -o harmless.data "$app" filter_harmless
check "a filter of what the agent never calls: the program is sampled" test "$(of harmless.data 'SELECT count(*) >= 5 FROM cpu_samples')" = 1
check "a filter of what the agent never calls is no loss" test "$(of harmless.data "SELECT count(*) FROM losses WHERE name = 'SECCOMP'")" = 0
check "a program that changes its user" "$aiflame" record -q --cpu -F 999 -o user.data "$app" keepcaps
check "a program that changed its user is sampled before and after" test "$(of user.data 'SELECT count(*) >= 5 FROM cpu_samples')" = 1
done_testing
