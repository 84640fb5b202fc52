#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Clocks, power, energy and GPM through NVML, on a real NVIDIA GPU: plausible values, the same energy as NVML's own
# difference, as nobody and beside instruction samples. Some 45 s. Needs python3, and nvcc or a compiled program.
#   [WORK=PATH of a compiled tests/gpu/work.cu] [AIFLAME=PATH] tests/gpu/nvml.sh
. "$(dirname "$0")/../e2e/tap.sh"
aiflame=${AIFLAME:-$aiflame}
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
cp "${WORK:-/nonexistent}" work 2>/dev/null || nvcc -O2 -o work "$root/tests/gpu/work.cu" ||
	{ echo "not ok 1 - the program compiles"; exit 1; }
chmod 755 "$work" work

# The energy of the GPU that the program uses, by its address: "NS MJ".
cat >energy.py <<'END'
import ctypes, sys, time
ml, device, mj = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), ctypes.c_ulonglong()
assert ml.nvmlInit_v2() == 0
assert ml.nvmlDeviceGetHandleByPciBusId_v2(sys.argv[1].encode(), ctypes.byref(device)) == 0
for _ in range(int(sys.argv[2])):
    before = time.time_ns()
    assert ml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(mj)) == 0
    print((before + time.time_ns()) // 2, mj.value, flush=True)
    time.sleep(0.25)
END
ask() { "$aiflame" query --format csv "$1" "$2" | tail -n +2; }
is() { got=$(ask "$2" "$3"); [ "$got" = "$1" ] || { echo "got $got instead of $1"; ask "$2" 'SELECT * FROM losses'; return 1; }; }
adds_up() { "$aiflame" info "$1" >info.out; grep -q 'everything adds up' info.out || { cat info.out; return 1; }; }
# range NAME LOW HIGH DATA: all values lie there, and there are some
range() {
	ask "$4" "SELECT count(*), min(value), max(value) FROM counters WHERE name = '$1'" >range.out
	cat range.out
	awk -F, -v low="$2" -v high="$3" '{ exit !($1 > 0 && $2 >= low && $3 <= high) }' range.out
}
# endless SECONDS DATA COMMAND...: that recording of the endless program
endless() {
	seconds=$1 data=$2
	shift 2
	timeout -k 5 $((seconds + 25)) "$@" record -q --duration "${seconds}s" --kill -o "$data" ./work endless >endless.out 2>&1
	[ -s "$data" ] || { cat endless.out; return 1; }
}
# Our energy and NVML's own between our first and last reading, in J.
cat >sums.py <<'END'
import csv, sys
start, rows = int(sys.argv[1]), [(int(a), int(b)) for a, b in (l.split() for l in open("energy.out"))]
ours = [(start + int(r["time_ns"]), float(r["value"])) for r in csv.DictReader(open("ours.csv"))]
def at(t):
    for (a, x), (b, y) in zip(rows, rows[1:]):
        if a <= t <= b:
            return x + (y - x) * (t - a) / (b - a)
    raise SystemExit("NVML was not asked at %d" % t)
mine, its = sum(v for _, v in ours), (at(ours[-1][0]) - at(ours[0][0])) / 1e3
print("# energy: ours %.1f J, NVML's %.1f J, over %.2f s" % (mine, its, (ours[-1][0] - ours[0][0]) / 1e9))
sys.exit(not (its > 0 and abs(mine - its) <= 0.05 * its))
END

# ---- values, and energy beside what NVML says to another process ----
check "a program of 6 seconds" endless 6 a.data "$aiflame"
pci=$(ask a.data 'SELECT pci FROM devices' 2>/dev/null | head -n 1)
check "adds up" adds_up a.data
check "SM clock" range 'SM clock' 100 4000 a.data
check "memory clock" range 'memory clock' 100 20000 a.data
check "power" range power 20 1500 a.data
check "temperature" range temperature 10 110 a.data
check "memory used" range 'memory used' 100 1000000 a.data
check "utilization" range 'GPU utilization' 0 100 a.data
check "reasons" range 'clock event reasons' 0 511 a.data
check "energy" range energy 0 5000 a.data
check "mean power, by energy, is that of power readings within a quarter" is 1 a.data "SELECT abs(e.w - p.w) < 0.25 * p.w AS ok
	FROM (SELECT sum(value) / (max(time_ns) - min(time_ns)) * 1e9 AS w FROM counters WHERE name = 'energy') e,
	(SELECT avg(value) AS w FROM counters WHERE name = 'power' AND time_ns > 2e9) p"
check "no call failed" is 0 a.data 'SELECT count(*) AS n FROM losses WHERE reason IN (1380, 1381, 1382, 1384)'
same() {
	python3 energy.py "$pci" 40 >energy.out &
	asking=$!
	sleep 1
	endless 5 b.data "$aiflame"
	wait $asking || return 1
	start=$(ask b.data "SELECT value FROM meta WHERE key = 'start_realtime_ns'")
	"$aiflame" query --format csv b.data "SELECT time_ns, value FROM counters WHERE name = 'energy' ORDER BY time_ns" >ours.csv
	python3 sums.py "$start" >energy.txt
	r=$?
	cat energy.txt
	return $r
}
check "energy is NVML's own difference, within 5 %" same
cat energy.txt

# ---- GPM, beside instruction samples, for 20 seconds ----
check "20 seconds" endless 20 g.data "$aiflame"
gpm=$("$aiflame" info g.data | sed -n 's/^  nvml\.0\.gpm  *//p')
check "NVML says whether GPM is read" test -n "$gpm"
if [ "$gpm" = read ]; then
	for name in 'SM active' 'SM occupancy' 'tensor active' 'DRAM bandwidth'; do
		check "GPM: $name" range "$name" 0 100 g.data
	done
	check "GPM: at least two a second, to the end" is 1 g.data "SELECT count(*) >= 30 AND max(time_ns) > 17e9 AS ok FROM counters WHERE name = 'SM active'"
else
	skip "GPM's values" "$gpm"
fi
if [ "$(ask g.data 'SELECT count(*) AS n FROM losses WHERE reason IN (1304, 1305, 1306, 1308)')" = 0 ]; then
	check "beside instruction samples" is 1 g.data 'SELECT sum(count) > 1000 AS ok FROM samples'
else
	skip "beside instruction samples" "the driver gives none"
fi
check "adds up" adds_up g.data
cost() { "$aiflame" info g.data | awk '$1 ~ /^cost\.nvml/ { v[$1] = $2 } END {
	printf "# cost in 20 s: %d calls, %.1f us each, at most %.1f ms; %.1f ms of CPU, %.2f %% of the time in calls\n", v["cost.nvml_calls"],
	v["cost.nvml_calls_ns"] / 1e3 / v["cost.nvml_calls"], v["cost.nvml_call_most_ns"] / 1e6, v["cost.nvml_ns"] / 1e6, v["cost.nvml_calls_ns"] / 2e8 }'; }
check "the cost is known" is 1 g.data "SELECT sum(value > 0) = 4 AS ok FROM (SELECT CAST(value AS INTEGER) AS value FROM meta WHERE key LIKE 'cost.nvml%')"
cost
check "calls take at most 2 % of the time" sh -c 'awk "{ exit !(\$1 <= 0.02 * 20e9) }"' <<END
$("$aiflame" query --format csv g.data "SELECT value FROM meta WHERE key = 'cost.nvml_calls_ns'" | tail -n 1)
END

# ---- as nobody ----
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid nobody --clear-groups test -x "$aiflame"; then
	mkdir nobody && chmod 777 nobody
	as_nobody() { endless 5 nobody/n.data setpriv --reuid nobody --clear-groups env HOME="$work/nobody" XDG_STATE_HOME="$work/nobody" "$aiflame"; }
	check "an ordinary user's recording has counters of NVML" as_nobody
	check "an ordinary user's recording has clocks and power" is 1 nobody/n.data "SELECT count(DISTINCT name) >= 8 AS ok FROM counters"
	check "an ordinary user's recording has energy" range energy 0 5000 nobody/n.data
	[ "$gpm" != read ] || check "an ordinary user's recording has GPM" range 'SM active' 0 100 nobody/n.data
else
	skip "an ordinary user's recording has counters of NVML" "not root, or nobody cannot run $aiflame"
fi
done_testing
