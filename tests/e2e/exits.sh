#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# However a target ends, and however its recorder does: nothing hangs, nothing is left behind, and what
# was launched is in the profile.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/exit_app
mkdir tmp
TMPDIR=$work/tmp
export TMPDIR
unset XDG_RUNTIME_DIR

# count TABLE DATA: launches or executions of each pid
count() {
	"$aiflame" query --format csv "$2" "SELECT id, pid FROM processes" >pids.csv &&
		"$aiflame" query --format csv "$2" "SELECT process, count(*) FROM $1 GROUP BY 1" |
		awk -F, 'FNR == 1 { next } NR == FNR { pid[$1] = $2; next } { n[pid[$1]] += $2 }
			END { for (p in n) print p, n[p] }' pids.csv -
}
# lost WHAT DATA: of it, of each pid, what the profile says that full rings dropped
lost() {
	"$aiflame" query --format csv "$2" "SELECT id, pid FROM processes" >pids.csv &&
		"$aiflame" query --format csv "$2" "SELECT process, sum(count) FROM losses WHERE name = 'RING_FULL' AND detail = '$1' GROUP BY 1" |
		awk -F, 'FNR == 1 { next } NR == FNR { pid[$1] = $2; next } { n[pid[$1]] += $2 } END { for (p in n) print p, n[p] }' pids.csv -
}
# conserved DATA REPORT [N]: each target's launches and executions are recorded, to the last one that
# its call had returned from; one more if it was in the call. Where a recorder gets no CPU for long, rings are full: it
# must know of how much. Then a target may have stopped waiting for it, too, after a second: it must know of which; of one that
# calls exec it is the program after that, which launches N times, and all before is there. (CPU
# samples are another matter: where CPUs are few, threads lie for long in the C library's own sections without signals.)
conserved() {
	[ -z "$("$aiflame" query --format csv "$1" "SELECT * FROM losses WHERE name NOT LIKE 'CPU%' AND
		NOT (name = 'RING_FULL' AND detail IN ('launches', 'executions')) AND
		NOT (name = 'HANDSHAKE_FAILED' AND detail = 'it had stopped waiting')" | tail -n +2)" ] || {
		"$aiflame" query "$1" "SELECT * FROM losses"
		return 1
	}
	count launches "$1" >launches.txt && count executions "$1" >executions.txt &&
		lost launches "$1" >lost_launches.txt && lost executions "$1" >lost_executions.txt &&
		"$aiflame" query --format csv "$1" "SELECT pid FROM losses JOIN processes ON id = process WHERE name = 'HANDSHAKE_FAILED'" |
		tail -n +2 | tr -d '\r' >unmet.txt &&
		awk -v last="${3:-0}" 'FILENAME == "unmet.txt" { unmet[$1]; missed++; next }
			FILENAME == "launches.txt" || FILENAME == "lost_launches.txt" { l[$1] += $2 }
			FILENAME == "executions.txt" || FILENAME == "lost_executions.txt" { e[$1] += $2 }
			FILENAME == "lost_launches.txt" { without[$1] = $2; all += $2 }
			FILENAME ~ /^(lost_)?(launches|executions).txt$/ || $1 == "recorder" { next }
			{ ways[$1] = ways[$1] " " $2; begun[$1] += $3; done[$1] += $4; n++ } # the OS gives a process id again
			END {
				for (p in ways) {
					e[p] += without[p] # a launch that is not written down has no execution
					if (p in unmet && last)
						done[p] -= last
					if ((last || !(p in unmet)) && (l[p] < done[p] || l[p] > begun[p] || e[p] < done[p] || e[p] > begun[p])) {
						bad++
						print p ways[p], begun[p], done[p], "recorded", l[p] + 0, e[p] + 0
					}
				}
				print n, "targets,", all + 0, "launches lost,", missed + 0, "stopped waiting"
				exit bad || !n || (missed > n / 4 && !last)
			}' unmet.txt launches.txt executions.txt lost_launches.txt lost_executions.txt "$2"
}
# drive NAME JOBS WAY:N...: into NAME.data and NAME.report
drive() {
	name=$1
	shift
	timeout -k 5 400 "$aiflame" record -q --all-launches -o "$name.data" "$app" drive "$name.report" "$@"
}
# nothing_left: of processes, sockets, directories
nothing_left() {
	[ -z "$(ls -A tmp)" ] || { ls -lR tmp; return 1; }
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/exe" 2>/dev/null)" != "$app" ] || { cat "$p/status"; return 1; }
	done
}

targets=${TARGETS:-250}
check "$targets targets each end by exit in a thread, _exit, SIGTERM, exec and -9 as they do unrecorded" \
	drive many 8 exit_thread:$targets _exit_thread:$targets sigterm:$targets exec:$targets sigkill:$targets
check "many ended targets: every launch is recorded, or counted as dropped by a full ring" conserved many.data many.report
check "many ended targets: the numbers add up" says "everything adds up" "$aiflame" info many.data
check "the recorder holds no descriptor or memory of ended targets" sh -c "
	awk '\$1 == \"recorder\" { print; seen = \$2 < 40 && \$3 == 0 } END { exit !seen }' many.report"
check "many ended targets leave no process, socket or directory" nothing_left

check "20 targets each end by return, exit, quick_exit, abort, SIGSEGV and pthread_exit as they do unrecorded" drive others 8 return:20 exit:20 _exit:20 quick_exit:20 abort:20 segv:20 \
	handled:20 pthread_exit:20
check "targets that end in eight other ways: every launch is recorded, or counted as dropped by a full ring" conserved others.data others.report
check "functions of targets that lived for milliseconds have names" sh -c "
	'$aiflame' query others.data \"SELECT function FROM frames\" | grep -qw launch_for_ever"

# gone_on PID WAY: the target has done it
gone_on() {
	case $2 in
	exec) grep -qa after-exec "/proc/${1% }/cmdline" || ended "${1% }" ;; # it waits for the recorder a second
	*) ended "${1% }" ;;
	esac
}
# stopped WAY STATUS [N]: the target ends while its recorder does not look; what it is then launches N times
stopped() {
	after=${3:-}
	rm -f s.*
	"$aiflame" record -q --all-launches -o s.data "$app" one s.report "$1" stop &
	recorder=$!
	# Stopped by the target, which ends then, or is another program.
	wait_until grep -q '^State:.*T' "/proc/$recorder/status" || return
	wait_until gone_on "$(cat "/proc/$recorder/task/$recorder/children")" "$1" || return
	kill -CONT $recorder
	wait $recorder
	got=$?
	[ $got -eq "$2" ] || { echo "status $got"; return 1; }
	"$app" counts s.report 1 && sed -i "s/ [a-z_]* / $1 /" s.report && conserved s.data s.report $after
}
check "a target that exits while the recorder is stopped has every launch in the profile" stopped exit 42
check "a target that is killed while the recorder is stopped has every launch in the profile" stopped sigkill 137
check "a target that calls exec while the recorder is stopped has every launch in the profile" stopped exec 47 300

# Twenty targets lose their recorder: they run on, their helpers fall silent, the profile has all that
# was older than a second.
"$aiflame" record -q --all-launches -o h.data "$app" hold h.report 20 2>/dev/null >hold.out &
recorder=$!
wait $recorder 2>/dev/null
check "a recorder of twenty targets is killed by -9" test $? -eq 137
wait_until grep -q '^bad' h.report
check "a recorder's death leaves its targets undisturbed" grep -qx 'bad 0' h.report
check "a recorder's death leaves its targets' helper threads next to nothing to do" awk '$1 != "bad" && $4 > 20e6 { print; bad = 1 } END { exit bad }' h.report
older() {
	count launches h.data >launches.txt &&
		awk 'NR == FNR { l[$1] = $2; next }
			$1 != "bad" && (l[$1] < $2 || l[$1] > $3) { bad++; print $0, "recorded", l[$1] + 0 }
			$1 != "bad" { n++ }
			END { exit bad || n != 20 }' launches.txt h.report
}
check "the profile of a killed recorder has all launches that were older than a second" older
rm -rf tmp/*

# The same with a real runtime: its threads, its exit handlers.
hard=$build/tests/e2e/agent_hard
if [ -x "$hard" ] && "$hard" chdir 2>/dev/null; then
	# opencl CASE STATUS LAUNCHES
	opencl() {
		timeout -k 5 60 "$aiflame" record -q --all-launches -o o.data "$hard" "$1"
		got=$?
		[ $got -eq "$2" ] && "$aiflame" info o.data >o.info && grep -q "everything adds up" o.info &&
			[ "$("$aiflame" query --format csv o.data 'SELECT count(*) FROM launches' | tail -1)" = "$3" ] ||
			{ echo "status $got"; cat o.info; return 1; }
	}
	check "OpenCL: a target that calls exit in a thread has every launch in the profile" opencl exit_thread 0 16
	check "OpenCL: a target that calls _exit in a thread has every launch in the profile" opencl _exit_thread 0 16
	check "OpenCL: a target that SIGTERM ends has every launch in the profile" opencl sigterm 143 8
	check "OpenCL: a target that is killed by -9 has every launch in the profile" opencl sigkill 137 8
	check "OpenCL: a target that calls exec has every launch in the profile" opencl exec 0 24
	check "OpenCL: ended targets leave no process, socket or directory" nothing_left
else
	n=$((n + 1))
	echo "ok $n - OpenCL targets # SKIP no OpenCL device: install pocl-opencl-icd ocl-icd-libopencl1"
fi
done_testing
