#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The run directory of a program with prefill and decode on a GPU: against the program's own clock, and a second run in
# which each token copies the weights. Needs PyTorch; a minute and a half.
# AIFLAME=PATH: another aiflame than that of the build directory. KEEP=DIR: both run directories are left there.
# PROGRAM=COMMAND: in place of runbook.py, with its arguments and its words, for an accelerator without PyTorch.
. "$(dirname "$0")/../e2e/tap.sh"
here=$root/tests/gpu
aiflame=${AIFLAME:-$aiflame}
[ -n "${PROGRAM:-}" ] || {
	python3 -c 'import torch; raise SystemExit(not torch.cuda.is_available())' 2>/dev/null || { echo "1..0 # SKIP no PyTorch with a GPU"; exit 0; }
	PROGRAM="python3 $here/runbook.py"
}
prompts=${PROMPTS:-30} tokens=${TOKENS:-300} copies=${COPIES:-4}
# The command line is the same in both runs: what differs is in a file.
printf '#!/bin/sh\nexec %s %s %s $(cat "%s/copies") >>"%s/said"\n' "$PROGRAM" "$prompts" "$tokens" "$work" "$work" >generate
chmod +x generate
run() { # DIR COPIES
	echo "$2" >copies
	: >said
	timeout -k 5 80 "$aiflame" runbook run -d "$1" -r 1 --mode prefill --mode decode -- ./generate
	status=$?
	mv said "$1.said"
	return $status
}
check "a program with prefill and decode is measured" run before 0
sed 's/^/#   /' check.out
holds() { # DIR: what its files say is what the program said of its recorded run, the last one
	python3 - "$1" "$prompts" "$tokens" "$aiflame" <<'PY'
import json, os, statistics, subprocess, sys
d, want = sys.argv[1], {"prefill": int(sys.argv[2]), "decode": int(sys.argv[3])}
said = {}
for line in open(d + ".said"):
    name, count, seconds = line.split()
    said[name] = float(seconds)
p = json.load(open(d + "/profile_summary.json"))
assert p["aiflame"]["tokens"] == want, p["aiflame"]["tokens"]
for mode in want:
    us = p["by_mode"][mode]["total_us"]
    print("%s: %.3f s by its ranges, %.3f s by the program's clock" % (mode, us / 1e6, said[mode]))
    assert abs(us / 1e6 / said[mode] - 1) < 0.05, mode
    entries = [e for e in p["entries"] if e["mode"] == mode]
    assert {int(e["token_id"]) for e in entries} == set(range(want[mode]))
    ops = {}
    for e in entries: ops[e["op"]] = ops.get(e["op"], 0) + float(e["time_us"])
    print("  " + ", ".join("%s %.0f %%" % (op, 100 * us / sum(ops.values())) for op, us in sorted(ops.items())))
    assert ops.get("gemm", 0) > 0
times = {}  # by layer: one of each prompt
for e in p["entries"]:
    if e["op"] == "gemm" and e["mode"] == "prefill": times.setdefault(e["layer"], {}).setdefault(e["token_id"], []).append(float(e["time_us"]))
# The median of prompts: an interruption makes a few of them longer.
layers = {n: statistics.median(map(sum, prompts.values())) for n, prompts in times.items()}
print("gemm of a prompt by layer: " + ", ".join("%s %.0f us" % (n, layers[n]) for n in sorted(layers, key=int)))
marked = [n for n in layers if n != "-1"]
assert {"0", "1"} <= set(marked) and sum(layers[n] for n in marked) > 0.5 * sum(layers.values())
assert max(layers[n] for n in marked) < 2 * min(layers[n] for n in marked) and set(p["by_layer"]) == set(marked)
c = json.load(open(d + "/perf_stat_summary.json"))["aiflame"]["device"]
print("device: " + ", ".join("%s %s" % (k, v) for k, v in c.items()))
assert 0 < c["busy"] <= 1 and abs(c["kernel_seconds"] + c["copy_seconds"] - c["busy_seconds"]) < 1e-5
sums = subprocess.run([sys.argv[4], "query", "--format", "csv", d + "/prefill.data",
    "SELECT (SELECT sum(dur_ns * weight) FROM executions) + (SELECT coalesce(sum(dur_ns * weight), 0) FROM copies)"], capture_output=True, text=True)
assert abs(c["busy_seconds"] * 1e9 / float(sums.stdout.split()[-1]) - 1) < 0.02, sums
m = json.load(open(d + "/flamegraph_manifest.json"))
assert sorted(m["by_mode"]) == ["decode", "prefill"] and all(os.path.getsize(v["svg_path"]) for v in m["by_mode"].values())
for mode, v in m["by_mode"].items():
    assert v["aiflame"] == {"of": "device"}
    shares = {}
    for line in open(v["folded_path"]):
        stack, value = line.rsplit(" ", 1)
        what = "copy" if "copy" in stack.lower() else "other"
        shares[what] = shares.get(what, 0) + float(value)
    print("flame graph of %s: %.0f %% copies" % (mode, 100 * shares.get("copy", 0) / sum(shares.values())))
    if mode == "prefill": assert shares.get("copy", 0) < 0.3 * sum(shares.values())
PY
}
check "tokens, and time of each mode within 5 % of the program's" holds before
sed 's/^/#   /' check.out
check "a run directory passes its budgets; missing counters fail nobody" "$aiflame" runbook check -d before --cannot-tell pass
sed 's/^/#   /' check.out
check "a run with $copies copies of the weights a token is recorded" run after "$copies"
check "a run with copies: tokens, and time of each mode within 5 % of the program's" holds after
sed 's/^/#   /' check.out
check "runbook compare names the throughput drop" says "throughput drop" "$aiflame" runbook compare before after
sed 's/^/#   /' check.out
"$aiflame" runbook compare before after | sed 's/^/#   /'
check "runbook compare names time outside the expected" says "outside the expected" "$aiflame" runbook compare before after
floor=$(python3 -c 'import json; print(0.9 * json.load(open("before/perf_gate_report.json"))["metrics"]["decode_tok_s"])')
check "a gate at nine tenths of the first run's: the first passes" env CK_V7_PERF_MIN_DECODE_TOK_S="$floor" "$aiflame" gate --dir before --cannot-tell pass
check "a gate at nine tenths of the first run's: the second fails" env CK_V7_PERF_MIN_DECODE_TOK_S="$floor" sh -c "'$aiflame' gate --dir after --cannot-tell pass; [ \$? -eq 3 ]"
check "the ledger has both" sh -c "'$aiflame' runbook ledger before --note baseline && '$aiflame' runbook ledger after --note copies --baseline before && grep -q '\"verdict\": \"fail\\|cannot' after/ledger.jsonl"
rendered() {
	for d in before after; do
		begin=$(date +%s%N)
		"$aiflame" runbook render "$d" || return 1
		ms=$((($(date +%s%N) - begin) / 1000000))
		echo "$d: rendered in $ms ms, $(wc -c <"$d/hub.html") bytes"
		! grep -Eq '(src|href)=.?https?:' "$d/hub.html" || return 1
	done
}
check "both are rendered, and need no network" rendered
sed 's/^/#   /' check.out
[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp -r before after before.said after.said "$KEEP"; }
done_testing
