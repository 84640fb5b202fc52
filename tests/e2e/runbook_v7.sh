#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# C-Kernel-Engine's own scripts of v7, unmodified, on a run directory of ours: its gate, what it makes of our perf stat text,
# CSV and folded stacks, its viewer and hub. CK_ENGINE=DIR: a checkout (991d0874 was tried); it has no licence, so none is here.
. "$(dirname "$0")/tap.sh"
v7=${CK_ENGINE:-/nowhere}/version/v7
[ -r "$v7/scripts/perf_gate_v7.py" ] || { echo "1..0 # SKIP CK_ENGINE is no checkout of C-Kernel-Engine"; exit 0; }
printf '#!/bin/sh\nexec "%s" "$1" 0\n' "$build/tests/e2e/runbook_app" >generate
chmod +x generate
mkdir -p models/ours/.ck_build
ours=models/ours
check "a run directory is made" "$aiflame" runbook run -d $ours -r 1 --mode decode --mode prefill -- ./generate 30

cat >compare.py <<'PY'
import json, sys
def near(a, b, why):
    if isinstance(b, float) or isinstance(a, float):
        assert abs(a - b) <= 1e-6 * max(abs(a), abs(b)) + 0.1, (why, a, b)
    elif isinstance(b, dict):
        assert set(a) >= set(b), (why, set(b) - set(a))
        for k in b: near(a[k], b[k], why + "." + k)
    elif isinstance(b, list):
        assert len(a) == len(b), (why, len(a), len(b))
        for i, (x, y) in enumerate(zip(a, b)): near(x, y, "%s[%d]" % (why, i))
    else:
        assert a == b, (why, a, b)
def load(path, *leave_out):
    d = json.load(open(path))
    for k in leave_out: d.pop(k, None)
    return d
PY
verdict() { # STATUS OPTION-OF-OURS OPTION-OF-THEIRS [VARIABLE=VALUE]: both come to it, with the same report
	want=$1 mine=$2 theirs=$3
	shift 3
	# shellcheck disable=SC2086 # options are words
	env "$@" "$aiflame" runbook check $ours --v7-exit $mine
	[ $? -eq "$want" ] || { echo "ours is not $want"; return 1; }
	# shellcheck disable=SC2086
	env "$@" python3 "$v7/scripts/perf_gate_v7.py" --model-dir $ours --output theirs.json $theirs
	[ $? -eq "$want" ] || { echo "theirs is not $want"; return 1; }
	python3 - $ours/perf_gate_report.json theirs.json <<'PY'
import sys
from compare import *
near(load(sys.argv[1], "generated_at"), load(sys.argv[2], "generated_at"), "report")
PY
}
counted() { # a program whose counters are known: cycles instructions cache-misses branch-misses
	printf '\n Performance counter stats for "x":\n\n%18s msec task-clock # 0.99 CPUs utilized\n' 1000.00
	printf '%18s      %s\n' "$1" cycles "$2" instructions 1000000 cache-references "$3" cache-misses 1000000 branches "$4" branch-misses \
		1000000 dTLB-loads 2000 dTLB-load-misses 500000 dTLB-stores 3000 dTLB-store-misses 40 iTLB-load-misses 70 minor-faults 3 major-faults
	printf '\n       1.010000000 seconds time elapsed\n'
}
if ! grep -q '"ipc":' $ours/perf_stat_summary.json; then
	check "v7's gate and check fail where counters are missing" verdict 1 "--cannot-tell fail" ""
	check "v7's gate and check pass where counters may be missing" verdict 0 "--cannot-tell pass" --allow-missing-metrics
fi
from() { counted "$@" >counters.txt && "$aiflame" stat --from counters.txt --format json -o $ours/perf_stat_summary.json; }
from 1000000 1200000 100000 50000
check "v7's gate and check pass good counters, as perf prints them" verdict 0 "" ""
check "v7's gate and check fail a family's budget" verdict 1 "--family qwen3" "--family qwen3" CK_V7_PERF_QWEN3_MIN_IPC=1.3
check "v7's gate and check fail too few tokens a second" verdict 1 "" "" CK_V7_PERF_MIN_DECODE_TOK_S=1e9
from 1000000 500000 100000 50000
check "v7's gate and check fail a low IPC" verdict 1 "" ""
from 1000000 1200000 300000 50000
check "v7's gate and check fail many cache misses" verdict 1 "" ""
from 1000000 1200000 100000 90000
check "v7's gate and check fail many branch misses" verdict 1 "" ""
check "v7's gate and check call a missing profile missing input" sh -c "mkdir none; '$aiflame' runbook check none --v7-exit; [ \$? -eq 2 ] && python3 '$v7/scripts/perf_gate_v7.py' --model-dir none; [ \$? -eq 2 ]"

artifacts() {
	mkdir -p theirs && python3 "$v7/scripts/perf_artifacts_v7.py" --out-dir theirs --perf-stat counters.txt \
		--perf-data $ours/decode.data --folded $ours/decode.folded --flamegraph-svg $ours/decode.svg --mode decode
}
check "v7's writer reads folded stacks of a run" artifacts
check "counters and what is derived of them are those that v7 computes" python3 - <<'PY'
from compare import *
a, b = load("models/ours/perf_stat_summary.json"), load("theirs/perf_stat_summary.json")
b["counters"]["task-clock"] = b["counters"].pop("msec")  # its defect: the unit is taken for the name
for key in ("counters", "derived", "elapsed_seconds"): near(a[key], b[key], key)
assert len(b["derived"]) >= 8, b["derived"]
assert set(b) <= set(a), set(b) - set(a)
PY
check "v7's manifest has its fields and the first function" python3 - <<'PY'
from compare import *
a, b = load("models/ours/flamegraph_manifest.json"), load("theirs/flamegraph_manifest.json")
assert set(b) == set(a) - {"aiflame"}, set(a) ^ set(b)
assert a["top_symbols"][0]["symbol"] == b["top_symbols"][0]["symbol"] == "gemm"
assert set(a["by_mode"]["decode"]) - {"aiflame"} == set(b["by_mode"]["decode"])
PY
summary() {
	# Its script writes its own file into the directory, too.
	cp $ours/profile_summary.json ours.json &&
		python3 "$v7/scripts/generate_profile_summary_v7.py" --work-dir $ours --out theirs/profile_summary.json && python3 - <<'PY'
from compare import *
a, b = load("ours.json"), load("theirs/profile_summary.json")
near(a["total_us"], sum(m["total_us"] for m in a["by_mode"].values()), "total_us")
a.update(a.pop("aiflame")["first_token"])  # its top level is of the first token
assert set(a) == set(b), set(a) ^ set(b)
near(a["entries"], b["entries"], "entries")
for key in set(a) - {"entries"}:
    # Sums of rounded rows are as near as their roundings.
    for x, y in ((a[key], b[key]),) if not isinstance(a[key], dict) else ((a[key].get(k, 0), b[key].get(k, 0)) for k in set(a[key]) | set(b[key])):
        for u, v in ((x, y),) if not isinstance(x, dict) else ((x[k], y[k]) for k in x if not isinstance(x[k], dict)):
            assert abs(u - v) <= 0.1 * len(a["entries"]), (key, u, v)
PY
}
check "v7's summary of the run's CSV is profile_summary.json" summary
viewer() { python3 "$v7/tools/open_ir_visualizer.py" --generate --html-only --run $ours -o report.html; }
check "v7's viewer makes a report of a run" viewer
check "v7's report has all run files" python3 - <<'PY'
from compare import *
import re
text = open("report.html").read()
found = 0
for name in ("profile_summary", "perf_stat_summary", "flamegraph_manifest", "vtune_summary", "advisor_summary", "perf_gate_report"):
    for m in re.finditer(r'"%s(?:\.json)?": ?(?=\{)' % name, text):
        try: got, _ = json.JSONDecoder().raw_decode(text[m.end():])
        except ValueError: continue
        want = load("models/ours/%s.json" % name)
        if not set(want) <= set(got): continue  # a list of files has the name as well
        near(got, want, name)
        if name == "flamegraph_manifest": assert got["svg_inline"] == open(want["svg_path"]).read()
        found += 1
        break
    else: raise SystemExit(name + " is not in the report as it was written")
assert found == 6
PY
hub() { python3 "$v7/tools/open_ir_hub.py" --models-root models --output hub.html --index-out index.json && grep -q '"name": "ours"' index.json; }
check "v7's hub lists the run directory" hub
done_testing
