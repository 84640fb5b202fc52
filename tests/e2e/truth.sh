#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Is the picture true? Two independent measurements, times and samples, must tell the same story.
. "$(dirname "$0")/tap.sh"

sql() {
	"$aiflame" query --format csv "$1" "$2" | tail -n +2
}
# within TOLERANCE "A B": | A - B | <= TOLERANCE
within() {
	echo "$2 $1" | tr ',' ' ' | awk '{ d = $1 - $2; if (d < 0) d = -d; if (NF != 3 || d > $3) { print "apart:", $0; exit 1 } }'
}

# shares KERNEL: by samples, by times, in percent
shares() {
	sql m.data "SELECT 100.0 * (SELECT sum(s.count) FROM samples s JOIN kernels k ON k.id = s.kernel WHERE k.name = '$1')
			/ (SELECT sum(count) FROM samples WHERE kernel IS NOT NULL) AS samples,
		100.0 * (SELECT sum(e.dur_ns) FROM executions e JOIN kernels k ON k.id = e.kernel WHERE k.name = '$1')
			/ (SELECT sum(dur_ns) FROM executions) AS times"
}
# counts KERNEL: its samples, and its executions' ns
counts() {
	sql m.data "SELECT (SELECT sum(s.count) FROM samples s JOIN kernels k ON k.id = s.kernel WHERE k.name = '$1'),
		(SELECT sum(e.dur_ns) FROM executions e JOIN kernels k ON k.id = e.kernel WHERE k.name = '$1')"
}
# possible "SAMPLES,NS": as CPU time, give or take what a sample of it is off by, within the time of all CPUs
possible() {
	echo "$1" | awk -F, -v cpus="$(nproc --all)" -v rate=4999 '{ most = cpus * $2 * rate / 1e9
		if (NF != 2 || $1 + 0 < 1 || $1 > 1.1 * most + 5 * sqrt(most)) { print "more than", most ":", $0; exit 1 } }'
}
# agree DATA "SAMPLES,TIMES": the shares, to 2 points and what this machine's other programs make of that
agree() {
	bound=$(python3 "$root/tests/e2e/truth.py" "$aiflame" "$1" "${2#*,}") && echo "$2 +-$bound" && within "$bound" "$2"
}
"$aiflame" record -q --device-rate 4999 -o m.data "$matmul" 256 30 >/dev/null
for k in multiply_basic multiply_local_access multiply_local_access_and_tiling; do
	check "$k: its share of samples is its share of time" agree m.data "$(shares $k)"
	echo "# $(tail -n 1 check.out)"
	check "$k: however busy the machine is, no more samples than all CPUs could give" possible "$(counts $k)"
	check "$k: the instructions on top are its own" test "$(sql m.data "
		SELECT count(*) AS n FROM attributed a JOIN kernels k ON k.id = a.kernel JOIN frames f ON f.id = a.frame
		JOIN modules m ON m.id = f.module WHERE k.name = '$k' AND m.kernel IS NOT NULL
		AND m.path NOT LIKE '%/$k/%'")" = 0
done
check "99 % of samples inside launches are attributed" test "$(sql m.data "
	SELECT (SELECT sum(count) FROM attributed) >= 0.99 * (SELECT sum(count) FROM samples s WHERE EXISTS (SELECT 1 FROM executions e
	WHERE s.time_ns BETWEEN e.start_ns AND e.start_ns + e.dur_ns)) AS ok")" = 1
check "no execution starts before its launch" test "$(sql m.data "
	SELECT count(*) AS n FROM executions JOIN launches USING (launch) WHERE start_ns < time_ns")" = 0
check "matmul: the numbers add up" says "everything adds up" "$aiflame" info m.data
check "matmul: the stack of every launch is complete" test "$(sql m.data "SELECT sum(flags) FROM stacks
	WHERE id IN (SELECT stack FROM launches)")" = 0
# Code at the end of a library that has no tables (crtstuff's) is passed by frame pointers, which its stack says.
check "matmul: no CPU sample's stack is cut" test "$(sql m.data "SELECT count(*) FROM cpu_samples
	JOIN stacks ON id = stack WHERE flags & 1")" = 0
# The loader binds functions in frames that are computed from rbx: starting and ending are full of that.
"$aiflame" record -q --device-rate 0 -F 4999 -o b.data "$matmul" 64 1 >/dev/null
check "no CPU sample's stack is cut where the loader binds functions" test "$(sql b.data "SELECT count(*) FROM cpu_samples
	JOIN stacks ON id = stack WHERE flags & 1")" = 0
check "widths sum to the busy time" test "$("$aiflame" flame -i m.data -o a.folded && awk '{ s += $NF } END { printf "%.0f", s }' a.folded)" = \
	"$(sql m.data "SELECT sum(weight_ns) FROM attributed")"
check "widths sum to the busy time, whatever is folded away" test "$("$aiflame" flame --detail full -i m.data -o b.folded && awk '{ s += $NF } END { printf "%.0f", s }' b.folded)" = \
	"$(sql m.data "SELECT sum(weight_ns) FROM attributed")"
check "stacks go from main through the API to the kernel" grep -q \
	"^main;run_benchmark;.*;clEnqueueNDRangeKernel;multiply_basic_\[g\];" a.folded

sites() {
	sql "$1" "WITH RECURSIVE up(stack, frame, parent, top) AS (
		SELECT id, frame, parent, id FROM stacks UNION ALL
		SELECT s.id, s.frame, s.parent, up.top FROM stacks s JOIN up ON s.id = up.parent)
	SELECT 100.0 * sum(a.time_ns) FILTER (WHERE n.name LIKE 'large_site%') / sum(a.time_ns) AS attributed,
		100.0 * (SELECT sum(e.dur_ns) FROM executions e JOIN launches l USING (launch) WHERE l.grid LIKE '12288%')
			/ (SELECT sum(dur_ns) FROM executions) AS times
	FROM attributed a JOIN up ON up.top = a.stack JOIN frame_names n ON n.frame = up.frame
	WHERE n.name LIKE '%_site%'"
}
"$aiflame" record -q --device-rate 4999 -o s.data "$build/tests/e2e/two_sites"
check "two call sites of one kernel: shares as the runtime times them" within 2 "$(sites s.data)"
check "the large call site has most of the time" test "$(sites s.data | awk -F, '{ print ($1 > 60 && $1 < 85) }')" = 1
"$aiflame" record -q --device-rate 4999 -o q.data "$build/tests/e2e/two_sites" two
check "two call sites on two queues at once: shares as the runtime times them" within 2 "$(sites q.data)"
check "two queues at once: the numbers add up" says "everything adds up" "$aiflame" info q.data
check "two queues at once: every launch is joined with its execution" sh -c "'$aiflame' info q.data | grep -q '= joined *80'"

# Wall time around clFinish by the program's own clock, against the durations, launch by launch: a duration is never longer,
# and in the launch where a busy machine added least (a thread that wakes up late), it is the wall time.
"$aiflame" record -q --all-launches -o w.data "$build/tests/e2e/two_sites" finish >walls.txt
sql w.data "SELECT dur_ns FROM executions JOIN launches USING (launch) ORDER BY time_ns" >durations.txt
check "each launch that was waited for has its duration" test "$(wc -l <walls.txt) $(wc -l <durations.txt)" = "80 80"
paste -d, walls.txt durations.txt | awk -F, '{ site = NR > 40; share = 100 * $2 / $1; if (share > best[site]) best[site] = share }
	END { print best[0] ",100"; print best[1] ",100" }' >shares.txt
check "no duration is longer than the wall time around clFinish" awk -F, '$1 > 100 { exit 1 }' shares.txt
check "durations are the wall time around clFinish, within 3 %: the small site" within 3 "$(sed -n 1p shares.txt)"
check "durations are the wall time around clFinish, within 3 %: the large site" within 3 "$(sed -n 2p shares.txt)"
# Lines of the source on request: the inner loop is lines 10 and 11.
POCL_CACHE_DIR=$work/lines "$aiflame" record -q --device-lines -o d.data "$matmul" 256 10 >/dev/null 2>&1
check "--device-lines puts source lines under the kernel" sh -c "
	'$aiflame' flame --leaf line -o d.folded d.data && grep -q 'multiply_basic_\[g\];[^;]*\.cl:1[01]_\[g\] ' d.folded"
# A cold cache: PoCL compiles for a second and more before anything runs.
POCL_CACHE_DIR=$work/cold "$aiflame" record -q -o c.data sh -c "sleep 1.2; exec '$matmul' 256 10" >/dev/null
check "a kernel of a process that opens its device late is sampled" test "$(sql c.data "SELECT sum(count) > 20 AS ok FROM attributed")" = 1
# The driver opens the device, and a second later the first kernel comes.
"$aiflame" record -q -o l.data "$build/tests/e2e/two_sites" wait
check "a kernel that comes long after its device was opened is sampled" test "$(sql l.data "SELECT sum(count) > 20 AS ok FROM attributed")" = 1
done_testing
