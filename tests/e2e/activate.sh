#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --activate: recordings of many hosts begin at the same instant of the wall clock.
. "$(dirname "$0")/tap.sh"
export XDG_RUNTIME_DIR="$work" # the recordings of this test are no other's
cat >busy.py <<'END'
import sys
print("ready", flush=True)
while sys.argv[1] not in open("stop").read():
    pass
END
: >stop
sql() { "$aiflame" query --format csv "$1" "$2" | tail -n +2; }
meta() { "$aiflame" query --format csv "$1" "SELECT value FROM meta WHERE key = '$2'" | tail -n 1; }
record() { "$aiflame" record --cpu "$@"; }

# from_instant FILE SECONDS: what was sampled begins there, and not before; samples stand at the end of their time
from_instant() {
	[ "$(sql "$1" "SELECT count(*) > 0 AND (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'start_realtime_ns') + min(time_ns) >= $2 * 1000000000 FROM cpu_samples")" = 1 ] || { sql "$1" "SELECT count(*), min(time_ns) FROM cpu_samples"; "$aiflame" info "$1" | grep real; return 1; }
}
has_samples() { "$aiflame" ctl sync "$1.data" >/dev/null && cp "$1.data" "$1-so-far.data" && [ "$(sql "$1-so-far.data" "SELECT count(*) > 0 FROM cpu_samples")" = 1 ]; }
end() { echo "$1" >>stop; }

# Two recorders, of which the second is started later.
at=$(($(date +%s) + 10)) # a busy machine may take seconds to start both
record -o a.data --activate @$at python3 busy.py one >a.out 2>&1 &
first=$!
wait_until grep -q ready a.out
record -o b.data --activate @$at python3 busy.py one >b.out 2>&1 &
second=$!
check "two recordings that are activated at one instant collect" wait_until eval 'has_samples a && has_samples b'
end one
wait $first
check "a recording that was activated ends as its command does" test $? = 0
wait $second
check "the profile has the instant" sh -c '"$1" info a.data | grep -q "activated .*UTC, [0-9.]* ms late (--activate @$2)"' - "$aiflame" "$at"
instant() { meta "$1" activated | tr -d '"' | cut -d, -f1; }
check "the other profile has the same instant" test "$(instant a.data)" = "$(instant b.data)"
check "nothing was collected before the instant" from_instant a.data "$at"
check "nothing was collected before the instant by the other" from_instant b.data "$at"
check "the message says when collecting begins" grep -qE "aiflame: collecting begins at 20[0-9-]+ [0-9:]+\.000, in [0-9.]+ s" a.out

# A multiple.
record -o m.data --activate /2s python3 busy.py two >m.out 2>&1 &
first=$!
check "a recording that is activated at a multiple collects" wait_until has_samples m
end two
wait $first
check "the instant is a multiple of the wall clock's" sh -c 'test $(($(date -u -d "$1 UTC" +%s) % 2)) = 0' - "$(instant m.data | sed 's/ UTC//')"
check "samples begin at the multiple" from_instant m.data "$(date -u -d "$(instant m.data | sed 's/ UTC//') UTC" +%s)"

# A process that runs already.
python3 busy.py three >p.out &
pid=$!
wait_until grep -q ready p.out
record -o p.data --activate /1s -p $pid >p.rec 2>&1 &
first=$!
check "a process that runs already is recorded from the multiple on" wait_until has_samples p
end three
wait $pid
wait $first
check "a process that runs already: the profile has the instant" sh -c 'echo "$1" | grep -q "UTC"' - "$(instant p.data)"

# While it waits.
record -o w.data --activate /24h python3 busy.py four >w.out 2>&1 &
first=$!
wait_until grep -q ready w.out
paused() { "$aiflame" ctl status | grep -q "w.data .* paused "; }
check "ctl status shows a recording that waits as paused" wait_until paused
"$aiflame" ctl start w.data
check "ctl start does not wait for the instant" wait_until has_samples w
end four
wait $first
check "a recording that was started earlier has no instant" test -z "$(sql w.data "SELECT value FROM meta WHERE key = 'activated'")"
record -o c.data --activate /24h sleep 1000 >c.out 2>&1 &
first=$!
wait_until grep -q "collecting begins" c.out
stops() { kill -INT "$("$aiflame" ctl status | awk '$1 == "c.data" { print $2 }')"; }
check "a recording that waits can be interrupted" wait_until stops
"$aiflame" ctl stop c.data >/dev/null 2>&1
wait $first
check "an interrupted recording that waited leaves a profile that adds up" says "adds up" "$aiflame" info c.data

# Again and again.
record -o r.data --activate /1s --duration 300ms --repeat 3 --kill python3 busy.py never >r.out 2>&1
check "multiples are waited for again with --repeat" test "$(grep -c 'collecting begins' r.out)" = 3

for wrong in 10s / /0 /1x 25:00 12 @x; do
	check "--activate $wrong is refused" status_is 2 "$aiflame" record -o x.data --activate "$wrong" true
done
check "--activate of a time that is over is refused" says "@1 is over; give a later time" "$aiflame" record -o x.data --activate @1 true
check "--repeat without --delay and --activate is refused" says "record: --repeat needs --duration, and --delay or --activate" "$aiflame" record --repeat 2 --duration 1 true
done_testing
