#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What record --ebpf -a costs at 99 Hz, in percent of one core: the recorder's own CPU time (getrusage), and the BPF
# programs' by the kernel's count (kernel.bpf_stats_enabled). Bar: below 0.5 % in all, CPUs busy. As root:
#   bench/ebpf.sh [SECONDS]      (20)
# Sampling is the programs and the thread that takes what they tell; beside it the recorder reads the symbols of each file
# that is sampled, once, and writes the profile. The interrupt that each tick is anyway is in none of them; the
# programs that it runs are.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build}
seconds=${1:-20}
work=$(mktemp -d)
was=$(sysctl -n kernel.bpf_stats_enabled)
busy=
# shellcheck disable=SC2086 # a list of numbers
trap 'kill $busy 2>/dev/null; sysctl -qw kernel.bpf_stats_enabled="$was"; rm -rf "$work"' EXIT
sysctl -qw kernel.bpf_stats_enabled=1

# of FILE KEY: nanoseconds
of() {
	"$build/src/aiflame" query --format csv "$1" "SELECT value FROM meta WHERE key = 'cost.$2'" | tail -1 | tr -d '"\r'
}
# run NAME OPTION...: a line of numbers
run() {
	name=$1
	shift
	"$build/src/aiflame" record -q -a --inject never --ebpf "$@" --duration "$seconds" -o "$work/x.data" &
	recorder=$!
	sleep "$((seconds - 2))"
	# Of all programs of ours: nanoseconds and runs until now.
	bpf=$(bpftool prog show -j | tr '{' '\n' | awk -F'[:,]' '/"aif_/ { for (i = 1; i < NF; i++) {
		if ($i ~ /"run_time_ns"/) ns += $(i + 1); if ($i ~ /"run_cnt"/) n += $(i + 1) } } END { print ns + 0, n + 0 }')
	wait $recorder
	echo "$(of "$work/x.data" drain_cpu_ns) $(of "$work/x.data" recorder_cpu_ns) $bpf" | awk -v s="$seconds" -v name="$name" '{
		drain = $1 / 1e7 / s; all = $2 / 1e7 / s; bpf = $3 / 1e7 / (s - 2)
		printf "%-24s programs %.3f %% (%d runs, %.0f ns each), drain thread %.3f %%: %.3f %% of a core; the whole recorder %.3f %%\n",
			name, bpf, $4, $4 ? $3 / $4 : 0, drain, bpf + drain, all }'
}

cpus=$(nproc)
i=0
while [ $i -lt "$cpus" ]; do
	"$build/tests/e2e/ebpf_app" calls 1000000 &
	busy="$busy $!"
	i=$((i + 1))
done
run "99 Hz, $cpus busy CPUs"
run "99 Hz and time off CPU" --off-cpu
