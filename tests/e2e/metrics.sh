#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# EU-stall samples through Level Zero's metrics streamer: the real loader, below it a SIMULATED driver with metrics
# (tests/mock/level_zero/metrics.c). No hardware is in it.
. "$(dirname "$0")/tap.sh"
. "$root/tests/e2e/ze_mock.sh"
fakexe=$build/tests/mock/xe/fakexe

# Where mm and add lie: the simulated driver's addresses.
cat >stalls <<'EOF'
0 800000000008 Active=5 SbidStall=7 PSDepStall=2
0 800000000010 BubbleStall=9 InstrFetchStall=1
0 800000001008 SendStall=4 DistStall=3
0 8 PipeStall=6 SyncStall=1 ControlStall=2
drop
0 drop
0 fff00 OtherStall=8
EOF
# rec NAME FAULTS WORDS...: as the application would end without us, with the samples of the script NAME, else `stalls`
rec() {
	name=$1 faults=$2
	shift 2
	[ -e "$name.stalls" ] || cp stalls "$name.stalls"
	ZE_MOCK="$faults" ZE_MOCK_STALLS=$work/$name.stalls $by $with_library "$aiflame" record -q --all-launches $options -o "$name.data" "$mock/${app:-ze_app}" \
		mm.bin mm,add "$@" >"$name.out" 2>&1 || { cat "$name.out"; return 1; }
}
adds_up() { says 'everything adds up' "$aiflame" info "$1.data"; }
all='SELECT k.name, s.pc, s.reason, sum(s.count) FROM samples s LEFT JOIN kernels k ON k.id = s.kernel GROUP BY 1, 2, 3 ORDER BY 1, 2, 3'
# Six of the eleven reasons at two addresses of one kernel: 8 is the low half of mm's, as hardware tells it.
each() {
	are "$1" "$all" ,,other,8 add,8,dist_acc,3 add,8,send,4 mm,8,active,5 mm,8,control,2 mm,8,pipestall,6 mm,8,sbid,7 mm,8,sync,1 mm,8,tdr,2 \
		mm,16,BubbleStall,9 mm,16,inst_fetch,1
}

check 'samples of the metrics streamer are recorded' rec plain '' immediate a add streamed1 a b told1
check 'a sample has its kernel, instruction and reason; an unknown reason has its own name' each plain
check 'samples lie in a window of the process' are plain 'SELECT count(DISTINCT s.window), count(DISTINCT w.process), min(w.period) FROM samples s JOIN windows w ON w.window = s.window' 1,1,1169
check 'samples of unknown code have no frame' are plain 'SELECT sum(count) FROM samples WHERE process IS NULL AND frame IS NULL' 8
check 'a full buffer of the streamer is counted' reason plain 1333 1
check 'a recording with samples counts no other loss of samples' are plain 'SELECT count(*) FROM losses WHERE reason BETWEEN 1300 AND 1349 AND reason <> 1333' 0
check 'counts of a recording with samples add up' adds_up plain
shared() {
	are plain "SELECT sum(a.count) FROM attributed a JOIN kernels k ON k.id = a.kernel WHERE k.name = 'mm'" 33 &&
		"$aiflame" flame --leaf stall plain.data -o plain.folded && grep -q ';path_a;zeCommandListAppendLaunchKernel;mm_\[g\];.*;sbid' plain.folded &&
		grep -q ';path_b;zeCommandListAppendLaunchKernel;mm_\[g\];.*;sbid' plain.folded || { cat plain.folded; return 1; }
}
check 'stacks that launched one kernel share its samples' shared
as_found() { app=ze_app_dlopen; rec found '' immediate a add streamed1 a told1; r=$?; app=; [ $r = 0 ] && each found; }
check 'a program that finds the loader by dlopen() is sampled' as_found
faulty() { rec "$1" "$1" a add streamed1 a told1 && each "$1" && adds_up "$1"; }
check 'the metric group is found whatever its place is' faulty other_order
wrapped() { ZE_ENABLE_LOADER_INTERCEPT=1 rec wrapped '' a add streamed1 a told1 && each wrapped; }
check 'a loader that wraps handles is no obstacle to samples' wrapped
check 'a driver without the function for several sets is sampled' faulty one_set
check 'values in several sets are read' faulty two_sets
drops() { faulty drops_in_records && are drops_in_records 'SELECT sum(count) >= 2 FROM losses WHERE reason = 1333' 1; }
check 'drops that records tell are counted' drops

# More addresses than the table holds, more records than one reading.
awk 'BEGIN { for (i = 0; i < 10000; i++) printf "0 8000%08x SbidStall=3 Active=1\n", 8 * (i % 9000); exit }' >many.stalls
check 'a kernel with many addresses is sampled' rec many '' a streamed1 a told1
check 'no sample of a kernel with many addresses is lost' are many 'SELECT sum(count), count(DISTINCT pc) FROM samples WHERE reason = '"'sbid'" 30000,5
check 'samples of addresses behind the code are kept' are many 'SELECT sum(count) FROM samples' 40000

# ---- several devices ----
cat >devices.stalls <<'EOF'
0 800000000008 SbidStall=10
1 800000000008 SbidStall=20
EOF
cp devices.stalls nopci.stalls
echo '0 800000100008 Active=10' >tile.stalls
by_device='SELECT device, pc, sum(count), count(DISTINCT window) FROM samples GROUP BY 1, 2 ORDER BY 3'
each_device() { rec "$1" "two_devices $2" a also a streamed2 a told2 && are "$1" "$by_device" 0,8,10,1 1,8,20,1 && reason "$1" 1335 0 && adds_up "$1"; }
check 'samples of two devices with the same addresses are kept apart' each_device devices ''
check 'samples of two devices without a place on the bus are kept apart' each_device nopci no_pci
# A part of a device is sampled with the whole.
parts() { rec tile '' tile a streamed1 a told1 && are tile 'SELECT d.name, sum(s.count), s.reason FROM samples s JOIN devices d ON d.id = s.device WHERE s.kernel IS NOT NULL GROUP BY 1' \
	'"Simulated GPU, tile 0",10,active' && adds_up tile; }
check 'a part of a device is sampled as that part' parts
# Both have code at one address: their samples are those of both, as of two processes.
cat >whole.stalls <<'EOF'
0 800000000008 SbidStall=1000
EOF
sed '1s/.*/&\n0 800000100008 SbidStall=500/' whole.stalls >parts.stalls
wholes() { rec parts '' a tile a streamed1 a told1 && are parts 'SELECT d.name, sum(s.count) FROM samples s JOIN devices d ON d.id = s.device GROUP BY 1 ORDER BY 2' \
	'"Simulated GPU, tile 0",500' 'Simulated GPU,1000' && reason parts 1335 0 && adds_up parts; }
check 'a device and a part of it have one streamer' wholes
cp whole.stalls two.stalls
two_processes() {
	export ZE_MOCK_STALLS="$work/two.stalls"
	$by $with_library "$aiflame" record -q --all-launches -o two.data sh -c '"$0" mm.bin mm a streamed1 done1 & ZE_MOCK=metrics_denied "$0" mm.bin mm a told1; wait' "$mock/ze_app" >two.out 2>&1 || return 1
	unset ZE_MOCK_STALLS
	are two 'SELECT sum(count) FROM samples' 1000 && reason two 1335 1000 && adds_up two
}
check 'two processes on one device share its samples, and are told so' two_processes

# ---- what chooses ----
rates() {
	options='--device-rate 6000000' && rec fast '' a streamed1 a told1 && options= || return 1
	[ "$(cat fast.stalls.open.0)" = 167 ] && says 'every 167 ns a unit' "$aiflame" info fast.data && [ "$(cat plain.stalls.open.0)" = 1169 ]
}
check 'the sampling rate is the nearest to what is asked for, by default the slowest' rates
none() { options='--device-rate 0' && rec none '' a a && options= && [ ! -e none.stalls.open.0 ] && are none 'SELECT count(*) FROM losses WHERE reason BETWEEN 1300 AND 1349' 0; }
check '--device-rate 0 opens no streamer' none
variable() { # what the program sees
	seen=$($1 "$aiflame" record -q $2 -o variable.data sh -c 'echo "${ZET_ENABLE_METRICS-unset}"') && [ "$seen" = "$3" ] || { echo "$seen"; return 1; }
}
# One that is over at once has samples, was read without any, or the reason why not.
soon() { rec soon '' a && are soon 'SELECT (SELECT count(*) > 0 FROM windows) OR (SELECT sum(count) = 1 FROM losses WHERE reason IN (1338, 1339))' 1; }
check 'a program that ends at once has been sampled, or the reason why not is counted' soon
off_soon() { with_library=env && rec off_soon '' a; r=$?; with_library="env LD_LIBRARY_PATH=$work/lib"; [ $r = 0 ] && are off_soon 'SELECT sum(count) FROM losses WHERE reason IN (1339, 1340)' 1; }
check 'a program that ends at once without metrics has the reason counted' off_soon
check 'record sets ZET_ENABLE_METRICS where the library of metrics is' variable "$with_library" '' 1
check 'record does not set ZET_ENABLE_METRICS where the library is not: the driver would not start' variable env '' unset
check 'record --device-rate 0 does not set ZET_ENABLE_METRICS' variable "$with_library" '--device-rate 0' unset
check 'record keeps the ZET_ENABLE_METRICS of the user' variable "$with_library ZET_ENABLE_METRICS=0" '' 0

# ---- refusals: the program is not disturbed, and the reason is said with what helps ----
# refusal NAME REASON FIX WHERE
refusal() {
	rec "$1" "$1" a asked pause && are "$1" "SELECT count(*) FROM losses WHERE reason = $2" 1 && are "$1" 'SELECT count(*) FROM samples' 0 &&
		are "$1" 'SELECT count(*) FROM launches' 1 && adds_up "$1" && says "$3" "$aiflame" info "$1.data"
}
off() { with_library=env && refusal off 1340 'record COMMAND then sets ZET_ENABLE_METRICS=1' ; r=$?; with_library="env LD_LIBRARY_PATH=$work/lib"; return $r; }
check 'metrics that are off are named as the reason, with what to do' off
unwanted() { with_library='env ZET_ENABLE_METRICS=0' && refusal unwanted 1373 'unset ZET_ENABLE_METRICS' ; r=$?; with_library="env LD_LIBRARY_PATH=$work/lib"; return $r; }
check 'metrics that the user has switched off are named as the reason' unwanted
check 'report --stalls names the metrics that the user has switched off' sh -c '"$1" report --stalls unwanted.data 2>&1 | grep -q "unset ZET_ENABLE_METRICS"' - "$aiflame"
check 'a device without the metric group is named as the reason' refusal no_metrics 1341 'compute runtime'
check 'metrics that are not permitted are named as the reason, with the settings' refusal metrics_denied 1342 'sysctl dev.xe.observation_paranoid=0 or dev.i915.perf_stream_paranoid=0'
check 'an unknown error of the driver is named as the reason' refusal metrics_odd 1344 'zetMetricStreamerOpen: 0x78765432'
check 'a streamer that cannot be read is named as the reason' refusal read_fails 1344 'zetMetricStreamerReadData: 0x70000001'
busy() { rec metrics_busy metrics_busy a add streamed1 a told1 && each metrics_busy && reason metrics_busy 1343 1 && says 'another process samples the GPU' "$aiflame" info metrics_busy.data; }
check 'samples come once another process lets go of the GPU' busy
hangs() { rec hangs read_hangs a streamed1 pause && reason hangs 1338 1 && are hangs 'SELECT count(*) FROM samples' 0 && adds_up hangs; }
check 'a program that ends while the driver is asked has its missing samples counted' hangs
unread() { rec calculate_fails calculate_fails a streamed1 a told1 && are calculate_fails 'SELECT count(*) FROM samples' 0 && are calculate_fails "SELECT count > 0 FROM losses WHERE reason = 1345" 1; }
check 'values that the driver cannot calculate are counted' unread

# ---- beside the xe driver's own stream ----
echo >none.card
if "$fakexe" none.card true 2>/dev/null; then
	# card NAME WORDS...: the application beside the card NAME.card
	card() {
		name=$1
		shift
		cp stalls "$name.stalls"
		ZE_MOCK_STALLS=$work/$name.stalls $by "$fakexe" "$name.card" $with_library "$aiflame" record -q --all-launches -o "$name.data" "$mock/ze_app" mm.bin mm,add "$@" >"$name.out" 2>"$name.txt" ||
			{ cat "$name.out" "$name.txt"; return 1; }
	}
	printf 'gt 0 20.1\nrecords 0 10 0x8 sbid=3\n' >xe.card
	one() { card xe a pause pause && are xe "$all" mm,8,sbid,30 && [ ! -e xe.stalls.open.0 ]; }
	check 'no streamer is opened where the recorder reads the stream of the xe driver' one
	printf 'gt 0 20.1\nopen 0 EACCES 99\n' >denied.card
	other() { card denied a add streamed1 a told1 && each denied && reason denied 1330 1 && adds_up denied; }
	check 'the streamer samples where the stream of the xe driver is refused' other
	printf 'gt 0 20.1\nopen 0 EBUSY 9999\n' >taken.card
	neither() { card taken a pause pause && [ ! -e taken.stalls.open.0 ] && reason taken 1331 1; }
	check 'no streamer is opened where another process has the GPU' neither
else
	skip 'no streamer is opened where the recorder reads the stream of the xe driver' 'seccomp cannot supervise a process here'
fi
done_testing
