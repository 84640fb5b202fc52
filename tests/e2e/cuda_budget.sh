#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The overhead budget on a mock of CUDA whose callbacks and records cost what they are told to: what is switched off, when,
# and what the estimates are worth then.
. "$(dirname "$0")/tap.sh"
. "$root/tests/e2e/cuda_mock.sh"

# ---- the budget ----
how='--overhead 2'
off_and_on() { # off, and records of executions after that
	awk '/ sampling off result=0/ { off = 1 } off && / activity kind=[0-9]* on=1 / { ok = 1 } END { exit !ok }' beside.log
}
beside() {
	begin beside callback=400,record=2000 -t 4 $until_done -g 0
	wait_until off_and_on
	ok=$?
	finish && [ $ok -eq 0 ]
}
check "sampling is switched off beside four threads that launch all the time" beside
check "sampling that is switched off beside four threads: the numbers add up" adds_up beside
check "sampling that is switched off beside four threads: CUPTI is switched in order" order beside
# ---- how much CUPTI is asked ----
# never_off NAME: records go off once, at the end. An agent whose recorder gets no CPU for two seconds stops until it does:
# each such time is in the profile as one in which nothing was collected.
never_off() {
	silences=$(ask "$1" 'SELECT count(*) FROM windows WHERE device IS NULL AND thread IS NULL')
	awk -v silences="$silences" '/ activity kind=10 on=0 / { off++ } / activity kind=10 on=1 / { on++; if (off) again++ }
		END { exit !(on == 1 + again && again + 0 <= silences) }' "$1.log" || { cat "$1.log"; echo "$silences silences of the recorder"; return 1; }
}
switched() { [ "$(grep -c " activity kind=10 on=$1 " silent.log)" -ge "$2" ]; }
silent() {
	begin_alone silent "$dearly,version=130100" $until_done -b 20000 -g 0
	wait_until switched 1 1 && kill -STOP $recording && wait_until switched 0 1
	ok=$?
	kill -CONT $recording
	wait_until switched 1 2 || ok=1
	finish && [ $ok -eq 0 ] && never_off silent
}
use() { is "$2" "$1" "SELECT value FROM meta WHERE key = 'cupti.use'"; }
dearly="callback=400,record=2000"
in_blocks() { is 1 unknown "SELECT count(*) < $(truth launches unknown) AND count(*) > 100 FROM launches"; }
# Where others slow down the launches without capture, capture seems to cost nothing, and all are captured: one of three must know.
unknown() {
	for _ in 1 2 3; do
		rec unknown "$dearly,version=130100" -n 100000 -b 20000 -g 0 || return
		in_blocks && return
	done
	return 0
}
check "a libcupti of which nothing is known: a program is recorded with --overhead 2" unknown
check "a libcupti of which nothing is known: records are on throughout" never_off unknown
check "a libcupti of which nothing is known: samples are on throughout" throughout unknown
check "a libcupti of which nothing is known: records go off and on while the recorder is stopped, which the profile has" silent
check "a libcupti of which nothing is known: stacks are taken in blocks" in_blocks
check "a libcupti of which a fault is known is named with it" says "cupti    13.1 is known for graph launches without their kernels once records are switched on again" "$aiflame" report unknown.data
doctor() { LD_LIBRARY_PATH=$mock MOCK_CUPTI=version=$1 "$aiflame" doctor; }
check "doctor names the faults that are known of a libcupti" says "13.3 Update 99 is known for CPU use that grows in long recordings, kernels under the names of a module that was unloaded, fixed in CUPTI 13.4 Update 1: $mock/libcupti.so.13" doctor 130399
check "doctor names no fault of a libcupti of which none is known" status_is 1 sh -c "LD_LIBRARY_PATH=$mock MOCK_CUPTI=version=130401 '$aiflame' doctor | grep 'CUPTI faults'"
check "a libcupti of which a fault is known: why it is asked for less" is 1 unknown "SELECT count(*) FROM losses WHERE reason = 1215 AND detail LIKE '%graph launches without their kernels%fixed in CUPTI 13.1 Update 1%'"
check "a libcupti of which nothing is known: the profile says so, with what switches all the same" is 1 unknown "SELECT count(*) FROM losses WHERE reason = 1215 AND detail LIKE '%--cupti blocks%'"
check "a libcupti of which nothing is known: the profile says what was asked of it" use unknown throughout
check "a libcupti of which nothing is known: the numbers add up" adds_up unknown
check "a libcupti of which nothing is known: CUPTI is switched in order" order unknown
how='--overhead 2 --cupti records'
check "a program is recorded with --cupti records" rec records "$dearly" -n 100000 -b 20000 -g 0
check "record --cupti records: records are on throughout" never_off records
check "record --cupti records: no instruction is sampled" none records
check "record --cupti records: the numbers add up" adds_up records
how='--overhead 2 --cupti launches'
check "a program is recorded with --cupti launches" rec launches "$dearly" -t 2 -n 2000
check "record --cupti launches: CUPTI makes no records" sh -c '! grep -E " activity .* on=1| sampling on" launches.log'
check "record --cupti launches: the launches are there" is 1 launches "SELECT count(*) > 1000 FROM launches"
check "record --cupti launches: the summary says why there are no times" says 'cupti launches' "$aiflame" report launches.data
how='--overhead 2'
mkdir -p "$XDG_STATE_HOME/aiflame"
chmod 700 "$XDG_STATE_HOME/aiflame"
readelf -n "$mock/libcupti.so.13" | sed -n 's/.*Build ID: \([0-9a-f]*\)$/\1 blocks 2026-01-01 SIGSEGV python3 x.py/p' >"$XDG_STATE_HOME/aiflame/cupti-crashes"
chmod 600 "$XDG_STATE_HOME/aiflame/cupti-crashes"
check "a recording after one that ended in this libcupti" rec after "$dearly" -n 100000 -b 20000 -g 0
check "a libcupti in which a recording ended is asked less" use after throughout
check "a libcupti in which a recording ended: the profile says so" once 1216 after
check "a libcupti in which a recording ended: records are on throughout" never_off after
sed -i 's/ blocks / throughout /' "$XDG_STATE_HOME/aiflame/cupti-crashes"
check "a recording after two that ended in this libcupti" rec after2 "$dearly" -n 100000 -b 20000 -g 0
check "a libcupti in which two recordings ended is asked still less" use after2 records
rm "$XDG_STATE_HOME/aiflame/cupti-crashes"
sharing() { # a process that has the unit, and one that comes later
	rm -f done
	MOCK_LOG=$work/sharing.log MOCK_CUPTI='' $by "$aiflame" record -q --all-launches -o sharing.data sh -c '"$1" -t 2 -f "$2" "$3" & while ! grep -q "sampling on" sharing.log; do sleep 0.1; done; "$1" -n 500 "$3"; : >"$2"; wait' - "$mock/app" "$work/done" "$cubin"
}
check "two processes that share a GPU" sharing
check "two processes that share a GPU: one of them is sampled" is 1 sharing 'SELECT count(DISTINCT process) FROM samples'
check "two processes that share a GPU: CUPTI is not asked to sample the other" test "$(grep -c 'sampling on' sharing.log)" = 1
check "two processes that share a GPU: the profile says so" once 1306 sharing
check "two processes that share a GPU: the executions of both are there" is 2 sharing 'SELECT count(DISTINCT process) FROM executions'
check "two processes that share a GPU: the numbers add up" adds_up sharing

# ---- ranks that wait for each other ----
# alternated N NAME: sampling was switched off and, later, on again, each N times
alternated() { [ -s "$2.log" ] && [ "$(grep -c ' sampling off result=0' "$2.log")" -ge "$1" ] && [ "$(awk '/ sampling off result=0/ { off = 1 } off && / sampling on result=0/' "$2.log" | wc -l)" -ge "$1" ]; }
# gone_on NAME: with nobody who waits for a launch that is held, and to the end
gone_on() {
	wait_until alternated 2 "$1"
	ok=$?
	finish && [ $ok -eq 0 ] && ! grep 'waits for a launch' "$1.log" || { grep -E 'sampling o|disabling' "$1.log"; return 1; }
}
devices() {
	begin devices callback=400,record=2000 -d 2 -r 2 $until_done -g 0 && wait_until alternated 2 devices && "$aiflame" ctl stop devices && wait_until off devices
	ok=$?
	gone_on devices && [ $ok -eq 0 ]
}
check "kernels of two devices that wait for each other: sampling is switched, the program goes on" devices
check "kernels of two devices that wait for each other: the numbers add up" adds_up devices
check "kernels of two devices that wait for each other: CUPTI is switched in order" order devices
cat >pair.sh <<'END'
last=$1
shift
CUDA_VISIBLE_DEVICES=0 "$@" -r 0 "$last" &
CUDA_VISIBLE_DEVICES=1 "$@" -r 1 "$last"
wait
END
pair() {
	rm -f done
	MOCK_SUMS=$work/sums MOCK_LOG=$work/pair.log MOCK_CUPTI=callback=400,record=2000 $by "$aiflame" record -q $how -o pair.data \
		sh pair.sh "$cubin" "$mock/app" $until_done -g 0 >pair.out &
	recording=$!
	gone_on pair
}
check "kernels of two processes that wait for each other: sampling is switched, the programs go on" pair
check "kernels of two processes that wait for each other: both are sampled" is 2 pair 'SELECT count(DISTINCT process) FROM samples'
check "kernels of two processes that wait for each other: the numbers add up" adds_up pair
check "kernels of two processes that wait for each other: CUPTI is switched in order" order pair
# What launches cost is an estimate, from blocks that are compared with their neighbours: where a machine's others slow those
# without capture down, capture seems to cost nothing. One recording in three must know.
cheap() { # what callbacks cost is the floor; the records' cost is what was asked at most, the first second included
	first=$(head -n 1 budget.log | cut -d' ' -f1)
	sed -n 's/^\([0-9]*\) .* over .*records=\([0-9]*\) callback_kinds.*/\1 \2/p' budget.log |
		awk -v first="$first" '{ p = 100 * $2 * 2000 / ($1 - first); print $2, "records,", p, "% of the time"; exit !(p <= 2.2 && $2 > 0) }'
}
budget() {
	for _ in 1 2 3; do
		rec budget callback=400,record=2000 -n 500000 -b 20000 -g 0 || return 1
		cheap >>tries.out && break
	done
	cat tries.out
}
check "launches that are many and dear are recorded with --overhead 2" budget
estimated() {
	ask budget "SELECT abs(sum(launches) / $(truth launches budget).0 - 1) < 0.03, abs(sum(weight_ns) / $(truth kernel_ns budget).0 - 1) < 0.03,
		sum(launches) / $(truth launches budget).0, sum(weight_ns) / $(truth kernel_ns budget).0 FROM attributed" >e.out
	cat e.out
	grep -q '^1,1,' e.out
}
check "many and dear launches: launches and time are estimated within 3 %" estimated
# On a machine whose CPUs others use launches are few, or seem to cost nothing: 500,000 take 11 s.
few=$(sed -n '1s/^\([0-9]*\) .*/\1/p; s/^\([0-9]*\) .* over .*/\1/p' budget.log | awk 'NR == 1 { a = $1 } END { print ($1 - a > 15000000000) }')
# dear WHAT COMMAND...: where they are many
dear() {
	if [ "$few" = 1 ]; then
		skip "$1" "this machine is busy with something else"
	else
		check "$@"
	fi
}
dear "many and dear launches: records cost no more than --overhead" cheap
dear "many and dear launches: samples are taken while nothing is recorded" sh -c 'grep -q "sampling on result=0 .*record_kinds=0" budget.log'
check "many and dear launches: the numbers add up" adds_up budget
check "many and dear launches: CUPTI is switched in order" order budget
done_testing
