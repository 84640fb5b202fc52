#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Clocks, power and energy through NVML, on a MOCK of libnvidia-ml (tests/mock/nvml) beside that of CUDA: what is kept of
# them, and faults that a real library does not show on demand. tests/gpu/nvml.sh asks a real one.
. "$(dirname "$0")/tap.sh"
mock=$build/tests/mock/cuda
cubin=$root/tests/golden/cubin/kernels_sm90a.cubin
AIFLAME_STANDBY=$work/standby
LD_LIBRARY_PATH=$mock:$build/tests/mock/nvml
export LD_LIBRARY_PATH AIFLAME_STANDBY
unset CUDA_INJECTION64_PATH
launches=15000 more=

# rec NAME WORDS OPTIONS...: a program of some two seconds, with an NVML that does these WORDS
rec() {
	name=$1 MOCK_NVML=$2
	shift 2
	export MOCK_NVML MOCK_NVML_LOG="$work/$name.log"
	timeout -k 5 60 "$aiflame" record -q --all-launches $more -o "$name.data" "$mock/app" -s 100 -n "$launches" "$@" "$cubin" >"$name.out" 2>&1 ||
		{ cat "$name.out"; return 1; }
}
ask() { "$aiflame" query --format csv "$1" "$2" | tail -n +2; }
# is WANTED NAME SQL
is() { got=$(ask "$2.data" "$3"); [ "$got" = "$1" ] || { echo "got $got instead of $1"; ask "$2.data" 'SELECT * FROM losses'; return 1; }; }
adds_up() { "$aiflame" info "$1.data" >info.out; grep -q 'everything adds up' info.out || { cat info.out; return 1; }; }
# told NAME PATTERN: info has such a line
told() { "$aiflame" info "$1.data" >told.out && grep -q -- "$2" told.out || { cat told.out; return 1; }; }
reason() { is "$1" "$3" "SELECT count(*) FROM losses WHERE reason = $2"; }

# ---- what is kept ----
check "a program on two GPUs is recorded" rec two '' -d 2 -t 2
check "a program on two GPUs: the numbers add up" adds_up two
check "each GPU has its 17 counters" is '2,17,34' two "SELECT count(DISTINCT device), count(DISTINCT name), count(DISTINCT device || name) FROM counters"
value() { is "$2" two "SELECT printf('%.1f', avg(value)) || ' ' || group_concat(DISTINCT unit) FROM counters WHERE name = '$1'"; }
check "the SM clock is what the GPU has" value 'SM clock' '1980.0 MHz'
check "the memory clock is what the GPU has" value 'memory clock' '3201.0 MHz'
check "power is what the GPU takes" value power '150.0 W'
check "the temperature is what the GPU has" value temperature '40.0 C'
check "used memory is what the GPU says" value 'memory used' '1024.0 MiB'
check "utilization is what the GPU says" value 'GPU utilization' '70.0 %'
check "GPM: activity of SMs is what the GPU says" value 'SM active' '40.0 %'
check "GPM: activity of tensor cores is what the GPU says" value 'tensor active' '25.0 %'
# 150 W, whenever it is read: of each reading since the one before it. A reading whose thread waits for a CPU between the clock and
# the call is off by as long, which its own row and the next one show.
readings="(SELECT device, value, (time_ns - lag(time_ns) OVER (PARTITION BY device ORDER BY time_ns)) / 1e9 AS s FROM counters WHERE name = 'energy')"
check "energy is that of the time between readings" is 2 two "SELECT count(*) FROM (SELECT avg(abs(value - 150 * s) < 3 * s) AS right
	FROM $readings WHERE s > 0.5 GROUP BY device) WHERE right >= 0.5"
# energy_of DIRECTORY PROFILE: what the run directory says of devices. known(BEGIN, END, LATEST, JOULES): JOULES are there if 90 % of the time
# from BEGIN to END lies between readings, and are those of that part. Where launches are left out at the end, work ends by LATEST.
energy_of() {
	of=$1/$2.data
	"$aiflame" query --format csv "$of" "SELECT 'read' AS name, 0 AS s, min(time_ns) / 1e9 AS first, max(time_ns) / 1e9 AS last FROM counters WHERE name = 'energy'
		UNION ALL SELECT 'work', 0, min(start_ns) / 1e9, max(start_ns + dur_ns) / 1e9 FROM executions
		UNION ALL SELECT name, sum(dur_ns) / 1e9, min(start_ns) / 1e9, max(start_ns + dur_ns) / 1e9 FROM ops WHERE kind = 'range' GROUP BY name" >times.csv &&
		python3 - "$1" "$(ask "$of" "SELECT max(abs(value / s - 150)) FROM $readings WHERE s > 0.1")" <<-'END'
			import csv, json, sys
			d = json.load(open(sys.argv[1] + "/perf_stat_summary.json"))["aiflame"]["device"]
			of = {r["name"]: [float(r[k]) for k in ("s", "first", "last")] for r in csv.DictReader(open("times.csv"))}
			first, last = of["read"][1:]
			off = float(sys.argv[2])
			print(d, of, "readings are off by", off, "W")
			def known(begin, end, latest, joules):
			    read = [min(e, last) - max(begin, first) for e in (end, latest)]
			    covered = [r / (e - begin) for r, e in zip(read, (end, latest))]
			    assert joules is not None or min(covered) < 0.91, covered
			    assert joules is None or max(covered) > 0.89, covered
			    assert joules is None or (147 - off) * read[0] < joules < (153 + off) * read[1], (joules, read)
			known(*of["work"][1:], max(last, of["work"][2]), d.get("joules"))
			assert 0 < d["busy"] <= 1
			modes = {m: of[m] for m in ("load", "prefill", "decode") if m in of}
			tokens = d.get("joules_per_token", {})
			assert set(tokens) <= set(modes)
			for m, (s, begin, end) in modes.items():
			    if s > 0.91 * (end - begin):
			        known(begin, end, end, 4 * tokens[m] if m in tokens else None) if m == "load" else None
			    elif s < 0.89 * (end - begin):
			        assert m not in tokens, m
		END
}
run_directory() {
	MOCK_NVML='' timeout -k 5 60 "$aiflame" runbook run -d kept -r 1 -- "$mock/app" -s 100 -n "$launches" "$cubin" >kept.out 2>&1 || { cat kept.out; return 1; }
	energy_of kept train
}
check "a run directory has the energy, as far as it was read" run_directory
tokens() {
	MOCK_NVML='' timeout -k 5 60 "$aiflame" runbook run -d tokens -r 1 -m load -m prefill -m decode -- \
		sh -c 'LD_PRELOAD="$0 $LD_PRELOAD" exec "$@"' "$build/tests/e2e/librange_marks.so" "$mock/app" -s 100 -n "$launches" "$cubin" >tokens.out 2>&1 || { cat tokens.out; return 1; }
	energy_of tokens load
}
check "a run directory has the energy of a token, where no other mode's are among them" tokens
check "counters are read from the first use of the GPU to the last launch" is 1 two "SELECT (SELECT max(time_ns) FROM counters WHERE name = 'energy') >= max(time_ns)
	AND (SELECT min(time_ns) FROM counters WHERE name = 'energy') < min(time_ns) + 1e9 AS ok FROM launches"
check "the profile has what the GPU may take, and the driver" told two 'nvml.driver  *999.1 (simulated)'
check "the profile has what reading cost" told two 'cost.nvml_ns  *[1-9]'
check "NVML was closed in the end" grep -q nvmlShutdown two.log
few() { # QUICK ten times a second at most, ENERGY once and at begin and end
	p=$(grep -c nvmlDeviceGetPowerUsage two.log)
	e=$(grep -c nvmlDeviceGetTotalEnergyConsumption two.log)
	s=$(awk 'NR == 1 { t = $1 } END { print int(($1 - t) / 1e9) + 1 }' two.log)
	[ "$p" -le $((2 * (10 * s + 2))) ] && [ "$e" -le $((2 * (s + 2))) ] || { echo "$p and $e in $s s"; return 1; }
}
check "no reading is made more often than it should" few
one() { rec one '' && is '1,17' one "SELECT count(DISTINCT device), count(DISTINCT name) FROM counters"; }
check "a GPU that no process uses is not read" one
cycles() { "$aiflame" diff --unit cycles --format json one.data two.data | python3 -c '
import json, sys
d = json.load(sys.stdin)
memory = [m for m in d["metrics"] if m["metric"] == "memory"][0]
assert [round(memory[s] / (1 << 20)) for s in "ab"] == [1024, 2048], memory
for side in "ab":
    assert all(r["clock_khz"] == 1980000 for r in d[side]["runs"]), d[side]
assert d["times_in"] == "cycles", d["times_in"]'; }
check "a comparison has clocks and memory" cycles

# ---- what it is for ----
check "SMs that are slowed down in half of the time" rec slowed throttled
half() { # the mock's turns of 100 ms, and readings 100 ms apart where the recorder has a CPU: each stands for the time since the one before
	"$aiflame" why --format json slowed.data >why.json && "$aiflame" why slowed.data >why.out && cat why.out &&
		ask slowed.data "SELECT time_ns, value FROM counters WHERE name = 'clock event reasons' ORDER BY time_ns" >read.csv &&
		python3 - "$(ask slowed.data "SELECT max(abs(value / s - 150)) FROM $readings WHERE s > 0.1")" <<-'END'
			import json, sys
			w = json.load(open("why.json"))
			d, = w["power"]
			begin, end = w["window"]["from_ns"], w["window"]["to_ns"]
			rows = [(int(t), float(v)) for t, v in (line.split(",") for line in open("read.csv"))]
			spans = [(min(t, end) - max(s, begin, t - 5 * 10**9), v) for (s, _), (t, v) in zip(rows, rows[1:])]
			slowed = sum(ns for ns, v in spans if v == 4 and ns > 0)
			print(d, slowed, rows)
			assert {v for _, v in rows} == {0, 4}
			assert d["reasons_ns"] == {"power cap": d["slowed_ns"]} and d["slowed_ns"] == slowed
			assert d["read_ns"] == sum(ns for ns, _ in spans if ns > 0)
			assert abs(d["energy_uj"] / d["energy_ns"] * 1e3 - 150) < 3 + float(sys.argv[1])
		END
}
check "why's JSON says for how long and why clocks were held down" half
check "why says so to people" grep -q '^clocks   slowed down for .* % of the time (power cap ' why.out
check "why says what energy a turn takes" grep -q '^energy   .*: 150 W in the mean' why.out
check "the summary says that clocks were held down" says ', 150 W in the mean; slowed down for' "$aiflame" report slowed.data
energy() { # NAME DEVICES: 150 W of each GPU from its first work to its last, as far as it was read; of each stack as of its device time
	"$aiflame" flame --by energy --leaf kernel -o e.folded $1.data && "$aiflame" flame --leaf kernel -o w.folded $1.data &&
		"$aiflame" query --format csv $1.data "SELECT device, min(start_ns), max(start_ns + dur_ns), first, last FROM executions JOIN
			(SELECT device, min(time_ns) AS first, max(time_ns) AS last FROM counters WHERE name = 'energy' GROUP BY device) USING (device) GROUP BY device" >e.csv &&
		python3 - "$2" "$(ask "$1.data" "SELECT max(abs(value / s - 150)) FROM $readings WHERE s > 0.1")" <<-'END'
			import sys
			def read(name):
			    return {s: int(n) for s, _, n in (line.rpartition(" ") for line in open(name))}
			uj, ns = read("e.folded"), read("w.folded")
			rows = [list(map(int, line.split(","))) for line in list(open("e.csv"))[1:]]
			least, most = (150e-3 * sum(t) for t in zip(*((min(b, last) - max(a, first), b - a) for _, a, b, first, last in rows)))
			off = 0.05 + float(sys.argv[2]) / 150
			assert len(rows) == int(sys.argv[1]) and (1 - off) * least < sum(uj.values()) < (1 + off) * most, (sum(uj.values()), least, most)
			assert uj.keys() == ns.keys()
			scale = sum(uj.values()) / sum(ns.values())
			assert len(rows) == 2 or all(abs(uj[s] - ns[s] * scale) < 2 + 1e-6 * uj[s] for s in uj)
		END
}
check "energy of a device, shared by device time" energy two 2
check "energy is shared in proportion to device time" energy one 1
picture() { "$aiflame" flame --by energy -o e.svg two.data && grep -q 'J, shared by device time (grade: apportioned), [0-9.]* % of it idle' e.svg && grep -q '[0-9.]* m\{0,1\}J · ' e.svg; }
check "the picture of energy says what it shares" picture
strip() { # 150 W of the mock's 700, 1980 MHz of 1980
	grep -q 'orange: power, of 700 W; blue: SM clock, of 1980 MHz' e.svg && grep -q 'd="M[0-9]* 79H600" stroke="#d9480f"' e.svg && grep -q 'd="M[0-9]* 0H600" stroke="#1864ab"' e.svg
}
check "the page's strip has power and clock" strip
check "clocks that are not held down are not mentioned" sh -c '! "$1" why two.data | grep "^clocks"' - "$aiflame"
check "an exported trace has the counters as curves" sh -c '"$1" export --format chrome -o c.json two.data && grep -q "SM clock" c.json' - "$aiflame"

# ---- what is not ----
more='--nvml off'
check "record --nvml off records a program" rec off ''
more=
check "record --nvml off reads nothing" is 0 off 'SELECT count(*) FROM counters'
check "record --nvml off loads nothing" test ! -e off.log
check "record --nvml off has no energy to share" says 'no energy of a device that worked is known; record' "$aiflame" flame --by energy -o no.svg off.data

# ---- faults ----
rest() { is 1 "$1" "SELECT count(*) > 0 FROM counters WHERE name = 'SM clock'" && adds_up "$1"; } # the others are there
LD_LIBRARY_PATH=$mock
check "a machine without NVML is recorded" rec none ''
LD_LIBRARY_PATH=$mock:$build/tests/mock/nvml
check "a machine without NVML: info says so" told none 'NVML_NONE .*libnvidia-ml.so.1'
check "a machine without NVML: the summary does not say so" sh -c '! "$1" report none.data | grep -i nvml' - "$aiflame"
LD_LIBRARY_PATH=$mock:$build/tests/mock/nvml/old
check "a machine with an older NVML is recorded" rec old ''
LD_LIBRARY_PATH=$mock:$build/tests/mock/nvml
check "an older NVML gives what it has" is '9,1' old "SELECT count(DISTINCT name), sum(name = 'clock event reasons') > 0 FROM counters"
check "an older NVML is no loss" is 0 old 'SELECT count(*) FROM losses WHERE reason BETWEEN 1380 AND 1389'
check "a machine whose NVIDIA driver does not start is recorded" rec fails fails
check "an NVIDIA driver that does not start is said" told fails 'NVML_FAILED .*nvmlInit: the driver is not loaded'
check "a GPU that NVML does not find is recorded" rec lost lost
check "a GPU that NVML does not find is said" told lost 'NVML_FAILED .*not found'
check "a GPU whose power cannot be read is recorded" rec errors errors
check "power that cannot be read is said once, and the rest is read" eval 'reason 1 1382 errors && rest errors'
check "power that cannot be read is no value" is 0 errors "SELECT count(*) FROM counters WHERE name = 'power'"
asked() { [ "$(grep -c nvmlDeviceGetPowerUsage errors.log)" -le 20 ]; }
check "power that cannot be read is not asked for ever" asked
check "a GPU whose GPM is denied is recorded" rec denied denied
check "GPM that is denied is said, and the rest is read" eval 'reason 1 1381 denied && rest denied && told denied "gpm  *not permitted"'
check "a GPU without GPM is recorded" rec nogpm nogpm
check "a GPU without GPM is no loss" eval 'is 0 nogpm "SELECT count(*) FROM losses WHERE reason BETWEEN 1380 AND 1389" && rest nogpm'
check "a GPU whose values are no numbers is recorded" rec nan nan
check "values that are no numbers are left out" is '4,4' nan "SELECT count(DISTINCT name), count(DISTINCT value) FROM counters WHERE name IN ('SM active', 'SM occupancy',
	'tensor active', 'DRAM bandwidth', 'PCIe sent', 'PCIe received', 'NVLink received', 'NVLink sent')"
check "a GPU whose energy goes back is recorded" rec back back=2
check "energy that goes back is said, and never counted" eval 'told back NVML_BACK && is 1 back "SELECT min(value) >= 0 FROM counters WHERE name = '"'energy'"'"'
check "a divided GPU is recorded" rec mig mig
check "a divided GPU is said, and has no GPM" eval 'reason 1 1385 mig && rest mig && is 0 mig "SELECT count(*) FROM counters WHERE name = '"'SM active'"'"'

# A call that takes long delays neither the program nor the recording's end.
check "a GPU of which a call takes two seconds is recorded" rec slow slow=2000
check "a call of two seconds is said" told slow 'NVML_SLOW .*energy'
asked() { [ "$(grep -c nvmlDeviceGetTotalEnergyConsumption slow.log)" = 1 ]; }
check "a call of two seconds is not made again soon" asked
check "a call of two seconds: the numbers add up" adds_up slow
hang() {
	begin=$(date +%s)
	rec hang hangs && took=$(($(date +%s) - begin)) && [ $took -lt 30 ] || { echo "took ${took:-?} s"; return 1; }
}
check "a GPU of which a call does not return is recorded" hang
check "a call that does not return is said, and what was read before is kept" eval 'told hang "NVML_SLOW .*energy" && rest hang'
launches=100
check "an NVML that takes longer to start than the program runs" rec init init=3000
check "an NVML that takes longer to start than the program runs is said" told init 'NVML_SLOW .*init'
check "an NVML that takes longer to start: the program's launches are there" is 100 init "SELECT count(*) FROM launches WHERE kind = 'kernel'"
done_testing
