#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NVIDIA, on a machine with two GPUs and PyTorch: which rank of a job is late, by how much, on which line? By default options.
#   AIFLAME=PATH PYTHON=PATH tests/gpu/ranks.sh      another aiflame than that of the build directory; a python3 with PyTorch
. "$(dirname "$0")/../e2e/tap.sh"
here=$root/tests/gpu
aiflame=${AIFLAME:-$aiflame}
python=${PYTHON:-python3}
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
[ "$gpus" -ge 2 ] || { echo "1..0 # SKIP left out: it needs two GPUs, nvidia-smi shows $gpus"; exit 0; }
"$python" -c 'import torch, sys; sys.exit(torch.cuda.device_count() < 2)' 2>/dev/null || { echo "1..0 # SKIP left out: no PyTorch that sees two GPUs"; exit 0; }
cp "$here/scenes/ranks.py" .
port=29517
# rec NAME KIND LATE_MS [OPTION...]: records the two ranks, and asks
rec() {
	name=$1 kind=$2 late=$3
	shift 3
	port=$((port + 1))
	timeout -k 5 180 "$aiflame" record -q "$@" -o "$name.data" -- "$python" -m torch.distributed.run --nproc-per-node 2 --master-port $port \
		ranks.py "$kind" "$late" 6 >"$name.out" 2>"$name.err"
	status=$?
	cat "$name.out"
	"$aiflame" report --ranks "$name.data"
	"$aiflame" why "$name.data" | tee "$name.said"
	"$aiflame" report --ranks --format json "$name.data" >"$name.ranks"
	"$aiflame" why --format json "$name.data" >"$name.why"
	"$aiflame" flame --of waits -o - --format folded "$name.data" >"$name.folded"
	[ "$status" = 0 ]
}
# ask NAME EXPRESSION: j: the answer about ranks; w: all of it; a: its text; truth: the job's step, ms; steps; straggle: ns of waits that straggle() has;
# slower: the rank whose host takes longer for a step, as processes of one program do by chance
ask() {
	python3 - "$1" "$2" <<'EOP'
import json, re, sys
name, what = sys.argv[1:]
w, a = json.load(open(f"{name}.why")), open(f"{name}.said").read()
j, r = w.get("ranks", {}), json.load(open(f"{name}.ranks"))["rows"]
truths = re.findall(r"steps (\d+) median_ms ([0-9.]+)", open(f"{name}.out").read())
steps, truth = int(truths[0][0]), float(truths[0][1])
hosts = sorted((float(ms), int(rank)) for rank, ms in re.findall(r"truth rank (\d+) .* host_ms ([0-9.]+)", open(f"{name}.out").read()))
slower = hosts[-1][1]
rows = [l.rsplit(" ", 1) for l in open(f"{name}.folded")]
straggle = sum(int(n) for s, n in rows if "straggle" in s)
late = [x for x in r if x["rank"] == 1][0]
print(j, truths, hosts, "straggle %.3f ms a step of %.3f ms of waiting" % (straggle / steps / 1e6, (late["wait_given"] or 0) / steps / 1e6))
sys.exit(not eval(what))
EOP
}

for name in all default; do
	case $name in all) check "DDP of which rank 1 is late is recorded, all launches" rec all ddp 5 --all-launches ;; *) check "DDP of which rank 1 is late is recorded by default" rec default ddp 5 ;; esac
	check "$name: rank 1 is named, and straggle()" ask $name "j['verdict'] == 'one_late' and j['late'] == 1 and 'straggle' in j['place']"
	check "$name: the answer begins with it" ask $name "'\nbound by rank 1, which is late, in straggle (ranks.py:' in a"
	check "$name: nothing is said of larger buckets" ask $name "'larger buckets' not in a"
done
check "all: of a step's waiting 5 ± 0.25 ms are straggle()'s" ask all "4.75 <= straggle / steps / 1e6 <= 5.25"
check "all: without the late rank a step takes as long as one in which nobody is late, within 15 %" ask all "0.85 <= (truth - 5) / (j['step_without_ns'] / 1e6) <= 1.15"
check "default: of a step's waiting 5 ± 1 ms are straggle()'s" ask default "4 <= straggle / steps / 1e6 <= 6"
check "default: the share that it is estimated from is said" ask default "j['captured_ppm'] > 0"
check "DDP of which no rank is late is recorded" rec even ddp 0
check "without a late rank the answer does not begin with one" ask even "'bound by rank' not in a"
check "without a late rank no place is named, nor a rank whose host is not slower" ask even "'late' not in j or (j['late'] == slower and 'the waiting is for no one place' in a)"
check "a tensor-parallel job of which rank 1 is late is recorded" rec tensor tensor 5
check "tensor: rank 1 and straggle() are named" ask tensor "j['late'] == 1 and 'straggle' in j['place']"
check "FSDP of which rank 1 is late is recorded" rec fsdp fsdp 5
check "fsdp: straggle() has waits" ask fsdp "straggle / steps / 1e6 >= 2.5"
done_testing
