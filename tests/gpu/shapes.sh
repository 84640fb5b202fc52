#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Operators with the shapes of their inputs, of programs whose own torch.profiler records them: is what that sees, and what the program
# computes, the same while aiflame records? Are its shapes ours? Needs PyTorch; about five minutes with torch.compile.
#   AIFLAME=PATH PYTHON=PATH [DEVICE=cpu] tests/gpu/shapes.sh      another aiflame than that of the build directory; a python3 with PyTorch
. "$(dirname "$0")/../e2e/tap.sh"
app=$root/tests/gpu/shapes.py
aiflame=${AIFLAME:-$aiflame}
python=${PYTHON:-python3}
device=${DEVICE:-cuda}
export PYTHONFAULTHANDLER=1 CUBLAS_WORKSPACE_CONFIG=:4096:8 TORCHINDUCTOR_CACHE_DIR="$work/inductor"
"$python" -c 'import sys, torch; print("# PyTorch", torch.__version__); sys.exit(sys.argv[1] == "cuda" and not torch.cuda.is_available())' "$device" 2>/dev/null ||
	{ echo "1..0 # SKIP left out: no PyTorch with that device"; exit 0; }
# Without a device a program is recorded for its CPU time.
always=$([ "$device" = cuda ] || echo --cpu)
# Twice: PyTorch 1.13 does not give all operators the same names each time.
bare() {
	for i in 1 2; do timeout -k 5 300 "$python" "$app" "$1" "$device" >"$1.bare$i" 2>"$1.bare.err" || { tail -n 8 "$1.bare.err"; return 1; }; done
	cp "$1.bare1" "$1.bare"
}
# recorded MODE [OPTION...]
recorded() {
	mode=$1
	shift
	# shellcheck disable=SC2086 # an option, or none
	timeout -k 5 300 "$aiflame" record -q --all-launches $always "$@" -o "$mode.data" "$python" "$app" "$mode" "$device" >"$mode.out" 2>"$mode.err" || {
		echo "status $?"
		tail -n 8 "$mode.err"
		return 1
	}
}
# same MODE KIND: both runs printed the same lines of that kind, and some
same() {
	grep "^$2" "$1.bare" >same.bare
	grep "^$2" "$1.out" >same.out
	[ -s same.bare ] && diff same.bare same.out
}
# sees_same WHAT MODE KIND: a case, where the program's profiler sees the same in two runs without aiflame
sees_same() {
	grep "^$3" "$2.bare1" >twice.1
	if grep "^$3" "$2.bare2" | cmp -s - twice.1; then check "$1" same "$2" "$3"; else skip "$1" "this PyTorch's profiler sees other ones in each run"; fi
}
sql() { "$aiflame" query --format csv "$1" "$2" | tail -n +2; }
# ours MODE: operators of the recording, in the program's own words
ours() { sql "$1.data" "SELECT 'op' || char(9) || name || char(9) || shapes || char(9) || count(*) FROM ops WHERE kind = 'operator' GROUP BY name, shapes" | tr -d '"\r'; }
# has_shapes MODE NAME...: the recording has these operators as the program's profiler has, shape by shape
has_shapes() {
	mode=$1
	shift
	for name in "$@"; do grep "^op	$name	" "$mode.out"; done | LC_ALL=C sort >shapes.theirs
	ours "$mode" >ours.all
	for name in "$@"; do grep "^op	$name	" ours.all; done | LC_ALL=C sort >shapes.ours
	[ -s shapes.theirs ] && diff shapes.theirs shapes.ours || { sql "$mode.data" "SELECT name, count, detail FROM losses"; return 1; }
}
# others MODE: notes which other operators differ; "[]" alone: those without inputs, which are left out
others() {
	grep '^op' "$1.out" | grep -v '	\[\]	' | LC_ALL=C sort >others.theirs
	ours "$1" | LC_ALL=C sort >others.ours
	echo "# $1: $(wc -l <others.theirs) operators with shapes in the program's profiler, $(LC_ALL=C comm -12 others.theirs others.ours | wc -l) the same in the recording"
	diff others.theirs others.ours | grep '^[<>]' | head -n 12 | sed 's/^/#   /'
}
# tries MODE [OPTION...]: bare and recorded, and all that both runs print alike
tries() {
	tried=$1
	check "$tried: the program runs without aiflame" bare "$tried"
	check "$tried: the program runs recorded, and ends with 0" recorded "$@"
	check "$tried: the program computes the same" same "$tried" result
	check "$tried: the numbers add up" says "everything adds up" "$aiflame" info "$tried.data"
	# PyTorch makes a warning of an exception in an observer, as for nested tensors: ours may be one.
	check "$tried: PyTorch warns of an observer once at most" sh -c "[ \$(grep -c 'Exception in RecordFunction' '$tried.err') -le 1 ]"
	"$aiflame" report --ops --by shape --limit 4 "$tried.data" 2>&1 | sed 's/^/# /'
	sql "$tried.data" "SELECT name, count, detail FROM losses" | sed 's/^/# loss: /'
}

for mode in train threads; do
	tries $mode
	sees_same "$mode: the program's profiler sees the same operators and shapes" $mode op
	[ "$device" != cuda ] || sees_same "$mode: the program's profiler sees the same kernels" $mode kernel
	check "$mode: products have the shapes that the program's profiler has" has_shapes $mode aten::addmm aten::mm aten::linear
	others $mode
	check "$mode: report --ops --by shape has shapes" says "256, 64" "$aiflame" report --ops --by shape $mode.data
done
of_backward() { [ "$(sql train.data "SELECT count(*) FROM ops a WHERE kind = 'operator' AND name = 'aten::mm'")" -gt 0 ]; }
check "train: operators of backward(), which autograd runs in a thread of its own on a GPU, are recorded" of_backward
check "train --cpu: the program runs recorded, and ends with 0" recorded train --cpu
check "train --cpu: the program computes the same" same train result
sees_same "train --cpu: the program's profiler sees the same operators and shapes" train op
check "train --cpu: products have the shapes that the program's profiler has" has_shapes train aten::addmm aten::mm aten::linear

if "$python" -c 'import sys, torch; torch.nested.nested_tensor([torch.ones(2)], device=sys.argv[1])' "$device" >/dev/null 2>&1; then
	tries nested
	sees_same "nested: the program's profiler sees the same operators and shapes" nested op
else
	skip "nested: the program runs recorded" "this PyTorch has no nested tensors"
fi
if "$python" -c 'import sys, torch; torch.compile(lambda x: x + 1)(torch.ones(2, device=sys.argv[1]))' "$device" >/dev/null 2>compile.err; then
	tries compiled
	sees_same "compiled: the program's profiler sees the same operators and shapes" compiled op
	[ "$device" != cuda ] || sees_same "compiled: the program's profiler sees the same kernels" compiled kernel
	others compiled
	rm -rf "$TORCHINDUCTOR_CACHE_DIR"
	tries compiling
else
	skip "compiled: the program runs recorded" "torch.compile does not work: $(tail -n 1 compile.err | tr '#\n' '  ' | cut -c1-100)"
fi
tries own
sees_same "own: the programs' profilers see the same operators and shapes" own op
check "own: a thread whose profiler ends does not end the recording of another's operators" has_shapes own aten::addmm aten::mm
done_testing
