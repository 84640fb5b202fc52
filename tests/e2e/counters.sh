#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Performance counters of GPUs through Level Zero's metrics streamer: the real loader, below it a SIMULATED driver with
# metrics (tests/mock/level_zero/counters.c). No hardware is in it.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
mock=$build/tests/mock/level_zero
[ -x "$mock/ze_app" ] || { echo "1..0 # SKIP the tests were built without Level Zero's headers (libze-dev)"; exit 0; }
AIFLAME_STANDBY=$work/standby
ZE_ENABLE_ALT_DRIVERS=$mock/libze_mock.so
export AIFLAME_STANDBY ZE_ENABLE_ALT_DRIVERS
unset ZE_ENABLE_TRACING_LAYER ZE_ENABLE_LOADER_INTERCEPT ZET_ENABLE_METRICS ZE_MOCK ZE_MOCK_STALLS
printf 'no code at all, but two kernels of it' >mm.bin
# What record looks for before it asks a driver for metrics.
mkdir lib && echo 'int nothing;' | cc -shared -x c -o lib/libigdmd.so.1 - || exit 1
with_library="env LD_LIBRARY_PATH=$work/lib"
by='timeout -k 5 120'

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
options=
ask() { "$aiflame" query --format csv "$1.data" "$2" | tail -n +2; }
# are NAME SQL ROW...: exactly these rows
are() {
	name=$1 sql=$2
	shift 2
	ask "$name" "$sql" >rows.txt
	printf '%s\n' "$@" | diff - rows.txt
}
reason() { are "$1" "SELECT coalesce(sum(count), 0) FROM losses WHERE reason = $2" "$3"; }
in_order="group_concat(value, ' ') OVER (PARTITION BY device, name ORDER BY time_ns ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
values="SELECT DISTINCT name, unit, $in_order FROM counters ORDER BY 1"
basic() { are "$1" "$values" 'AvgGpuCoreFrequencyMHz,MHz,1550.0 1600.0 300.0' 'GpuBusy,%,12.5 100.0 50.0' 'GpuTime,ns,1000.0 2000.0 3000.0' 'Stalled,,1.0 0.0 0.0' 'XveActive,%,0.1 99.75 7.0'; }

check 'beside the samples of the same device' rec plain default '' a streamed1 counting1 a told1 counted1
check 'the group for compute work, all but stamps and what is raw' basic plain
check 'the samples are there, too' are plain 'SELECT reason, sum(count) FROM samples GROUP BY 1' sbid,7
# Two were read at once; the last of them when it was read, the other 10 ms before, as its stamp says.
check 'each has the time of its report' are plain "SELECT max(time_ns) - min(time_ns) FROM (SELECT DISTINCT time_ns FROM counters ORDER BY time_ns LIMIT 2)" 10000000
check 'within the recording' are plain "SELECT count(*) FROM counters WHERE time_ns < 0 OR time_ns > (SELECT (end_ns - start_ns) FROM processes LIMIT 1) + 1000000000" 0
check 'of their device' are plain 'SELECT DISTINCT d.name, c.process FROM counters c JOIN devices d ON d.id = c.device' 'Simulated GPU,'
check 'what was dropped is counted' reason plain 1349 1
check 'nothing else is wrong' are plain 'SELECT count(*) FROM losses WHERE reason BETWEEN 1300 AND 1349 AND reason <> 1349' 0
check 'the period is 10 ms' test "$(cat plain.stalls.counting.0)" = 10000000
check 'it adds up' says 'everything adds up' "$aiflame" info plain.data
check 'as a table' says 'Simulated GPU  AvgGpuCoreFrequencyMHz  MHz        3   300    1550   1600      1150' "$aiflame" report --counters plain.data
exported() { "$aiflame" export --format "$1" -o "plain.$1" plain.data && python3 "$here/export_check.py" "$aiflame" plain.data "$1" "plain.$1"; }
check 'in chrome' exported chrome
check 'in perfetto' exported perfetto
check "in iaprof's text" exported iaprof
alone() { options='--device-rate 0' && rec alone default '' a counting1 counted1 && options= && basic alone && [ ! -e alone.stalls.open.0 ]; }
check 'without samples asked for' alone
unasked() { rec unasked '' '' a streamed1 a told1 && [ ! -e unasked.stalls.counting.0 ] && are unasked 'SELECT count(*) FROM counters' 0; }
check 'not asked for: none is read' unasked

# ---- what is asked for ----
named() {
	rec named 'gpubusy, GpuMemoryByteRead' '' a counting1 counted1 &&
		are named "$values" 'GpuBusy,%,12.5 100.0 50.0' 'GpuMemoryByteRead,bytes,4096.0 8192.0 16384.0' && reason named 1348 0
}
check 'metrics by name: the group that has most of them' named
group() { rec group MemoryProfile '' a counting1 counted1 && are group 'SELECT DISTINCT name FROM counters ORDER BY 1' GpuBusy GpuMemoryByteRead; }
check 'a group by name' group
part() { rec part 'XveActive,AvgGpuCoreFrequencyMHz,GpuMemoryByteRead,Nothing' '' a counting1 counted1 && are part 'SELECT DISTINCT name FROM counters ORDER BY 1' AvgGpuCoreFrequencyMHz XveActive &&
	reason part 1348 2 && says 'ComputeBasic has no GpuMemoryByteRead, Nothing' "$aiflame" info part.data; }
check 'what that group does not have is named' part
check 'a list that is none' status_is 2 "$aiflame" record --counters '' true
check 'a list that is too long' status_is 2 "$aiflame" record --counters "$(printf '%600s' x)" true

# ---- clocks, tiles, devices ----
evenly() { rec evenly default no_stamps a counting1 counted1 && are evenly "SELECT max(time_ns) - min(time_ns) FROM (SELECT DISTINCT time_ns FROM counters ORDER BY time_ns LIMIT 2)" 10000000; }
check 'without stamps they are a period apart' evenly
tiles() { rec tiles GpuBusy counters_tiles a counting1 counted1 && are tiles "$values" '"GpuBusy, tile 0",%,12.5 100.0 50.0' '"GpuBusy, tile 1",%,13.5 101.0 51.0'; }
check 'each tile has its own' tiles
devices() { rec devices GpuBusy two_devices a also a counting2 counted2 && are devices "SELECT DISTINCT device, $in_order FROM counters ORDER BY 1" '0,12.5 100.0 50.0' 1,1.0; }
check 'two devices' devices
# Of one device one process reads, and nobody is refused anything.
two() {
	cp stalls two.stalls
	ZE_MOCK_STALLS=$work/two.stalls ZE_MOCK_COUNTERS=$work/counters $by $with_library "$aiflame" record -q --all-launches --device-rate 0 --counters default -o two.data \
		sh -c '"$0" mm.bin mm a counting1 counted1 pause & "$0" mm.bin mm a counting1 counted1 pause; wait' "$mock/ze_app" >two.out 2>&1 || { cat two.out; return 1; }
	are two 'SELECT count(*) > 0, count(*) % 15 FROM counters' 1,0 && reason two 1347 0
}
check 'two processes' two

# ---- refusals ----
# refusal NAME REASON FIX LIST
refusal() {
	rec "$1" "${4:-default}" "$1" a streamed1 a told1 pause && are "$1" "SELECT count FROM losses WHERE reason = $2" 1 && are "$1" 'SELECT count(*) FROM counters' 0 &&
		are "$1" 'SELECT sum(count) FROM samples' 7 && says "$3" "$aiflame" info "$1.data"
}
check 'no such group' refusal no_counters 1346 'counters default' ComputeBasic
check 'not permitted' refusal counters_denied 1347 'dev.xe.observation_paranoid=0'
check 'not beside samples: these go first' refusal counters_alone 1347 'zetContextActivateMetricGroups'
check 'that cannot be read' refusal counters_fail 1347 'zetMetricStreamerReadData'
off() { with_library='env ZET_ENABLE_METRICS=0' && rec off default '' a pause; r=$?; with_library="env LD_LIBRARY_PATH=$work/lib"; [ $r = 0 ] && reason off 1346 1 && says 'ZET_ENABLE_METRICS=1 was not set' "$aiflame" info off.data; }
check 'metrics are off' off
done_testing
