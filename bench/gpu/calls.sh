#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What recording begin and end of CUDA's long calls costs: loops of calls.cu with record --calls auto and with off, in turns,
# everything else the same. Prints for each loop ns a step more, by the clock and by the launching thread's CPU time: the median
# of pairs with the range of the middle half.
#   bench/gpu/calls.sh AIFLAME [PAIRS [LOOP...]]      LOOP: wait item allocate
set -eu
here=$(cd "$(dirname "$0")" && pwd)
aiflame=$1 pairs=${2:-15}
shift; [ $# -eq 0 ] || shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
PATH=$PATH:/usr/local/cuda/bin nvcc -O2 -o "$dir/calls" "$here/calls.cu"
cd "$dir"

run() { "$aiflame" record -q --all-launches --device-rate 0 --calls "$1" -o p.data ./calls "$2" "$3"; }
measure() {
	: >pairs
	for i in $(seq "$pairs"); do
		# Each first in every other pair.
		if [ $((i % 2)) -eq 0 ]; then
			off=$(run off "$1" "$2") on=$(run auto "$1" "$2")
		else
			on=$(run auto "$1" "$2") off=$(run off "$1" "$2")
		fi
		echo "$on $off" >>pairs
	done
	for column in 1 2; do
		awk -v c=$column '{ print $c - $(c + 2), $(c + 2), $c / $(c + 2) }' pairs | sort -n | awk -v mode="$1" -v c=$column '
			{ ns[NR] = $1; base[NR] = $2; ratio[NR] = $3 }
			END {
				m = int((NR + 1) / 2); lo = int((NR + 3) / 4); hi = NR + 1 - lo
				printf "%-8s %-6s %+.0f ns a step [%+.0f .. %+.0f], x%.4f, of %.0f ns; %d pairs\n", mode,
					c == 1 ? "clock" : "CPU", ns[m], ns[lo], ns[hi], ratio[m], base[m], NR
			}'
	done
}
[ $# -gt 0 ] || set -- wait item allocate
for loop; do
	case $loop in
	wait|item) measure "$loop" 20000 ;;
	allocate) measure "$loop" 3000 ;;
	*) echo "calls.sh: no loop '$loop'" >&2; exit 2 ;;
	esac
done
