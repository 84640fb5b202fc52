#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CUDA on any machine, on a mock: refusals and faults that a real one does not show on demand, and the order in which the
# agent switches things.
. "$(dirname "$0")/tap.sh"
. "$root/tests/e2e/cuda_mock.sh"

check "a program whose 4 threads launch and copy is recorded" rec plain '' -t 4 -n 3000 -c
check "4 threads launch and copy: every launch has its execution" complete plain
check "4 threads launch and copy: every copy is recorded" is "$(truth copies plain)" plain "SELECT count(*) FROM copies WHERE bytes = 65536"
check "executions have their kernel's registers and shared bytes" is '40,1024' plain "SELECT DISTINCT registers, shared_bytes FROM executions JOIN launches USING (launch) WHERE launches.kind = 'kernel'"
check "executions have the occupancy that blocks of one thread can reach" is '90,0.5' plain "SELECT DISTINCT arch, occupancy FROM executions e JOIN devices d ON d.id = e.device"
in_launches() { # columns are found by their names
	"$aiflame" report --launches --limit 0 --format csv plain.data >launches.csv &&
		python3 -c 'import csv; r = {x["occupancy"] for x in csv.DictReader(open("launches.csv")) if x["kind"] == "kernel"}; assert {float(x) for x in r} == {0.5}, r'
}
check "report --launches has the occupancy" in_launches
check "samples are of the two functions that ran" is 2 plain 'SELECT count(DISTINCT build_id) FROM samples JOIN frames f ON f.id = frame JOIN modules m ON m.id = f.module'
check "waits that nobody hides are told apart" is 1 plain "SELECT abs((SELECT sum(count) FROM samples WHERE reason = 'long_scoreboard_not_issued') * 2.0 / sum(count) - 1) < 0.02 FROM samples WHERE reason = 'long_scoreboard'"
check "sampled instructions have their source line" is 1 plain "SELECT count(*) > 0 FROM frames WHERE kind = 'device' AND line > 0"
next_step() { "$aiflame" $("$aiflame" report plain.data | sed -n 's/.*aiflame \(annotate [^,]*\),.*/\1/p') >listing.out && grep -q '+0x' listing.out; }
check "the first screen names a listing that is there" next_step
check "query takes profile and SQL in either order" says 4 "$aiflame" query --format csv 'SELECT 2 + 2' plain.data
check "annotate takes profile and function in either order" says 'calls(float*' "$aiflame" annotate plain.data calls
check "annotate without a profile says that it cannot open one" says 'cannot open nowhere.data' "$aiflame" annotate calls nowhere.data
check "report --steps says that no steps are marked" says ' is marked' "$aiflame" report --steps plain.data
check "report --comm says that there is no communication of NCCL" says 'they are those of NCCL' "$aiflame" report --comm plain.data
check "4 threads launch and copy: nothing is lost" is 0 plain "SELECT count(*) FROM losses WHERE name NOT LIKE 'CPU%'"
check "the cost of launches and samples is in the profile" is "67108864,1" plain "SELECT (SELECT value FROM meta WHERE key = 'cost.device_bytes'),
	(SELECT CAST(value AS INTEGER) BETWEEN 450 * n AND 4300 * n + 100000 FROM meta, (SELECT count(*) n FROM launches) WHERE key = 'cost.callbacks_ns')"
check "the cost of records and of samples is told apart" is "1,1,1" plain "SELECT r + s < c, r > 0, w > 0 FROM (SELECT (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'cost.callbacks_ns') c,
	(SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'cost.records_ns') r, (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'cost.samples_ns') s, (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'cost.worked_ns') w)"
check "4 threads launch and copy: records are switched on before samples, and no launch is beside a switch" order plain
check "records and samples are on throughout" throughout plain
# libcupti may have ended by then: nothing of records is switched.
at_exit() { [ "$(state plain)" = "0 3 0" ] || { state plain; return 1; }; }
check "callbacks and samples are off when the program exits" at_exit

# ---- CUPTI's own threads ----
worked() {
	begin worked work=3000 -t 2 $until_done
	wait_until grep -q ' worked$' worked.log
	ok=$?
	finish && [ $ok -eq 0 ]
}
check "a thread that CUPTI starts uses CPU time" worked
check "CPU time of CUPTI's thread has a tower of its own" sh -c '"$1" flame --of cpu --by-thread no --format folded -o - worked.data >worked.cpu && grep -q "^\[threads of CUPTI\];" worked.cpu' - "$aiflame"
check "the tower of CUPTI's threads has nothing else in it" sh -c '! grep CUPTI worked.cpu | grep -v "^\[threads of CUPTI\];work[ ;]"'
check "the first screen tells the cost of CUPTI's threads apart" sh -c '"$1" report worked.data >worked.out && grep "^cost .* of CPU beside it, and about [0-9.]* m*s in threads of CUPTI$" worked.out' - "$aiflame"
check "info has the CPU time of CUPTI's threads" sh -c '"$1" info worked.data | grep "CPU of CUPTI.s threads  *about"' - "$aiflame"

# ---- two devices ----
# A flush of CUPTI's records beside code or graphs that are being made can end a program (src/agent/cuda/activity.c).
check "a program that loads code again and again is recorded" rec fresh fresh -n 20000 -m 50
check "CUPTI's records are not flushed while a program loads code" order fresh
check "CUPTI's records are flushed once a program loads no more code" grep -q ' flush$' fresh.log
check "a program that loads code again and again: every launch has its execution" complete fresh
check "4 threads on two devices" rec two '' -t 4 -d 2 -n 2000
check "4 threads on two devices: every launch has its execution" complete two
check "4 threads on two devices: half of the executions are on each" is "4000,4000" two "SELECT sum(device = d0), sum(device <> d0) FROM executions, (SELECT min(device) d0 FROM executions)"
check "4 threads on two devices: both devices are sampled" is "2,1" two "SELECT count(DISTINCT device), sum(count) > 1000 FROM samples"
check "4 threads on two devices: CUPTI is switched in order" order two
check "two devices have their PCI addresses" is '0000:10:00.0 0000:11:00.0' two "SELECT group_concat(pci, ' ') FROM (SELECT pci FROM devices ORDER BY 1)"
ranks() { # each process sees one GPU, the second another; a third sees both
	MOCK_CUPTI='' $by "$aiflame" record -q --all-launches -o ranks.data sh -c 'CUDA_VISIBLE_DEVICES=0 "$@" & CUDA_VISIBLE_DEVICES=1 "$@" & "$@" -d 2 -t 2; wait' - "$mock/app" -n 500 "$cubin"
}
check "three processes with device ordinals of their own are recorded" ranks
check "a GPU is one device, whatever its ordinal" is '0000:10:00.0-2-1000 0000:11:00.0-2-1000' ranks \
	"SELECT group_concat(row, ' ') FROM (SELECT format('%s-%d-%d', pci, count(DISTINCT process), count(*)) AS row FROM executions e JOIN devices d ON d.id = e.device GROUP BY pci ORDER BY pci)"
check "three processes with device ordinals of their own: the numbers add up" adds_up ranks

# ---- later ----
many_samples='SELECT sum(count) > 1000 FROM samples'
delayed() {
	begin delayed '' -t 2 $until_done
	wait_until in_file delayed "$many_samples"
	ok=$?
	finish && [ $ok -eq 0 ]
}
how='--all-launches --delay 1'
check "record --delay 1 of a CUDA program" delayed
how=--all-launches
check "record --delay 1: the numbers add up" adds_up delayed
check "record --delay 1: no execution has another's launch" right_joins delayed
check "record --delay 1: instructions are sampled" sampled delayed
check "record --delay 1: sampled functions have names" is 2 delayed "SELECT count(DISTINCT function) FROM samples JOIN frames f ON f.id = frame WHERE function <> ''"
check "record --delay 1: CUPTI is switched in order" order delayed
seldom() { # nobody launches for longer than the helper waits
	begin seldom '' -t 2 -n 4 -g 1500000
	wait_until "$aiflame" ctl pause seldom && wait_until paused seldom && wait_until "$aiflame" ctl start seldom
	ok=$?
	wait $recording && [ $ok -eq 0 ]
}
check "a recording can pause and go on while nobody launches" seldom
check "a pause while nobody launches: CUPTI is switched in order" order seldom

# ---- pauses, while 4 threads are inside the driver nearly always ----
# Times in which it collected and something was launched, between pauses.
times='SELECT count(DISTINCT (SELECT count(*) FROM windows w WHERE w.device IS NULL AND w.thread IS NULL AND w.end_ns <= l.time_ns)) FROM launches l'
pauses() {
	begin pauses call=300000 -t 4 $until_done -g 50
	ok=0
	for i in 1 2 3 4 5; do
		wait_until in_file pauses "SELECT ($times) >= $i" || ok=1
		"$aiflame" ctl pause pauses && wait_until paused pauses || ok=1
		"$aiflame" ctl start pauses && wait_until going pauses || ok=1
	done
	wait_until in_file pauses "SELECT ($times) >= 6" || ok=1
	finish && [ $ok -eq 0 ] || { cat pauses.log; return 1; }
}
check "five pauses under 4 launching threads end" pauses
check "five pauses under 4 launching threads: the numbers add up" adds_up pauses
check "five pauses under 4 launching threads: no execution has another's launch" right_joins pauses
# confused NAME: launches of threads that CUPTI has lost count of
confused() {
	lost=$(sed -n 's/.*unwatched lost=//p' "$1.log" | awk '{ n += $1 } END { print n + 0 }')
	got=$(reason 1213 "$1")
	echo "CUPTI lost count of $lost threads, $got launches were not recorded for it"
}
unconfused() { confused "$1" && [ "$lost" -eq 0 ] && [ "$got" -eq 0 ]; }
check "five pauses under 4 launching threads: CUPTI has lost count of no thread" unconfused pauses
check "five pauses under 4 launching threads: launches of each time between are recorded" is 1 pauses "SELECT ($times) >= 6"
check "five pauses under 4 launching threads: no more launches are recorded than there were" is 1 pauses \
	"SELECT count(*) <= $(truth launches pauses) FROM launches WHERE kind = 'kernel'"
check "five pauses under 4 launching threads: CUPTI is switched in order" order pauses
check "five pauses under 4 launching threads: the device is idle whenever sampling is switched off" sh -c 'grep -q "sampling off" pauses.log && ! grep "disabling waits" pauses.log'

# ---- stopped, and left alone ----
# record_until SQL NAME OPTIONS...: the process $pid, until what is in the file fulfils the SQL
record_until() {
	sql=$1 name=$2
	shift 2
	$by "$aiflame" record -q --name "$name" -o "$name.data" "$@" -p "$pid" &
	second=$!
	wait_until in_file "$name" "$sql"
	met=$?
	"$aiflame" ctl stop "$name" && wait $second && [ $met -eq 0 ]
}
sent_away() { [ "$(grep -c ' finalize' "$1.log")" -eq "$2" ]; }
stopped() {
	begin stopped '' -t 2 $until_done
	wait_until going stopped
	# What is off goes a moment later, and nothing comes after that.
	"$aiflame" ctl stop stopped && wait_until off stopped && wait_until sent_away stopped 1 && before=$(wc -l <stopped.log) && sleep 0.5 &&
		[ "$(wc -l <stopped.log)" -eq "$before" ]
	ok=$?
	finish
	[ $ok -eq 0 ] && adds_up stopped && order stopped
}
check "after ctl stop callbacks, records and samples are off" stopped
check "after ctl stop CUPTI is finalized" sent_away stopped 1
again() {
	begin again '' -t 2 $until_done
	wait_until going again
	"$aiflame" ctl stop again && wait_until sent_away again 1
	ok=$?
	pid=$(pgrep -f -- "^$mock/app .*$until_done")
	record_until "SELECT count(*) > 100 AND ($many_samples) AND EXISTS (SELECT * FROM losses WHERE reason = 1505) FROM launches" next $how || ok=1
	wait_until off again || ok=1
	cp again.log next.log
	finish
	# Graphs may have been made unseen, and then it must not go.
	[ $ok -eq 0 ] && sent_away again 1 && order again
}
check "a process whose CUPTI was finalized can be recorded again" again
check "the recording after CUPTI was finalized has launches" is 1 next "SELECT count(*) > 100 FROM launches WHERE kind = 'kernel'"
check "the recording after CUPTI was finalized has every execution" is 0 next "SELECT count(*) FROM launches LEFT JOIN executions e USING (launch) WHERE launches.kind = 'kernel' AND e.launch IS NULL"
check "the recording after CUPTI was finalized has samples" sampled next
check "the recording after CUPTI was finalized knows the code of all samples" is 0 next "SELECT count(*) FROM samples JOIN frames f ON f.id = frame WHERE f.module IS NULL"
check "the recording after CUPTI was finalized adds up" adds_up next
check "the recording after CUPTI was finalized tells code from before apart" is 1 next "SELECT sum(count) > 0 FROM losses WHERE reason = 1505"
# Launches fill most of the time of the threads: each recording ends inside some.
several() {
	begin several call=1000000 -t 4 $until_done
	wait_until going several
	"$aiflame" ctl stop several && wait_until sent_away several 1
	ok=$?
	pid=$(pgrep -f -- "^$mock/app .*$until_done")
	for i in 1 2 3; do
		record_until "SELECT count(*) > 100 FROM launches" fourth --overhead 2 --device-rate 0 || ok=1
		wait_until off several || ok=1
	done
	cp several.log fourth.log
	finish
	[ $ok -eq 0 ]
}
check "a process is recorded four times and is inside its calls at the end of each" several
check "four recordings of a process inside its calls: CUPTI has lost count of no thread" unconfused fourth
check "four recordings of a process inside its calls: the last has launches" is 1 fourth "SELECT count(*) > 100 FROM launches WHERE kind = 'kernel'"
check "four recordings of a process inside its calls: CUPTI is switched in order" order fourth
brief() { # too brief for samples, unless the machine is very slow
	begin brief '' -t 2 $until_done
	"$aiflame" ctl stop brief && wait_until sent_away brief 1
	ok=$?
	pid=$(pgrep -f -- "^$mock/app .*$until_done")
	"$aiflame" record -q $how --duration 1 -o short.data -p "$pid" || ok=1
	"$aiflame" record -q $how --delay 0.2 --duration 0.2 --repeat 3 -o shorter.data -p "$pid" || ok=1
	finish
	[ $ok -eq 0 ]
}
check "recordings that are over before sampling begins end well" brief
missing() { # NAME TIMES
	[ "$(ask "$1" 'SELECT coalesce(sum(count), 0) FROM samples')" -gt 0 ] && return
	[ "$(reason 1309 "$1")" = "$2" ] && "$aiflame" report --stalls "$1.data" 2>&1 | grep -q 'before sampling had begun; record for longer'
}
check "a recording that was over before sampling began says so" missing short 1
check "a recording in parts that were over before sampling began says so" missing shorter 1
early() {
	begin early version=26 -t 2 $until_done
	wait_until going early
	"$aiflame" ctl stop early && wait_until off early && sleep 0.3 && sent_away early 0
	ok=$?
	finish
	[ $ok -eq 0 ]
}
check "CUPTI before 13.0 is switched off and not finalized after ctl stop" early
died() {
	begin_alone died '' -t 2 $until_done
	wait_until in_file died "SELECT count(*) > 0 FROM executions"
	kill -9 $recording
	wait $recording 2>/dev/null
	wait_until off died && wait_until sent_away died 1
	ok=$?
	: >done
	wait_until grep -q launches died.out
	[ $ok -eq 0 ] && order died && adds_up died
}
check "after a recorder's death CUPTI is off, and the program runs on" died
check "the first screen of a recording whose recorder was killed says that its cost is not known" says 'cost     not known: ' "$aiflame" report died.data

silent() {
	begin_alone silent call=1000000 -t 4 $until_done
	wait_until in_file silent "SELECT count(*) > 0 FROM executions"
	kill -STOP $recording
	wait_until off silent
	ok=$?
	kill -CONT $recording
	wait_until going silent || ok=1
	finish && [ $ok -eq 0 ] || { cat silent.log; return 1; }
}
check "CUPTI is off while the recorder is silent, and on when it goes on" silent
check "a recorder that was silent: the numbers add up" adds_up silent
check "a recorder that was silent: no execution has another's launch" right_joins silent
check "a recorder that was silent: CUPTI has lost count of no thread" unconfused silent
check "a recorder that was silent: CUPTI is switched in order" order silent

# ---- refusals: the towers stay ----
# refused NAME WORDS REASON WHAT
refused() {
	check "$4: the program is recorded" rec "$1" "$2" -t 2 -n 2000
	check "$4: the profile says so" once "$3" "$1"
	check "$4: every launch has its execution" complete "$1"
	check "$4: no instruction is sampled" none "$1"
	check "$4: CUPTI is switched in order" order "$1"
}
refused denied denied 1305 "sampling without the privilege"
# The views say why, and what to do.
in_picture() { "$aiflame" flame -o - "$1.data" >"$1.svg" && grep -qF "no instruction samples$2" "$1.svg"; }
no_stalls() { # the same picture, and a word on it
	"$aiflame" flame --leaf stall -o stall.svg "$1.data" 2>stall.err && "$aiflame" flame -o plain.svg "$1.data" && cmp plain.svg stall.svg &&
		grep -qF "no stall reasons: drawing --leaf instruction; no instruction samples$2" stall.err || { cat stall.err; return 1; }
}
denied=' of the GPU: its counters are for administrators only here'
check "sampling without the privilege: a picture says why it has no instructions" in_picture denied "$denied; aiflame info says what to do"
check "sampling without the privilege: flame --leaf stall says why it has no stalls" no_stalls denied "$denied; as root, options nvidia"
check "sampling without the privilege: report --stalls says what to do" says "$denied; as root" "$aiflame" report --stalls denied.data
check "sampling without the privilege: annotate says what to do" says "$denied; as root" "$aiflame" annotate calls denied.data
how='--all-launches --device-rate 0'
check "record --device-rate 0 of a CUDA program" rec unasked '' -t 2 -n 500
how=--all-launches
check "record --device-rate 0: a picture says why it has no instructions" in_picture unasked ': --device-rate was 0; aiflame info says what to do'
check "record --device-rate 0: report --stalls says why it has none" says 'record without --device-rate 0' "$aiflame" report --stalls unasked.data
# Others that may hold it, and are found first, do not hide the likeliest.
cp "$(command -v sleep)" nv-hostengine
cp "$(command -v sleep)" aiflame
holders=
for holder in aiflame aiflame aiflame aiflame nv-hostengine; do
	"./$holder" 600 &
	holders="$holders $!"
done
refused taken taken 1306 "sampling with a unit that is another's"
kill $holders
check "sampling with a unit that is another's: the profile names the process that may have it" is 1 taken "SELECT count(*) FROM losses WHERE reason = 1306 AND detail GLOB '*nv-hostengine (process [0-9]*)*'"
refused held held 1306 "sampling that never brings data"
check "sampling that never brings data: nothing is switched off in CUPTI any more" sh -c '! grep -E "sampling off|activity .* on=0" held.log'
LD_LIBRARY_PATH=$mock/old:$mock
refused old '' 1308 "a libcupti that cannot sample"
LD_LIBRARY_PATH=$mock
check "CUPTI before 12.8, which samples only without records" rec older version=22 -t 2 -n 2000
check "CUPTI before 12.8: every launch has its execution" complete older
check "CUPTI before 12.8: no instruction is sampled" none older
check "CUPTI before 12.8: the profile says so" once 1308 older
check "CUPTI before 12.8: the profile says why, and what to do" is 1 older "SELECT count(*) FROM losses WHERE reason = 1308 AND detail LIKE '%leave out --all-launches'"
check "CUPTI before 12.8: CUPTI is switched in order" order older
# apart NAME WORDS: records and samples in turn
apart() {
	begin "$@" -t 2 $until_done
	wait_until grep -q ' sampling off result=0' "$1.log"
	ok=$?
	finish && [ $ok -eq 0 ] || { cat "$1.log"; return 1; }
}
how='--overhead 2 --cupti blocks'
check "CUPTI before 12.8 with a budget samples in turns" apart smaller version=18
check "CUPTI before 12.8 with a budget: instructions are sampled" sampled smaller
check "CUPTI before 12.8 with a budget: executions are recorded" is 1 smaller "SELECT count(*) > 1000 FROM executions"
check "CUPTI before 12.8 with a budget: nothing is refused" is 0 smaller "SELECT count(*) FROM losses WHERE reason IN (1211, 1214, 1305, 1306, 1308)"
check "CUPTI before 12.8 with a budget: the numbers add up" adds_up smaller
check "CUPTI before 12.8 with a budget: CUPTI is switched in order" order smaller
check "CUPTI whose version does not tell samples in turns" apart apart version=26,apart
check "CUPTI whose version does not tell: instructions are sampled" sampled apart
check "CUPTI whose version does not tell: nothing is refused" is 0 apart "SELECT count(*) FROM losses WHERE reason IN (1211, 1214, 1305, 1306, 1308)"
check "CUPTI whose version does not tell: CUPTI is switched in order" order apart
how=--all-launches
check "sampling whose buffer is full" rec full full -t 2 -n 6000
check "sampling whose buffer is full: that is counted once" test "$(reason 1307 full)" = 1
check "sampling whose buffer is full goes on with a longer period" is '2,1' full \
	'SELECT count(DISTINCT period), (SELECT period FROM windows ORDER BY start_ns DESC LIMIT 1) > (SELECT period FROM windows ORDER BY start_ns LIMIT 1) FROM windows WHERE period > 0'
check "sampling whose buffer is full: every launch has its execution" complete full
check "sampling whose buffer is full: CUPTI is switched in order" order full
check "samples in code without a name" rec nameless nameless -t 2 -n 6000
check "samples in code without a name end nothing, and are counted" once 1310 nameless
check "samples in code without a name: other samples are there" sampled nameless
check "samples in code without a name have no kernel" is 0 nameless "SELECT count(*) FROM samples s JOIN kernels k ON k.id = s.kernel WHERE k.name = ''"
check "samples in code without a name: CUPTI is switched in order" order nameless
check "samples in code without a name while another thread loads a library" rec loading nameless,loading -n 3000
check "a library that is being loaded does not hold sampling up" order loading
check "samples in code without a name where CUPTI was opened with deep binding" rec deep nameless -n 3000 -B
check "samples in code without a name end nothing where CUPTI was opened with deep binding" once 1310 deep
export LD_BIND_NOW=1
check "samples in code without a name where all is bound at once" rec bound nameless -n 3000
unset LD_BIND_NOW
check "samples in code without a name end nothing where all is bound at once" once 1310 bound
LD_LIBRARY_PATH=$mock/locked:$mock
check "samples in code without a name where CUPTI's imports are read-only" rec locked nameless -n 3000
LD_LIBRARY_PATH=$mock
check "samples in code without a name end nothing where CUPTI's imports are read-only" once 1310 locked
# The thread that waits looks again and again: 4 of 5 parts of its time, which are no work. Beginning and ending 4,000 waits
# is some: up to 50 us each.
for words in spin sleep; do
	check "a program that waits for the device: $words" rec waits $words -n 200000 -g 0 -b 1000 -y 50
	check "a program that waits for the device: $words: waiting is not CPU time" is 1 waits "SELECT coalesce(sum(weight_ns), 0) < 1.1 * ($(truth span_ns waits) - $(truth wait_ns waits)) + 2e8 FROM cpu_samples"
	check "a program that waits for the device: $words: the waiting time is what the program waited" is 1 waits "SELECT sum(waiting_ns) BETWEEN 0.8 * $(truth wait_ns waits) - 2e7 AND 1.2 * $(truth wait_ns waits) + 2e7 FROM cpu_samples"
	check "a program that waits for the device: $words: waiting stands under its call" says '[waiting: cuCtxSynchronize]' "$aiflame" flame --of cpu --format folded -o - waits.data
done
how="--all-launches --calls on"
check "record --calls on of a program that waits" rec calls sleep -n 200000 -g 0 -b 1000 -y 50
check "record --calls on: each call is there for as long as it waited" is 1 calls "SELECT sum(dur_ns) BETWEEN 0.95 * $(truth wait_ns calls) AND 1.05 * $(truth wait_ns calls) AND min(stack) IS NOT NULL FROM calls WHERE name = 'cuCtxSynchronize'"
how=--all-launches
check "by default calls are there that last" is 1 waits "SELECT count(*) > 0 AND sum(dur_ns) BETWEEN 0.9 * $(truth wait_ns waits) AND 1.1 * $(truth wait_ns waits) AND min(dur_ns) >= 5000 AND min(stack) IS NOT NULL FROM calls WHERE name = 'cuCtxSynchronize'"
how="--all-launches --calls off"
check "record --calls off of a program that waits" rec silent sleep -n 20000 -g 0 -b 1000 -y 50
check "record --calls off: no call is recorded" is 0 silent 'SELECT count(*) FROM calls'
how=--all-launches
check "a thread that ends while it waits" rec quits quit -q -t 2 -n 20000 -g 0 -b 100000
check "a thread that ends while it waits does not wait for ever in the next one's place" is 1 quits 'SELECT 4 * coalesce(sum(waiting_ns), 0) < sum(weight_ns) FROM cpu_samples'
check "another subscriber has CUPTI" rec crowded crowded -t 2 -n 500
check "another subscriber has CUPTI: the profile says so" once 1214 crowded
first_screen() { MOCK_CUPTI=$1 $by "$aiflame" record $how -o screen.data "$mock/app" -n 20 "$cubin" 2>&1 | tee screen.out; }
check "another subscriber has CUPTI: the first screen says that launches are not known" says "what the program launched is not known: CUPTI refused" first_screen crowded
check "another subscriber has CUPTI: the first screen names what helps" says "another profiler in the same process uses CUPTI (subscribing: MOCK_MULTIPLE_SUBSCRIBERS); run without it" cat screen.out
check "CUPTI refuses every subscriber: the first screen says that launches are not known" says "what the program launched is not known: CUPTI refused" first_screen unwilling
check "CUPTI refuses every subscriber: the first screen blames no other profiler" says "CUPTI has refused something (subscribing: MOCK_UNKNOWN); aiflame doctor" cat screen.out
check "another subscriber has CUPTI: the program ran" test "$(truth launches crowded)" = 1000

# ---- records ----
check "CUPTI asks for buffers until there are none" rec hoard hoard=500 -t 2 -n 2000
check "CUPTI asks for buffers until there are none: executions without one are counted" test "$(reason 1201 hoard)" = 500
check "CUPTI asks for buffers until there are none: other executions are there" is 3500 hoard 'SELECT count(*) FROM executions'
check "CUPTI asks for buffers until there are none: the numbers add up" adds_up hoard
check "records of a kind that nobody knows" rec strange strange -t 2 -n 2000
check "records of a kind that nobody knows: every launch has its execution" complete strange
check "records without times" rec timeless timeless=10 -t 2 -n 2000
check "records without times are counted" test "$(reason 1201 timeless)" = 400
check "records without times: other executions are there" is 3600 timeless 'SELECT count(*) FROM executions'
check "records without times: the numbers add up" adds_up timeless
check "records whose launch is not known" rec foreign foreign=10 -t 2 -n 2000
check "records whose launch is not known are counted" test "$(reason 1203 foreign)" = 400
check "records whose launch is not known: other executions are there" is 3600 foreign 'SELECT count(*) FROM executions'
check "records whose launch is not known: the numbers add up" adds_up foreign

# ---- lives ----
check "a context destroyed while it is sampled" rec destroyed '' -n 3000 -D
check "a context destroyed while it is sampled: every launch has its execution" complete destroyed
check "a context destroyed while it is sampled: the next one is sampled, too" test "$(grep -c 'sampling on result=0' destroyed.log)" -ge 2
check "a context destroyed while it is sampled: CUPTI is switched in order" order destroyed
app=app_profiler
check "two contexts of one device, one destroyed beside the other's launches" rec contexts '' -t 2 -d 2 -o -n 10000 -D
check "two contexts of one device: every launch has its execution" complete contexts
check "two contexts of one device: the profile has one device" is '1,1' contexts 'SELECT count(*), (SELECT count(DISTINCT device) FROM samples) FROM devices'
one_at_a_time() { # is sampled; one that goes may take its sampling with it
	awk '/ sampling on result=0/ { on++; n++ } / sampling off result=0/ { on--; off = 1 }
		/ destroyed / { on -= !off; off = 0 } on > 1 { bad = 1 } END { exit bad || n < 2 }' contexts.log || { cat contexts.log; return 1; }
}
check "two contexts of one device are sampled one after the other" one_at_a_time
check "two contexts of one device: CUPTI is switched in order" order contexts
check "a program that uses CUPTI itself, while 4 threads launch" rec profiler call=1000000 -t 4 -n 1500 -g 50 -P
app=app
check "a program that uses CUPTI itself can subscribe" test "$(truth subscribed profiler),$(truth unsubscribed profiler)" = 0,0
check "a program that uses CUPTI itself sees what it asked for" test "$(truth seen profiler)" -ge 375
check "a program that uses CUPTI itself: the profile says so" once 1212 profiler
seat() { # at the program's subscription nothing was recorded for us
	awk '/ unsubscribe / && !ours { ours = $0 } / subscribe / && ours { print ours; exit }' profiler.log >seat.out
	grep -q 'record_kinds=0 sampled=0' seat.out || { cat seat.out profiler.log; return 1; }
}
check "a program that uses CUPTI itself: the agent had unsubscribed before" seat
check "a program that uses CUPTI itself: the agent subscribes again" test "$(grep -c ' subscribe refused=0' profiler.log)" -ge 3
check "a program that uses CUPTI itself: CUPTI has lost count of no thread" unconfused profiler
check "a program that uses CUPTI itself: the numbers add up" adds_up profiler
check "a program that uses CUPTI itself: no execution has another's launch" right_joins profiler
app=app_profiler
check "a program after whose use of CUPTI that has lost count of threads" rec losing call=1000000,losing=1 -t 4 -n 1500 -g 50 -P
app=app
counted() { confused losing && [ "$lost" -gt 0 ] && [ "$got" -gt 0 ]; }
check "CUPTI has lost count of threads: their launches are counted" counted
check "CUPTI has lost count of threads: the summary says what share is missing" says '% of all launches are missing' "$aiflame" report losing.data
check "CUPTI has lost count of threads: the numbers add up" adds_up losing
check "CUPTI has lost count of threads: no execution has another's launch" right_joins losing
check "a program that uses CUPTI itself: CUPTI is switched in order" order profiler
check "a program that forks is recorded" rec forks '' -n 2000 -F
check "a program that forks: its child ends as it wants" test "$(truth child forks)" = 5
check "a program that forks: every launch of the parent has its execution" complete forks
check "a program that forks: CUPTI is switched in order" order forks
check "exit() while 4 threads launch and are sampled: its status" status_is 7 rec exits '' -t 4 -n 3000 -x 7
check "exit() while 4 threads launch: the numbers add up" adds_up exits
check "exit() while 4 threads launch: no execution has another's launch" right_joins exits
check "exit() while 4 threads launch: CUPTI is switched in order" order exits
killed() {
	begin killed '' -t 4 $until_done
	wait_until in_file killed "$many_samples"
	kill -9 "$(sed -n '1s/^[0-9]* \([0-9]*\) .*/\1/p' killed.log)"
	wait $recording
	[ $? -eq 137 ]
}
check "killed with -9 while it is sampled: its status" killed
check "killed with -9 while it is sampled: the numbers add up" adds_up killed
check "killed with -9 while it is sampled: no execution has another's launch" right_joins killed
done_testing
