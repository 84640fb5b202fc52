# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of CUDA on any machine, on a MOCK of libcuda and libcupti (tests/mock/cuda/mock.h): how to record
# the program, and what a recording of it is asked. That the mock is like the real ones in this is only as true as what
# was measured; tests/gpu/cuda.sh runs on them.
mock=$build/tests/mock/cuda
cubin=$root/tests/golden/cubin/kernels_sm90a.cubin
LD_LIBRARY_PATH=$mock:$build/tests/mock/nvml
AIFLAME_STANDBY=$work/standby
export LD_LIBRARY_PATH AIFLAME_STANDBY
unset CUDA_INJECTION64_PATH AIFLAME_NO_COUNTERS
how=--all-launches
by='timeout -k 5 300'

# rec NAME WORDS OPTIONS...: the program with these options, on a mock that does these WORDS
rec() {
	name=$1 MOCK_CUPTI=$2
	shift 2
	export MOCK_CUPTI MOCK_LOG="$work/$name.log"
	$by "$aiflame" record -q $how --name "$name" -o "$name.data" "$mock/${app:-app}" "$@" "$cubin" >"$name.out"
}
ask() { "$aiflame" query --format csv "$1.data" "$2" | tail -n +2; }
# is WANTED NAME SQL
is() { got=$(ask "$2" "$3"); [ "$got" = "$1" ] || { echo "got $got instead of $1"; return 1; }; }
# truth WORD NAME: what the program says of itself
truth() { sed -n "s/^.*\b$1=\([0-9]*\).*/\1/p" "$2.out" | tail -n 1; }
# reason NUMBER NAME: how often
reason() { n_reason=$(ask "$2" "SELECT sum(count) FROM losses WHERE reason = $1"); echo "${n_reason:-0}"; }

adds_up() {
	"$aiflame" info "$1.data" >info.out && grep -q 'everything adds up' info.out &&
		grep -qE 'started before their launch +0$' info.out || { cat info.out; return 1; }
}
# An execution's time follows from its launch's grid.
right_joins() {
	is 0 "$1" "SELECT count(*) FROM executions JOIN launches l USING (launch)
		WHERE l.kind = 'kernel' AND abs(dur_ns - 5000 - 100 * CAST(l.grid AS INTEGER)) > 90"
}
complete() { # each launch, with its time
	is "$(truth launches "$1"),$(truth launches "$1"),1" "$1" "SELECT count(*), count(dur_ns), abs(sum(dur_ns) - $(truth kernel_ns "$1")) < 0.001 * sum(dur_ns)
		FROM launches l LEFT JOIN executions USING (launch) WHERE l.kind = 'kernel'" && adds_up "$1" && right_joins "$1"
}
sampled() { is 1 "$1" 'SELECT sum(count) > 1000 FROM samples'; }
none() { is 0 "$1" 'SELECT count(*) FROM samples'; }
# once NUMBER NAME: a degradation is told
once() { [ "$(reason "$1" "$2")" -ge 1 ] || { ask "$2" 'SELECT * FROM losses'; return 1; }; }

# ---- the order of calls ----
# Kernel records are never asked for in vain, sampling begins after them if it is beside them, nobody launches
# while it is switched, and the mock saw no call that must not be made.
field() { sed -n "s/.* $1=\([0-9]*\).*/\1/p"; }
order() {
	log=$1.log
	[ -s "$log" ] || return 1
	! grep BAD "$log" && ! grep 'refused=1' "$log" && ! grep 'activity.*sampled=1' "$log" || return 1
	! grep ' sampling .* beside=[1-9]' "$log"
}
throughout() { # records and samples
	grep ' sampling on' "$1.log" >on.out && [ "$(field record_kinds <on.out | sort -n | head -n 1)" -ge 1 ] || { cat "$1.log"; return 1; }
}
# state NAME: callbacks, kinds of records, contexts that are on, by the log
state() {
	awk '{ for (i = 1; i <= NF; i++) if (split($i, p, "=") == 2) v[p[1]] = p[2] }
		/ sampling on result=0/ { on++ } / sampling off result=0/ { on-- }
		END { print v["callback_kinds"] + 0, v["record_kinds"] + 0, on + 0 }' "$1.log"
}
off() { [ "$(state "$1")" = "0 0 0" ] || { state "$1"; tail -n 20 "$1.log"; return 1; }; }
# In a pause callbacks stay on (src/agent/cuda/cuda.c).
paused() { state "$1" >state.out && grep -q '^[0-9]* 0 0$' state.out; }
going() { state "$1" >state.out && grep -q '^2 3 1$' state.out; }
running() { [ -s "$1.log" ] && grep -q 'callback on=1' "$1.log"; }
# begin NAME WORDS OPTIONS...: beside us; with $until_done among the options the program runs until finish()
begin() {
	rm -f done
	rec "$@" &
	recording=$!
	wait_until running "$1"
}
until_done="-f $work/done"
finish() { : >done; wait $recording; }
# begin_alone NAME...: the same, and $recording is the recorder itself
begin_alone() {
	by=exec
	begin "$@"
	by='timeout -k 5 300'
}
