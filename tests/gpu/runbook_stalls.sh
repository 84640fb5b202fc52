#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `device memory bound` of the decision table on a GPU: fires on a program whose kernels wait for memory, and stays silent on
# one whose kernels multiply and add in registers. Needs PyTorch and the permission to sample instructions; a minute.
# AIFLAME=PATH: another aiflame than that of the build directory. KEEP=DIR: both run directories are left there.
. "$(dirname "$0")/../e2e/tap.sh"
aiflame=${AIFLAME:-$aiflame}
python3 -c 'import torch; raise SystemExit(not torch.cuda.is_available())' 2>/dev/null || { echo "1..0 # SKIP no PyTorch with a GPU"; exit 0; }
run() { timeout -k 5 120 "$aiflame" runbook run -d "$1" -r 1 -m train -- python3 "$root/tests/gpu/runbook_stalls.py" "$1" 5; }
stalls() { # DIR: the classes of its samples' reasons
	python3 - "$1" <<'PY'
import json, sys
stalls = json.load(open(sys.argv[1] + "/perf_stat_summary.json"))["aiflame"]["device"].get("stalls")
print("%s: %s" % (sys.argv[1], stalls))
raise SystemExit(not stalls)
PY
}
fires() { "$aiflame" runbook check "$1" --cannot-tell pass >said.out; cat said.out; grep -q '^signal  *device memory bound:' said.out; }
silent() { ! fires "$1" && grep -q decode_tok_s said.out; }
for what in memory arithmetic; do check "a program of $what is measured" run $what; done
if ! stalls memory >said.out; then
	skip "device memory bound" "instructions of this GPU are not sampled with reasons"
else
	for what in memory arithmetic; do check "samples of a program of $what say what it waited for" stalls $what && sed 's/^/#   /' check.out; done
	check "device memory bound: fires on memory" fires memory
	sed 's/^/#   /' check.out
	check "device memory bound: silent on arithmetic" silent arithmetic
	sed 's/^/#   /' check.out
fi
[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp -r memory arithmetic "$KEEP"; }
done_testing
