#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Inputs after public bug reports of other tools: the stacks are right, and what is not in them is counted.
. "$(dirname "$0")/tap.sh"

python3 "$root/tests/e2e/import_reports.py" "$work" >reports.txt || { echo "not ok 1 - inputs are made"; exit 1; }

# right FILE cpu|device|refused LOSSES
right() {
	if [ "$2" = refused ]; then
		"$aiflame" import -q -o got.data "$1" 2>got.err && return 1
		grep -qF "$(cat "$1.want")" got.err || { cat got.err; return 1; }
		return
	fi
	PATH=/nowhere "$aiflame" import -q -o got.data "$1" || return 1
	case $2 in
	cpu) "$aiflame" flame --of cpu --detail full -o got.folded got.data ;;
	device) "$aiflame" flame --leaf kernel --by time --detail full -o got.folded got.data ;;
	esac || return 1
	LC_ALL=C sort -o got.folded got.folded && LC_ALL=C sort -o want.folded "$1.want" && diff want.folded got.folded || return 1
	"$aiflame" info got.data | sed -n '/^losses/,$s/^  [0-9]* \([A-Z_]*\) *\([0-9]*\) .*/\1=\2/p' | LC_ALL=C sort | tr '\n' ',' >got.losses
	[ "$(sed 's/,$//' got.losses)" = "$3" ] || { [ "$3" = none ] && [ ! -s got.losses ]; } || { cat got.losses; return 1; }
}

while read -r report file of losses; do
	check "$report: stacks are right, and what is missing is counted" right "$file" "$of" "$losses"
done <reports.txt

# The document has each of them.
listed() {
	while read -r report _; do
		grep -qF "/${report%%#*}/" "$root/bench/results/reports.md" && grep -qE "/(issues|pull)/${report##*#}\b" "$root/bench/results/reports.md" ||
			{ echo "$report is not in bench/results/reports.md"; return 1; }
	done <reports.txt
}
check "bench/results/reports.md has each report" listed
done_testing
