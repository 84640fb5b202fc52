#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CUDA on any machine, on a mock: refusals and faults that a real one does not show on demand, and the order in which the
# agent switches things.
. "$(dirname "$0")/tap.sh"
. "$root/tests/e2e/cuda_mock.sh"

check "4 threads launch and copy" rec plain '' -t 4 -n 3000 -c
check "all is there, and joined" complete plain
check "so are the copies" is "$(truth copies plain)" plain "SELECT count(*) FROM copies WHERE bytes = 65536"
check "registers and shared bytes of each kernel" is '40,1024' plain "SELECT DISTINCT registers, shared_bytes FROM executions JOIN launches USING (launch) WHERE launches.kind = 'kernel'"
check "and how full its blocks of one thread can make a multiprocessor" is '90,0.5' plain "SELECT DISTINCT arch, occupancy FROM executions e JOIN devices d ON d.id = e.device"
in_launches() { # columns are found by their names
	"$aiflame" report --launches --limit 0 --format csv plain.data >launches.csv &&
		python3 -c 'import csv; r = {x["occupancy"] for x in csv.DictReader(open("launches.csv")) if x["kind"] == "kernel"}; assert {float(x) for x in r} == {0.5}, r'
}
check "report --launches has that, too" in_launches
check "with samples of two functions" is 2 plain 'SELECT count(DISTINCT build_id) FROM samples JOIN frames f ON f.id = frame JOIN modules m ON m.id = f.module'
check "waits that nobody hides are told apart" is 1 plain "SELECT abs((SELECT sum(count) FROM samples WHERE reason = 'long_scoreboard_not_issued') * 2.0 / sum(count) - 1) < 0.02 FROM samples WHERE reason = 'long_scoreboard'"
check "and what is sampled has its source line" is 1 plain "SELECT count(*) > 0 FROM frames WHERE kind = 'device' AND line > 0"
next_step() { "$aiflame" $("$aiflame" report plain.data | sed -n 's/.*aiflame \(annotate [^,]*\),.*/\1/p') >listing.out && grep -q '+0x' listing.out; }
check "the first screen names a listing that is there" next_step
check "query has its words in either order" says 4 "$aiflame" query --format csv 'SELECT 2 + 2' plain.data
check "so has annotate" says 'calls(float*' "$aiflame" annotate plain.data calls
check "where neither is a profile it says so" says 'cannot open nowhere.data' "$aiflame" annotate calls nowhere.data
check "where no steps are marked it says so, whether it finds a loop or not" says ' is marked' "$aiflame" report --steps plain.data
check "so with communication" says 'they are those of NCCL' "$aiflame" report --comm plain.data
check "nothing is lost" is 0 plain "SELECT count(*) FROM losses WHERE name NOT LIKE 'CPU%'"
check "what launches and samples cost is said" is "67108864,1" plain "SELECT (SELECT value FROM meta WHERE key = 'cost.device_bytes'),
	(SELECT CAST(value AS INTEGER) BETWEEN 400 * n AND 1100 * n + 600 FROM meta, (SELECT count(*) n FROM launches) WHERE key = 'cost.callbacks_ns')"
check "records before samples, nothing launched beside a switch" order plain
check "both throughout" throughout plain
# libcupti may have ended by then: nothing of records is switched.
at_exit() { [ "$(state plain)" = "0 3 0" ] || { state plain; return 1; }; }
check "callbacks and samples are off when it exits" at_exit

# ---- CUPTI's own threads ----
worked() {
	begin worked work=3000 -t 2 $until_done
	soon 60 grep -q ' worked$' worked.log
	ok=$?
	finish && [ $ok -eq 0 ]
}
check "a thread that CUPTI starts uses CPU time" worked
check "its tower stands on whose it is" sh -c '"$1" flame --of cpu --by-thread no --format folded -o - worked.data >worked.cpu && grep -q "^\[threads of CUPTI\];" worked.cpu' - "$aiflame"
check "and nothing else does" sh -c '! grep CUPTI worked.cpu | grep -v "^\[threads of CUPTI\];work[ ;]"'
check "its time is in the cost, told apart" sh -c '"$1" report worked.data >worked.out && grep "^cost .* of CPU beside it, and about [0-9.]* m*s in threads of CUPTI$" worked.out' - "$aiflame"
check "and in info" sh -c '"$1" info worked.data | grep "CPU of CUPTI.s threads  *about"' - "$aiflame"

# ---- two devices ----
check "4 threads on two devices" rec two '' -t 4 -d 2 -n 2000
check "all is there, and joined" complete two
check "on both" is "4000,4000" two "SELECT sum(device = d0), sum(device <> d0) FROM executions, (SELECT min(device) d0 FROM executions)"
check "both are sampled" is "2,1" two "SELECT count(DISTINCT device), sum(count) > 1000 FROM samples"
check "in order" order two
check "where they are is known" is '0000:10:00.0 0000:11:00.0' two "SELECT group_concat(pci, ' ') FROM (SELECT pci FROM devices ORDER BY 1)"
ranks() { # each process sees one GPU, the second another; a third sees both
	MOCK_CUPTI='' $by "$aiflame" record -q --all-launches -o ranks.data sh -c 'CUDA_VISIBLE_DEVICES=0 "$@" & CUDA_VISIBLE_DEVICES=1 "$@" & "$@" -d 2 -t 2; wait' - "$mock/app" -n 500 "$cubin"
}
check "three processes, each with ordinals of its own" ranks
check "a GPU is one device, whatever its ordinal" is '0000:10:00.0-2-1000 0000:11:00.0-2-1000' ranks \
	"SELECT group_concat(row, ' ') FROM (SELECT format('%s-%d-%d', pci, count(DISTINCT process), count(*)) AS row FROM executions e JOIN devices d ON d.id = e.device GROUP BY pci ORDER BY pci)"
check "it adds up" adds_up ranks

# ---- later ----
delayed() {
	begin delayed '' -t 2 $until_done
	sleep 1
	finish
}
how='--all-launches --delay 1'
check "recorded from a second on" delayed
how=--all-launches
check "it adds up" adds_up delayed
check "no execution has another's launch" right_joins delayed
check "with samples" sampled delayed
check "whose functions have names" is 2 delayed "SELECT count(DISTINCT function) FROM samples JOIN frames f ON f.id = frame WHERE function <> ''"
check "in order" order delayed
seldom() { # nobody launches for longer than the helper waits
	begin seldom '' -t 2 -n 4 -g 1500000
	sleep 0.3
	soon 9 "$aiflame" ctl pause seldom && soon 5 paused seldom && soon 9 "$aiflame" ctl start seldom
	ok=$?
	wait $recording && [ $ok -eq 0 ]
}
check "a pause where nobody launches" seldom
check "in order" order seldom

# ---- pauses, while 4 threads are inside the driver nearly always ----
pauses() {
	begin pauses call=300000 -t 4 $until_done -g 50
	ok=0
	for _ in 1 2 3 4 5; do
		sleep 0.6
		soon 9 "$aiflame" ctl pause pauses && soon 5 paused pauses || ok=1
		sleep 0.2
		soon 9 "$aiflame" ctl start pauses && soon 5 going pauses || ok=1
	done
	sleep 0.6
	finish && [ $ok -eq 0 ] || { cat pauses.log; return 1; }
}
check "five pauses under 4 launching threads: they end" pauses
check "it adds up" adds_up pauses
check "no execution has another's launch" right_joins pauses
# confused NAME: launches of threads that CUPTI has lost count of
confused() {
	lost=$(sed -n 's/.*unwatched lost=//p' "$1.log" | awk '{ n += $1 } END { print n + 0 }')
	got=$(reason 1213 "$1")
	echo "CUPTI lost count of $lost threads, $got launches were not recorded for it"
}
unconfused() { confused "$1" && [ "$lost" -eq 0 ] && [ "$got" -eq 0 ]; }
check "CUPTI was not confused" unconfused pauses
check "what was launched between the pauses is there" is 1 pauses \
	"SELECT count(*) BETWEEN $(truth launches pauses) / 2 AND $(truth launches pauses) FROM launches WHERE kind = 'kernel'"
check "nobody launched while sampling was switched" order pauses
check "and the device had nothing to do when it was switched off" sh -c 'grep -q "sampling off" pauses.log && ! grep "disabling waits" pauses.log'

# ---- stopped, and left alone ----
sent_away() { [ "$(grep -c ' finalize' "$1.log")" -eq "$2" ]; }
stopped() {
	begin stopped '' -t 2 $until_done
	sleep 0.7
	# What is off goes a moment later.
	"$aiflame" ctl stop stopped && soon 9 off stopped >/dev/null && soon 9 sent_away stopped 1 && before=$(wc -l <stopped.log) && sleep 0.5 &&
		[ "$(wc -l <stopped.log)" -eq "$before" ]
	ok=$?
	finish
	[ $ok -eq 0 ] && adds_up stopped && order stopped
}
check "after ctl stop callbacks, records and samples are off" stopped
check "and CUPTI is sent away" sent_away stopped 1
again() {
	begin again '' -t 2 $until_done
	sleep 0.7
	"$aiflame" ctl stop again && soon 9 sent_away again 1
	ok=$?
	pid=$(pgrep -f -- "^$mock/app .*$until_done")
	"$aiflame" record -q $how --duration 6 -o next.data -p "$pid" || ok=1
	soon 9 off again || ok=1
	cp again.log next.log
	finish
	# Graphs may have been made unseen, and then it must not go.
	[ $ok -eq 0 ] && sent_away again 1 && order again
}
check "another recording after that" again
check "  gets launches" is 1 next "SELECT count(*) > 100 FROM launches WHERE kind = 'kernel'"
check "  to the last: none is in flight at its end" is 0 next "SELECT count(*) FROM launches LEFT JOIN executions e USING (launch) WHERE launches.kind = 'kernel' AND e.launch IS NULL"
check "  with samples" sampled next
check "  of known code, by our hash" is 0 next "SELECT count(*) FROM samples JOIN frames f ON f.id = frame WHERE f.module IS NULL"
check "  it adds up" adds_up next
check "  code from before it is told apart" is 1 next "SELECT sum(count) > 0 FROM losses WHERE reason = 1505"
# Launches fill most of the time of the threads: each recording ends inside some.
several() {
	begin several call=1000000 -t 4 $until_done
	sleep 0.5
	"$aiflame" ctl stop several && soon 9 sent_away several 1
	ok=$?
	pid=$(pgrep -f -- "^$mock/app .*$until_done")
	for i in 1 2 3; do
		"$aiflame" record -q --overhead 2 --device-rate 0 --duration 0.5 -o fourth.data -p "$pid" || ok=1
		soon 9 off several || ok=1
	done
	cp several.log fourth.log
	finish
	[ $ok -eq 0 ]
}
check "four recordings of a process that is inside its calls at the end of each" several
check "  CUPTI was not confused" unconfused fourth
check "  the last has launches" is 1 fourth "SELECT count(*) > 100 FROM launches WHERE kind = 'kernel'"
check "  in order" order fourth
brief() { # too brief for samples, unless the machine is very slow
	begin brief '' -t 2 $until_done
	sleep 0.3
	"$aiflame" ctl stop brief && soon 9 sent_away brief 1
	ok=$?
	pid=$(pgrep -f -- "^$mock/app .*$until_done")
	"$aiflame" record -q $how --duration 1 -o short.data -p "$pid" || ok=1
	"$aiflame" record -q $how --delay 0.2 --duration 0.2 --repeat 3 -o shorter.data -p "$pid" || ok=1
	finish
	[ $ok -eq 0 ]
}
check "recordings that are over before sampling begins" brief
missing() { # NAME TIMES
	[ "$(ask "$1" 'SELECT coalesce(sum(count), 0) FROM samples')" -gt 0 ] && return
	[ "$(reason 1309 "$1")" = "$2" ] && "$aiflame" report --stalls "$1.data" 2>&1 | grep -q 'before sampling had begun; record for longer'
}
check "  say so" missing short 1
check "  so do those in parts" missing shorter 1
early() {
	begin early version=26 -t 2 $until_done
	sleep 0.7
	"$aiflame" ctl stop early && soon 9 off early && sleep 0.3 && sent_away early 0
	ok=$?
	finish
	[ $ok -eq 0 ]
}
check "one before 13.0 stays, switched off" early
died() {
	begin_alone died '' -t 2 $until_done
	sleep 1.5
	kill -9 $recording
	wait $recording 2>/dev/null
	soon 8 off died >/dev/null && soon 20 sent_away died 1
	ok=$?
	: >done
	soon 5 grep -q launches died.out
	[ $ok -eq 0 ] && order died && adds_up died
}
check "the recorder killed: all is off, too, and the program runs on" died
check "  the first screen does not claim to know what that cost" says 'cost     not known: ' "$aiflame" report died.data

silent() {
	begin_alone silent call=1000000 -t 4 $until_done
	sleep 1
	kill -STOP $recording
	soon 8 off silent >/dev/null
	ok=$?
	kill -CONT $recording
	soon 5 going silent || ok=1
	sleep 0.5
	finish && [ $ok -eq 0 ] || { cat silent.log; return 1; }
}
check "a recorder that is silent for seconds, and goes on: so do we" silent
check "it adds up" adds_up silent
check "no execution has another's launch" right_joins silent
check "CUPTI was not confused" unconfused silent
check "in order" order silent

# ---- refusals: the towers stay ----
# refused NAME WORDS REASON WHAT
refused() {
	check "$4" rec "$1" "$2" -t 2 -n 2000
	check "  it is said" once "$3" "$1"
	check "  the towers stay" complete "$1"
	check "  without insides" none "$1"
	check "  in order" order "$1"
}
refused denied denied 1305 "no privilege"
# The views say why, and what to do.
in_picture() { "$aiflame" flame -o - "$1.data" >"$1.svg" && grep -qF "no instruction samples$2" "$1.svg"; }
no_stalls() { # the same picture, and a word on it
	"$aiflame" flame --leaf stall -o stall.svg "$1.data" 2>stall.err && "$aiflame" flame -o plain.svg "$1.data" && cmp plain.svg stall.svg &&
		grep -qF "no stall reasons: drawing --leaf instruction; no instruction samples$2" stall.err || { cat stall.err; return 1; }
}
denied=' of the GPU: its counters are for administrators only here'
check "  a picture says why" in_picture denied "$denied; aiflame info says what to do"
check "  so does one of stalls, on the terminal" no_stalls denied "$denied; as root, options nvidia"
check "  so do reports of them" says "$denied; as root" "$aiflame" report --stalls denied.data
check "  and listings" says "$denied; as root" "$aiflame" annotate calls denied.data
how='--all-launches --device-rate 0'
check "nothing is to be sampled" rec unasked '' -t 2 -n 500
how=--all-launches
check "  a picture says it" in_picture unasked ': --device-rate was 0; aiflame info says what to do'
check "  so do reports of stalls" says 'record without --device-rate 0' "$aiflame" report --stalls unasked.data
cp "$(command -v sleep)" nv-hostengine
./nv-hostengine 60 &
holder=$!
refused taken taken 1306 "the sampling unit is another's"
kill $holder
check "  who may have it is named" is 1 taken "SELECT count(*) FROM losses WHERE reason = 1306 AND detail LIKE '%nv-hostengine (process $holder)%'"
refused held held 1306 "no data, ever"
check "  and nothing is switched off in CUPTI any more" sh -c '! grep -E "sampling off|activity .* on=0" held.log'
LD_LIBRARY_PATH=$mock/old:$mock
refused old '' 1308 "a libcupti that cannot sample"
LD_LIBRARY_PATH=$mock
check "one before 12.8, which samples only without records" rec older version=22 -t 2 -n 2000
check "  all is there" complete older
check "  without insides" none older
check "  it is said" once 1308 older
check "  why, and what to do" is 1 older "SELECT count(*) FROM losses WHERE reason = 1308 AND detail LIKE '%leave out --all-launches'"
check "  in order" order older
# apart NAME WORDS: records and samples in turn
apart() {
	begin "$@" -t 2 $until_done
	soon 20 grep -q ' sampling off result=0' "$1.log"
	ok=$?
	finish && [ $ok -eq 0 ] || { cat "$1.log"; return 1; }
}
how='--overhead 2 --cupti blocks'
check "the same, with a budget, and smaller records" apart smaller version=18
check "  samples, in their turn" sampled smaller
check "  records, too" is 1 smaller "SELECT count(*) > 1000 FROM executions"
check "  nothing is refused" is 0 smaller "SELECT count(*) FROM losses WHERE reason IN (1211, 1214, 1305, 1306, 1308)"
check "  it adds up" adds_up smaller
check "  in order" order smaller
check "one whose version does not tell" apart apart version=26,apart
check "  samples, in their turn" sampled apart
check "  nothing is refused" is 0 apart "SELECT count(*) FROM losses WHERE reason IN (1211, 1214, 1305, 1306, 1308)"
check "  in order" order apart
how=--all-launches
check "sampling's buffer is full" rec full full -t 2 -n 6000
check "  it is counted once" test "$(reason 1307 full)" = 1
check "  samples go on, less often" is '2,1' full \
	'SELECT count(DISTINCT period), (SELECT period FROM windows ORDER BY start_ns DESC LIMIT 1) > (SELECT period FROM windows ORDER BY start_ns LIMIT 1) FROM windows WHERE period > 0'
check "  all is there" complete full
check "  in order" order full
check "samples in code without a name" rec nameless nameless -t 2 -n 6000
check "  end nothing, and are counted" once 1310 nameless
check "  the others are there" sampled nameless
check "  those have no place" is 0 nameless "SELECT count(*) FROM samples s JOIN kernels k ON k.id = s.kernel WHERE k.name = ''"
check "  in order" order nameless
check "  while another thread loads a library" rec loading nameless,loading -n 3000
check "  which need not end first" order loading
check "  where CUPTI was opened for its own dependencies first" rec deep nameless -n 3000 -B
check "  end nothing, either" once 1310 deep
export LD_BIND_NOW=1
check "  where all is bound at once" rec bound nameless -n 3000
unset LD_BIND_NOW
check "  end nothing" once 1310 bound
LD_LIBRARY_PATH=$mock/locked:$mock
check "  where its imports are read-only" rec locked nameless -n 3000
LD_LIBRARY_PATH=$mock
check "  end nothing" once 1310 locked
# The thread that waits looks again and again: 4 of 5 parts of its time, which are no work. Beginning and ending 4,000 waits
# is some: up to 50 us each.
for words in spin sleep; do
	check "a program that waits for the device: $words" rec waits $words -n 200000 -g 0 -b 1000 -y 50
	check "  waiting is not work" is 1 waits "SELECT coalesce(sum(weight_ns), 0) < 1.1 * ($(truth span_ns waits) - $(truth wait_ns waits)) + 2e8 FROM cpu_samples"
	check "  it is what it waited" is 1 waits "SELECT sum(waiting_ns) BETWEEN 0.8 * $(truth wait_ns waits) - 2e7 AND 1.2 * $(truth wait_ns waits) + 2e7 FROM cpu_samples"
	check "  under the call that waits" says '[waiting: cuCtxSynchronize]' "$aiflame" flame --of cpu --format folded -o - waits.data
done
how="--all-launches --calls on"
check "calls that wait, begin and end" rec calls sleep -n 200000 -g 0 -b 1000 -y 50
check "  each of them, for as long as it waited" is 1 calls "SELECT sum(dur_ns) BETWEEN 0.95 * $(truth wait_ns calls) AND 1.05 * $(truth wait_ns calls) AND min(stack) IS NOT NULL FROM calls WHERE name = 'cuCtxSynchronize'"
how=--all-launches
check "  by default those that last" is 1 waits "SELECT count(*) > 0 AND sum(dur_ns) BETWEEN 0.9 * $(truth wait_ns waits) AND 1.1 * $(truth wait_ns waits) AND min(dur_ns) >= 5000 AND min(stack) IS NOT NULL FROM calls WHERE name = 'cuCtxSynchronize'"
how="--all-launches --calls off"
check "  with --calls off none" rec silent sleep -n 20000 -g 0 -b 1000 -y 50
check "  as it says" is 0 silent 'SELECT count(*) FROM calls'
how=--all-launches
check "a thread that ends while it waits" rec quits quit -q -t 2 -n 20000 -g 0 -b 100000
check "  does not wait for ever in the next one's place" is 1 quits 'SELECT 4 * coalesce(sum(waiting_ns), 0) < sum(weight_ns) FROM cpu_samples'
check "another has the seat" rec crowded crowded -t 2 -n 500
check "  it is said" once 1214 crowded
first_screen() { MOCK_CUPTI=$1 $by "$aiflame" record $how -o screen.data "$mock/app" -n 20 "$cubin" 2>&1 | tee screen.out; }
check "  the first screen does not claim to know what it launched" says "what the program launched is not known: CUPTI refused" first_screen crowded
check "  and names what helps" says "another profiler in the same process uses CUPTI (subscribing: MOCK_MULTIPLE_SUBSCRIBERS); run without it" cat screen.out
check "CUPTI will not have anybody" says "what the program launched is not known: CUPTI refused" first_screen unwilling
check "  that is no other profiler's fault" says "CUPTI has refused something (subscribing: MOCK_UNKNOWN); aiflame doctor" cat screen.out
check "  the program ran" test "$(truth launches crowded)" = 1000

# ---- records ----
check "buffers are asked for until there are none" rec hoard hoard=500 -t 2 -n 2000
check "  what had none is counted" test "$(reason 1201 hoard)" = 500
check "  the rest is there" is 3500 hoard 'SELECT count(*) FROM executions'
check "  it adds up" adds_up hoard
check "records of a kind that nobody knows" rec strange strange -t 2 -n 2000
check "  all is there" complete strange
check "records without times" rec timeless timeless=10 -t 2 -n 2000
check "  are counted" test "$(reason 1201 timeless)" = 400
check "  the rest is there" is 3600 timeless 'SELECT count(*) FROM executions'
check "  it adds up" adds_up timeless
check "records whose launch is not known" rec foreign foreign=10 -t 2 -n 2000
check "  are counted" test "$(reason 1203 foreign)" = 400
check "  the rest is there" is 3600 foreign 'SELECT count(*) FROM executions'
check "  it adds up" adds_up foreign

# ---- lives ----
check "a context destroyed while it is sampled" rec destroyed '' -n 3000 -D
check "  all is there" complete destroyed
check "  both were sampled" test "$(grep -c 'sampling on result=0' destroyed.log)" -ge 2
check "  in order" order destroyed
app=app_profiler
check "two contexts of one device, of which one is destroyed beside the other's launches" rec contexts '' -t 2 -d 2 -o -n 10000 -D
check "  all is there" complete contexts
check "  it is one device" is '1,1' contexts 'SELECT count(*), (SELECT count(DISTINCT device) FROM samples) FROM devices'
one_at_a_time() { # is sampled; one that goes may take its sampling with it
	awk '/ sampling on result=0/ { on++; n++ } / sampling off result=0/ { on--; off = 1 }
		/ destroyed / { on -= !off; off = 0 } on > 1 { bad = 1 } END { exit bad || n < 2 }' contexts.log || { cat contexts.log; return 1; }
}
check "  one of them is sampled at a time, then the other" one_at_a_time
check "  in order" order contexts
check "a program that uses CUPTI itself, while 4 threads launch" rec profiler call=1000000 -t 4 -n 1500 -g 50 -P
app=app
check "  it gets the seat" test "$(truth subscribed profiler),$(truth unsubscribed profiler)" = 0,0
check "  and sees what it asked for" test "$(truth seen profiler)" -ge 375
check "  it is said" once 1212 profiler
seat() { # at the program's subscription nothing was recorded for us
	awk '/ unsubscribe / && !ours { ours = $0 } / subscribe / && ours { print ours; exit }' profiler.log >seat.out
	grep -q 'record_kinds=0 sampled=0' seat.out || { cat seat.out profiler.log; return 1; }
}
check "  we had stood up before" seat
check "  and sit down again" test "$(grep -c ' subscribe refused=0' profiler.log)" -ge 3
check "  CUPTI was not confused" unconfused profiler
check "  it adds up" adds_up profiler
check "  no execution has another's launch" right_joins profiler
app=app_profiler
check "one after which CUPTI has lost count of threads" rec losing call=1000000,losing=1 -t 4 -n 1500 -g 50 -P
app=app
counted() { confused losing && [ "$lost" -gt 0 ] && [ "$got" -gt 0 ]; }
check "  their launches are counted" counted
check "  and the summary says what share is missing" says '% of all launches are missing' "$aiflame" report losing.data
check "  it adds up" adds_up losing
check "  no execution has another's launch" right_joins losing
check "  in order" order profiler
check "a program that forks" rec forks '' -n 2000 -F
check "  its child ends as it wants" test "$(truth child forks)" = 5
check "  all of the parent is there" complete forks
check "  in order" order forks
check "exit() while 4 threads launch and are sampled: its status" status_is 7 rec exits '' -t 4 -n 3000 -x 7
check "  it adds up" adds_up exits
check "  no execution has another's launch" right_joins exits
check "  in order" order exits
killed() {
	begin killed '' -t 4 $until_done
	sleep 2
	kill -9 "$(sed -n '1s/^[0-9]* \([0-9]*\) .*/\1/p' killed.log)"
	wait $recording
	[ $? -eq 137 ]
}
check "killed with -9 while it is sampled: its status" killed
check "  it adds up" adds_up killed
check "  no execution has another's launch" right_joins killed
done_testing
