#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aiflame ctl snapshot: a profile of what was recorded so far, while the recording goes on.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/attach_app
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD OPENCL_LAYERS

# start OPTION...: the target under a recorder, r.data; told by `tell`
start() {
	rm -f in out
	mkfifo in out
	env --default-signal=INT "$aiflame" record -q --all-launches --cpu-rate 0 --runtime fake -o r.data "$@" \
		-- "$app" >out <in 2>app.err &
	recorder=$!
	exec 5<out 7>in
}
tell() {
	echo "$1" >&7
	timeout 120 head -n 1 <&5 | cut -d' ' -f2
}
finish() {
	echo quit >&7
	exec 7>&- 5<&-
	wait_until ended "$recorder" && wait "$recorder"
}
ask() { "$aiflame" query --format csv "$1" "$2" | tail -n 1; }
launches() { ask "$1" "SELECT count(*) FROM launches"; }
snapshot() { "$aiflame" ctl snapshot "$@"; }

start
first=$(tell "launch 1000")
check "ctl snapshot writes a profile while the recording goes on" snapshot r.data -o one.data
check "a snapshot has all launches until then" test "$(launches one.data)" = "$first"
check "a snapshot has all executions until then" test "$(ask one.data 'SELECT count(*) FROM executions')" = "$first"
check "a snapshot has the names of its stacks" sh -c '"$1" flame -o - --format folded one.data | grep -q "launch;aif_fake_launch;"' sh "$aiflame"
check "a snapshot is no profile that was cut short" sh -c '"$1" info one.data >one.txt && ! grep -qi "cut short" one.txt' sh "$aiflame"
check "a snapshot leaves nothing beside the recording" sh -c '! ls r.data.snapshot* >/dev/null 2>&1'
second=$(tell "launch 1000")
named=$(snapshot)
check "ctl snapshot prints the name that it has chosen: the recording's, with date and time" \
	sh -c 'echo "$1" | grep -Eq "^r-[0-9]{8}-[0-9]{6}\.data$"' sh "$named"
check "ctl snapshot writes also what was launched since another snapshot" test "$(launches "$named")" = "$second"
check "ctl snapshot keeps a profile that it replaces as FILE.old" sh -c '"$1" ctl snapshot -o one.data && test -s one.data.old' sh "$aiflame"
echo text >text.data
check "ctl snapshot overwrites no file that is no profile" status_is 1 snapshot -o text.data
check "a file that ctl snapshot has refused is as it was" test "$(cat text.data)" = text
check "ctl snapshot over the file that is being recorded is refused" says "is recording into it" snapshot -o r.data
check "ctl pause with -o is refused" status_is 2 "$aiflame" ctl pause -o x.data
# Under load; three ask at a time.
tell storm >/dev/null
for i in 1 2 3; do
	snapshot -o "storm$i.data" >"storm$i.txt" 2>&1 &
	eval "asked$i=$!"
done
all_made() { wait "$asked1" && wait "$asked2" && wait "$asked3" || { cat storm?.txt; return 1; }; }
check "three snapshots at a time are made while threads launch" all_made
check "snapshots that were made while threads launched are whole" \
	sh -c 'for i in 1 2 3; do "$1" report "storm$i.data" >/dev/null && "$1" info "storm$i.data" | grep -q launches || { cat storm$i.txt; exit 1; }; done' sh "$aiflame"
tell calm >/dev/null
check "the recording ends as its command does after snapshots" finish
# Rings may overflow in a storm on a busy machine: not all that was launched is there, but all that a snapshot had.
has_more() { for i in 1 2 3; do [ "$(launches r.data)" -ge "$(launches storm$i.data)" ] && [ "$(launches storm$i.data)" -ge "$second" ] || return 1; done; }
check "a recording has all that its snapshots had" has_more
check "ctl snapshot without a recording says that none is running" says "no recording is running" snapshot

# Ctrl-C right behind a request: the recording has all, and the snapshot is whole or not there.
start
third=$(tell "launch 1000")
snapshot -o late.data >late.txt 2>&1 &
asked=$!
kill -INT "$recorder"
echo quit >&7
exec 7>&- 5<&-
wait "$asked"
code=$?
wait_until ended "$recorder"
check "a recording that Ctrl-C ends during a snapshot has all launches" test "$(launches r.data)" = "$third"
whole_or_none() { if [ "$code" = 0 ]; then [ "$(launches late.data)" = "$third" ]; else [ ! -e late.data ] && [ -s late.txt ]; fi; }
check "a snapshot during which the recording ends is whole, or there is none and a sentence" whole_or_none
check "a recording that Ctrl-C ends during a snapshot leaves no part of it" sh -c '! ls r.data.snapshot* >/dev/null 2>&1'

# --keep: what is older is not in it.
start --keep 1s
old=$(tell "launch 1000")
trimmed() { snapshot -o kept.data >/dev/null && [ "$(launches kept.data)" -lt "$old" ]; }
check "a snapshot of record --keep lacks what is older" wait_until trimmed
# Again where this took longer than is kept.
has_new() { tell "launch 10" >/dev/null && snapshot -o kept.data >/dev/null && [ "$(launches kept.data)" -ge 10 ]; }
check "a snapshot of record --keep has what is new" wait_until has_new
finish
done_testing
