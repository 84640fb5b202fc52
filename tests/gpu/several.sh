#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NVIDIA, on a machine with two GPUs: part of `make gpu-test`. Needs nvcc; with PyTorch more is tested.
#   AIFLAME=PATH tests/gpu/several.sh      another aiflame than that of the build directory
. "$(dirname "$0")/../e2e/tap.sh"
here=$root/tests/gpu
aiflame=${AIFLAME:-$aiflame}
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
[ "$gpus" -ge 2 ] || { echo "1..0 # SKIP left out: it needs two GPUs, nvidia-smi shows $gpus"; exit 0; }
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
# As nvidia-smi counts them.
export CUDA_DEVICE_ORDER=PCI_BUS_ID
unset CUDA_VISIBLE_DEVICES AIFLAME_NO_COUNTERS
# rec SECONDS FILE OPTIONS...: no longer than that
rec() {
	limit=$1 to=$2
	shift 2
	timeout -k 5 "$limit" "$aiflame" record -q -o "$to" "$@"
}
ask() { "$aiflame" query --format csv "$1" "$2" | tail -n +2 | tr -d '"'; }
# is N DATA SQL: that is what it answers
is() { got=$(ask "$2" "$3"); [ "$got" = "$1" ] || { echo "got $got instead of $1"; return 1; }; }
adds_up() {
	"$aiflame" info "$1" >info.out && grep -q 'everything adds up' info.out &&
		grep -qE 'started before their launch +0$' info.out || { cat info.out; return 1; }
}
# name: a kernel's, without its parameters
name="substr(k.name, 1, instr(k.name || '(', '(') - 1)"
# launched FILE: kernels, where, how often; of what the program says, and of what was recorded
launched() {
	grep -E '^(on_|in_|warm)' "$1.out" | cut -d' ' -f1-3 | sort >want.out
	ask "$1.data" "SELECT $name || ' ' || d.pci || ' ' || count(*) FROM executions e JOIN kernels k ON k.id = e.kernel
		JOIN devices d ON d.id = e.device GROUP BY k.name, d.pci" | grep -E '^(on_|in_)' | sort >got.out
	diff want.out got.out
}
joined() { is "$2,$2" "$1.data" "SELECT count(*), count(dur_ns) FROM launches LEFT JOIN executions USING (launch) WHERE launches.kind = 'kernel'"; }
well() { grep -q '^well$' "$1.out"; }
# within PERCENT A B
within() { awk -v p="$1" -v a="$2" -v b="$3" 'BEGIN { d = 100 * (a / b - 1); printf "%s and %s: %.2f %%\n", a, b, d; exit !(d <= p && d >= -p) }'; }

nvcc -O2 -lineinfo -o several "$here/several.cu" -lcuda || { echo "not ok 1 - the program compiles"; exit 1; }

# ---- a thread for each GPU ----
plain() { timeout -k 5 30 ./several "$@"; }
plain threads 400 >plain.out
threads() { rec 40 t.data --all-launches ./several threads 400 >t.out; }
check "two threads, each with a GPU and two streams, are recorded" threads
check "two threads on two GPUs compute what they do unrecorded" sh -c 'grep sums t.out >a && grep sums plain.out | diff - a'
check "two threads on two GPUs: each launch and kernel is on its GPU" launched t
check "two threads on two GPUs: all launches have their execution" joined t 1280
check "two threads on two GPUs: launches are in four streams and those of the warming up" is 6 t.data "SELECT count(DISTINCT stream) FROM executions WHERE kernel IS NOT NULL"
check "two threads on two GPUs: the profile has two devices" is 2 t.data "SELECT count(*) FROM devices"
names() { # DATA GPU...: as nvidia-smi names them
	data=$1
	shift
	for gpu in "$@"; do
		nvidia-smi -i "$gpu" --query-gpu=pci.bus_id,name --format=csv,noheader
	done | sed 's/^0000//' | awk -F', ' '{ print tolower($1) " " $2 }' | sort >want.out
	ask "$data" "SELECT pci || ' ' || name FROM devices" | sort >got.out
	diff want.out got.out
}
check "two GPUs have nvidia-smi's names and addresses" names t.data 0 1
timed() {
	while read -r kernel pci _ ms; do
		mine=$(ask t.data "SELECT sum(dur_ns) / 1e6 FROM executions e JOIN kernels k ON k.id = e.kernel
			JOIN devices d ON d.id = e.device WHERE $name = '$kernel' AND d.pci = '$pci'")
		within 2 "$mine" "$ms" || return 1
	done <<-END
		$(grep '^on_' t.out)
	END
}
check "two threads on two GPUs: kernels are as long as CUDA's events say, within 2 %" timed
cat check.out 2>/dev/null | sed 's/^/#   /'
check "two threads on two GPUs: both are sampled" is 2 t.data "SELECT count(*) FROM (SELECT device FROM samples GROUP BY device HAVING sum(count) > 10000)"
on() { echo "SELECT count(DISTINCT s.device) FROM samples s JOIN kernels k ON k.id = s.kernel WHERE $name = '$1'"; }
check "two threads on two GPUs: samples of each kernel are on its GPU" is '1,1' t.data "SELECT ($(on on_first)) AS first, ($(on on_second)) AS second"
check "two threads on two GPUs: both have instructions below their towers" is 2 t.data "SELECT count(DISTINCT device) FROM attributed WHERE pc IS NOT NULL AND count > 0"
check "two threads on two GPUs: 99 % of the samples are in towers" is 1 t.data "SELECT sum(count) >= 0.99 * (SELECT sum(count) FROM samples) FROM attributed"
check "sampling takes 64 MiB of each GPU" is 134217728 t.data "SELECT value FROM meta WHERE key = 'cost.device_bytes'"
check "the summary says what sampling takes of each GPU" says "128 MiB of the GPU's memory" "$aiflame" report t.data
check "two threads on two GPUs: the numbers add up" adds_up t.data

# ---- one thread for both ----
alternate() { rec 30 a.data --all-launches ./several alternate 200 >a.out && well a; }
check "one thread that uses both GPUs in turn is recorded" alternate
check "one thread on two GPUs: each launch and kernel is on its GPU" launched a
check "one thread on two GPUs: each peer copy is there once" is '400,419430400' a.data "SELECT count(*), sum(bytes) FROM copies WHERE kind = 'peer'"
copies() {
	grep '^copies' a.out | cut -d' ' -f2- | sort >want.out
	ask a.data "SELECT d.pci || ' ' || count(*) FROM copies c JOIN devices d ON d.id = c.device WHERE c.kind = 'peer' GROUP BY d.pci" | sort >got.out
	diff want.out got.out
}
check "one thread on two GPUs: each peer copy is on its GPU" copies
check "one thread on two GPUs: the numbers add up" adds_up a.data

# ---- two contexts of one GPU ----
contexts() { rec 30 c.data --all-launches ./several contexts 300 >c.out && well c; }
check "two contexts of one GPU, of which one is destroyed, are recorded" contexts
check "two contexts of one GPU: each launch of both is there" launched c
check "two contexts of one GPU: the profile has one device" is 1 c.data "SELECT count(*) FROM devices"
check "two contexts of one GPU: the GPU is sampled" is 1 c.data "SELECT sum(count) > 1000 FROM samples"
check "two contexts of one GPU: the numbers add up" adds_up c.data

# ---- which GPU ----
one() { CUDA_VISIBLE_DEVICES=1 rec 30 v.data --all-launches ./several visible 100 >v.out && well v; }
check "a program with CUDA_VISIBLE_DEVICES=1 is recorded" one
check "CUDA_VISIBLE_DEVICES=1: the device is nvidia-smi's GPU 1" names v.data 1
check "CUDA_VISIBLE_DEVICES=1: the device has its launches" launched v
both() { # each process calls its GPU 0; a third has both
	rec 40 b.data --all-launches sh -c 'CUDA_VISIBLE_DEVICES=0 ./several visible 100 & CUDA_VISIBLE_DEVICES=1 ./several visible 100 & ./several alternate 10; wait' >b.out
}
check "three processes with device ordinals of their own are recorded" both
check "three processes with device ordinals of their own: the profile has two GPUs" names b.data 0 1
check "three processes with device ordinals of their own: each GPU has what two processes launched" is '2-110 2-110' b.data "SELECT group_concat(row, ' ') FROM
	(SELECT format('%d-%d', count(DISTINCT process), count(*)) AS row FROM executions WHERE kernel IS NOT NULL GROUP BY device)"
check "three processes with device ordinals of their own: the numbers add up" adds_up b.data

# ---- PyTorch ----
if python3 -c 'import torch; assert torch.cuda.device_count() >= 2' 2>/dev/null; then
	# The interface that one machine has in any case; multicast is not needed.
	export NCCL_SOCKET_IFNAME=lo NCCL_NVLS_ENABLE=0
	timeout -k 5 60 python3 "$here/several.py" two 200 >plain.out
	pytorch() { rec 60 p.data --all-launches python3 "$here/several.py" two 200 >p.out; }
	check "PyTorch with a model on each GPU is recorded" pytorch
	check "PyTorch with a model on each GPU computes what it does unrecorded" diff plain.out p.out
	# under FUNCTION: devices on which something runs that was launched below it
	under() {
		ask p.data "WITH RECURSIVE up(root, at) AS (SELECT DISTINCT stack, stack FROM executions WHERE stack IS NOT NULL
			UNION SELECT root, parent FROM up JOIN stacks s ON s.id = at WHERE parent IS NOT NULL)
			SELECT count(*), max(n) FROM (SELECT e.device, count(*) AS n FROM executions e WHERE e.kernel IS NOT NULL AND e.stack IN
			(SELECT root FROM up JOIN stacks s ON s.id = at JOIN frames f ON f.id = s.frame WHERE f.function LIKE '%$1%') GROUP BY 1)"
	}
	apart() { first=$(under on_first) && second=$(under on_second) && echo "$first $second" && [ "${first%,*}" = 1 ] && [ "${second%,*}" = 1 ]; }
	check "PyTorch with a model on each GPU: each model is on its GPU" apart
	check "PyTorch with a model on each GPU: both GPUs are sampled" is 2 p.data "SELECT count(DISTINCT device) FROM attributed WHERE pc IS NOT NULL AND count > 0"
	check "PyTorch with a model on each GPU: the numbers add up" adds_up p.data

	sums() { grep '^rank' "$1" | sort; }
	timeout -k 5 60 python3 "$here/several.py" ranks 400 5 >plain.out
	ranks() { rec 60 r.data --all-launches python3 "$here/several.py" ranks 400 >r.out; }
	check "two ranks that sum over both GPUs are recorded" ranks
	same() { sums plain.out >want.out && sums "$1" >got.out && [ "$(wc -l <want.out)" = 2 ] && diff want.out got.out; }
	check "two ranks compute what they do unrecorded" same r.out
	# The kernel that is launched most is add_'s.
	most="(SELECT kernel FROM attributed WHERE kernel IS NOT NULL GROUP BY kernel ORDER BY sum(launches) DESC LIMIT 1)"
	each() { # DATA OUT PERCENT: of each rank, as it counted itself
		ask "$1" "SELECT CAST(round(sum(launches)) AS INTEGER) FROM attributed WHERE kernel = $most GROUP BY process ORDER BY 1" >got.out
		sed -n 's/^in all [01] //p' "$2" | sort -n | paste -d' ' - got.out >pairs.out
		[ "$(wc -l <pairs.out)" = 2 ] || { cat pairs.out got.out; return 1; }
		while read -r counted mine; do
			within "$3" "$mine" "$counted" || {
				ask "$1" "SELECT process, kernel, sum(launches) FROM attributed GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 9"
				return 1
			}
		done <pairs.out
	}
	check "two ranks: each launch of both is there" each r.data r.out 0
	nccl() { is 2 "$1" "SELECT count(*) FROM (SELECT e.process, e.device FROM executions e JOIN kernels k ON k.id = e.kernel WHERE k.name LIKE '%nccl%' GROUP BY 1, 2)"; }
	check "two ranks: NCCL's kernels are on both GPUs" nccl r.data
	check "two ranks: both GPUs are sampled" is 2 r.data "SELECT count(DISTINCT device) FROM samples"
	check "two ranks: the numbers add up" adds_up r.data

	budget() { rec 80 o.data --overhead 2 python3 "$here/several.py" ranks 400 20 >o.out; }
	check "two ranks with --overhead 2, which switches sampling, do not wait for each other for ever" budget
	check "two ranks with --overhead 2 compute what they do unrecorded" same o.out
	check "two ranks with --overhead 2: what was captured stands for all, within 5 %" each o.data o.out 5
	check "two ranks with --overhead 2: NCCL's kernels are on both GPUs" nccl o.data
	check "two ranks with --overhead 2: sampling of both was switched off and on" is 2 o.data "SELECT count(DISTINCT process) FROM
		(SELECT process, start_ns - lag(end_ns) OVER (PARTITION BY process ORDER BY start_ns) AS gap FROM windows WHERE period > 0) WHERE gap > 1500000000"
	check "two ranks with --overhead 2: the numbers add up" adds_up o.data
	for run in 'plain 5' 'o 20'; do
		sed -n "s/^in all 0 \([0-9]*\)/\1/p" "${run% *}.out" | awk -v s="${run#* }" -v what="$run" '{ printf "# %s s: %.0f operators a second\n", what, $1 / s }'
	done
	"$aiflame" info o.data | grep -iE 'overhead|slow|sampl' | sed 's/^/# /'
else
	echo "# PyTorch was left out: it is not there, or sees fewer than two GPUs"
fi
done_testing
