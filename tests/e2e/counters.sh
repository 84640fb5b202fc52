#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Performance counters of GPUs through Level Zero's metrics streamer: the real loader, below it a SIMULATED driver with
# metrics (tests/mock/level_zero/counters.c). No hardware is in it.
. "$(dirname "$0")/tap.sh"
. "$root/tests/e2e/ze_mock.sh"

# Reports 10 ms apart by the device's own clock, one of which was dropped.
cat >counters <<'EOF'
0 5000000000 GpuBusy=12.5 AvgGpuCoreFrequencyMHz=1550 XveActive=0.1 GpuTime=1000 Stalled=1 GpuMemoryByteRead=4096
0 5010000000 GpuBusy=100 AvgGpuCoreFrequencyMHz=1600 XveActive=99.75 GpuTime=2000 GpuMemoryByteRead=8192
0 drop
0 5040000000 GpuBusy=50 AvgGpuCoreFrequencyMHz=300 XveActive=7 GpuTime=3000 GpuMemoryByteRead=16384
1 77 GpuBusy=1 AvgGpuCoreFrequencyMHz=2
EOF
echo '0 800000000008 SbidStall=7' >stalls
# rec NAME LIST FAULTS WORDS...
rec() {
	name=$1 list=$2 faults=$3
	shift 3
	cp stalls "$name.stalls"
	ZE_MOCK="$faults" ZE_MOCK_STALLS=$work/$name.stalls ZE_MOCK_COUNTERS=$work/counters $by $with_library \
		"$aiflame" record -q --all-launches $options ${list:+--counters "$list"} -o "$name.data" "$mock/ze_app" mm.bin mm "$@" >"$name.out" 2>&1 || { cat "$name.out"; return 1; }
}
in_order="group_concat(value, ' ') OVER (PARTITION BY device, name ORDER BY time_ns ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
values="SELECT DISTINCT name, unit, $in_order FROM counters ORDER BY 1"
basic() { are "$1" "$values" 'AvgGpuCoreFrequencyMHz,MHz,1550.0 1600.0 300.0' 'GpuBusy,%,12.5 100.0 50.0' 'GpuTime,ns,1000.0 2000.0 3000.0' 'Stalled,,1.0 0.0 0.0' 'XveActive,%,0.1 99.75 7.0'; }

check 'counters are recorded beside samples of the same device' rec plain default '' a streamed1 counting1 a told1 counted1
check 'the default group has its counters, all but stamps and raw ones' basic plain
check 'counters beside samples: the samples are there' are plain 'SELECT reason, sum(count) FROM samples GROUP BY 1' sbid,7
# Two were read at once; the last of them when it was read, the other 10 ms before, as its stamp says.
check 'counters have the time of their report' are plain "SELECT max(time_ns) - min(time_ns) FROM (SELECT DISTINCT time_ns FROM counters ORDER BY time_ns LIMIT 2)" 10000000
check 'all values of counters are of the time of the recording' are plain "SELECT count(*) FROM counters WHERE time_ns < 0 OR time_ns > (SELECT (end_ns - start_ns) FROM processes LIMIT 1) + 1000000000" 0
check 'counters are of their device' are plain 'SELECT DISTINCT d.name, c.process FROM counters c JOIN devices d ON d.id = c.device' 'Simulated GPU,'
check 'reports of counters that were dropped are counted' reason plain 1349 1
check 'counters beside samples: nothing else is lost' are plain 'SELECT count(*) FROM losses WHERE reason BETWEEN 1300 AND 1349 AND reason <> 1349' 0
check 'the period of counters is 10 ms' test "$(cat plain.stalls.counting.0)" = 10000000
period() {
	options='--counters-period 1ms' && rec period default '' a counting1 counted1 && options= && [ "$(cat period.stalls.counting.0)" = 1000000 ]
}
check '--counters-period is the time between two values of counters' period
options=
check '--counters-period refuses less than a millisecond' status_is 2 "$aiflame" record --counters default --counters-period 500us touch ran
check '--counters-period refuses more than a second' status_is 2 "$aiflame" record --counters default --counters-period 2 touch ran
check '--counters-period without --counters is refused' status_is 2 "$aiflame" record --counters-period 10ms touch ran
check '--counters-period is refused around kernels' status_is 2 "$aiflame" record --counters query:ComputeBasic --counters-period 10ms touch ran
check 'a --counters-period that is refused runs no command' test ! -e ran
check 'counters beside samples: the numbers add up' says 'everything adds up' "$aiflame" info plain.data
check 'report has counters as a table' says 'Simulated GPU  AvgGpuCoreFrequencyMHz  MHz        3   300    1550   1600      1150' "$aiflame" report --counters plain.data
exported() { "$aiflame" export --format "$1" -o "plain.$1" plain.data && python3 "$root/tests/e2e/export_check.py" "$aiflame" plain.data "$1" "plain.$1"; }
check 'export chrome has counters' exported chrome
check 'export perfetto has counters' exported perfetto
check "export iaprof has counters" exported iaprof
alone() { options='--device-rate 0' && rec alone default '' a counting1 counted1 && options= && basic alone && [ ! -e alone.stalls.open.0 ]; }
check 'counters are recorded without samples' alone
unasked() { rec unasked '' '' a streamed1 a told1 && [ ! -e unasked.stalls.counting.0 ] && are unasked 'SELECT count(*) FROM counters' 0; }
check 'without --counters none is read' unasked

# ---- what is asked for ----
named() {
	rec named 'gpubusy, GpuMemoryByteRead' '' a counting1 counted1 &&
		are named "$values" 'GpuBusy,%,12.5 100.0 50.0' 'GpuMemoryByteRead,bytes,4096.0 8192.0 16384.0' && reason named 1348 0
}
check '--counters with names takes the group that has most of them' named
group() { rec group MemoryProfile '' a counting1 counted1 && are group 'SELECT DISTINCT name FROM counters ORDER BY 1' GpuBusy GpuMemoryByteRead; }
check '--counters takes a group by name' group
part() { rec part 'XveActive,AvgGpuCoreFrequencyMHz,GpuMemoryByteRead,Nothing' '' a counting1 counted1 && are part 'SELECT DISTINCT name FROM counters ORDER BY 1' AvgGpuCoreFrequencyMHz XveActive &&
	reason part 1348 2 && says 'ComputeBasic has no GpuMemoryByteRead, Nothing' "$aiflame" info part.data; }
check '--counters names what a group does not have' part
for list in '' , ' ' 'GpuBusy,,XveActive' 'GpuBusy, ' ,GpuBusy help,; do
	check "--counters refuses a list with an empty name: '$list'" status_is 2 "$aiflame" record --counters "$list" true
done
check "--counters says that a list has an empty name: '$list'" says "',' has an empty name; give names with commas between: --counters default, or what --counters help lists" "$aiflame" record --counters , true
check '--counters refuses a list that is too long' status_is 2 "$aiflame" record --counters "$(printf '%600s' x)" true

# ---- what there is ----
cat >groups.txt <<'EOF'
GPU 0: Simulated GPU
  group                            domain  sampling    counters  for         what
  RenderBasic                         100  time              13  --counters
  EuStallQuery                        100  query             13  -
  EuStallSampling                     100  time              13  --counters
  EU stalls                           100  time              13  EU stalls
  MemoryProfile                         1  time               3  --counters  what MemoryProfile is for
  ComputeBasic                          2  time, query        7  --counters  what ComputeBasic is for
EOF
listed() { ZE_MOCK="$1" $with_library "$aiflame" record --counters "$2" >listed.txt 2>listed.err || { cat listed.err; return 1; }; }
all_listed() { listed '' "$1" && head -n 8 listed.txt | diff groups.txt - && [ ! -s listed.err ]; }
check '--counters help lists the groups with domain, sampling and use' all_listed help
check '--counters list is --counters help' all_listed LIST
same() { listed two_devices help && grep -qx 'GPU 1: Simulated GPU: the same' listed.txt; }
check '--counters help lists several GPUs of a kind once' same
cat >in_groups.txt <<'EOF'
GPU 0: Simulated GPU
  group MemoryProfile: domain 1, sampling time, for --counters; what MemoryProfile is for
    QueryBeginTime                           ns               timestamp   QueryBeginTime of the GPU
    GpuBusy                                  percent          ratio       GpuBusy of the GPU
    GpuMemoryByteRead                        bytes            throughput  GpuMemoryByteRead of the GPU
EOF
in_group() { listed '' 'help, memoryprofile' && diff in_groups.txt listed.txt; }
check '--counters help:GROUP lists what is in it' in_group
# unlisted TEXT COMMAND...: it is said why there is nothing to list
unlisted() {
	text=$1
	shift
	"$@" "$aiflame" record --counters "${wanted:-help}" >listed.txt 2>listed.err
	[ $? = 1 ] && [ ! -s listed.txt ] && grep -qF -- "$text" listed.err || { cat listed.txt listed.err; return 1; }
}
no_group() { wanted=help,Nothing; unlisted "no GPU here has a group named 'Nothing'; --counters help lists them" $with_library; r=$?; wanted=; return $r; }
check '--counters help refuses an unknown group' no_group
check '--counters help says that there is no library of metrics' unlisted 'no metric groups, as libigdmd.so.1 is not installed; apt-get install libigdmd1' env
check '--counters help says that metrics are switched off' unlisted 'no metric groups, as ZET_ENABLE_METRICS=0 is set; unset it' $with_library ZET_ENABLE_METRICS=0
check '--counters help says that there is no driver' unlisted "no driver of Level Zero's starts here (zeInit: 0x78000001)" $with_library ZE_ENABLE_ALT_DRIVERS=/nowhere
check '--counters help survives a driver that crashes' unlisted "Level Zero's driver has crashed when it was started with ZET_ENABLE_METRICS=1" $with_library ZE_MOCK=metrics_crash
for arguments in 'help touch ran' 'help,ComputeBasic -a' "list -p $$"; do
	check "--counters help refuses what it would not record: $arguments" status_is 2 "$aiflame" record --counters $arguments
done
check "--counters help says why it refuses: $arguments" says 'record: --counters help lists counters and records nothing; leave out the command' "$aiflame" record --counters help touch ran
check '--counters help runs no command' test ! -e ran
check 'doctor and the help lead to --counters help' says 'record --counters help' "$aiflame" record -h

# ---- clocks, tiles, devices ----
evenly() { rec evenly default no_stamps a counting1 counted1 && are evenly "SELECT max(time_ns) - min(time_ns) FROM (SELECT DISTINCT time_ns FROM counters ORDER BY time_ns LIMIT 2)" 10000000; }
check 'counters without stamps are a period apart' evenly
tiles() { rec tiles GpuBusy counters_tiles a counting1 counted1 && are tiles "$values" '"GpuBusy, tile 0",%,12.5 100.0 50.0' '"GpuBusy, tile 1",%,13.5 101.0 51.0'; }
check 'each tile has its own counters' tiles
devices() { rec devices GpuBusy two_devices a also a counting2 counted2 && are devices "SELECT DISTINCT device, $in_order FROM counters ORDER BY 1" '0,12.5 100.0 50.0' 1,1.0; }
check 'two devices have their own counters' devices
# Of one device one process reads, and nobody is refused anything.
two() {
	cp stalls two.stalls
	ZE_MOCK_STALLS=$work/two.stalls ZE_MOCK_COUNTERS=$work/counters $by $with_library "$aiflame" record -q --all-launches --device-rate 0 --counters default -o two.data \
		sh -c '"$0" mm.bin mm a counting1 counted1 pause & "$0" mm.bin mm a counting1 counted1 pause; wait' "$mock/ze_app" >two.out 2>&1 || { cat two.out; return 1; }
	are two 'SELECT count(*) > 0, count(*) % 15 FROM counters' 1,0 && reason two 1347 0
}
check 'two processes on a device have counters once' two

# ---- programs that are soon over ----
# Read at its end, unless the agent is in the middle of something then, which is said.
last() { rec last default '' a counting1 && { reason last 1338 1 || { basic last && reason last 1370 0; }; }; }
check "counters that are there at a program's end are read" last
soon() { rec soon default '' a && are soon 'SELECT (SELECT count(*) > 0 FROM counters) OR (SELECT sum(count) = 1 FROM losses WHERE reason IN (1338, 1370))' 1; }
check 'a program that is over at once has counters, or the reason why not' soon
killed() { # before anything can have been read
	cp stalls killed.stalls
	ZE_MOCK_STALLS=$work/killed.stalls ZE_MOCK_COUNTERS=/nowhere $by $with_library "$aiflame" record -q --counters default --device-rate 0 -o killed.data \
		sh -c '"$0" mm.bin mm a counting1 pause pause & until [ -e "$ZE_MOCK_STALLS.counting.0" ]; do sleep 0.05; done; kill -9 $!' "$mock/ze_app" >killed.out 2>&1
	reason killed 1370 1 && says 'process that was over before a report' "$aiflame" info killed.data
}
check 'a program that is killed before it has told any counter is counted' killed
no_gpu() { "$aiflame" record -q --counters default -o no_gpu.data true && reason no_gpu 1371 1; }
check 'counters without a GPU in use: that is said' no_gpu

# ---- around each kernel ----
# The simulated driver's k-th query, executed for the r-th time, says 100 k + 10 r + m of metric m (tests/mock/level_zero/queries.c).
options='--device-rate 0'
around="SELECT l.launch % 1024, c.name, min(c.value), max(c.value), count(*) FROM launches l JOIN counters c USING (launch) WHERE c.name LIKE 'Gpu%' GROUP BY 1, 2"
# how_many NAME: launches of kernels, executions, launches with values, executions with values, those without
how_many() { are "$1" "SELECT (SELECT count(*) FROM launches WHERE kind = 'kernel'), (SELECT count(*) FROM executions WHERE kernel IS NOT NULL), count(DISTINCT launch),
	sum(name = 'GpuBusy'), (SELECT coalesce(sum(count), 0) FROM losses WHERE reason = 1374) FROM counters WHERE launch IS NOT NULL" "$2"; }
check '--counters query: measures around each kernel, on lists of both kinds' rec query query:computebasic '' immediate a b regular thrice
check 'each launch has its own values, executed again others' are query "$around" 0,GpuBusy,111.0,111.0,1 0,GpuTime,110.0,110.0,1 1,GpuBusy,211.0,211.0,1 \
	1,GpuTime,210.0,210.0,1 2,GpuBusy,311.0,331.0,3 2,GpuTime,310.0,330.0,3 3,GpuBusy,411.0,431.0,3 3,GpuTime,410.0,430.0,3
check '--counters query: nothing is lost' are query 'SELECT count(*) FROM losses' 0
check 'report --launches has values of counters, the mean of executions' says '420      421                     422        424        1' "$aiflame" report --launches query.data
table() { "$aiflame" report --launches --format csv query.data | cut -d, -f13- | diff - columns.txt; }
printf '%s\n' GpuTime,GpuBusy,AvgGpuCoreFrequencyMHz,XveActive,Stalled 110,111,112,114,1 210,211,212,214,1 320,321,322,324,1 420,421,422,424,1 >columns.txt
check 'report --launches --format csv has values of counters' table
sorted() { "$aiflame" report --launches --sort GpuBusy --limit 1 query.data | grep -q '420      421'; }
check 'report --launches sorts by a counter' sorted
check '--counters query: no streamer is opened' test ! -e query.stalls.counting.0
check '--counters query: the numbers add up' says 'everything adds up' "$aiflame" info query.data
few() { rec few query:ComputeBasic few_queries regular thrice && how_many few 2,6,1,3,1; }
check 'a pool of queries that is used up: other launches are counted' few
many() { rec many query:ComputeBasic '' threads && are many "SELECT count(DISTINCT launch) + (SELECT sum(count) FROM losses WHERE reason = 1374), count(DISTINCT launch) >= 1024 FROM counters" 8000,1; }
check 'four threads: each launch has values or is counted' many
contexts() { rec contexts query:ComputeBasic '' contexts && how_many contexts 100,100,100,100,0; }
check 'contexts that come and go: each launch has values' contexts
events() { rec events query:ComputeBasic '' event timed immediate event timed && how_many events 12,12,12,12,0; }
check "the application's own events are signalled with queries" events
raced() { rec raced query:ComputeBasic late_return immediate race && how_many raced 5,5,5,5,0; }
check 'an event that another thread resets before the call returns is counted' raced
forked() { rec forked query:ComputeBasic '' a fork inherit a && are forked 'SELECT count(DISTINCT launch) = (SELECT count(*) FROM launches) FROM counters' 1; }
check 'forked children have values of their own' forked
unread() { rec unread query:ComputeBasic "$1" a b && how_many unread "2,2,0,,$2"; }
check 'values that cannot be read are counted' unread queries_fail 2
check 'queries that cannot be ended are counted' unread query_end_fails 2
refused() { rec refused "$1" "$2" a b && how_many refused 2,2,0,,0 && reason refused "$3" 1 && says "$4" "$aiflame" info refused.data; }
check 'a driver without pools of queries is said' refused query:ComputeBasic no_queries 1347 zetMetricQueryPoolCreate
check '--counters query: of an unknown group is said' refused query:Nothing '' 1346 query:Nothing
check '--counters query: of a group that can only be read over time is said' refused query:MemoryProfile '' 1346 query:MemoryProfile
for list in query: query:A,B GpuBusy,query:A 'GpuBusy, query:A'; do
	check "--counters '$list' is refused" status_is 2 "$aiflame" record --counters "$list" true
done
options=

# ---- of what runs already ----
on_standby() { "$aiflame" ctl status | grep -q "$app"; }
# attached NAME SIGN ENV... : record -p of the application, started with what `aiflame env ENV...` prints, until the driver
# has given the SIGN, and a while longer
attached() {
	name=$1 sign=$work/$1.stalls.$2.0
	shift 2
	cp stalls "$name.stalls"
	rm -f until
	(
		eval "$($with_library "$aiflame" env "$@")"
		ZE_APP_UNTIL=$work/until ZE_MOCK_STALLS=$work/$name.stalls ZE_MOCK_COUNTERS=$work/counters exec "$mock/ze_app" mm.bin mm loop >"$name.app" 2>&1
	) &
	app=$!
	wait_until on_standby
	$by "$aiflame" record --all-launches --device-rate 0 --counters default -o "$name.data" -p $app >"$name.out" 2>&1 &
	recording=$!
	wait_until test -e "$sign"
	# Where it can have counters it has some.
	case $name in with) wait_until in_file "$name" 'SELECT count(*) > 0 FROM counters' ;; esac
	touch until
	wait $recording || { cat "$name.out"; return 1; }
	wait $app || { cat "$name.app"; return 1; }
}
without() {
	attached without asked && grep -q "process $app was not started with ZET_ENABLE_METRICS=1: .*aiflame env --metrics" without.out && reason without 1372 1 &&
		grep -q 'started with it (aiflame env --metrics)' without.out || { cat without.out; return 1; }
}
check 'a process that was started without metrics is said before and afterwards, with what helps' without
with() { attached with counted --metrics && ! grep -q ZET_ENABLE with.out && basic with; }
check 'a process that was started with aiflame env --metrics has its counters' with

# ---- a driver that crashes because of it ----
# crashed NAME HOW COMMAND...
crashed() {
	name=$1 how=$2
	shift 2
	$by $with_library "$aiflame" record -o "$name.data" "$@" >"$name.out" 2>&1
	[ $? = 139 ] && reason "$name" 1223 1 && grep -q '^reason   the command ended before it had launched anything' "$name.out" &&
		grep -q "launched anything ($how); .*ZET_ENABLE_METRICS=0 aiflame record" "$name.out" || { cat "$name.out"; return 1; }
}
check 'a driver that crashes at its start with metrics: how to go without is said' crashed crash 'by SIGSEGV' env ZE_MOCK=metrics_crash "$mock/ze_app" mm.bin mm a
check 'a driver that crashes at its start below a shell: how to go without is said' crashed shell 'with 139, as shells tell of SIGSEGV' sh -c 'ZE_MOCK=metrics_crash "$0" mm.bin mm a; exit $?' "$mock/ze_app"
not_ours() { # nothing was set for it; or it did launch
	! "$aiflame" record -q -o ours.data sh -c 'kill -SEGV $$' && reason ours 1223 0 && ! $with_library "$aiflame" record -q -o own.data "$mock/ze_app" mm.bin mm a nonsense && reason own 1223 0 &&
		! $with_library "$aiflame" record -q -o ended.data sh -c 'kill -TERM $$' && reason ended 1223 0
}
check "other ends than a driver's crash are not blamed on metrics" not_ours
aub="env NEOReadDebugKeys=1 SetCommandStreamReceiver=1 ProductFamilyOverride=pvc HardwareInfoOverride=1x8x8 AUBDumpCaptureFileName=/dev/null"
real() { unset ZE_ENABLE_ALT_DRIVERS; crashed real 'by SIGSEGV' $aub "$mock/ze_app" mm.bin mm a; r=$?; export ZE_ENABLE_ALT_DRIVERS="$mock/libze_mock.so"; return $r; }
if (unset ZE_ENABLE_ALT_DRIVERS; $aub ZET_ENABLE_METRICS=1 "$mock/ze_app" mm.bin mm; [ $? = 139 ]) >/dev/null 2>&1; then
	check "Intel's own driver without a GPU crashes with metrics, and that is said" real
else
	skip "Intel's own driver" 'it is not here, or does not crash'
fi

# ---- refusals ----
# refusal NAME REASON FIX LIST
refusal() {
	rec "$1" "${4:-default}" "$1" a streamed1 a told1 pause && are "$1" "SELECT count FROM losses WHERE reason = $2" 1 && are "$1" 'SELECT count(*) FROM counters' 0 &&
		are "$1" 'SELECT sum(count) FROM samples' 7 && says "$3" "$aiflame" info "$1.data"
}
check '--counters of an unknown group is said' refusal no_counters 1346 '(Simulated GPU: has RenderBasic, EuStallSampling); record --counters help lists the groups' ComputeBasic
check 'counters that are not permitted are said' refusal counters_denied 1347 'dev.xe.observation_paranoid=0'
check 'counters that cannot be read beside samples go second' refusal counters_alone 1347 'zetContextActivateMetricGroups'
check 'counters that cannot be read are said' refusal counters_fail 1347 'zetMetricStreamerReadData'
busy() { rec counters_busy 'GpuBusy,Nothing' counters_busy a counting1 counted1 && are counters_busy "$values" 'GpuBusy,%,12.5 100.0 50.0' && reason counters_busy 1347 1 && reason counters_busy 1348 1; }
check 'counters that another process has come when it lets go, and what is missing is told once' busy
unlisted_groups() { rec groups_fail default groups_fail a pause && reason groups_fail 1346 1 && reason groups_fail 1341 1 && says 'everything adds up' "$aiflame" info groups_fail.data; }
check 'a driver that does not list its groups is said' unlisted_groups
# Both kinds are wanted: said(): the first screen has TEXT so many times
said() { [ "$(grep -cF -- "$2" "$3.out")" = "$1" ] || { echo "not $1 times: $2"; cat "$3.out"; return 1; }; }
screen() {
	name=$1
	shift
	cp stalls "$name.stalls"
	ZE_MOCK_STALLS=$work/$name.stalls ZE_MOCK_COUNTERS=$work/counters $by "$@" "$aiflame" record --all-launches --counters default -o "$name.data" "$mock/ze_app" mm.bin mm a asked pause >"$name.out" 2>&1
}
off() { screen off env && reason off 1340 1 && reason off 1372 1 && said 1 'record COMMAND then sets ZET_ENABLE_METRICS=1' off && said 1 '; the same helps' off; }
check 'metrics that are off: what helps is said once' off
unwanted() {
	screen unwanted $with_library "ZET_ENABLE_METRICS=$1" && reason unwanted 1373 1 && reason unwanted 1340 0 && reason unwanted 1372 0 && reason unwanted 1370 0 &&
		said 1 "(Simulated GPU: ZET_ENABLE_METRICS=$1); unset ZET_ENABLE_METRICS" unwanted && said 0 'install Intel' unwanted
}
check 'metrics that are switched off are the reason, once for counters and samples' unwanted 0
check 'metrics that are switched off by an empty value are the reason' unwanted ''
done_testing
