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
	soon 45 off_and_on
	ok=$?
	finish && [ $ok -eq 0 ]
}
check "sampling is switched off beside four threads that launch all the time" beside
check "  it adds up" adds_up beside
check "  in order" order beside
# ---- how much CUPTI is asked ----
never_off() { # records go off once, at the end
	awk '/ activity kind=10 on=0 / { off++ } / activity kind=10 on=1 / { on++; if (off) bad = 1 } END { exit bad || on != 1 }' "$1.log" || { cat "$1.log"; return 1; }
}
use() { is "$2" "$1" "SELECT value FROM meta WHERE key = 'cupti.use'"; }
dearly="callback=400,record=2000"
check "a libcupti of which nothing is known, --overhead 2" rec unknown "$dearly,version=130100" -n 100000 -b 20000 -g 0
check "  its records are on throughout" never_off unknown
check "  so are samples" throughout unknown
check "  stacks are taken in blocks" is 1 unknown "SELECT count(*) < $(truth launches unknown) AND count(*) > 100 FROM launches"
check "  it is said, with what switches all the same" is 1 unknown "SELECT count(*) FROM losses WHERE reason = 1215 AND detail LIKE '%--cupti blocks%'"
check "  and what was asked" use unknown throughout
check "  it adds up" adds_up unknown
check "  in order" order unknown
how='--overhead 2 --cupti records'
check "--cupti records" rec records "$dearly" -n 100000 -b 20000 -g 0
check "  on throughout" never_off records
check "  without samples" none records
check "  it adds up" adds_up records
how='--overhead 2 --cupti launches'
check "--cupti launches" rec launches "$dearly" -t 2 -n 2000
check "  CUPTI makes no records" sh -c '! grep -E " activity .* on=1| sampling on" launches.log'
check "  the launches are there" is 1 launches "SELECT count(*) > 1000 FROM launches"
check "  the summary says why there are no times" says 'cupti launches' "$aiflame" report launches.data
how='--overhead 2'
mkdir -p "$XDG_STATE_HOME/aiflame"
chmod 700 "$XDG_STATE_HOME/aiflame"
readelf -n "$mock/libcupti.so.13" | sed -n 's/.*Build ID: \([0-9a-f]*\)$/\1 blocks 2026-01-01 SIGSEGV python3 x.py/p' >"$XDG_STATE_HOME/aiflame/cupti-crashes"
chmod 600 "$XDG_STATE_HOME/aiflame/cupti-crashes"
check "after a recording that ended in this libcupti" rec after "$dearly" -n 100000 -b 20000 -g 0
check "  less is asked of it" use after throughout
check "  it is said" once 1216 after
check "  records are on throughout" never_off after
sed -i 's/ blocks / throughout /' "$XDG_STATE_HOME/aiflame/cupti-crashes"
check "after another" rec after2 "$dearly" -n 100000 -b 20000 -g 0
check "  less still" use after2 records
rm "$XDG_STATE_HOME/aiflame/cupti-crashes"
sharing() { # a process that has the unit, and one that comes later
	rm -f done
	MOCK_LOG=$work/sharing.log MOCK_CUPTI='' $by "$aiflame" record -q --all-launches -o sharing.data sh -c '"$1" -t 2 -f "$2" "$3" & while ! grep -q "sampling on" sharing.log; do sleep 0.1; done; "$1" -n 500 "$3"; : >"$2"; wait' - "$mock/app" "$work/done" "$cubin"
}
check "two processes that share a GPU" sharing
check "  one of them is sampled" is 1 sharing 'SELECT count(DISTINCT process) FROM samples'
check "  CUPTI is not asked for the other" test "$(grep -c 'sampling on' sharing.log)" = 1
check "  it is said" once 1306 sharing
check "  the launches of both are there" is 2 sharing 'SELECT count(DISTINCT process) FROM executions'
check "  it adds up" adds_up sharing

# ---- ranks that wait for each other ----
# switched N NAME: sampling was switched off and, later, on again, each N times
switched() { [ -s "$2.log" ] && [ "$(grep -c ' sampling off result=0' "$2.log")" -ge "$1" ] && [ "$(awk '/ sampling off result=0/ { off = 1 } off && / sampling on result=0/' "$2.log" | wc -l)" -ge "$1" ]; }
# gone_on NAME: with nobody who waits for a launch that is held, and to the end
gone_on() {
	soon 45 switched 2 "$1"
	ok=$?
	finish && [ $ok -eq 0 ] && ! grep 'waits for a launch' "$1.log" || { grep -E 'sampling o|disabling' "$1.log"; return 1; }
}
devices() {
	begin devices callback=400,record=2000 -d 2 -r 2 $until_done -g 0 && soon 45 switched 2 devices && "$aiflame" ctl stop devices && soon 9 off devices
	ok=$?
	gone_on devices && [ $ok -eq 0 ]
}
check "kernels of two devices that wait for each other: sampling is switched, the program goes on" devices
check "  it adds up" adds_up devices
check "  in order" order devices
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
check "two processes, whose kernels wait for each other's, the same" pair
check "  both were sampled" is 2 pair 'SELECT count(DISTINCT process) FROM samples'
check "  it adds up" adds_up pair
check "  in order" order pair
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
check "where launches are many and dear, --overhead 2" budget
estimated() {
	ask budget "SELECT abs(sum(launches) / $(truth launches budget).0 - 1) < 0.03, abs(sum(weight_ns) / $(truth kernel_ns budget).0 - 1) < 0.03,
		sum(launches) / $(truth launches budget).0, sum(weight_ns) / $(truth kernel_ns budget).0 FROM attributed" >e.out
	cat e.out
	grep -q '^1,1,' e.out
}
check "  estimates launches and time within 3 %" estimated
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
dear "  costs no more than that, but for callbacks" cheap
dear "  has samples, taken while nothing is recorded" sh -c 'grep -q "sampling on result=0 .*record_kinds=0" budget.log'
check "  it adds up" adds_up budget
check "  in order" order budget
done_testing
