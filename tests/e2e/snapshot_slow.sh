#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --snapshot-slow: a profile of each step that takes longer than others, while the recording goes on.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/program_app
if [ ! -x "$app" ]; then
	echo "1..0 # SKIP no OpenCL to build with"
	exit 0
fi
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
sql() { "$aiflame" query --format csv "$1" "$2" | tail -n +2; }
# is WANTED FILE SQL
is() { got=$(sql "$2" "$3"); [ "$got" = "$1" ] || { echo "got $got instead of $1"; return 1; }; }
# start OPTION...: 60 steps of 1 ms or, on a busy machine, more; step 40 takes longer than all before it, 0.2 s at least
start() {
	rm -f in out
	mkfifo in out
	env --default-signal=INT "$aiflame" record --all-launches --cpu-rate 0 "$@" -- "$app" slow 60 40 >out <in 2>says.out &
	recorder=$!
	exec 5<out 7>in
	timeout 120 head -n 1 <&5 >launched.out
}
finish() {
	exec 7>&- 5<&-
	wait_until ended "$recorder" && wait "$recorder"
}
steps_of() { # steps_of FILE [OPTION...]: those that views of it show
	"$aiflame" report --steps --format json "$@" | python3 -c 'import json, sys
print(*[r["step"] for r in json.load(sys.stdin)["rows"]])'
}
# The first step that is slow by the recording of all: on a busy machine another one may be, too.
first_slow="SELECT name FROM ops WHERE kind = 'step' AND dur_ns > 100000000 ORDER BY start_ns LIMIT 1"

# ---- by a time ----
start -o r.data --keep 60s --snapshot-slow 100ms --on-cycle 'echo "$AIFLAME_CYCLE $1" >>ran'
check "record --snapshot-slow writes the profile of a slow step while the recording goes on" wait_until test -s r.slow1.data
check "a recording with a slow step ends as its command does" finish
slow=$(sql r.data "$first_slow")
check "the planted step is slow by the recording of all" is 1 r.data "SELECT count(*) FROM ops WHERE name = 'step#40' AND dur_ns > 100000000"
shows_it() { got=$(steps_of r.slow1.data); [ "$got" = "$slow" ] || { echo "shows '$got' instead of '$slow'"; cat says.out; return 1; }; }
check "views of a slow step's profile show that step alone" shows_it
check "a slow step's profile has steps before the slow one" is 1 r.slow1.data \
	"SELECT count(*) > 1 FROM ops WHERE kind = 'step' AND start_ns <= (SELECT start_ns FROM ops WHERE name = '$slow')"
check "record --snapshot-slow says which step was slow" grep -q "^aiflame: $slow of process [0-9]* took " says.out
check "record --snapshot-slow names the command to look at" grep -q "; next: aiflame why r.slow1.data$" says.out
check "record --snapshot-slow says at the end how many were slow" grep -q "^aiflame: [0-9]* of 60 steps w.* slow; [0-9]* profiles*: r.slow1.data" says.out
check "info says of which slow step a profile is" says "slow step ${slow#step#}, " "$aiflame" info r.slow1.data
check "a slow step's profile adds up" says "everything adds up" "$aiflame" info r.slow1.data
check "why reads a slow step's profile" "$aiflame" why r.slow1.data
check "a picture says of which slow step it is" sh -c '"$1" flame -o s.svg r.slow1.data && grep -q "only slow step ${2#step#}" s.svg' - "$aiflame" "$slow"
check "--on-cycle runs its command for a slow step" test "$(head -n 1 ran)" = "1 r.slow1.data"

# ---- by what is usual ----
start -o f.data --snapshot-slow 1.5x
check "--snapshot-slow 1.5x: a recording ends as its command does" finish
check "--snapshot-slow 1.5x writes a profile of a step that took longer than the median" is 1 f.data \
	"SELECT dur_ns > 1.3 * (SELECT dur_ns FROM ops WHERE kind = 'step' ORDER BY dur_ns LIMIT 1 OFFSET 10) FROM ops WHERE name = '$(steps_of f.slow1.data)'"
start -q -o q.data --snapshot-slow p99
finish
check "--snapshot-slow p99 finds none in fewer steps than it takes to know them" test ! -e q.slow1.data
check "record -q --snapshot-slow prints nothing" test ! -s says.out

# ---- Ctrl-C behind a slow step ----
start -o c.data --snapshot-slow 100ms --slow-range '^decode$'
kill -INT "$recorder"
finish
check "a recording that Ctrl-C ends behind a slow step has all launches" is "$(cut -d' ' -f2 launched.out)" c.data "SELECT count(*) FROM launches"
check "Ctrl-C loses no slow step's profile" test -s c.slow1.data
check "--slow-range: the step is the range that is named" grep -q "^aiflame: decode of process [0-9]* took " says.out
check "a recording that Ctrl-C ends leaves its profile and those of slow steps" sh -c "! ls c.* | grep -vx 'c\.\(slow[0-9]*\.\)*data'"

# ---- nothing to judge ----
check "--snapshot-slow of a program without steps says what to do" says "no step is marked; name a range with --slow-range" \
	"$aiflame" record --snapshot-slow p99 -o n.data "$app" window
check "--slow-range without such a range is said" says "no step has a name that --slow-range matches" \
	"$aiflame" record --snapshot-slow p99 --slow-range encode -o n.data "$app" window
for wrong in p98 1x 0.5x x 2xx -3x nanx 0 ''; do
	check "record refuses --snapshot-slow '$wrong'" status_is 2 "$aiflame" record "--snapshot-slow=$wrong" -o x.data true
done
check "record refuses --slow-range without --snapshot-slow" status_is 2 "$aiflame" record --slow-range decode -o x.data true
check "record refuses --snapshot-slow beside --schedule" status_is 2 "$aiflame" record --snapshot-slow p99 --schedule 1:1:1 -o x.data true
done_testing
